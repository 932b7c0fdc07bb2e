"""`arena agreement`: the same numbers as `ranking`, from files, in four formats."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from expert_steps import assign, invite, let_judge, vote_on_battles
from typer.testing import CliRunner, Result

import arena as package
from arena.cli import app
from arena.rules.battles import Outcome
from arena.store import open_store
from ranking import agreement_report, read_judgements

if TYPE_CHECKING:
    from pathlib import Path

FEW = ("--replicates", "50")
COLUMNS = ("item", "judge", "kind", "model_a", "model_b", "winner", "category", "length_a",
           "length_b", "seconds")  # fmt: skip
NAMES = ("Amber", "Birch [beta]", "Cedar|new")


def agreement(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(app, ["agreement", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def refusal(*arguments: str) -> str:
    done = agreement(*arguments, status=2)
    assert done.stdout == ""
    return done.stderr


def write(path: Path, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two experts and a crowd of twelve on sixty battles, a machine in both orders."""
    rng = np.random.default_rng(4)
    rows: list[tuple[Any, ...]] = []
    for i in range(60):
        one, other = NAMES[i % 3], NAMES[(i + 1) % 3]
        better = rng.integers(0, 2)
        about = (f"category {i % 2}", int(rng.integers(50, 90)), int(rng.integers(50, 90)))
        for kind, judge in (("expert", "e1"), ("expert", "e2"), ("crowd", f"c{i % 12}")):
            verdict = better if rng.random() < 0.8 else rng.integers(0, 4)
            label = ("model_a", "model_b", "tie", "tie (bothbad)")[verdict]
            rows.append((f"b{i}", judge, kind, one, other, label, *about, 30))
        label = ("A", "B")[better] if i % 5 else "A"
        turned = ("B", "A")[better] if i % 5 else "unparsable" if i % 2 else "A"
        rows.append((f"b{i}", "Amber", "machine", one, other, label, *about, 2))
        rows.append((f"b{i}", "Amber", "machine", other, one, turned, *about, 2))
    return write(tmp_path / "judgements.csv", COLUMNS, rows)


ORDERS = ("--both-orders", "machine")


