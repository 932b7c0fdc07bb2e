"""`arena pairs`: from a record and its settings to what would be drawn next."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from board_votes import cast_many, register
from typer.testing import CliRunner

from arena.cli import app
from arena.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

NAMES = ("Amber", "Birch", "Cedar", "Dune")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """An arena of four models and a retired one, with 600 votes on all but Dune."""
    store = open_store(f"sqlite:///{tmp_path}/arena.db")
    register(store, (*NAMES, "Gone"))
    cast_many(store, (*NAMES[:3], "Gone"), 600)
    store.close()
    path = tmp_path / "arena.toml"
    path.write_text(
        'data_dir = "."\n'
        + "".join(
            f'[[models]]\nname = "{name}"\nbackend = "recorded"\npath = "answers.jsonl"\n'
            for name in NAMES
        )
    )
    return path


def pairs(config: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["pairs", "--config", str(config), *options])


def test_the_table_names_the_newcomer(config: Path) -> None:
    done = pairs(config, "--top", "4")
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if "│" in line]
    assert len(lines) == 4
    assert sum("Dune, until 300 votes" in line for line in lines) == 3
    assert "Next pairs under tempered" in done.stdout
    assert "and 2 pairs less likely than these" in done.stdout


def test_where_nobody_is_new_the_table_has_no_column_for_it(config: Path) -> None:
    config.write_text(config.read_text().replace('"Dune"', '"Dune"\nenabled = false'))
    done = pairs(config)
    assert done.exit_code == 0, done.output
    assert "Amber" in done.stdout
    assert "Newcomer" not in done.stdout


def test_json_has_the_whole_distribution(config: Path) -> None:
    told = json.loads(pairs(config, "--format", "json").stdout)
    assert (told["policy"], told["pairs"]) == ("tempered", 6)
    assert sum(pair["probability"] for pair in told["prospects"]) == pytest.approx(1)
    votes = {pair["model_a"]: pair["votes_a"] for pair in told["prospects"]}
    votes |= {pair["model_b"]: pair["votes_b"] for pair in told["prospects"]}
    assert set(votes) == set(NAMES)  # the retired one is not drawn, but its votes count
    assert votes["Dune"] == 0
    assert votes["Amber"] > 250


def test_csv_has_a_line_a_pair_and_another_policy_draws_otherwise(config: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(pairs(config, "--format", "csv").stdout)))
    even = pairs(config, "--format", "csv", "--policy", "uniform").stdout
    assert len(rows) == 6
    for row in csv.DictReader(io.StringIO(even)):
        assert float(row["probability"]) == pytest.approx(1 / 6)
    assert len({row["probability"] for row in rows}) == 6


def test_rules_of_the_settings_are_kept(config: Path) -> None:
    config.write_text(
        config.read_text()
        + "[matchmaking.models.Dune]\nmax_share = 0.25\n[[matchmaking.pairs]]\n"
        + 'models = ["Amber", "Birch"]\nnever = true\n'
    )
    told = json.loads(pairs(config, "--format", "json").stdout)
    assert told["pairs"] == 5
    dune = [p for p in told["prospects"] if "Dune" in (p["model_a"], p["model_b"])]
    assert sum(pair["probability"] for pair in dune) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("addition", "options", "words"),
    [
        ("", ["--policy", "best"], '"best" is none of closest, information, '),
        (
            "".join(f"[matchmaking.models.{name}]\nmax_share = 0.1\n" for name in NAMES),
            [],
            "the rules under [matchmaking] contradict each other: the largest shares leave room",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    config: Path, addition: str, options: list[str], words: str
) -> None:
    config.write_text(config.read_text() + addition)
    done = pairs(config, *options)
    assert done.exit_code == 2
    assert words in done.stderr


def test_one_model_makes_no_pair(config: Path) -> None:
    config.write_text(config.read_text().replace('path = "', 'enabled = false\npath = "'))
    done = pairs(config)
    assert done.exit_code == 2
    assert "0 models are enabled, and a pair needs two" in done.stderr
