"""Files as people have them: the right board, or an error whose remedy then gives it."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from board_votes import cast_many, register
from file_shapes import (
    BAD,
    CHOSEN,
    HEADER,
    PACKED,
    TIE,
    VOTES,
    A,
    B,
    Tally,
    by_pair,
    chats,
    chosen,
    flags,
    lines,
    merged,
    names_of_winners,
    parquet,
    records,
    relabel,
    rename,
    table,
    tally,
    zipped,
)
from typer.testing import CliRunner, Result

from arena.cli import app
from arena.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

FLAG = re.compile(
    r"--(?:no-header|skip-bad-rows)|"
    r"--(?:outcome|column|separator|encoding|kind|both-orders) "
    r"(?:'[^']*'|\"[^\"]*\"|[^\s,;)'\".]|\.(?=\S))+"
)


@dataclass(frozen=True)
class Shape:
    """A file, what it must come to, and what must be said on the way.

    Attributes:
        file: its name.
        data: what it holds.
        expected: the tally of the board.
        says: words of the foot of the table.
        refused: words of the error that comes first, "" for none.
        fill: what stands for a placeholder of the remedy.
        first: of alternatives for one role, take the first instead of the last.
    """

    file: str
    data: str | bytes
    expected: Tally = field(default_factory=tally)
    says: tuple[str, ...] = ()
    refused: str = ""
    fill: dict[str, str] = field(default_factory=dict)
    first: bool = False


def digits(*labels: str) -> str:
    return table(relabel(dict(zip((A, B, TIE, BAD), labels, strict=True))))


READ = {
    "plain": Shape("votes.csv", table(), says=("CSV, separator comma", "outcome from winner")),
    "no ending": Shape("votes", table()),
    "wrong ending": Shape("votes.parquet.csv", table()),
    "tabs": Shape("votes.tsv", table(delimiter="\t"), says=("separator tab",)),
    "tabs as .txt": Shape("votes.txt", table(delimiter="\t"), says=("separator tab",)),
    "semicolons": Shape("votes.csv", table(delimiter=";"), says=("separator semicolon",)),
    "pipes": Shape("votes.csv", table(delimiter="|"), says=("separator pipe",)),
    "Excel's sep=": Shape("votes.csv", "sep=;\r\n" + table(delimiter=";", lineterminator="\r\n")),
    "CRLF": Shape("votes.csv", table(lineterminator="\r\n")),
    "CR alone": Shape("votes.csv", table(lineterminator="\r")),
    "all quoted": Shape("votes.csv", table(quoting=1)),
    "single quotes": Shape("votes.csv", table(quoting=1, quotechar="'"), says=("quoted by '",)),
    "spaces after commas": Shape("votes.csv", table().replace(",", ", ")),
    "empty lines": Shape("votes.csv", table().replace("\n", "\n\n")),
    "trailing separators": Shape(
        "votes.csv", table().replace("\n", ",\n"), says=("lines end with a separator",)
    ),
    "trailing separators in the lines": Shape(
        "votes.csv", table().replace("\n", ",\n").replace("winner,", "winner"),
        says=("lines end with a separator",),
    ),
    "row names as R writes them": Shape(
        "votes.csv", table([(f"r{n}", *row) for n, row in enumerate(VOTES)]),
        says=("the first column has no name",),
    ),
    "a title before the header": Shape(
        "votes.csv", "# exported today\n\n" + table(), says=("before the names of the columns",)
    ),
    "a text over several lines": Shape(
        "votes.csv",
        table([(*row, 'He said:\n"no, b"\n\nand left') for row in VOTES], (*HEADER, "prompt")),
    ),
    "UTF-8 with a mark": Shape("votes.csv", table().encode("utf-8-sig"), says=("with a mark",)),
    "UTF-16": Shape("votes.csv", table().encode("utf-16"), says=("UTF-16",)),
    "UTF-16 without a mark": Shape(
        "votes.csv", table().encode("utf-16-le"), says=("encoding was guessed: UTF-16",)
    ),
    "UTF-32": Shape("votes.csv", table().encode("utf-32"), says=("UTF-32",)),
    "spellings of columns": Shape("votes.csv", table(header=("Model A", "modelB", "VERDICT"))),
    "left and right": Shape("votes.csv", table(header=("Left Model", "right-model", "Vote"))),
    "labels in any case": Shape(
        "votes.csv", table(relabel({A: "MODEL_A", B: " Right ", TIE: "Draw", BAD: "Both Bad"}))
    ),
    "labels in full width": Shape(
        "votes.csv", table(relabel({A: "Ａ", B: "ｂ", TIE: "ＴＩＥ", BAD: "both＿bad"}))
    ),
    "labels as sentences": Shape(
        "votes.csv", table(relabel({A: "A is better", B: "B wins", TIE: "equal",
                                    BAD: "both are bad"}))
    ),
    "labels as grades": Shape("votes.csv", table(relabel({A: "[[A>>B]]", B: "B>A", TIE: "A=B"}))),
    "labels of buttons": Shape(
        "votes.csv", table(relabel({A: "leftvote", B: "rightvote", TIE: "tievote",
                                    BAD: "bothbad_vote"}))
    ),
    "the winner's name": Shape(
        "votes.csv", table(names_of_winners()), says=('"alpha" = the model of that name',)
    ),
    "a space after a name": Shape(
        "votes.csv", table([*rename({"alpha": "alpha "}, VOTES[:6]), *VOTES[6:]]),
        says=("written in several ways",),
    ),
    "names that look alike": Shape(
        "votes.csv", table(rename({"gamma": "аlpha"})), tally(rename({"gamma": "аlpha"})),
        says=("look alike", "\\u0430"),
    ),
    "versions as names": Shape(
        "votes.csv", table(rename({"alpha": "3.10", "beta": "3.1"})),
        tally(rename({"alpha": "3.10", "beta": "3.1"})),
    ),
    "leading zeros": Shape(
        "votes.csv", table(rename({"alpha": "007", "beta": "7", "gamma": "07"})),
        tally(rename({"alpha": "007", "beta": "7", "gamma": "07"})),
    ),
    "huge integers": Shape(
        "votes.csv", table(rename({"alpha": "9007199254740993", "beta": "9007199254740992",
                                   "gamma": "123456789012345678901234567890"})),
        tally(rename({"alpha": "9007199254740993", "beta": "9007199254740992",
                      "gamma": "123456789012345678901234567890"})),
    ),
    "NA, None and null": Shape(
        "votes.csv", table(rename({"alpha": "NA", "beta": "None", "gamma": "null"})),
        tally(rename({"alpha": "NA", "beta": "None", "gamma": "null"})),
        says=('"NA" is taken for the name of a model',),
    ),
    "true and false as names": Shape(
        "votes.csv", table(rename({"alpha": "True", "beta": "False"})),
        tally(rename({"alpha": "True", "beta": "False"})),
    ),
    "counts": Shape(
        "votes.csv", table([(*row, 1) for row in VOTES], (*HEADER, "count")), says=("count",)
    ),
    "a row number called n": Shape(
        "votes.csv", table([(*row, n) for n, row in enumerate(VOTES)], (*HEADER, "n")),
        says=("column n is not taken for counts",),
    ),
    "counts of pairs": Shape(
        "pairs.csv",
        table([(*pair, *cell) for pair, cell in by_pair().items()],
              ("model_a", "model_b", "wins_a", "wins_b", "ties", "both_bad")),
    ),
    "one flag a vote": Shape(
        "train.csv",
        table(flags(), ("id", "model_a", "model_b", "winner_model_a", "winner_model_b",
                        "winner_tie")),
        tally(merged()), says=("one flag a vote", "does not tell them apart"),
    ),
    "the winner's name or a flag": Shape(
        "comparia.csv", table(chosen(), CHOSEN), tally(merged()),
        says=("the chosen model's name", "time from timestamp"),
    ),
    "winner and loser": Shape(
        "matches.csv",
        table([(a, b) if o == A else (b, a) for a, b, o in VOTES if o in (A, B)],
              ("winner", "loser")),
        tally([row for row in VOTES if row[2] in (A, B)]),
    ),
    "both good": Shape(
        "fr-arena.csv", table(relabel({A: "A", B: "B", TIE: "both good", BAD: "both bad"}),
                              ("model_a", "model_b", "choice")),
        says=('"both good" = tie',),
    ),
    "a log of events": Shape(
        "2024-01-01-conv.json", lines(chats()), says=("events of type chat", "are not read")
    ),
    "JSON records": Shape("votes.json", json.dumps(records()), says=("JSON, an object a row",)),
    "JSON Lines": Shape("votes.jsonl", lines(records()), says=("JSON Lines",)),
    "JSON Lines as .json": Shape("votes.json", lines(records())),
    "JSON spread over lines": Shape(
        "votes.json", "\n".join(json.dumps(r, indent=1) for r in records()),
        says=("JSON values in a row",),
    ),
    "JSON columns of rows": Shape("votes.json", pd.DataFrame(records()).to_json()),
    "JSON by index": Shape("votes.json", pd.DataFrame(records()).to_json(orient="index")),
    "JSON split": Shape("votes.json", pd.DataFrame(records()).to_json(orient="split")),
    "JSON lists": Shape("votes.json", json.dumps(pd.DataFrame(records()).to_dict("list"))),
    "JSON rows of cells": Shape("votes.json", json.dumps([HEADER, *VOTES])),
    "JSON within an object": Shape(
        "votes.json", json.dumps({"version": 2, "votes": records()}), says=('the list "votes"',)
    ),
    "JSON with nested fields": Shape(
        "votes.jsonl",
        lines([{"id": n, "battle": record} for n, record in enumerate(records())]),
        says=("battle.winner",),
    ),
    "JSON numbers as names": Shape(
        "votes.json",
        json.dumps(records()).replace('"alpha"', "3.10").replace('"beta"', "3.1"),
        tally(rename({"alpha": "3.10", "beta": "3.1"})),
    ),
    "JSON in UTF-16": Shape("votes.json", json.dumps(records()).encode("utf-16")),
    "Parquet": Shape("votes.parquet", parquet(pd.DataFrame(records())), says=("Parquet",)),
    "Parquet categories": Shape(
        "votes.parquet", parquet(pd.DataFrame(records()).astype("category"))
    ),
    "Parquet integers": Shape(
        "votes.parquet",
        parquet(pd.DataFrame(records(rename({"alpha": "1", "beta": "2", "gamma": "3"}))).astype(
            {"model_a": int, "model_b": "int64"})),
        tally(rename({"alpha": "1", "beta": "2", "gamma": "3"})),
    ),
    "Parquet decimals": Shape(
        "votes.parquet",
        parquet(pd.DataFrame(
            [{**r, "model_a": Decimal(r["model_a"]), "model_b": Decimal(r["model_b"])}
             for r in records(rename({"alpha": "3.10", "beta": "3.20", "gamma": "4.00"}))])),
        tally(rename({"alpha": "3.10", "beta": "3.20", "gamma": "4.00"})),
    ),
    "Parquet structs": Shape(
        "votes.parquet", parquet(pd.DataFrame({"vote": records()})), says=("vote.winner",)
    ),
    "Parquet times with a zone": Shape(
        "votes.parquet",
        parquet(pd.DataFrame(records()).assign(
            tstamp=pd.date_range("2024-01-01", periods=12, tz="Asia/Tokyo"))),
        says=("seconds since 1970",),
    ),
    "zip of one file": Shape("votes.zip", zipped(votes_csv=table()), says=("zip of votes.zip",)),
    **{name: Shape(name, pack(table().encode()), says=("CSV",)) for name, pack in PACKED.items()},
}  # fmt: skip

ENCODED = {
    "cp1252": "Modèle Été", "gb18030": "通义千问大模型", "big5": "聯發科技模型",
    "shift_jis": "日本語モデル", "euc_kr": "한국어모델", "cp1251": "ГигаЧат",
}  # fmt: skip

REMEDIED = {
    "0 and 1": Shape(
        "votes.csv", table([r for r in relabel({A: "1", B: "0"}) if r[2] in "01"]),
        tally([r for r in VOTES if r[2] in (A, B)]), refused='"1" (6 rows), "0" (3 rows)',
    ),
    "1, 2 and 0": Shape(
        "votes.csv", digits("1", "2", "0", "0"), tally(merged()), refused="no known outcome"
    ),
    "1, 2 and 1.5": Shape(
        "votes.csv", digits("1", "2", "1.5", "1.5"), tally(merged()), refused="no known outcome"
    ),
    "1, 0 and 0.5": Shape(
        "votes.csv", digits("1", "0", "0.5", "0.5"), tally(merged()), refused="no known outcome"
    ),
    "floats 1.0 and 2.0 in Parquet": Shape(
        "votes.parquet",
        parquet(pd.DataFrame(records(relabel({A: "1", B: "2", TIE: "0", BAD: "0"}))).astype(
            {"winner": float})),
        tally(merged()), refused="no known outcome",
    ),
    "true and false": Shape(
        "votes.csv", table([r for r in relabel({A: "True", B: "False"}) if len(r[2]) < 6 and
                            r[2] != TIE]),
        tally([r for r in VOTES if r[2] in (A, B)]), refused='"True"',
    ),
    "words that only a person knows": Shape(
        "votes.csv", table(relabel({TIE: "a tie, I'd say", BAD: "both very bad"})),
        refused="both very bad",
    ),
    "missing labels": Shape(
        "votes.csv", table([*VOTES, ("alpha", "beta", "")]), refused="nothing (1 row)"
    ),
    "several flags in a row": Shape(
        "train.csv",
        table([*flags(), (99, "alpha", "beta", 1, 1, 0), (98, "alpha", "beta", 0, 0, 0)],
              ("id", "model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie")),
        tally(merged()), refused='"several flags" (1 row)',
    ),
    "a label that is a model's name": Shape(
        "votes.csv", table(names_of_winners(rename({"alpha": "A", "beta": "B"}))),
        tally(rename({"alpha": "A", "beta": "B"})), refused="both an outcome and the name",
    ),
    "no header": Shape("votes.csv", table(header=None), refused="first line is no header"),
    "strange names of columns": Shape(
        "votes.csv", table(header=("model_a", "model_b", "urteil")),
        refused="no column for outcome", fill={"outcome=NAME": "outcome=urteil"},
    ),
    "two columns of one name": Shape(
        "votes.csv", table([(a, b, "tie", o) for a, b, o in VOTES], (*HEADER, "winner")),
        refused='2 different columns are named "winner"',
    ),
    "counts by another name": Shape(
        "votes.csv", table([(*row, 1) for row in VOTES], (*HEADER, "count of votes")),
    ),
    "another separator": Shape(
        "votes.txt", table(delimiter=":"), refused="no separator", fill={"space": ":"}
    ),
    "spaces between": Shape(
        "votes.txt", table(rows=relabel({BAD: "both_bad"}), delimiter=" "),
        refused="no separator",
    ),
    "a torn line": Shape(
        "votes.csv", table(list(VOTES) * 20).rstrip("\n").rpartition(",")[0] + "\n",
        tally([*list(VOTES) * 19, *VOTES[:-1]]),
        refused="the line has 2 fields instead of 3",
    ),
    "a line with too many fields": Shape(
        "votes.csv", table([*list(VOTES) * 20, ("alpha", "beta", A, "more")]),
        tally(list(VOTES) * 20), refused="the line has 4 fields instead of 3",
    ),
    "a broken line of JSON": Shape(
        "votes.jsonl", lines(records(list(VOTES) * 20)) + '{"model_a": "al',
        tally(list(VOTES) * 20), refused="the line is not JSON",
    ),
    "a missing name": Shape(
        "votes.csv", table([*list(VOTES) * 20, ("", "beta", A)]), tally(list(VOTES) * 20),
        refused="model_a is missing",
    ),
    "a model against itself": Shape(
        "votes.csv", table([*list(VOTES) * 20, ("beta ", "beta", A)]), tally(list(VOTES) * 20),
        refused="a model against itself ('beta')",
    ),
}  # fmt: skip


def rank(*arguments: str) -> Result:
    done = CliRunner().invoke(app, ["rank", *arguments, "--interval", "sandwich"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def read_board(*arguments: str) -> Tally:
    done = rank(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    return {
        entry["model"]: (entry["wins"], entry["losses"], entry["ties"], entry["both_bad"])
        for entry in json.loads(done.stdout)["models"]
    }


def write(folder: Path, shape: Shape) -> str:
    path = folder / shape.file
    data = shape.data.encode() if isinstance(shape.data, str) else shape.data
    path.write_bytes(data)
    return str(path)


def follow(message: str, shape: Shape) -> list[str]:
    """The options that a message names, as a person would type them."""
    for placeholder, value in shape.fill.items():
        message = message.replace(placeholder, value)
    found = FLAG.findall(message)
    if shape.first:
        found = found[:1]
    return [word for flag in found for word in shlex.split(flag)]


@pytest.mark.parametrize("name", READ)
def test_a_file_gives_its_board_and_says_how_it_was_read(tmp_path: Path, name: str) -> None:
    shape = READ[name]
    path = write(tmp_path, shape)
    assert read_board(path) == shape.expected
    said = " ".join(rank(path).stdout.split())
    for words in shape.says:
        assert words in said


@pytest.mark.parametrize("name", [n for n, shape in REMEDIED.items() if shape.refused])
def test_a_file_is_refused_with_a_remedy_that_works(tmp_path: Path, name: str) -> None:
    shape = REMEDIED[name]
    path = write(tmp_path, shape)
    options: list[str] = []
    for _ in range(3):
        done = rank(path, *options)
        if done.exit_code == 0:
            break
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        if not options:
            assert shape.refused in done.stderr
        more = follow(done.stderr, shape)
        assert more, done.stderr
        options += more
    assert options
    assert read_board(path, *options) == shape.expected


@pytest.mark.parametrize("encoding", ENCODED)
def test_an_encoding_is_guessed_aloud_and_can_be_named(tmp_path: Path, encoding: str) -> None:
    rows = rename({"alpha": ENCODED[encoding]})
    path = write(tmp_path, Shape("votes.csv", table(rows).encode(encoding)))
    assert read_board(path, "--encoding", encoding) == tally(rows)
    said = " ".join(rank(path).stdout.split())
    assert "the encoding was guessed" in said
    (named,) = re.findall(r"--encoding (\w+);", said)
    assert read_board(path, "--encoding", named) == read_board(path)


@pytest.mark.parametrize("encoding", ["cp1252", "gb18030", "big5", "shift_jis", "euc_kr"])
def test_the_guess_is_right_where_there_is_enough_text(tmp_path: Path, encoding: str) -> None:
    rows = rename({"alpha": ENCODED[encoding]})
    path = write(tmp_path, Shape("votes.csv", table(rows).encode(encoding)))
    assert read_board(path) == tally(rows)


def test_a_damaged_byte_does_not_change_the_encoding(tmp_path: Path) -> None:
    rows = rename({"alpha": "模型一", "beta": "模型二"})
    data = table(rows).encode() + "模型一,gamma,".encode()[1:] + b"tie\n"
    path = write(tmp_path, Shape("votes.csv", data))
    said = rank(path).stdout
    assert "bytes are not UTF-8 and were replaced" in said
    assert read_board(path)["模型二"] == tally(rows)["模型二"]


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        ("votes.csv", b"", "the file is empty"),
        ("votes.csv", b"\n \n", "the file is empty"),
        ("votes.csv", b"model_a,model_b,winner\n", "there is no line of values"),
        ("votes.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "(.xls), which is not read. Save it as CSV"),
        ("votes.csv", b"<!DOCTYPE html><html>", "a web page. Download the file itself"),
        ("votes.csv", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        ("votes.pkl", b"\x80\x04\x95\x00", "a Python pickle, which is never read"),
        ("votes.zst", b"\x28\xb5\x2f\xfd\x00", "zstd, which is not read. Unpack it with unzstd"),
        ("votes.csv.gz", b"\x1f\x8b\x08\x00\x00", "damaged gzip data"),
        ("votes.parquet", b"PAR1\x00\x00", "damaged Parquet"),
        ("votes.parquet", b"model_a,model_b,winner\nx,y,tie\n", "this is not Parquet"),
        ("votes.jsonl", b"model_a,model_b\n", "this is not JSON: it begins with neither"),
        ("votes.json", b"[1, 2", "this is not JSON"),
        ("votes.json", b"[]", "the list is empty"),
        ("votes.json", b'{"a": [{"x": 1}], "b": [{"y": 1}]}', "several lists: a, b"),
        ("votes.csv", b'model_a,model_b,winner\nx,"y,tie\n', "a quote opens in row 0"),
        ("reactions.csv", b"refers_to_model,msg_index,liked,disliked\nx,0,1,0\n",
         "not a choice between two"),
        ("single.jsonl", b'{"model":"x","judge":["g","s"],"score":8,"judgment":"[[8]]"}\n',
         "the score of one answer"),
        ("votes.csv", b"model_a;model_b;winner;count\nx;y;a;1.000\ny;x;a;3\n",
         "a thousand or a fraction"),
        ("votes.csv", b'model_a,model_b,winner,weight\nx,y,a,"1,500"\n', "a thousand or a fract"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_no_table_of_votes_is_said(
    tmp_path: Path, file: str, data: bytes, words: str
) -> None:
    done = rank(write(tmp_path, Shape(file, data)))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_an_excel_workbook_is_read_once_it_is_saved_as_csv(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    said = rank(write(tmp_path, Shape("votes.xlsx", data.getvalue()))).stderr
    assert "an Excel workbook, which is not read. Save it as CSV (UTF-8)" in said
    saved = table(delimiter=";", lineterminator="\r\n").encode("utf-8-sig")
    assert read_board(write(tmp_path, Shape("votes.csv", saved))) == tally()


def test_a_folder_and_a_zip_name_the_files_in_them(tmp_path: Path) -> None:
    write(tmp_path, Shape("votes.csv", table()))
    said = rank(str(tmp_path)).stderr
    (named,) = re.findall(r"Name a file in it: ([^.]+\.csv)\.", said)
    assert read_board(str(tmp_path / named)) == tally()
    two = write(tmp_path, Shape("two.zip", zipped(one_csv=table(), two_csv=table(VOTES[:3]))))
    (first,) = re.findall(r"name one: ([^,]+),", rank(two).stderr)
    with zipfile.ZipFile(two) as archive:
        archive.extract(first, tmp_path)
    assert read_board(str(tmp_path / first)) == tally()


def test_standard_input_is_a_file_called_dash() -> None:
    done = CliRunner().invoke(
        app, ["rank", "-", "--interval", "sandwich", "--format", "json"], input=table()
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["input"]["file"] == "standard input"


def test_the_json_says_how_the_file_was_read(tmp_path: Path) -> None:
    path = write(tmp_path, Shape("votes.csv", table(delimiter=";", header=("A", "B", "Vote"))))
    done = rank(path, "--format", "json")
    found: dict[str, Any] = json.loads(done.stdout)["input"]
    assert found["kind"] == "text"
    assert found["separator"] == "semicolon"
    assert found["encoding"] == "ASCII"
    assert found["rows"] == 12
    assert found["columns"] == {"model_a": "A", "model_b": "B", "outcome": "Vote"}
    assert found["labels"][BAD] == {"outcome": BAD, "rows": 1}
    assert found["labels"][TIE] == {"outcome": TIE, "rows": 2}
    assert found["rejected"] == {}


def test_a_database_given_as_a_file_is_read_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    store = open_store(f"sqlite:///{path}")
    register(store, ("alpha", "beta"))
    cast_many(store, ("alpha", "beta"), 12)
    store.close()
    said = rank(str(path)).stderr
    assert "this is an SQLite database" in said
    (option,) = re.findall(r"arena rank (--database)", said)
    assert set(read_board(option, str(path))) == {"alpha", "beta"}


def test_weights_that_cannot_be_read_can_be_left_aside(tmp_path: Path) -> None:
    weighted = table([(*row, "1,500") for row in VOTES], (*HEADER, "weight"), quoting=1)
    path = write(tmp_path, Shape("votes.csv", weighted))
    (remedy,) = re.findall(r"--weights \w+", rank(path).stderr)
    assert read_board(path, *shlex.split(remedy)) == tally()


@pytest.mark.parametrize(
    ("columns", "note"),
    [((*HEADER, "n"), "--column count=n"), ((*HEADER, "result"), "--column outcome=result")],
)
def test_what_a_note_suggests_works_too(
    tmp_path: Path, columns: tuple[str, ...], note: str
) -> None:
    cells = {"n": 2, "result": "A"}
    path = write(tmp_path, Shape("votes.csv", table([(*r, cells[columns[3]]) for r in VOTES],
                                                    columns)))  # fmt: skip
    said = " ".join(rank(path).stdout.split())
    assert note in said
    board = read_board(path, *shlex.split(note))
    played = sum(sum(counts) for counts in board.values())
    assert played == sum(sum(counts) for counts in tally().values()) * (2 if "n" in columns else 1)
