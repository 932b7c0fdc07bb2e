"""The page, its snapshot, `/leaderboard.json` and the commands say the same to the last digit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from board_votes import cast_many, cast_with_texts, register
from expert_steps import JUDGE, let_judge
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from typer.testing import CliRunner

from arena.cli import app
from arena.leaderboards.judges import JudgeBoardKeeper
from arena.leaderboards.keeper import LeaderboardKeeper
from arena.leaderboards.recipe import Recipe
from arena.leaderboards.style import FEATURES
from arena.rules.battles import Outcome
from arena.settings import LeaderboardSettings
from arena.store.tables import battles, responses
from arena.store.tally import Census
from arena.web.leaderboard.page import leaderboard_routes

if TYPE_CHECKING:
    from pathlib import Path

    from arena.store import Store

NAMES = ("Amber", "Birch", "Cedar", "Dune")
# None of them as it is unless set.
SETTINGS = LeaderboardSettings(replicates=150, level=0.9, min_category_votes=60)
STYLE = [word for name in FEATURES for word in ("--style", name)]
PARTS = ("models", "battles", "win_rates", "coefficients", "method", "diagnostics", "fragility")

Json = dict[str, Any]


def fill(store: Store) -> None:
    """Votes of three categories and of none, with and without texts; a judge's verdicts."""
    register(store, NAMES)
    cast_with_texts(store, NAMES, 250, longer_wins=2.0, seed=1, category="coding")
    cast_with_texts(store, NAMES, 80, longer_wins=1.0, seed=2, category="math")
    cast_with_texts(store, NAMES, 50, longer_wins=1.0, seed=3, category="rare")
    cast_many(store, NAMES, 120, seed=4)
    with store.engine.begin() as connection:
        # Bold in some answers of one category alone: elsewhere there is no such difference.
        bold = select(battles.c.id).where(battles.c.category == "coding").limit(90)
        connection.execute(
            update(responses)
            .where(responses.c.battle_id.in_(bold), responses.c.side == "a")
            .values(text="**so** " + responses.c.text)
        )
        ids = connection.scalars(select(battles.c.id).order_by(battles.c.id).limit(140)).all()
    orders = [(outcome, outcome) for outcome in Outcome] + [(Outcome.MODEL_A, Outcome.MODEL_B)]
    let_judge(store, {battle: orders[i % len(orders)] for i, battle in enumerate(ids)})


def publish(store: Store) -> Json:
    """What a running arena answers at `/leaderboard.json`; it keeps the board in a snapshot."""
    keeper = LeaderboardKeeper(store, Census(store.votes), settings=SETTINGS, models=NAMES)
    for _ in range(10):  # texts are read some at a time
        keeper.refresh()
        board = keeper.latest()
        if board is not None and board.style is not None:
            break
    judged = JudgeBoardKeeper(store.judge_verdicts, Recipe.from_settings(SETTINGS))
    judged.refresh()
    arena = FastAPI()
    arena.include_router(leaderboard_routes(keeper, judged))
    answer: Json = TestClient(arena).get("/leaderboard.json").json()
    return answer


def call(*arguments: str) -> Json:
    done = CliRunner(env={"ARENA_DATABASE__URL": None}).invoke(app, arguments)
    assert done.exit_code == 0, done.output
    answer: Json = json.loads(done.stdout)
    return answer


def parts_of(board: Json) -> Json:
    return {name: board[name] for name in PARTS}


def by_category(found: Json) -> Json:
    return {
        part["label"]: {"votes": part["votes"], "board": part["board"]}
        for part in found["boards"]
        if part["board"] is not None
    }


def check(place: list[str], page: Json) -> None:
    """Every board of the page, asked for as a person would."""
    rank = ["rank", *place, "--format", "json"]
    assert parts_of(call(*rank)) == page["leaderboard"]
    assert by_category(call(*rank, "--by", "category")) == page["boards"]["category"]
    assert set(page["boards"]["category"]) == {"coding", "math"}
    styled = call(*rank, *STYLE, "--by", "category")
    assert parts_of(styled) == page["boards"]["style"]["overall"]["board"]
    assert [line["name"] for line in styled["coefficients"]] == ["length", "bold"]
    assert by_category(styled) == page["boards"]["style"]["category"]
    (judged,) = page["judges"]
    assert parts_of(call(*rank, "--judge", JUDGE)) == judged["board"]
    assert judged["board"]["method"]["cluster"] is True


def test_the_command_gives_the_pages_figures_to_the_last_digit(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    fill(store)
    page = publish(store)
    snapshot = store.snapshots.latest()
    assert snapshot is not None
    assert parts_of(snapshot.board) == page["leaderboard"]
    assert snapshot.board["boards"] == page["boards"]
    assert snapshot.settings == page["settings"]
    assert page["options"] == snapshot.settings["options"]
    assert (page["options"]["replicates"], page["options"]["level"]) == (150, 0.9)
    check(["--database", database_url], page)

    config = tmp_path / "arena.toml"
    config.write_text(
        f'[database]\nurl = "{database_url}"\n'
        "[leaderboard]\nreplicates = 150\nlevel = 0.9\nmin_category_votes = 60\n"
    )
    check(["--config", str(config)], page)
    shown = call("judge", "show", JUDGE, "--config", str(config), "--json")
    assert shown["board"] == page["judges"][0]["board"]


def test_a_data_directory_alone_has_the_recipe_of_its_latest_leaderboard(
    sqlite_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arena.store import open_store

    monkeypatch.chdir(tmp_path)  # where no arena.toml is
    store = open_store(sqlite_database)
    fill(store)
    page = publish(store)
    store.close()
    check(["--data-dir", str(tmp_path)], page)
    shown = call("judge", "show", JUDGE, "--data-dir", str(tmp_path), "--json")
    assert shown["board"] == page["judges"][0]["board"]


def test_what_is_asked_for_wins_over_the_recipe(store: Store, database_url: str) -> None:
    fill(store)
    page = publish(store)
    found = call("rank", "--database", database_url, "--prior", "3", "--format", "json")
    assert found["method"] == {
        **page["leaderboard"]["method"], "prior": 3.0, "prior_sd": 3.0,
        "simultaneous_multiplier": found["method"]["simultaneous_multiplier"],
    }  # fmt: skip
    assert found["models"] != page["leaderboard"]["models"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--judge", "Nobody"],
            f'has no readable verdict of a judge "Nobody". There are: {JUDGE}.',
        ),
        (["--judge", JUDGE, "--style", "length"], "--style is nothing that a judge's verdicts"),
        (["--judge", JUDGE, "--by", "week"], "--by is nothing that a judge's verdicts"),
        (["--judge", JUDGE, "--since", "2026-01-01"], "--since is nothing that a judge's"),
        (["--data-dir", "."], "--data-dir and --database name different votes."),
    ],
)
def test_what_does_not_go_together_is_refused(
    sqlite_database: str, arguments: list[str], message: str
) -> None:
    from arena.store import open_store

    store = open_store(sqlite_database)
    fill(store)
    store.close()
    done = CliRunner().invoke(app, ["rank", "--database", sqlite_database, *arguments])
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_judge_of_a_file_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["rank", str(tmp_path / "votes.csv"), "--judge", "Gavel"])
    assert done.exit_code == 2
    assert "--judge reads an arena's database, and not a file." in done.stderr
