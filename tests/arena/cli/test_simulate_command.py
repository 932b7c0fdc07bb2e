"""`arena simulate`: figures, files and refusals."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from arena.cli import app
from ranking import compute_leaderboard
from ranking.pairing.simulate import draw_strengths, simulate_votes

if TYPE_CHECKING:
    from pathlib import Path

QUICK = (
    "--models", "4", "--votes", "160", "--arenas", "2", "--processes", "1", "--refit-every", "10",
)  # fmt: skip
TWO = ("--policy", "uniform", "--policy", "uncertainty")


def simulate(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(app, ["simulate", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def simulate_json(*arguments: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(simulate(*arguments, "--format", "json").stdout)
    return loaded


def test_the_table_has_a_line_a_policy_and_says_how_it_was_made() -> None:
    text = simulate(*QUICK, "--newcomer", "50", "--resolved", "0.3").stdout
    for policy in ("uniform", "closest", "variance", "information", "uncertainty", "tempered"):
        assert re.search(rf"^│ *{policy} +│ +\d+\.\d%", text, re.MULTILINE)
    words = " ".join(text.split())
    assert (
        "2 arenas; 4 models and 160 votes each; normal, SD 0.61; refitted every 10 votes" in words
    )
    assert "newcomer" in words
    assert "Votes to" in words


def test_the_same_seed_gives_the_same_figures_and_the_study_is_on_record() -> None:
    one = simulate_json(*QUICK, *TWO, "--seed", "3", "--tie", "0.5", "--careless", "0.1")
    assert one == simulate_json(*QUICK, *TWO, "--seed", "3", "--tie", "0.5", "--careless", "0.1")
    assert one != simulate_json(*QUICK, *TWO, "--seed", "4", "--tie", "0.5", "--careless", "0.1")
    assert [result["policy"] for result in one["policies"]] == ["uniform", "uncertainty"]
    study = one["study"]
    assert (study["models"], study["votes"], study["arenas"], study["seed"]) == (4, 160, 2, 3)
    assert (study["tie"], study["careless"], study["refit_every"]) == (0.5, 0.1, 10)


def test_fans_are_kept_within_the_shares_asked_for() -> None:
    options = (*QUICK, "--policy", "uncertainty", "--fans", "0.3", "--favourite", "best")
    bounds = ("--largest-share", "0.51", "--least-share", "0.45")
    free, bound = (simulate_json(*options, *more)["policies"][0] for more in ((), bounds))
    assert free["largest_share"] > 0.52
    assert bound["largest_share"] <= 0.51 + 1e-8
    assert bound["least_share"] >= 0.45 - 1e-8


def test_it_plays_the_models_of_a_leaderboard(tmp_path: Path) -> None:
    board = compute_leaderboard(
        simulate_votes(draw_strengths(5, seed=1), 500, seed=2).count(), interval="sandwich"
    )
    path = tmp_path / "board.json"
    path.write_text(json.dumps(board.to_dict()), encoding="utf-8")
    quick = ("--votes", "100", "--arenas", "1", "--processes", "1", "--policy", "uniform")
    found = simulate_json(str(path), *quick)["study"]
    assert found["models"] == 5
    assert found["strengths"] == pytest.approx([entry.strength for entry in board.entries])
    table = tmp_path / "scores.csv"
    table.write_text("model,score\nAmber,1000\nBirch,1400\n", encoding="utf-8")
    assert simulate_json(str(table), *quick)["study"]["strengths"] == pytest.approx([0.0, 2.302585])


def test_files_are_written_whole(tmp_path: Path) -> None:
    output, plot = tmp_path / "saved.json", tmp_path / "courses.html"
    done = simulate(*QUICK, *TWO, "--output", str(output), "--plot", str(plot))
    assert done.stdout == f"Wrote {output}.\nWrote {plot}.\n"
    assert len(json.loads(output.read_text(encoding="utf-8"))["policies"]) == 2
    page = plot.read_text(encoding="utf-8")
    assert "share of pairs resolved" in page
    assert "uncertainty" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["courses.html", "saved.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--policy", "nearest"), '--policy "nearest" is unknown. There are: uniform, closest'),
        (("--exploration", "0"), "--exploration 0 is not above 0 and up to 1."),
        (("--fans", "1"), "fans must be a share in [0, 1), not 1.0."),
        (("--tie", "-1"), "tie must be 0 or more, not -1.0."),
        (("--models", "2", "--newcomer", "5"), "2 models: need 3 or more."),
        (("--largest-share", "0.3"), "the largest shares leave room for 1.2 of 2"),
        (("--least-share", "2"), "least share 2.0 of model 1: not in [0, 1)."),
        (("--column", "elo"), "--column elo names a column of a file. Name the file."),
        (("none.csv",), "none.csv cannot be read"),
        (("--output", "saved.doc"), '--output saved.doc: nothing is known of ".doc" files.'),
        (("--plot", "a.doc"), "--plot a.doc: end the name in .html, .png, .svg, .pdf."),
        (("--plot", "none/a.html"), "none/a.html cannot be written: there is no folder none."),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_value_and_a_remedy(
    arguments: tuple[str, ...], words: str
) -> None:
    done = simulate(*QUICK, *arguments, status=2)
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("model,elo\nAmber,1\n", 'no column "strength" or "score": there are model, elo'),
        ("model,strength\nAmber,1\nAmber,2\n", "row 2: model 'Amber' comes twice"),
        ("model,strength\nAmber,1\nBirch,x\n", "row 2: 'x' is no number"),
        ("", "the file is empty"),
        ('{"models": 3}', "no models"),
        ("[1, 2]", "a list of different things"),
        ("{", "no separator divides"),
    ],
)
def test_a_file_without_strengths_is_refused_by_row_and_value(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "strengths.csv"
    path.write_text(content, encoding="utf-8")
    assert words in simulate(str(path), "--votes", "10", status=2).stderr


def test_any_column_of_a_table_may_hold_the_strengths(tmp_path: Path) -> None:
    path = tmp_path / "fits.csv"
    path.write_text("model,bt\nAmber,0.5\nBirch,-0.5\nCedar,0\n", encoding="utf-8")
    study = simulate_json(str(path), "--column", "bt", *QUICK[2:], "--policy", "uniform")["study"]
    assert study["strengths"] == [0.5, -0.5, 0.0]
