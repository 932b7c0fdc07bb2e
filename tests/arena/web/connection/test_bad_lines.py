"""Pages on bad lines: nothing is lost, nothing counts twice, nobody has to load a page again.

A selection of the table that `tests/benchmarks/connection.py` plays in full.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from bad_lines import (
    CUTS,
    EVENTS,
    HEARTBEAT_SECONDS,
    HURRIED,
    Visit,
    open_line,
    open_workers,
    play,
    port_of,
)
from misbehaving_proxy import Manner, MisbehavingProxy
from playwright.sync_api import expect
from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bad_lines import Line, Workers
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.browser

AWAY = "database away"
LINES = [cut for cut in CUTS if cut != AWAY]
SELECTION = [
    *(("send", "mid-answer", cut) for cut in LINES),
    *(("vote", "sending", cut) for cut in LINES),
    *((event, "first 60 ms", "reset") for event in EVENTS if event not in ("send", "vote")),
    ("send", "at rest", "offline"),
    ("verdict", "sending", "restarted"),
    ("take back", "sending", "other worker"),
]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_HEARTBEAT_INTERVAL", HEARTBEAT_SECONDS)
        with open_workers(tmp_path_factory.mktemp("lines") / "arena") as opened:
            yield opened


@pytest.fixture(scope="module")
def proxy(workers: Workers) -> Iterator[MisbehavingProxy]:
    with MisbehavingProxy(port_of(workers.first)) as running:
        yield running


@pytest.fixture
def line(browser: Browser, workers: Workers, proxy: MisbehavingProxy) -> Iterator[Line]:
    with open_line(browser, workers, proxy) as opened:
        yield opened


@pytest.mark.parametrize(("event", "moment", "cut"), SELECTION)
def test_what_is_cut_comes_back_by_itself_and_counts_once(
    line: Line, event: str, moment: str, cut: str
) -> None:
    play(line, event, moment, cut)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("event", "moment"),
    [
        ("vote", "sending"),
        ("send", "sending"),
        ("verdict", "sending"),
        ("cannot judge", "sending"),
        ("link", "sending"),
    ],
)
def test_while_the_database_is_away_what_was_shown_stays_and_pressing_again_works(
    browser: Browser, away: tuple[Workers, MisbehavingProxy], event: str, moment: str
) -> None:
    workers, database = away
    with (
        MisbehavingProxy(port_of(workers.first)) as proxy,
        open_line(browser, workers, proxy, database=database) as line,
    ):
        play(line, event, moment, AWAY)


@pytest.fixture(scope="module")
def away(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Workers, MisbehavingProxy]]:
    """An arena whose database can be taken away, and what stands before the database."""
    url = make_url(postgres_url)
    assert url.port is not None
    with MisbehavingProxy(url.port) as database, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_HEARTBEAT_INTERVAL", HEARTBEAT_SECONDS)
        behind = url.set(port=database.port).render_as_string(hide_password=False)
        folder = tmp_path_factory.mktemp("away") / "arena"
        with open_workers(folder, record=postgres_url, database=behind) as opened:
            yield opened, database


@pytest.mark.slow
def test_a_line_that_is_dead_for_over_a_minute_is_noticed_with_the_limits_of_the_product(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        open_workers(tmp_path / "arena") as workers,
        MisbehavingProxy(port_of(workers.first)) as proxy,
        open_line(browser, workers, proxy, limits={}) as line,
    ):
        page = line.context.new_page()
        page.goto(f"{proxy.address}/en/")
        page.locator("#prompt textarea").fill("Hello")
        page.locator("#prompt textarea").press("Enter")
        expect(page.locator("#panel-a")).to_contain_text("word2 ")
        page.evaluate("window.isSamePage = true")
        with proxy.behaving(Manner.SILENT):
            expect(page.locator("#connection")).to_contain_text("Connection lost", timeout=45_000)
            page.wait_for_timeout(65_000)
        expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")
        expect(page.locator("#connection")).to_contain_text("The connection is back.")
        assert page.evaluate("window.isSamePage")


def test_the_page_says_that_the_line_is_lost_and_when_it_is_back(line: Line) -> None:
    page = line.context.new_page()
    said: list[str] = []
    page.expose_function("heard", lambda words: said.append(words))
    page.goto(f"{line.proxy.address}/zh/")
    expect(page.locator("#prompt textarea")).to_be_editable()
    page.evaluate(
        "new MutationObserver(() => heard(document.querySelector('#connection').innerText))"
        ".observe(document.querySelector('#connection'), {childList: true, subtree: true})"
    )
    words = page.locator("#connection [role=status]")
    assert words.get_attribute("role") == "status"  # polite: read out when there is a pause
    with line.proxy.behaving(Manner.RESET):
        page.locator("#prompt textarea").fill("你好")
        page.locator("#prompt textarea").press("Enter")
        expect(words).to_have_text("连接已断开，正在重试……")
        expect(page.locator("#prompt textarea")).to_have_value("你好")
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")
    expect(words).to_have_text("")
    assert "连接已恢复。" in said


def test_focus_scroll_and_what_is_being_typed_stay_through_an_outage(line: Line) -> None:
    page = line.context.new_page()
    page.set_viewport_size({"width": 390, "height": 400})
    page.goto(f"{line.proxy.address}/en/")
    prompt = page.locator("#prompt textarea")
    prompt.fill("Hello")
    prompt.press("Enter")
    expect(page.locator("#panel-a")).to_contain_text("word2 ")
    prompt.click()
    prompt.press_sequentially("half a ")
    with line.proxy.behaving(Manner.RESET):
        expect(page.locator("#connection")).to_contain_text("Connection lost")
        prompt.press_sequentially("thought")
        middle = "(document.documentElement.scrollHeight - innerHeight) / 2"
        before = page.evaluate(f"() => {{ scrollTo(0, {middle}); return scrollY }}")
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")
    expect(prompt).to_have_value("half a thought")
    expect(prompt).to_be_focused()
    assert page.evaluate("window.scrollY") >= before > 0  # answers that grow push it down


def test_a_full_arena_is_no_lost_line(line: Line) -> None:
    page = line.context.new_page()
    page.goto(f"{line.proxy.address}/en/")
    prompt = page.locator("#prompt textarea")
    full = {"detail": "Queue is full. Max size is 5000 and size is 5000."}
    page.route("**/queue/join*", lambda route: route.fulfill(status=503, json=full))
    prompt.fill("Hello")
    prompt.press("Enter")
    expect(page.locator("#connection .notice")).to_contain_text("The arena is full at the moment")
    expect(page.locator("#connection")).to_have_attribute("data-losses", "0")
    page.unroute("**/queue/join*")
    expect(prompt).to_have_value("Hello")
    prompt.press("Enter")
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")


_PAGE = re.compile(r"/en/(\?|$)")


def test_a_page_of_another_edition_is_loaded_again_once_and_keeps_the_prompt(line: Line) -> None:
    page = line.context.new_page()
    loads: list[str] = []

    def give_old_page(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(
            response=answer, body=answer.text().replace('data-layout="', 'data-layout="0')
        )

    page.route(_PAGE, give_old_page)
    page.on("load", lambda loaded: loads.append(loaded.url))
    page.goto(f"{line.proxy.address}/en/")
    prompt = page.locator("#prompt textarea")
    prompt.fill("Hello")
    with page.expect_event("load"):
        prompt.press("Enter")
    expect(prompt).to_have_value("Hello")
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "idle")
    # As long as it gets old pages it waits instead of loading them over and over.
    prompt.press("Enter")
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    page.unroute(_PAGE)
    page.reload()
    expect(prompt).to_have_value("Hello")
    prompt.press("Enter")
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")
    assert len(loads) == 3


def test_a_page_whose_script_did_not_arrive_loads_itself_again(line: Line) -> None:
    page = line.context.new_page()
    page.route("**/assets/index-*.js", lambda route: route.fulfill(status=502), times=1)
    page.goto(f"{line.proxy.address}/en/")
    expect(page.locator("#prompt textarea")).to_be_editable()


def test_a_typed_comment_survives_a_reload_and_goes_with_its_verdict(line: Line) -> None:
    page = line.context.new_page()
    EVENTS["verdict"].prepare(Visit(line, page))
    comment, reason = page.locator("#comment"), page.locator('.expert-reasons [value="clarity"]')
    comment.fill("Half a thought")
    reason.check()
    page.reload()
    expect(comment).to_have_value("Half a thought")
    expect(reason).to_be_checked()
    page.locator("#vote-1").click()
    expect(page.locator(".expert-progress label")).to_contain_text("1 of 3")
    expect(comment).to_have_value("")
    page.reload()
    expect(page.locator(".expert-progress label")).to_contain_text("1 of 3")
    expect(comment).to_have_value("")


def test_a_typed_prompt_survives_a_reload_until_it_is_on_record(line: Line) -> None:
    page = line.context.new_page()
    page.goto(f"{line.proxy.address}/en/")
    prompt = page.locator("#prompt textarea")
    prompt.fill("Not sent yet")
    page.reload()
    expect(prompt).to_have_value("Not sent yet")
    prompt.press("Enter")
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")
    page.reload()
    expect(page.locator(".battle-status")).to_have_attribute("data-status", "ready")
    expect(prompt).to_have_value("")


ABORTING = """
  const fetchNow = window.fetch;
  window.fetch = async (...sent) => {
    const answer = await fetchNow(...sent);
    if (!(answer.headers.get("content-type") ?? "").startsWith("text/event-stream")) return answer;
    const reader = answer.body.getReader();
    const body = new ReadableStream({
      start: (own) => window.addEventListener("pagehide", () => {
        own.error(new DOMException("BodyStreamBuffer was aborted", "AbortError"));
      }),
      pull: async (own) => {
        const { done, value } = await reader.read();
        if (done) own.close();
        else own.enqueue(value);
      },
    });
    return new Response(body, { headers: answer.headers });
  };
"""


@pytest.mark.parametrize("body", ["as this browser ends it", "aborted"])
def test_leaving_in_the_middle_of_an_answer_leaves_no_word_in_the_console(
    line: Line, body: str
) -> None:
    page = line.context.new_page()
    if body == "aborted":  # as Chromium 150 does
        page.add_init_script(ABORTING)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{line.proxy.address}/en/")
    prompt = page.locator("#prompt textarea")
    prompt.fill("Hello")
    prompt.press("Enter")
    expect(page.locator("#panel-a")).to_contain_text("word2 ")
    page.reload()
    expect(page.locator("#panel-a")).to_contain_text("word4 ")
    page.goto("about:blank")
    assert said == []


def test_the_limits_of_the_tests_are_those_of_the_product_by_another_measure() -> None:
    """So that a wrong name in the tests does not leave the product's limit in force."""
    from arena.web.connection.head import connection_head
    from arena.web.texts import load_texts

    script = connection_head(load_texts("en"), layout="x")
    assert all(f"{name}: " in script for name in HURRIED)
