"""A battle in the browser: asking, going on, leaving, coming back, and voting exactly once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from conftest import Visit
    from serving_arena import RunningArena
    from visitors import BattleTab

pytestmark = pytest.mark.browser

ATTEMPTS = "SELECT side, attempt, status FROM responses WHERE battle_id = ? ORDER BY side, attempt"
OUTCOMES = "SELECT outcome FROM votes WHERE battle_id = ?"
STATUS = "SELECT status FROM battles WHERE id = ?"


def wait_for_words(tab: BattleTab, *, at_least: int = 20) -> None:
    """Until both sides have written something."""
    for side in "ab":
        tab.page.wait_for_function(
            "([side, length]) => (document.querySelector(`#panel-${side} .message.bot`)"
            "?.innerText ?? '').length >= length",
            arg=[side, at_least],
        )


def test_enter_sends_and_shift_enter_begins_a_line(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    tab.prompt.press_sequentially("One")
    tab.prompt.press("Shift+Enter")
    tab.prompt.press_sequentially("Two")
    expect(tab.prompt).to_have_value("One\nTwo")
    tab.expect_status("idle")
    tab.prompt.press("Enter")
    tab.expect_status("ready")
    asked = arena.rows("SELECT prompt FROM turns WHERE battle_id = ?", tab.battle_id)
    assert asked == [("One\nTwo",)]


def test_enter_pressed_twice_is_one_battle(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    before = arena.count("SELECT count(*) FROM battles")
    tab.prompt.fill("Hello")
    tab.prompt.evaluate(
        "box => { for (const again of [1, 2]) box.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: 'Enter', code: 'Enter', bubbles: true, cancelable: true})) }"
    )
    tab.send.evaluate("button => button.click()")
    tab.expect_status("ready")
    tab.page.wait_for_timeout(500)
    assert arena.count("SELECT count(*) FROM battles") == before + 1
    expect(tab.answers("a")).to_have_count(1)


def test_enter_that_confirms_an_input_methods_word_does_not_send(visit: Visit) -> None:
    tab = visit(locale="zh-CN").open("/zh/")
    tab.prompt.fill("ni hao")
    for how in ({"isComposing": True}, {"keyCode": 229}):
        tab.prompt.evaluate(
            "(box, how) => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter',"
            " code: 'Enter', bubbles: true, cancelable: true, ...how}))",
            how,
        )
    tab.page.wait_for_timeout(500)
    tab.expect_status("idle")
    expect(tab.prompt).to_have_value("ni hao")
    tab.prompt.press("Enter")
    tab.expect_status("ready")


def test_the_keys_1_to_4_vote_but_not_while_typing(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    given = []
    for key in "1234":
        battle = tab.battle()
        expect(tab.page.locator("#keys-hint")).to_be_visible()
        tab.page.keyboard.press("/")
        tab.page.keyboard.press(key)
        expect(tab.prompt).to_have_value(key)
        tab.page.locator("h2.panel-title").first.click()
        tab.page.keyboard.press(f"Control+{key}")
        assert arena.rows(OUTCOMES, battle) == []
        tab.page.keyboard.press(key)
        tab.expect_reveal()
        given += arena.rows(OUTCOMES, battle)
    assert given == [("model_a",), ("model_b",), ("tie",), ("tie (bothbad)",)]


def test_keys_do_nothing_before_both_answers_are_complete(
    arena: RunningArena, visit: Visit
) -> None:
    tab = visit().open()
    tab.ask("Speak slowly")
    wait_for_words(tab)
    for button in tab.votes.all():
        expect(button).to_be_disabled()
    tab.page.keyboard.press("1")
    tab.expect_status("ready")
    assert arena.rows(OUTCOMES, tab.battle_id) == []
    for button in tab.votes.all():
        expect(button).to_be_enabled()
    tab.page.keyboard.press("1")
    tab.expect_reveal()


def test_a_follow_up_goes_on_with_the_conversation(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    first = tab.battle("The capital of France?")
    assert tab.battle("And of Italy?") == first
    for side in "ab":
        expect(tab.answers(side)).to_have_count(2)
        expect(tab.answers(side).last).to_contain_text("Rome.")
    tab.vote(3).click()
    tab.expect_reveal()
    assert arena.count("SELECT count(*) FROM turns WHERE battle_id = ?", first) == 2
    assert tab.battle("Something new") != first
    for side in "ab":
        expect(tab.answers(side)).to_have_count(1)


def test_regenerating_keeps_the_first_answers_and_ends_with_the_vote(
    arena: RunningArena, visit: Visit
) -> None:
    visitor = visit()
    tab = visitor.open()
    battle = tab.battle()
    tab.regenerate.click()
    tab.expect_edition(4)
    tab.expect_status("ready")
    both = [(side, attempt, "complete") for side in "ab" for attempt in (0, 1)]
    assert arena.rows(ATTEMPTS, battle) == both
    texts = arena.rows("SELECT DISTINCT length(text) > 0 FROM responses WHERE battle_id=?", battle)
    assert texts == [(1,)]
    tab.vote(1).click()
    tab.expect_reveal()
    expect(tab.regenerate).to_be_disabled()
    assert "has been voted on" in visitor.forge("regenerate", "4", battle)
    assert arena.rows(ATTEMPTS, battle) == both


def test_a_new_battle_asks_only_if_something_unvoted_would_be_lost(
    arena: RunningArena, visit: Visit
) -> None:
    visitor = visit()
    tab = visitor.open()
    expect(tab.new).to_be_disabled()
    battle = tab.battle()
    tab.new.click()
    assert len(visitor.dialogs) == 1
    tab.expect_status("ready")
    assert tab.battle_id == battle
    visitor.agrees = True
    tab.new.click()
    tab.expect_status("idle")
    assert "battle=" not in tab.page.url
    assert len(visitor.dialogs) == 2
    tab.battle()
    tab.vote(4).click()
    tab.expect_reveal()
    tab.new.click()
    tab.expect_status("idle")
    assert len(visitor.dialogs) == 2
    expect(tab.names).to_have_count(0)
    expect(tab.prompt).to_be_focused()


def test_a_new_battle_stops_the_answers_of_the_old_one(arena: RunningArena, visit: Visit) -> None:
    visitor = visit()
    visitor.agrees = True
    tab = visitor.open()
    tab.ask("Speak slowly")
    wait_for_words(tab)
    battle = tab.battle_id
    tab.new.click()
    tab.expect_status("idle")
    assert arena.rows(STATUS, battle) == [("abandoned",)]
    assert arena.rows(ATTEMPTS, battle) == [("a", 0, "cancelled"), ("b", 0, "cancelled")]
    tab.battle()
    for side in "ab":
        expect(tab.answers(side)).to_have_count(1)


def test_a_reload_in_the_middle_goes_on_where_it_was(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    tab.ask("Speak slowly")
    wait_for_words(tab)
    battle = tab.battle_id
    tab.reload()
    tab.expect_status("answering", "ready")  # ready where the reload took seconds
    assert tab.battle_id == battle
    tab.expect_status("ready")
    for side in "ab":
        expect(tab.answers(side)).to_contain_text("word38 word39")
    assert arena.rows(ATTEMPTS, battle) == [("a", 0, "complete"), ("b", 0, "complete")]


def test_a_reload_brings_back_the_ready_battle_and_then_the_reveal(
    arena: RunningArena, visit: Visit
) -> None:
    tab = visit().open()
    battle = tab.battle()
    tab.reload()
    tab.expect_status("ready")
    assert tab.battle_id == battle
    expect(tab.names).to_have_count(0)
    tab.vote(2).click()
    names = tab.expect_reveal()
    assert sorted(names) == ["Amber-7B", "Birch-9B"]
    tab.reload()
    assert tab.expect_reveal() == names
    expect(tab.page.get_by_text("Your votes so far: 1")).to_be_visible()
    for button in tab.votes.all():
        expect(button).to_be_hidden()
    assert arena.rows(OUTCOMES, battle) == [("model_b",)]


@pytest.mark.parametrize("clicks", ["a double click", "two clicks at once", "click and key"])
def test_voting_twice_at_once_is_one_vote(arena: RunningArena, visit: Visit, clicks: str) -> None:
    tab = visit().open()
    battle = tab.battle()
    if clicks == "a double click":
        tab.vote(1).dblclick()
    elif clicks == "two clicks at once":
        tab.vote(1).evaluate("button => { button.click(); button.click() }")
    else:
        tab.vote(1).evaluate("button => button.focus()")
        tab.page.keyboard.press("Enter")
        tab.page.keyboard.press("1")
    tab.expect_reveal()
    tab.page.wait_for_timeout(300)
    assert arena.rows(OUTCOMES, battle) == [("model_a",)]


def test_two_tabs_that_vote_differently_are_one_vote(arena: RunningArena, visit: Visit) -> None:
    visitor = visit()
    first = visitor.open()
    battle = first.battle()
    second = visitor.open(f"/en/?battle={battle}")
    second.expect_status("ready")
    for tab, number in ((first, 1), (second, 2)):
        tab.vote(number).evaluate("button => setTimeout(() => button.click(), 100)")
    names = first.expect_reveal()
    assert second.expect_reveal() == names
    assert first.status.inner_text() == second.status.inner_text()
    ((outcome,),) = arena.rows(OUTCOMES, battle)
    said = {"model_a": "A is better", "model_b": "B is better"}[str(outcome)]
    expect(second.status).to_contain_text(said)


def test_a_tab_cannot_vote_on_answers_that_it_never_showed(
    arena: RunningArena, visit: Visit
) -> None:
    visitor = visit()
    tab = visitor.open()
    battle = tab.battle("Once more, please")
    other = visitor.open(f"/en/?battle={battle}")
    other.expect_status("ready")
    other.page.locator("#regenerate").click()
    other.expect_edition(4)
    other.expect_status("ready")
    tab.vote(1).click()
    expect(tab.page.locator(".notice")).to_contain_text("Another tab has asked for new answers")
    assert arena.rows(OUTCOMES, battle) == []
    tab.expect_status("ready")
    tab.vote(2).click()
    tab.expect_reveal()
    assert arena.rows(OUTCOMES, battle) == [("model_b",)]


def test_the_back_button_brings_no_second_vote(arena: RunningArena, visit: Visit) -> None:
    visitor = visit()
    tab = visitor.open()
    battle = tab.battle()
    leaderboard = tab.page.locator("nav").get_by_role("link", name="Leaderboard")
    leaderboard.click()
    tab.page.wait_for_url("**/leaderboard/**")
    tab.page.go_back()
    tab.expect_status("ready")
    stale = visitor.open(f"/en/?battle={battle}")
    stale.expect_status("ready")
    tab.vote(1).click()
    tab.expect_reveal()
    leaderboard.click()
    tab.page.wait_for_url("**/leaderboard/**")
    tab.page.go_back()
    tab.expect_reveal()
    stale.vote(2).click()
    stale.expect_reveal()
    expect(stale.status).to_contain_text("A is better")
    visitor.forge("vote-4", "2", battle)
    assert arena.rows(OUTCOMES, battle) == [("model_a",)]


def test_somebody_elses_battle_is_neither_shown_nor_voted_on(
    arena: RunningArena, visit: Visit
) -> None:
    owner = visit().open()
    battle = owner.battle("A private question")
    stranger = visit()
    tab = stranger.open(f"/en/?battle={battle}")
    tab.page.wait_for_timeout(1000)
    tab.expect_status("idle")
    expect(tab.page.get_by_text("A private question")).to_have_count(0)
    tab.page.keyboard.press("1")
    forged = [(event, "2", battle) for event in ("regenerate", "retry", "new-battle", "vote-1")]
    asked = [("send", "Mine now", turn, "", battle) for turn in "01"]
    for event, *data in (*forged, *asked):
        answer = stranger.forge(event, *data)
        assert "not yours or no longer exists" in answer
        assert "A private question" not in answer
    assert arena.rows(OUTCOMES, battle) == []
    assert arena.rows(STATUS, battle) == [("ready",)]
    assert arena.count("SELECT count(*) FROM turns WHERE battle_id = ?", battle) == 1
    owner.vote(1).click()
    owner.expect_reveal()


def test_a_page_that_leaves_stops_its_models_after_the_grace(
    arena: RunningArena, visit: Visit
) -> None:
    visitor = visit()
    tab = visitor.open()
    tab.ask("Speak for a minute")
    wait_for_words(tab)
    battle = tab.battle_id
    tab.page.close()
    assert arena.rows(STATUS, battle) == [("answering",)]
    deadline = time.monotonic() + 120
    while arena.rows(STATUS, battle) == [("answering",)] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert arena.rows(STATUS, battle) == [("abandoned",)]
    assert arena.rows(ATTEMPTS, battle) == [("a", 0, "cancelled"), ("b", 0, "cancelled")]
    left = visitor.open(f"/en/?battle={battle}")
    left.expect_status("abandoned")
    left.retry.click()
    left.expect_status("answering")
