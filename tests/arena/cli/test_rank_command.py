"""`arena rank`: the same numbers as `ranking`, from files and from an arena's database."""

from __future__ import annotations

import contextlib
import csv
import html
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from board_votes import cast_many, register
from sqlalchemy import insert, select, update
from typer.testing import CliRunner, Result

import arena as package
from arena.cli import app
from arena.store import Store, open_store
from arena.store.tables import battles, responses, turns, voters, votes
from ranking import OUTCOMES, Comparisons, Leaderboard, Votes, compute_boards, compute_leaderboard
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.votes.style import compare_style

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("Amber", "Birch [beta]", "Cedar|new", "Dune <b>")
START = datetime(2026, 11, 1, tzinfo=UTC)
QUICK = ("--interval", "sandwich")


def rank(*arguments: str, status: int = 0) -> Result:
    done = CliRunner(env={"ARENA_DATABASE__URL": None}).invoke(app, ["rank", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def refusal(*arguments: str) -> str:
    done = rank(*arguments, status=2)
    assert done.stdout == ""
    return done.stderr


def rank_json(*arguments: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(rank(*arguments, "--format", "json").stdout)
    return loaded


def simulate() -> Votes:
    return simulate_votes(
        draw_strengths(4, seed=5),
        600,
        seed=6,
        tie=0.4,
        both_bad=0.3,
        voters=40,
        voter_spread=0.5,
        style={"length": 0.3},
        names=NAMES,
    )


@pytest.fixture(scope="module")
def simulated() -> Votes:
    return simulate()


@pytest.fixture
def file(tmp_path: Path, simulated: Votes) -> Path:
    """A file as public ones are, with everything that a vote may say."""
    assert simulated.voter is not None
    assert simulated.covariates is not None
    path = tmp_path / "votes.csv"
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(
            ["model_a", "model_b", "winner", "judge", "tstamp", "language",
             "length", "draw_probability"]
        )  # fmt: skip
        for i in range(len(simulated)):
            writer.writerow(
                [
                    NAMES[simulated.model_a[i]],
                    NAMES[simulated.model_b[i]],
                    OUTCOMES[simulated.outcome[i]],
                    simulated.voter.names[simulated.voter.codes[i]],
                    (START + timedelta(hours=i)).isoformat(),
                    "English" if i % 10 else "German",
                    simulated.covariates[i, 0],
                    [0.1, 0.2][i % 2],
                ]
            )
    return path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/arena.db")
    yield opened
    opened.close()


# From a file


def test_the_json_is_the_board_that_ranking_computes(file: Path, simulated: Votes) -> None:
    found = rank_json(str(file), "--seed", "7", "--replicates", "60")
    board = compute_leaderboard(simulated, replicates=60, seed=7)
    read = Leaderboard.from_dict(found)
    assert read.entries == board.entries
    assert list(found["models"][0])[:3] == ["model", "strength", "score"]
    assert found["method"] == board.method
    origin = found["input"]
    assert (origin["file"], origin["kind"], origin["rejected"]) == ("votes.csv", "CSV", {})
    assert origin["columns"]["outcome"] == "winner"
    assert {label: told["rows"] for label, told in origin["labels"].items()} == Counter(
        OUTCOMES[code] for code in simulated.outcome
    )
    assert found["code_version"] == package.__version__
    assert found["diagnostics"] == board.diagnostics


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--tie-model", "davidson"], {"tie_model": "davidson"}),
        (["--tie-model", "rao-kupper", "--level", "0.9"],
         {"tie_model": "rao-kupper", "level": 0.9}),
        (["--cluster", "voter"], {"cluster": True}),
        (["--weights", "design"], {"weights": "design"}),
        (["--style", "length"], {"adjust": True}),
        (["--prior", "none", "--both-bad", "drop"], {"prior": None, "both_bad": "drop"}),
        (["--both-bad", "keep"], {"both_bad": "keep"}),
        (["--anchor", "Birch [beta]=1200", "--prior", "1.5"],
         {"anchor": ("Birch [beta]", 1200.0), "prior": 1.5}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_every_option_reaches_the_fit(
    file: Path, simulated: Votes, arguments: list[str], options: dict[str, Any]
) -> None:
    known = replace(simulated, draw_probability=np.tile([0.1, 0.2], 300))
    found = Leaderboard.from_dict(rank_json(str(file), *QUICK, *arguments))
    board = compute_leaderboard(known, interval="sandwich", **options)
    assert [entry.model for entry in found.entries] == list(board.models)
    for mine, theirs in zip(found.entries, board.entries, strict=True):
        assert (mine.score, mine.lower) == pytest.approx((theirs.score, theirs.lower), abs=1e-6)
    assert len(found.coefficients) == len(board.coefficients)
    plain = compute_leaderboard(simulated.count(), interval="sandwich")
    assert found.entries != plain.entries


def test_a_pivot_interval_is_that_of_ranking(file: Path, simulated: Votes) -> None:
    found = rank_json(str(file), "--replicates", "50", "--interval", "pivot")
    board = compute_leaderboard(simulated, replicates=50, interval="pivot")
    assert Leaderboard.from_dict(found).entries == board.entries
    plain = compute_leaderboard(simulated, replicates=50)
    assert board.entries[0].upper != plain.entries[0].upper


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--both-bad", "keep"], "; both-bad votes have no say in the scores\n"),
        (["--both-bad", "drop"], "; {bad} both-bad votes left out\n"),
        (["--weights", "design"], "; design weights, worth 540 votes\n"),
        (["--anchor", "Amber=1000"], "; Amber at 1000\n"),
        (["--prior", "none"], "; no prior\n"),
        (["--interval", "pivot", "--replicates", "20", "--cluster", "voter"],
         "; 95% pivot intervals from 20 resamples of voters; "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_the_caption_says_how_the_board_was_made(
    file: Path, simulated: Votes, arguments: list[str], words: str
) -> None:
    bad = int((simulated.outcome == 3).sum())
    assert words.format(bad=bad) in rank(str(file), *QUICK, *arguments).stdout


def test_one_voter_is_not_compared_with_himself(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    lines = [
        f"x,y,{'model_a' if i % 3 else 'model_b'},v{i % 9 * (i % 2)},{i % 2}" for i in range(300)
    ]
    path.write_text("\n".join(["model_a,model_b,winner,judge,turn", *lines]))
    done = rank(str(path), *QUICK, "--cluster", "voter", "--by", "turn")
    assert done.stderr == (
        "arena: no board for turn 0: one person cast (nearly) all its votes, "
        "which leaves --cluster voter nothing to compare\n"
    )
    path.write_text("\n".join(["model_a,model_b,winner,judge,turn", *lines[::2]]))
    assert refusal(str(path), *QUICK, "--cluster", "voter") == (
        f"arena: {path}: one voter cast all votes, so how voters differ is unknown; "
        "do without clusters\n"
    )


def tell_voters(found: dict[str, Any]) -> dict[str, Any]:
    """Counts from a database do not know who voted: there the input says it."""
    known: dict[str, Any] = {**found["input"], **found["diagnostics"]}
    return known


@pytest.mark.parametrize("form", ["table", "md", "html"])
def test_ignored_voters_are_told(file: Path, store: Store, simulated: Votes, form: str) -> None:
    fill(store, simulated)
    told = "The intervals take the votes of one person for independent (40 voters), so "
    for source in ([str(file)], ["--database", f"{file.parent}/arena.db"]):
        assert told in rank(*source, *QUICK, "--format", form).stdout
        assert told in rank(*source, *QUICK, "--format", "csv").stderr
        found = tell_voters(rank_json(*source, *QUICK))
        assert (found["voters"], found["voters_ignored"]) == (40, True)
        heeded = (*source, *QUICK, "--cluster", "voter")
        assert told not in rank(*heeded, "--format", form).stdout
        found = tell_voters(rank_json(*heeded))
        assert (found["voters"], found["voters_ignored"]) == (40, False)


def test_boards_by_label_and_by_week_with_a_minimum_of_votes(file: Path, simulated: Votes) -> None:
    arguments = [str(file), *QUICK, "--by", "language", "--by", "week", "--min-votes", "100"]
    done = rank(*arguments, "--format", "json")
    found = json.loads(done.stdout)
    boards = {(part["group"], part["label"]): part for part in found["boards"]}
    assert boards["language", "German"]["votes"] == 60
    assert boards["language", "German"]["board"] is None
    english = simulated.select(np.arange(600) % 10 > 0)
    (expected, *_) = compute_boards(english, interval="sandwich")
    assert expected.board is not None
    read = Leaderboard.from_dict(boards["language", "English"]["board"])
    assert read.entries == expected.board.entries
    assert boards["week", "2026-W45"]["votes"] == 7 * 24
    assert len(found["models"]) == 4
    assert (
        "arena: no board for language German: 60 votes, fewer than --min-votes 100\n" in done.stderr
    )


def test_times_select_votes(file: Path, simulated: Votes) -> None:
    arguments = ["--since", "2026-11-05", "--until", "2026-11-10T01:00+01:00"]
    found = rank_json(str(file), *QUICK, *arguments)
    chosen = simulated.select(np.arange(4 * 24, 9 * 24))
    board = compute_leaderboard(chosen, interval="sandwich")
    assert Leaderboard.from_dict(found).entries == board.entries
    assert found["input"]["since"] == "2026-11-05T00:00:00+00:00"


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv.gz", ".parquet"])
def test_other_kinds_of_files_give_the_same_board(file: Path, suffix: str) -> None:
    import pandas as pd

    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    table, other = pd.read_csv(file), file.with_suffix(suffix)
    if suffix == ".parquet":
        table.to_parquet(other)
    elif suffix == ".csv.gz":
        table.to_csv(other, index=False)
    else:
        table.to_json(other, orient="records", lines=suffix == ".jsonl")
    assert (
        rank_json(str(other), *QUICK)["models"] == rank_json(str(file), *QUICK)["models"]
    )  # fmt: skip


def test_counts_per_pair_give_the_same_board(file: Path, simulated: Votes, tmp_path: Path) -> None:
    counts = simulated.count()
    lines = ["model_a,model_b,winner,count"]
    for a, b, outcome, count in zip(
        counts.model_a, counts.model_b, counts.outcome, counts.count, strict=True
    ):
        lines.append(f"{NAMES[a]},{NAMES[b]},{OUTCOMES[outcome]},{count}")
    path = tmp_path / "counts.csv"
    path.write_text("\n".join(lines))
    assert rank_json(str(path), *QUICK)["models"] == rank_json(str(file), *QUICK)["models"]
    assert refusal(str(path), "--cluster", "voter") == (
        f"arena: {path} holds counts, and --cluster needs single votes. Leave it out.\n"
    )


def test_columns_are_chosen_by_name(file: Path, tmp_path: Path) -> None:
    import pandas as pd

    other = tmp_path / "renamed.csv"
    names = {"model_a": "system_1", "model_b": "system_2", "winner": "better", "judge": "who"}
    pd.read_csv(file).rename(columns=names).to_csv(other, index=False)
    assert refusal(str(other)).endswith(" Name it with --column model_a=NAME.\n")
    roles = ("model_a=system_1", "model_b=system_2", "outcome=better", "voter=who")
    chosen = [word for role in roles for word in ("--column", role)]
    arguments = (*QUICK, "--cluster", "voter")
    assert (
        rank_json(str(other), *arguments, *chosen)["models"]
        == (rank_json(str(file), *arguments)["models"])
    )
    assert refusal("--database", "x.db", *chosen) == (
        "arena: --column speaks of a file, and there is no file. Leave it out.\n"
    )


# How it is written


class Cells(HTMLParser):
    """The texts of a page's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.is_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_cell = tag == "td"

    def handle_data(self, data: str) -> None:
        if self.is_cell:
            self.found.append(data)
        self.is_cell = False


def test_every_format_shows_every_model_under_its_own_name(file: Path) -> None:
    models = [line["model"] for line in rank_json(str(file), *QUICK)["models"]]
    table = rank(str(file), *QUICK).stdout
    lines = [line for line in table.splitlines() if line.startswith("│")]
    assert [line.split("│")[2].strip() for line in lines] == models
    assert "600 votes; 4 models; Bradley–Terry, ties as halves; 95% sandwich" in table
    markdown = rank(str(file), *QUICK, "--format", "md").stdout
    rows = [line for line in markdown.splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[1].replace("\\|", "|") for row in rows] == models
    page = Cells()
    page.feed(rank(str(file), *QUICK, "--format", "html").stdout)
    assert page.found[1::8] == models
    text = rank(str(file), *QUICK, "--format", "csv", "--by", "language").stdout
    read = list(csv.DictReader(io.StringIO(text)))
    assert [line["model"] for line in read if line["group"] == "overall"] == models
    assert {line["label"] for line in read} == {"", "English"}


def test_the_table_tells_what_a_reader_should_know(tmp_path: Path) -> None:
    path = tmp_path / "islands.csv"
    path.write_text("model_a,model_b,winner\na,b,model_a\nc,d,tie\nc,d,model_b\n")
    table = rank(str(path), *QUICK).stdout
    assert "have not met" in table
    rows = [line for line in table.splitlines() if line.startswith("│")]
    assert [" ".join(row.split("│")[1].split()) for row in rows] == [
        "1 of 2 (group A)", "2 of 2 (group A)", "1 of 2 (group B)", "2 of 2 (group B)",
    ]  # fmt: skip
    assert [" ".join(row.split("│")[9].split()) for row in rows] == [
        "", "", "provisional", "provisional",
    ]  # fmt: skip


def test_a_side_that_won_every_battle_is_told(tmp_path: Path) -> None:
    """A file in which the right side won all of 1,000 battles had a board like any other."""
    path = tmp_path / "sides.csv"
    games = [f"{'abcd'[i % 4]},{'abcd'[(i + 1 + i // 4 % 3) % 4]},model_b" for i in range(1000)]
    path.write_text("\n".join(["model_a,model_b,winner", *games]) + "\n")
    for form in ("table", "md", "html"):
        told = " ".join(rank(str(path), *QUICK, "--format", form).stdout.split())
        assert "The right answer won every decisive battle" in told
    assert rank_json(str(path), *QUICK)["diagnostics"]["side_bias"]["is_one_sided"]
    refused = refusal(str(path), *QUICK, "--adjust-side")
    assert "the right side won every decisive battle" in refused
    assert "do not adjust for it" in refused


def test_a_side_that_wins_too_often_is_told_and_adjusted_for(tmp_path: Path) -> None:
    path = tmp_path / "sides.csv"
    games = [f"{'abc'[i % 3]},{'bca'[i % 3]},model_{'ab'[i % 10 > 6]}" for i in range(2000)]
    path.write_text("\n".join(["model_a,model_b,winner", *games]) + "\n")
    told = rank(str(path), *QUICK, "--format", "md").stdout
    assert "The left answer wins 70.0% of battles between equals (" in told
    assert "See --adjust-side." in told
    told = rank(str(path), *QUICK, "--adjust-side", "--format", "md").stdout
    assert "This is adjusted for." in told
    assert "left side: +0.8" in told


def test_a_group_that_won_all_games_against_another_is_told_without_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "tiers.csv"
    games = ["a,b,model_a", "a,b,model_b", "c,d,model_a", "c,d,model_b", "a,d,model_a"]
    path.write_text("\n".join(["model_a,model_b,winner", *games, "c,b,model_b"]) + "\n")
    told = rank(str(path), *QUICK, "--format", "md").stdout
    assert "Group A won all 2 games against group B" in told
    assert "1 of 2 (group B)" in told
    board = rank_json(str(path), *QUICK)
    assert board["diagnostics"]["one_sided"] == [{"winner": "A", "loser": "B", "games": 2}]
    lines = [(m["island_label"], m["island_size"], m["rank_upper"]) for m in board["models"]]
    assert lines == [("A", 2, 2), ("A", 2, 2), ("B", 2, 2), ("B", 2, 2)]


def test_coefficients_are_written_with_their_intervals(file: Path) -> None:
    table = rank(str(file), *QUICK, "--style", "length", "--tie-model", "davidson").stdout
    assert "length: +0." in table
    assert "log tie parameter: " in table


def test_a_file_is_written_whole_by_its_suffix(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "board.json"
    target.write_text("old")
    done = rank(str(file), *QUICK, "--output", str(target))
    assert done.stdout == f"Wrote {target}.\n"
    assert json.loads(target.read_text(encoding="utf-8")) == rank_json(str(file), *QUICK)
    assert {path.name for path in tmp_path.iterdir()} == {"votes.csv", "board.json"}
    plain = tmp_path / "plain"
    plain.touch()
    assert target.stat().st_mode == plain.stat().st_mode


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "board.csv"
    target.write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    said = refusal(str(file), *QUICK, "--output", str(target))
    assert said.endswith(
        f"arena: {target} cannot be written (No space left on device). "
        "Name another with --output.\n"
    )
    assert target.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"votes.csv", "board.csv"}


def test_a_process_prints_the_board_alone(file: Path) -> None:
    code = "from arena.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "rank", str(file), *QUICK, "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert len(json.loads(done.stdout)["models"]) == 4


def read_terminal(terminal: int) -> str:
    """All that is written to it until its other end is closed."""
    parts = []
    with os.fdopen(terminal, "rb", buffering=0) as stream, contextlib.suppress(OSError):
        while part := stream.read(4096):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_terminal_sees_progress_and_a_pipe_only_the_board(file: Path) -> None:
    import pty

    terminal, end = pty.openpty()
    code = "from arena.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "rank", str(file), "--by", "week", "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        text=True,
    ) as process:
        os.close(end)
        assert process.stdout is not None
        seen = read_terminal(terminal)
        assert process.stdout.read().startswith("group,label,model,strength,score")
    assert "Reading the votes" in seen
    assert "Ranking 4 models" in seen
    # The work is shared out over the boards, and shown until all of it is done.
    shares = [int(share) for share in re.findall(r"(\d+)%", seen)]
    assert shares == sorted(shares)
    assert shares[-1] == 100


def test_a_page_of_its_own_has_the_plots_and_needs_no_other_file(
    file: Path, tmp_path: Path, chromium: str
) -> None:
    from playwright.sync_api import sync_playwright

    target = tmp_path / "board.html"
    rank(str(file), *QUICK, "--by", "language", "--output", str(target))
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url))
        page.goto(target.as_uri())
        page.wait_for_selector(".js-plotly-plot .main-svg")
        assert page.locator(".js-plotly-plot").count() == 8  # four plots of two boards
        ticks = page.locator(".js-plotly-plot").first.locator(".yaxislayer-above text")
        shown = {text.replace("\xa0", " ") for text in ticks.all_text_contents()}
        browser.close()
    assert shown == set(NAMES)
    assert problems == [target.as_uri()]


@pytest.mark.parametrize(
    ("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF-")]
)
def test_a_picture_is_drawn_by_its_suffix(
    file: Path, tmp_path: Path, chromium: str, form: str, start: bytes
) -> None:
    pytest.importorskip("kaleido")
    assert chromium
    target = tmp_path / f"board.{form}"
    done = rank(str(file), *QUICK, "--output", str(target))
    assert done.stdout == f"Wrote {target}.\n"
    drawn = target.read_bytes()
    assert drawn.startswith(start)
    assert len(drawn) > 2_000
    if form == "svg":
        texts = {
            html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\xa0", " ")
            for text in re.findall(r"<text[^>]*>(.*?)</text>", drawn.decode())
        }
        assert set(NAMES) <= texts
    assert {path.name for path in tmp_path.iterdir()} == {"votes.csv", target.name}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "png"], "a terminal shows no png. Name a file, such as --output board.png."),
        (["--format", "png", "--output", "board.svg"], "--output board.svg is not called .png."),
        (
            ["--by", "language", "--output", "board.pdf"],
            "a picture holds one board. Leave out --by",
        ),
    ],
)
def test_a_picture_that_cannot_be_is_refused_before_the_work(
    file: Path, arguments: list[str], words: str
) -> None:
    assert words in refusal(str(file), *arguments)


def test_without_kaleido_the_remedy_is_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranking.plots.find_spec", lambda _: None)
    target = tmp_path / "board.png"
    assert refusal(str(file), *QUICK, "--output", str(target)).endswith(
        f"arena: {target} cannot be drawn: .png files need kaleido: pip install kaleido.\n"
    )
    assert not target.exists()


# What is refused


def test_a_bad_row_is_named_with_its_value_and_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    good = "x,y,model_a\ny,x,model_b\nx,y,draw\n" * 200
    path.write_text(f"model_a,model_b,winner\n{good}x,x,tie\n,x,tie\n,y,tie\nx,y,?\n")
    message = refusal(str(path))
    assert message == (
        f'arena: {path}: winner holds labels that are no known outcome: "?" (1 row). Say what they '
        "mean, such as --outcome '?=skip' (or model_a, model_b, tie, both_bad, skip for no "
        "verdict, name for a model's name).\n"
    )
    message = refusal(str(path), "--outcome", "?=skip")
    assert message == (
        f"arena: {path}: row 600: a model against itself ('x'); also model_a is missing, 2 rows "
        "(rows are counted from 0, without a header). Correct them, or leave them out with "
        "--skip-bad-rows.\n"
    )
    done = rank(str(path), "--skip-bad-rows", *QUICK, "--format", "json")
    assert sorted(done.stderr.splitlines()) == [
        "arena: left out 1 row: a model against itself",
        "arena: left out 1 row: winner is unknown",
        "arena: left out 2 rows: model_a is missing",
    ]
    found = json.loads(done.stdout)
    assert found["diagnostics"]["votes"] == 600
    assert sum(found["input"]["rejected"].values()) == 4


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("votes.csv", "", "the file is empty"),
        ("votes.csv", "model_a,model_b,winner\n", "there is no line of values"),
        ("votes.csv", "one,two\n1,2\n", "no column for model_a"),
        ("votes.jsonl", "{not json", "this is not JSON"),
        ("votes.csv", "model_a,model_b,winner,weight\nx,y,tie,heavy\n", "'heavy'"),
    ],
)
def test_a_file_that_cannot_be_ranked_is_one_message(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    message = refusal(str(path))
    assert message.startswith("arena: ")
    assert message.count("\n") == 1
    assert name in message
    assert words in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "95"], "--level 95 is not between 0 and 1. Write for example 0.95."),
        (["--prior", "wide"],
         '--prior "wide" is no standard deviation > 0. Write for example 3, fitted or none.'),
        (["--prior", "0"], '--prior "0" is no standard deviation > 0. Write for example 3'),
        (["--anchor", "=1000"], '--anchor "=1000" is not NAME=SCORE.'),
        (["--anchor", "Amber=nan"], '--anchor "Amber=nan" is not NAME=SCORE.'),
        (["--anchor", "Amber"],
         '--anchor "Amber" is not NAME=SCORE. Write for example "My model=1000".'),
        (["--anchor", "Ambr=1000"],
         '--anchor: no model named "Ambr" has votes. Did you mean "Amber"?'),
        (["--since", "soon"],
         '--since "soon" is not a time. Write for example 2026-11-30 or 2026-11-30T18:00+01:00.'),
        (["--since", "2027-01-01"],
         "{file} has no vote since 2027-01-01T00:00:00+00:00. Choose another time."),
        (["--column", "winner=x"], '--column "winner=x" is not ROLE=NAME with a role among'),
        (["--column", "outcome=x"], "{file}: no column 'x' for outcome; the table has "),
        (["--by", "colour"], "{file}: no column 'colour'; the table has "),
        (["--style", "warmth"], "{file}: no column 'warmth'; the table has "),
        (["--database", "sqlite:///x"],
         "a file and --database name different votes. Give one of them."),
        (["--output", "board.xls"], '--output board.xls: nothing is known of ".xls" files. '),
        (["--output", "nowhere/board.csv"],
         "nowhere/board.csv cannot be written: there is no folder nowhere. Name another with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_wrong_option_is_named_with_the_remedy(
    file: Path, arguments: list[str], message: str
) -> None:
    found = refusal(str(file), *QUICK, *arguments)
    assert found.startswith("arena: " + message.format(file=file))
    assert found.count("\n") == 1


def test_without_a_prior_islands_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner\na,b,model_a\n")
    message = refusal(str(path), "--prior", "none")
    assert message.endswith("Leave out --prior none.\n")


# From a database


def without_voters(boards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counts from a database tell voters only of the whole."""
    for part in boards:
        for name in ("voters", "voters_ignored"):
            if part["board"] is not None:
                part["board"]["diagnostics"].pop(name, None)
    return boards


def fill(store: Store, simulated: Votes) -> None:
    """The simulated votes on record, an hour between each and the next."""
    register(store, NAMES)
    assert simulated.voter is not None
    codes = simulated.voter.codes.tolist()
    times = [START + timedelta(hours=i) for i in range(len(simulated))]
    with store.engine.begin() as connection:
        connection.execute(
            insert(voters),
            [{"id": n, "kind": "crowd", "created_at": START} for n in simulated.voter.names],
        )
        connection.execute(
            insert(battles),
            [
                {
                    "id": f"battle-{i}",
                    "voter_id": simulated.voter.names[codes[i]],
                    "model_a": NAMES[simulated.model_a[i]],
                    "model_b": NAMES[simulated.model_b[i]],
                    "policy": "uniform",
                    "policy_version": 1,
                    "probability": [0.1, 0.2][i % 2],
                    "candidates": 4,
                    "status": "voted",
                    "created_at": time,
                    "updated_at": time,
                }
                for i, time in enumerate(times)
            ],
        )
        connection.execute(
            insert(votes),
            [
                {
                    "battle_id": f"battle-{i}",
                    "voter_id": simulated.voter.names[codes[i]],
                    "outcome": OUTCOMES[simulated.outcome[i]],
                    "created_at": time,
                }
                for i, time in enumerate(times)
            ],
        )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--cluster", "voter"],
        ["--weights", "design"],
        ["--cluster", "voter", "--weights", "design", "--tie-model", "davidson"],
        ["--since", "2026-11-05", "--until", "2026-11-20"],
    ],
    ids=" ".join,
)
def test_a_database_gives_the_board_of_the_same_votes_in_a_file(
    store: Store, simulated: Votes, file: Path, tmp_path: Path, arguments: list[str]
) -> None:
    fill(store, simulated)
    path = str(tmp_path / "arena.db")
    here = rank_json("--database", path, *QUICK, *arguments)
    there = rank_json(str(file), *QUICK, *arguments)
    for mine, theirs in zip(here["models"], there["models"], strict=True):
        assert mine == pytest.approx(theirs)
    assert here["input"]["last_vote_id"] == 600
    assert here["input"]["database"] == f"sqlite:///{path}"


def test_a_database_splits_by_time(store: Store, simulated: Votes, file: Path) -> None:
    fill(store, simulated)
    arguments = (*QUICK, "--by", "week", "--by", "month")
    here = rank_json("--database", f"sqlite:///{file.parent}/arena.db", *arguments)
    there = rank_json(str(file), *arguments)
    assert len(here["boards"]) == 6
    assert without_voters(here["boards"]) == without_voters(there["boards"])
    message = refusal("--database", str(file.parent / "arena.db"), "--by", "colour")
    assert message == (
        'arena: --by "colour" is not on record in a database. There are: category, language, '
        "day, week, month, year; a file may have any column.\n"
    )


def test_a_database_splits_by_the_language_of_the_prompt(
    store: Store, simulated: Votes, file: Path
) -> None:
    fill(store, simulated)
    german = [f"battle-{i}" for i in range(0, 600, 10)]
    with store.engine.begin() as connection:
        connection.execute(update(battles).values(language="English"))
        connection.execute(
            update(battles).where(battles.c.id.in_(german)).values(language="German")
        )
    arguments = (*QUICK, "--by", "language", "--by", "category", "--min-votes", "50")
    path = str(file.parent / "arena.db")
    done = rank("--database", path, *arguments, "--format", "json")
    assert done.stderr == "arena: no board by category: no vote has one on record\n"
    here = json.loads(done.stdout)
    there = rank_json(str(file), *QUICK, "--by", "language", "--min-votes", "50")
    assert [part["label"] for part in here["boards"]] == ["English", "German"]
    assert without_voters(here["boards"]) == without_voters(there["boards"])


@pytest.mark.parametrize("in_tokens", [True, False])
def test_a_database_is_adjusted_for_the_style_of_its_answers(
    store: Store, simulated: Votes, file: Path, in_tokens: bool
) -> None:
    fill(store, simulated)
    random = np.random.default_rng(8)
    size = len(simulated)
    tokens = random.integers(3, 40, (2, size))
    bold = random.integers(0, 3, (2, size))
    rows = [
        {
            "battle_id": f"battle-{i}",
            "turn": 0,
            "side": side,
            "attempt": 0,
            "status": "complete",
            # Six characters a token, so that either measure says the same.
            "text": "**b** " * bold[s, i] + "x" * (6 * tokens[s, i] - 6 * bold[s, i]),
            "reasoning": "",
            "completion_tokens": int(tokens[s, i]) if in_tokens or i % 2 else None,
            "created_at": START,
        }
        for s, side in enumerate("ab")
        for i in range(size)
    ]
    asked = [
        {"battle_id": f"battle-{i}", "turn": 0, "prompt": "Why?", "created_at": START}
        for i in range(size)
    ]
    with store.engine.begin() as connection:
        connection.execute(insert(turns), asked)
        connection.execute(insert(responses), rows)
    arguments = [*QUICK, "--style", "length", "--style", "bold"]
    path = f"{file.parent}/arena.db"
    found = Leaderboard.from_dict(rank_json("--database", path, *arguments))
    amounts = [{"length": tokens[s], "bold": bold[s]} for s in (0, 1)]
    known = replace(
        simulated,
        covariates=np.stack(list(compare_style(*amounts).values()), axis=1),
        covariate_names=("length", "bold"),
    )
    board = compute_leaderboard(known, interval="sandwich", adjust=True)
    for mine, theirs in zip(found.entries, board.entries, strict=True):
        assert mine.model == theirs.model
        assert mine.score == pytest.approx(theirs.score)
    for here, there in zip(found.coefficients, board.coefficients, strict=True):
        assert here.name == there.name
        assert here.estimate == pytest.approx(there.estimate)
    message = refusal("--database", path, "--style", "warmth")
    assert message == (
        'arena: --style "warmth" is not measured in a database. There are: length, headers, '
        "bold, lists; a file may have any column.\n"
    )


def test_the_database_of_a_configured_arena(tmp_path: Path, store: Store) -> None:
    config = tmp_path / "arena.toml"
    config.write_text(f'data_dir = "{tmp_path}"\n')
    assert refusal("--config", str(config)) == (
        f"arena: sqlite:///{tmp_path}/arena.db has no vote that counts. Vote, then rank.\n"
    )
    register(store, NAMES)
    cast_many(store, NAMES, 50)
    with store.engine.begin() as connection:
        retracted = select(votes.c.id).limit(10)
        connection.execute(
            update(votes).where(votes.c.id.in_(retracted)).values(retracted_at=START)
        )
    assert refusal("--config", str(config), "--style", "length") == (
        f"arena: sqlite:///{tmp_path}/arena.db has votes, but none whose answers are on record, "
        "which --style needs. Leave it out.\n"
    )
    found = rank_json("--config", str(config), *QUICK)
    a, b, outcomes, counts = zip(*store.votes.by_outcome(), strict=True)
    board = compute_leaderboard(
        Comparisons.from_counts(a, b, outcomes, counts), interval="sandwich"
    )
    assert Leaderboard.from_dict(found).entries == board.entries
    assert found["diagnostics"]["votes"] == 40


def test_a_database_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    assert refusal("--database", str(path)) == (
        f"arena: there is no database {path} yet. Name one with --database, "
        "or let arena up make it.\n"
    )
    assert not path.exists()


@pytest.mark.postgres
def test_postgresql_gives_the_same_board(
    postgres_database: str, simulated: Votes, file: Path
) -> None:
    other = open_store(postgres_database)
    fill(other, simulated)
    other.close()
    arguments = (*QUICK, "--cluster", "voter", "--by", "week")
    here = rank_json("--database", postgres_database, *arguments)
    assert here["boards"] == rank_json(str(file), *arguments)["boards"]
