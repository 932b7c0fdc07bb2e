"""The battle page in detail: languages, hostile text, limits, keyboard, colours, small screens."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Literal

import pytest
from answers_on_record import HOSTILE
from playwright.sync_api import expect
from visitors import is_in_view

if TYPE_CHECKING:
    from conftest import Visit
    from serving_arena import RunningArena
    from visitors import BattleTab

pytestmark = pytest.mark.browser

FOCUSED = "document.activeElement"


def brightness(tab: BattleTab) -> float:
    """Of the page's ground, from 0 to 255."""
    level: float = tab.page.evaluate(
        "() => { const ground = [document.body, document.documentElement,"
        " document.querySelector('.gradio-container')].map(part =>"
        " getComputedStyle(part).backgroundColor.match(/[\\d.]+/g).map(Number))"
        ".find(color => color.length === 3 || color[3] > 0);"
        " return (ground[0] + ground[1] + ground[2]) / 3 }"
    )
    return level


@pytest.mark.parametrize(
    ("locale", "path", "lang", "words"),
    [
        ("zh-CN", "/zh/", "zh-Hans", "模型 A"),
        ("en-GB", "/en/", "en", "Model A"),
        ("fr-FR", "/en/", "en", "Model A"),
    ],
)
def test_the_browsers_language_chooses_the_page(
    visit: Visit, locale: str, path: str, lang: str, words: str
) -> None:
    tab = visit(locale=locale).open("/")
    assert tab.page.url.endswith(path)
    assert tab.page.locator("html").get_attribute("lang") == lang
    expect(tab.page.locator("h2.panel-title").first).to_have_text(words)


def test_the_language_switch_takes_the_battle_along(arena: RunningArena, visit: Visit) -> None:
    visitor = visit()
    tab = visitor.open()
    tab.ask("Speak slowly")
    expect(tab.answers("a")).to_contain_text("word1")
    battle = tab.battle_id
    tab.page.locator("#language-switch").click()
    tab.page.wait_for_url("**/zh/**")
    tab.expect_status("ready")
    assert tab.battle_id == battle
    assert tab.page.locator("html").get_attribute("lang") == "zh-Hans"
    tab.vote(3).click()
    names = tab.expect_reveal()
    tab.page.locator("#language-switch").click()
    tab.page.wait_for_url("**/en/**")
    assert tab.expect_reveal() == names
    attempts = arena.count("SELECT count(*) FROM responses WHERE battle_id = ?", battle)
    assert attempts == 2


def test_a_whole_visit_asks_nobody_but_the_arena(arena: RunningArena, visit: Visit) -> None:
    visitor = visit()
    tab = visitor.open("/")
    tab.page.locator("#surprise").click()
    expect(tab.prompt).not_to_have_value("")
    tab.prompt.press("Enter")
    tab.expect_status("ready")
    tab.battle("Use Markdown")
    tab.vote(1).click()
    tab.expect_reveal()
    tab.page.get_by_role("link", name="See the leaderboard").click()
    expect(tab.page.locator(".board-table")).to_be_visible()
    tab.page.locator("#language-switch").click()
    tab.page.wait_for_url("**/zh/leaderboard/**")
    expect(tab.page.locator(".board-table")).to_be_visible()
    assert len(visitor.requests) > 20
    assert visitor.foreign_requests == []
    answer = visitor.context.request.get(f"{arena.address}/en/")
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_hostile_text_is_shown_and_does_nothing(visit: Visit) -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        port = trap.getsockname()[1]
        visitor = visit()
        tab = visitor.open()
        tab.battle(f"{HOSTILE} ![picture](http://127.0.0.1:{port}/x.png)")
        tab.battle("Attack")
        expect(tab.page.locator("#panel-a .message.user").first).to_contain_text(
            "<script>window.__xss = 1</script>"
        )
        expect(tab.page.locator("#panel-a .message.user").first).to_contain_text("![picture]")
        tab.page.wait_for_timeout(500)
        with pytest.raises(BlockingIOError):
            trap.accept()
    assert tab.page.evaluate("window.__xss") is None
    for element in ("script", "iframe", "img[src='x']", "[onerror]", "a[href^=javascript]"):
        expect(tab.page.locator(f".message {element}")).to_have_count(0)


