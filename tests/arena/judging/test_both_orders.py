"""The same stored verdicts are classed alike by the command, the page, the report, the library."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest
from expert_steps import JUDGE, let_judge, vote_on_battles
from typer.testing import CliRunner

from arena.agreement.desk import AgreementDesk
from arena.cli import app
from arena.leaderboards.judges import rank_verdicts
from arena.leaderboards.recipe import Recipe
from arena.rules.battles import Outcome
from arena.settings import LeaderboardSettings
from arena.web.agreement.battles import render_battles
from arena.web.texts import load_texts
from ranking import Consistency, combine_verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from arena.store import Store

QUICK = Recipe.from_settings(LeaderboardSettings(replicates=100))
ORDERS = list(product([*Outcome, None], repeat=2))
EXPECTED = Counter(combine_verdicts(*pair).consistency for pair in ORDERS)


@pytest.fixture
def battles(store: Store) -> list[str]:
    """A battle for every pair of verdicts, each judged so in its two orders."""
    ids = vote_on_battles(store, [Outcome.MODEL_A] * len(ORDERS))
    let_judge(store, dict(zip(ids, ORDERS, strict=True)))
    return ids


def ask(store: Store, folder: Path, *command: str) -> str:
    """What a command prints of this record."""
    config = folder / "arena.toml"
    url = store.engine.url.render_as_string(hide_password=False)
    config.write_text(
        f"data_dir = {json.dumps(str(folder))}\n[database]\nurl = {json.dumps(url)}\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, [*command, "--config", str(config)])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_command_page_report_and_library_agree(
    store: Store, battles: list[str], tmp_path: Path
) -> None:
    shares = {how.value: EXPECTED[how] / len(ORDERS) for how in Consistency}

    # The judges' command.
    shown = json.loads(ask(store, tmp_path, "judge", "show", JUDGE, "--json"))["summary"]
    assert shown["consistency"] == {how.value: EXPECTED[how] for how in Consistency}
    assert shown["shares"] == pytest.approx(shares)
    (listed,) = json.loads(ask(store, tmp_path, "judge", "list", "--json"))
    assert listed["summary"] == shown

    # The report, computed by the library from the record, and as its command prints it.
    view = AgreementDesk(store).view()
    (audit,) = view.report.orders
    found = [audit.consistent, audit.first_biased, audit.second_biased, audit.unparsable]
    assert found == pytest.approx(list(shares.values()))
    report = json.loads(ask(store, tmp_path, "agreement", "--format", "json"))
    assert [report["orders"][0][name] for name in ("consistent", "first_biased")] == found[:2]

    # The record that boards are made from, and the page, battle by battle.
    stored = {one.battle_id: one for one in store.judge_verdicts.read()}
    said = {
        one.battle_id: next(words for words in one.said if words.kind == "judge")
        for one in view.verdicts
    }
    for battle_id, orders in zip(battles, ORDERS, strict=True):
        expected = combine_verdicts(*orders)
        for place in (stored[battle_id], said[battle_id]):
            assert (place.verdict, place.consistency) == expected, orders


def test_the_page_says_how_the_orders_differ(store: Store, battles: list[str]) -> None:
    """People chose A each time, so the page shows every battle whose orders were read otherwise."""
    desk, texts = AgreementDesk(store), load_texts("en")
    pages = "".join(
        render_battles(desk, desk.view(), texts, first="crowd", second="judge", page=page)
        for page in range(1, len(battles) + 1)
    )
    for how in (Consistency.FIRST_BIASED, Consistency.SECOND_BIASED):
        words = texts["agreement"][f"order_{how.replace('-', '_')}"]
        assert pages.count(words) == EXPECTED[how]


def test_what_could_not_be_read_is_on_no_board(store: Store) -> None:
    ids = vote_on_battles(store, [Outcome.MODEL_A] * 3)
    let_judge(store, {ids[0]: (None, None), ids[1]: (Outcome.MODEL_A, None)})
    assert rank_verdicts(store.judge_verdicts.read(), QUICK) is None


def test_a_board_counts_the_verdicts_that_could_be_read(store: Store, battles: list[str]) -> None:
    board = rank_verdicts(store.judge_verdicts.read(), QUICK)
    assert board is not None
    assert board.diagnostics["votes"] == len(battles) - EXPECTED[Consistency.UNPARSABLE]
