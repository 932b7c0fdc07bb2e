"""What a visitor meets between prompt and vote: stop, surprise, impatience, small windows."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from visitors import PATIENCE, is_in_view

from arena.web.texts import LANGUAGES, load_texts

if TYPE_CHECKING:
    from conftest import Visit
    from playwright.sync_api import Browser
    from serving_arena import RunningArena

pytestmark = pytest.mark.browser

LONG = "Speak slowly"


def test_answers_can_be_stopped_and_asked_for_again(visit: Visit) -> None:
    tab = visit().open()
    stop = tab.page.locator("#stop")
    expect(stop).to_be_hidden()
    tab.ask(LONG)
    expect(tab.answers("a")).to_contain_text("word3")
    expect(stop).to_be_visible()
    stop.click()
    tab.expect_status("abandoned")
    expect(tab.note("a")).to_have_text("Stopped before it was complete.")
    expect(tab.answers("a")).to_contain_text("word3")
    expect(stop).to_be_hidden()
    tab.retry.click()
    tab.expect_status("ready")


def test_surprise_never_overwrites_what_was_typed(visit: Visit) -> None:
    tab = visit().open()
    surprise = tab.page.locator("#surprise")
    last = ""
    for _ in range(8):  # an idea may follow another, and is never the same again
        surprise.click()
        expect(tab.prompt).not_to_have_value(last)
        last = tab.prompt.input_value()
    tab.prompt.fill("My own words")
    surprise.click()
    expect(tab.page.locator("#told")).to_contain_text("Your own words are kept")
    assert tab.prompt.input_value() == "My own words"


def test_an_idea_that_arrives_late_leaves_what_was_typed_meanwhile(visit: Visit) -> None:
    tab = visit().open()

    def slowly(route: object) -> None:
        tab.prompt.evaluate(
            "box => { box.value = 'Typed meanwhile';"
            " box.dispatchEvent(new Event('input', { bubbles: true })); }"
        )
        route.continue_()  # type: ignore[attr-defined]

    tab.page.route("**/gradio_api/run/predict**", slowly)
    tab.page.route("**/gradio_api/queue/join**", slowly)
    with tab.page.expect_response(re.compile("run/predict|queue/join")) as answered:
        tab.page.locator("#surprise").click()
    assert answered.value.ok
    tab.page.wait_for_timeout(500)
    assert tab.prompt.input_value() == "Typed meanwhile"


def test_enter_while_models_answer_says_why_nothing_happens(
    arena: RunningArena, visit: Visit
) -> None:
    tab = visit().open()
    tab.ask(LONG)
    tab.expect_status("answering")
    tab.prompt.fill("More")
    tab.prompt.press("Enter")
    expect(tab.page.locator("#told")).to_contain_text("still answering")
    assert tab.prompt.input_value() == "More"
    tab.expect_status("ready")
    expect(tab.page.locator("#told")).to_have_count(0)
    assert arena.count("SELECT count(*) FROM turns WHERE battle_id = ?", tab.battle_id) == 1


@pytest.mark.parametrize(
    ("width", "height"), [(844, 390), (640, 400), (667, 375), (1280, 800), (390, 844)]
)
def test_the_vote_is_in_reach_in_every_window(visit: Visit, width: int, height: int) -> None:
    tab = visit().open()
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.battle("Hello")
    for number in (1, 2, 3, 4):
        assert is_in_view(tab.vote(number))
    assert tab.answers("a").evaluate("part => part.getBoundingClientRect().top < innerHeight - 90")
    for side in "ab":
        assert tab.page.locator(f"#panel-{side}").evaluate("part => part.clientHeight") >= 85
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_scripts_a_page_says_what_it_needs(
    browser: Browser, arena: RunningArena, language: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for path in ("", "leaderboard/"):
        page.goto(f"{arena.address}/{language}/{path}")
        told = page.locator(".no-script p")
        expect(told).to_be_visible()
        assert told.text_content() == load_texts(language)["site"]["no_script"]
    page.goto(f"{arena.address}/{language}/agreement/")  # works without
    expect(page.locator("noscript")).to_have_count(0)
    context.close()


def test_a_failure_is_told_in_the_pages_language_and_not_in_gradios(visit: Visit) -> None:
    visitor = visit(locale="zh-CN")
    tab = visitor.open("/zh/")
    tab.page.route("**/queue/join**", lambda route: route.fulfill(status=413, body="too large"))
    tab.prompt.fill("你好")
    tab.prompt.press("Enter")
    told = tab.page.locator("#told, .notice")
    expect(told.first).to_be_visible()
    assert not re.search("[A-Za-z]{4}", told.first.inner_text())
    assert tab.page.locator(".toast-body:visible").count() == 0
    assert tab.page.get_by_text("Error", exact=True).locator("visible=true").count() == 0
    visitor.complaints.clear()  # the browser's own word on the refused request


def test_the_newest_prompt_stands_at_the_top_while_its_answers_grow_and_after_a_reload(
    visit: Visit,
) -> None:
    tab = visit().open()
    tab.battle("Use Markdown")
    tab.ask(LONG)
    offset = (
        "log => { const turn = log.querySelector('.turn:last-child');"
        " return turn.getBoundingClientRect().top - log.getBoundingClientRect().top; }"
    )
    expect(tab.answers("a").nth(1)).to_contain_text("word3")
    for side in "ab":
        log = tab.page.locator(f"#panel-{side} [role=log]")
        assert 0 <= log.evaluate(offset) <= 14
        expect(log.locator(".turn:last-child .user")).to_have_text(LONG)
    tab.expect_status("ready")
    tab.reload()
    tab.expect_status("ready")
    expect(tab.page.locator("#panel-a .turn")).to_have_count(2)
    for side in "ab":
        log = tab.page.locator(f"#panel-{side} [role=log]")
        expect(log.locator(".katex-display")).to_be_attached()
        tab.page.wait_for_function(
            f"() => {{ const top = ({offset})(document.querySelector('#panel-{side} [role=log]'));"
            " return top >= 0 && top <= 14; }",
            timeout=PATIENCE,
        )


def test_a_vote_is_on_the_board_within_two_seconds(visit: Visit) -> None:
    visitor = visit()
    tab = visitor.open()
    tab.battle("Hello")
    tab.vote(1).click()
    tab.expect_reveal()
    began = time.monotonic()
    votes = int(visitor.arena.count("SELECT count(*) FROM votes"))
    tab.page.get_by_role("link", name="See the leaderboard").click()
    expect(tab.page.locator(".board-facts dd").first).to_have_text(f"{votes:,}")
    waited = time.monotonic() - began
    assert waited < 20  # on a machine however loaded; 1.2 seconds on a free one