def test_a_hostile_answer_is_shown_and_does_nothing(visit: Visit) -> None:
    tab = visit().open()
    tab.battle("Attack")
    for side in "ab":
        for words in ("<script>window.__xss = 1</script>", "<b>bold</b>", 'onerror="window.__xss'):
            expect(tab.answers(side)).to_contain_text(words)
        expect(tab.answers(side)).to_contain_text("[click](javascript:window.__xss=3)")
    assert tab.page.evaluate("window.__xss") is None
    tab.expect_status("ready")


def test_a_prompt_of_200_kb_is_refused_in_words_and_kept(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    prompt = "many words " * 18_182
    before = arena.count("SELECT count(*) FROM battles")
    tab.prompt.fill(prompt)
    tab.prompt.press("Enter")
    expect(tab.notice).to_contain_text(f"{len(prompt)} characters")
    expect(tab.notice).to_contain_text("20000")
    expect(tab.notice).to_be_visible()
    assert tab.prompt.input_value() == prompt
    assert arena.count("SELECT count(*) FROM battles") == before
    tab.battle("A short one")
    expect(tab.notice).to_have_count(0)


@pytest.mark.parametrize("prompt", ["", "   \n "])
def test_an_empty_prompt_is_refused_in_words(visit: Visit, prompt: str) -> None:
    tab = visit().open()
    tab.prompt.fill(prompt)
    tab.prompt.press("Enter")
    expect(tab.notice).to_have_text("Please write a prompt first.")
    tab.expect_status("idle")


def test_nul_bytes_in_a_prompt_are_left_out(arena: RunningArena, visit: Visit) -> None:
    tab = visit().open()
    battle = tab.battle("Before\0after")
    assert arena.rows("SELECT prompt FROM turns WHERE battle_id = ?", battle) == [("Beforeafter",)]
    expect(tab.page.locator("#panel-a .message.user")).to_contain_text("Beforeafter")


def test_markdown_code_and_mathematics_are_rendered_on_both_sides(visit: Visit) -> None:
    tab = visit().open()
    tab.battle("Use Markdown")
    for side in "ab":
        answer = tab.answers(side)
        expect(answer.locator("h3")).to_have_text("A heading")
        expect(answer.locator("strong")).to_have_text("bold")
        expect(answer.locator("table td").first).to_have_text("1")
        expect(answer.locator("pre code")).to_contain_text("def increment")
        expect(answer.locator(".katex")).to_have_count(2)
        expect(answer.locator(".katex-display")).to_have_count(1)
        expect(answer).to_contain_text("a price of $5 or $6")
        expect(answer).not_to_contain_text("```")


def test_everything_can_be_done_by_keyboard_and_the_focus_is_seen(visit: Visit) -> None:
    tab = visit().open()
    expect(tab.prompt).to_be_focused()
    tab.page.keyboard.type("Hello")
    tab.page.keyboard.press("Tab")
    expect(tab.send).to_be_focused()
    tab.page.keyboard.press("Enter")
    tab.expect_status("ready")
    for number in range(1, 5):
        expect(tab.vote(number)).to_be_enabled()
    reached = walk(tab)
    names = ["vote-1", "vote-2", "vote-3", "vote-4", "send", "surprise", "regenerate", "new-battle"]
    assert [name for name in reached if name in names] == names
    assert {"language-switch", "theme-switch"} <= set(reached)
    tab.vote(2).focus()
    tab.page.keyboard.press("Space")
    tab.expect_reveal()


def walk(tab: BattleTab) -> list[str]:
    """The ids that Tab goes through from the top of the page, each with a visible focus."""
    tab.page.locator(".site-title").focus()
    reached = []
    for _ in range(40):
        tab.page.keyboard.press("Tab")
        name, ring = tab.page.evaluate(
            f"() => {{ const style = getComputedStyle({FOCUSED});"
            f" return [{FOCUSED}.id, {FOCUSED} === document.body || style.boxShadow !== 'none'"
            " || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2)] }"
        )
        assert ring, f"the focus on {name or 'an element'} cannot be seen"
        reached.append(name)
        if name == "new-battle":
            break
    return reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_or_dark_follows_the_system_until_the_switch_is_used(
    visit: Visit, scheme: Literal["light", "dark"]
) -> None:
    tab = visit(scheme=scheme).open()
    assert (brightness(tab) < 60) == (scheme == "dark")
    tab.page.locator("#theme-switch").click()
    tab.page.wait_for_function(
        f"document.body.classList.contains('dark') === {str(scheme == 'light').lower()}"
    )
    assert (brightness(tab) < 60) == (scheme == "light")
    tab.reload()
    tab.page.wait_for_function(
        f"document.body.classList.contains('dark') === {str(scheme == 'light').lower()}"
    )
    assert (brightness(tab) < 60) == (scheme == "light")


@pytest.mark.parametrize("prompt", ["Hello", "Write much", "Use Markdown"])
def test_both_answers_and_the_buttons_are_in_view_at_1280_by_800(visit: Visit, prompt: str) -> None:
    tab = visit().open()
    tab.battle(prompt)
    for part in (*tab.page.locator(".panel-column").all(), *tab.votes.all(), tab.prompt, tab.send):
        assert is_in_view(part)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("prompt", ["Hello", "Write much", "Use Markdown"])
def test_a_phone_stacks_the_panels_and_keeps_the_buttons_in_reach(
    visit: Visit, prompt: str
) -> None:
    tab = visit(phone=True).open()
    tab.battle(prompt)
    first, second = (box.bounding_box() for box in tab.page.locator(".panel-column").all())
    assert first is not None
    assert second is not None
    assert first["x"] == second["x"]
    assert first["y"] + first["height"] <= second["y"]
    for button in tab.votes.all():
        assert is_in_view(button)
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.page.evaluate("window.innerWidth") == 390
    check_that_nothing_lies_under_the_buttons(tab)
    tab.prompt.press("Enter")
    expect(tab.notice).to_be_visible()
    check_that_nothing_lies_under_the_buttons(tab)
    tab.vote(1).tap()
    tab.expect_reveal()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390


def check_that_nothing_lies_under_the_buttons(tab: BattleTab) -> None:
    tab.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert is_in_view(tab.vote(1))
    fixed = tab.page.locator("#state").bounding_box()
    last = tab.new.bounding_box()
    assert fixed is not None
    assert last is not None
    assert last["y"] + last["height"] <= fixed["y"]


def test_a_screen_reader_finds_names_for_everything(visit: Visit) -> None:
    tab = visit().open()
    tab.battle("Use Markdown")
    page = tab.page
    for name in ("Model A", "Model B"):
        expect(page.get_by_role("log", name=name, exact=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="Your prompt")).to_be_visible()
    said = page.get_by_role("status")
    expect(said.filter(has_text="Both answers are complete")).to_have_count(1)
    for name in ("A is better", "B is better", "Tie", "Both are bad", "Send", "Regenerate"):
        expect(page.get_by_role("button", name=name)).to_be_enabled()
    nameless = page.get_by_role("button").evaluate_all(
        "buttons => buttons.filter(button => button.checkVisibility() &&"
        " !(button.innerText.trim() || button.ariaLabel || button.title))"
        ".map(button => button.outerHTML)"
    )
    assert nameless == []
    tab.vote(1).click()
    tab.expect_reveal()
    expect(page.get_by_role("region", name="Who wrote what")).to_be_focused()
    expect(said.filter(has_text="Your vote is stored")).to_have_count(1)
