"""The page opens what the record takes: every state of a battle, every button."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from battle_steps import LAST_TURNS, PAIRING, STATES, make
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena

from arena.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Visit
    from serving_arena import RunningArena
    from visitors import BattleTab, Visitor

    from arena.store import Store

pytestmark = pytest.mark.browser

BUTTONS = (*(f"vote-{number}" for number in range(1, 5)), "send", "regenerate", "retry")
# Where the vote is in, the button is gone; pressed by another tab, it gets the same reveal.
REPEATED = {("voted", button) for button in BUTTONS if button.startswith("vote-")}
# Asked for by another tab while the models answer, these show the answers that are under way.
UNDER_WAY = {("answering", "regenerate"), ("answering", "retry")}


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    """Two models that answer at once, in battles of at most two turns."""
    folder = tmp_path_factory.mktemp("brief")
    names = (PAIRING.model_a, PAIRING.model_b)
    models = [recorded_model(name, folder, answers={"*": "Because."}) for name in names]
    battles = {"max_turns": LAST_TURNS}
    with running_arena(models, data_dir=folder / "data", battles=battles) as served:
        yield served


@pytest.fixture
def record(brief: RunningArena) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{brief.data_dir}/arena.db")
    yield opened
    opened.close()


def open_buttons(tab: BattleTab) -> set[str]:
    """What can be pressed: in view, and not greyed out."""
    return {
        button
        for button in BUTTONS
        if tab.page.locator(f"#{button}").is_visible()
        and tab.page.locator(f"#{button}").is_enabled()
    }


def takes(
    visitor: Visitor, button: str, battle_id: str, *, turns: str = "0", edition: str = ""
) -> bool:
    """Whether the server does what the button asks for, whatever the page shows."""
    first = ["And then?", turns, ""] if button == "send" else [edition]
    values = [*first, battle_id]
    return 'class=\\"notice\\"' not in visitor.forge(button, *values)


@pytest.mark.parametrize("state", STATES)
def test_the_buttons_that_are_open_are_those_that_work(
    brief: RunningArena, record: Store, visit: Visit, state: str
) -> None:
    visitor = visit(brief)
    tab = visitor.open()
    own = tab.battle()
    ((voter_id,),) = brief.rows("SELECT voter_id FROM battles WHERE id = ?", own)
    shown = make(record, state, voter_id=str(voter_id))
    tab.page.goto(f"{brief.address}/en/?battle={shown}")
    expect(tab.status).to_have_attribute("data-battle", shown)
    expect(tab.new).to_be_enabled()
    opened = open_buttons(tab)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    assert open_buttons(tab) == opened
    known = {name: tab.status.get_attribute(f"data-{name}") or "" for name in ("turns", "edition")}
    for button in BUTTONS:
        if (state.split()[0], button) in UNDER_WAY:
            continue
        battle_id = make(record, state, voter_id=str(voter_id))
        is_taken = takes(visitor, button, battle_id, **known)
        is_repeated = (state.split()[0], button) in REPEATED
        assert is_taken == (button in opened or is_repeated), button


def test_before_the_first_prompt_only_a_prompt_can_be_sent(
    brief: RunningArena, visit: Visit
) -> None:
    visitor = visit(brief)
    tab = visitor.open()
    expect(tab.send).to_be_enabled()
    expect(tab.vote(1)).to_be_disabled()
    assert open_buttons(tab) == {"send"}
    for button in BUTTONS:
        assert takes(visitor, button, "") == (button == "send")


def test_the_last_turn_leaves_the_vote_and_no_prompt_to_be_refused(
    brief: RunningArena, visit: Visit
) -> None:
    tab = visit(brief).open()
    for _ in range(LAST_TURNS):
        expect(tab.prompt).to_be_visible()
        tab.battle()
    expect(tab.prompt).to_be_hidden()
    tab.vote(1).click()
    tab.expect_reveal()
    expect(tab.prompt).to_be_visible()