def test_json_is_what_ranking_says(file: Path) -> None:
    done = agreement(
        str(file), *FEW, *ORDERS, "--by", "category", "--by", "pair", "--seed", "3",
        "--level", "0.9", "--format", "json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    table = read_judgements(file, groups=["category"], both_orders=["machine"])
    report = agreement_report(table, by=["category", "pair"], replicates=50, seed=3, level=0.9)
    expected = json.loads(json.dumps(report.to_dict()))
    assert found["method"].pop("code_version") == package.__version__
    origin = found["method"].pop("input")
    assert origin["file"] == "judgements.csv"
    assert origin["both_orders"] == ["machine"]
    assert origin["columns"]["outcome"] == "winner"
    assert origin["labels"]["unparsable"] == {"outcome": "unparsable", "rows": 6}
    assert found == expected
    assert {part["group"] for part in found["parts"]} == {"category", "pair"}
    assert found["orders"][0]["unparsable"] > 0


def test_csv_has_a_line_a_figure(file: Path) -> None:
    done = agreement(str(file), *FEW, *ORDERS, "--by", "category", "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {line["section"] for line in lines} == {
        "agreement", "rule", "judge", "part", "ceiling", "leaderboards", "orders", "verbosity",
        "self_preference",
    }  # fmt: skip
    loaded = json.loads(agreement(str(file), *FEW, *ORDERS, "--format", "json").stdout)
    for found in loaded["agreements"]:
        (line,) = [
            line
            for line in lines
            if line["section"] == "agreement" and line["figure"] == "without_ties"
            and (line["first"], line["second"]) == (found["first"], found["second"])
        ]  # fmt: skip
        assert float(line["value"]) == found["without_ties"]["value"]
        assert float(line["lower"]) == found["without_ties"]["lower"]
        assert int(line["n"]) == found["pairs_without_ties"]


def test_the_table_names_everything(file: Path) -> None:
    said = agreement(str(file), *FEW, *ORDERS, "--by", "pair").stdout
    assert "both bad counts as a tie; 95% intervals from 50 resamples." in said
    for title in ("Judges", "Agreement", "The same, each item alike", "Beyond chance",
                  "crowd (rows) and expert (columns)", "Ceilings", "Beside rules",
                  "Judges, each left out of the rest", "By pair", "Leaderboards",
                  "Place of the answers", "Longer answers", "Own family"):  # fmt: skip
        assert re.search(rf"^{re.escape(title)} *$", said, re.MULTILINE), title
    assert "Amber / Birch [beta]" in said
    assert "longer answer" in said
    assert re.search(r"│ crowd +│ expert +│ +120 │ +\d\d\.\d% \(\d\d\.\d–\d\d\.\d [ij]\)", said)
    assert "Rubber stamps" not in said


def test_of_a_crowd_only_those_who_agree_least_are_shown(tmp_path: Path) -> None:
    rows = [
        (f"b{i}", f"c{j:02d}", "crowd", "x", "y", "B" if j == 7 or i % 4 == j % 4 else "A")
        for i in range(20)
        for j in range(60)
    ]
    crowd = write(tmp_path / "crowd.csv", COLUMNS[:6], rows)
    said = agreement(str(crowd), *FEW).stdout
    lines = said.partition("Judges, each left out of the rest")[2].splitlines()
    judges = [line.split()[1] for line in lines if line.startswith("│ c")]
    assert len(judges) == 40
    assert judges[:2] == ["c07", "c07"]
    assert "Those who agree least; 80 more lines in JSON and CSV." in said


def test_markdown_is_a_file_by_its_suffix(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    done = agreement(str(file), *FEW, *ORDERS, "--by", "pair", "--output", str(target))
    assert done.stdout == f"Wrote {target}.\n"
    said = target.read_text(encoding="utf-8")
    assert said.startswith("# Agreement\n\n")
    assert "## Beyond chance\n\n| Judge | With | Cohen κ |" in said
    assert "Birch [beta] / Cedar\\|new" in said
    tables = re.findall(r"(?:^\|.*\|\n)+", said, re.MULTILINE)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_both_bad_may_be_a_category(file: Path) -> None:
    said = agreement(str(file), *FEW, *ORDERS, "--both-bad", "keep").stdout
    assert "both bad is a category of its own" in said
    assert "chance is 1/4" in said
    assert re.search(r"^│ both bad +│", said, re.MULTILINE)


def test_families_are_compared(file: Path) -> None:
    done = agreement(
        str(file), *FEW, *ORDERS, "--family", "Birch [beta]=Amber", "--family", "e1=Amber",
        "--format", "json",
    )  # fmt: skip
    found = json.loads(done.stdout)["self_preference"]
    assert {(line["judge"], line["family"]) for line in found} == {
        ("Amber", "Amber"), ("e1", "Amber"),
    }  # fmt: skip


def test_the_arms_of_a_study(tmp_path: Path) -> None:
    rows = [
        (f"b{i}", f"e{i % 2}", "expert", "x", "y", "B" if i % 3 else "A", arm, "A")
        for i in range(60)
        for arm in (("blind", "shown", "planted")[i % 3],)
    ]
    columns = ("item", "judge", "kind", "model_a", "model_b", "winner", "arm", "shown")
    study = write(tmp_path / "study.csv", columns, rows)
    said = agreement(str(study), *FEW, "--arms").stdout
    assert "20 judgements of 20 items (40 made after seeing a verdict are left out)" in said
    assert re.search(r"│ planted │ +20 │ +20 │ +0\.0% \(0\.0–16\.8 i\) │", said)
    found = json.loads(agreement(str(study), *FEW, "--arms", "--format", "json").stdout)
    assert [arm["arm"] for arm in found["arms"]] == ["shown", "planted"]
    assert "arms need the columns arm and shown" not in said
    without = agreement(str(study), *FEW, "--format", "json").stdout
    assert json.loads(without)["arms"] == []


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Settings of an arena where the crowd and a machine judged two of four battles of a study."""
    settings = tmp_path / "arena.toml"
    url = f"sqlite:///{tmp_path / 'arena.db'}"
    settings.write_text(f'[database]\nurl = "{url}"\n', encoding="utf-8")
    with contextlib.closing(open_store(url)) as store:
        battles = vote_on_battles(store, [Outcome.MODEL_A, Outcome.MODEL_B] * 2)
        ada = invite(store, "Ada")
        assign(store, [ada], battles=2, name="pilot")
        let_judge(store, dict.fromkeys(battles, (Outcome.MODEL_A, Outcome.MODEL_A)))
    return settings


def test_the_database_is_read_without_a_file(database: Path) -> None:
    found = json.loads(
        agreement("--config", str(database), *FEW, "--by", "pair", "--min-pairs", "1",
                  "--format", "json").stdout
    )  # fmt: skip
    (between,) = [a for a in found["agreements"] if {a["first"], a["second"]} == {"crowd", "judge"}]
    assert (between["pairs"], between["with_ties"]["value"]) == (4, 0.5)
    assert [kind["kind"] for kind in found["kinds"]] == ["crowd", "judge"]
    assert found["orders"][0]["consistent"] == 1
    assert found["parts"][0]["label"] == "Amber / Birch"
    assert found["method"]["input"]["database"].endswith("arena.db")
    alone = json.loads(
        agreement("--config", str(database), "--assignment", "pilot", *FEW,
                  "--format", "json").stdout
    )  # fmt: skip
    assert alone["method"]["items"] == 2
    assert alone["method"]["input"]["assignment"] == "pilot"


def test_what_a_database_cannot_do_is_refused(database: Path, tmp_path: Path) -> None:
    config = ("--config", str(database))
    assert '--assignment "none": nobody has judged a battle of it' in refusal(
        *config, "--assignment", "none"
    )
    assert "no group 'colour' to split by; there are pair, category, language." in refusal(
        *config, "--by", "colour"
    )
    assert refusal(*config, "--column", "item=id") == (
        "arena: --column means nothing for the database. Leave it out.\n"
    )
    assert refusal(str(tmp_path / "x.csv"), *config) == (
        "arena: --config means nothing for a file. Leave it out.\n"
    )
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    open_store(url).close()
    database.write_text(f'[database]\nurl = "{url}"\n', encoding="utf-8")
    assert "no battle has been judged by an expert or a judge yet" in refusal(*config)


def test_columns_may_be_named(tmp_path: Path) -> None:
    columns = ("question", "who", "role", "model_a", "model_b", "winner")
    rows = [("q1", "a", "crowd", "x", "y", "A"), ("q1", "b", "expert", "x", "y", "A")]
    odd = write(tmp_path / "odd.csv", columns, rows)
    assert refusal(str(odd)) == (
        f"arena: {odd}: no column for kind (looked for kind, voter_kind, judge_kind); the table "
        "has ['question', 'who', 'role', 'model_a', 'model_b', 'winner']. Name it with "
        "--column kind=NAME, or say of what kind all judges are with --kind expert (or crowd, "
        "judge, …).\n"
    )
    assert "Name it with --column item=NAME." in refusal(str(odd), "--kind", "expert")
    named = ("--column", "item=question", "--column", "judge=who", "--column", "kind=role")
    assert "Agreement" in agreement(str(odd), *named, *FEW).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--level", "95"), "--level 95 is not between 0 and 1. Write for example 0.95."),
        (("--family", "Amber"), '--family "Amber" is not NAME=VALUE. Write for example gpt-5-'),
        (("--column", "=x"), '--column "=x" is not ROLE=NAME with a role among winner, item, '),
        (("--output", "report.pdf"), 'nothing is known of ".pdf" files. Say which with --format'),
        (("--by", "colour", *ORDERS), "no column 'colour'; the table has ['item', "),
        (("--both-orders", "robot"), "no judge of kind 'robot'; there are crowd, expert, machine"),
        (("--arms", *ORDERS), "arms need the columns arm and shown."),
        ((), "both orders, say --both-orders machine"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(
    file: Path, arguments: tuple[str, ...], message: str
) -> None:
    said = refusal(str(file), *arguments)
    assert said.startswith("arena: ")
    assert message in said


def test_a_row_that_cannot_be_counted_is_named(tmp_path: Path) -> None:
    columns = ("item", "judge", "kind", "model_a", "model_b", "winner")
    bad = write(tmp_path / "bad.csv", columns, [("q1", "a", "crowd", "x", "y", "hm")])
    assert refusal(str(bad)) == (
        f'arena: {bad}: winner holds labels that are no known outcome: "hm" (1 row). Say what they '
        "mean, such as --outcome hm=skip (or model_a, model_b, tie, both_bad, skip for no "
        "verdict, name for a model's name).\n"
    )
    assert refusal(str(tmp_path / "none.csv")).endswith(
        "none.csv cannot be read (No such file or directory). Name another file.\n"
    )
    (tmp_path / "empty.csv").touch()
    assert "empty.csv: the file is empty." in refusal(str(tmp_path / "empty.csv"))


def test_judgements_of_different_battles_are_no_agreement(tmp_path: Path) -> None:
    rows = [("q1", "a", "crowd", "x", "y", "A"), ("q2", "b", "expert", "x", "y", "A")]
    apart = write(tmp_path / "apart.csv", COLUMNS[:6], rows)
    done = agreement(str(apart), *FEW)
    assert (
        done.stderr
        == "arena: no battle was judged by two individuals: there is nothing to compare\n"
    )
    assert "2 judgements of 2 items" in done.stdout
    assert "Beyond chance" not in done.stdout


def test_the_help_has_an_example() -> None:
    said = agreement("--help").stdout
    assert "arena agreement judgements.csv" in said
    assert "--both-orders" in said
