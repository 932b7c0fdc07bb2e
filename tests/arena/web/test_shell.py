"""What surrounds every page: cookie, headers, a head that names nobody else, no hold-up."""

from __future__ import annotations

import asyncio
import re
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING

import pytest
from page_client import PageClient
from starlette.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.testclient import TestClient

from arena.web.identity import COOKIE, VoterTokens
from arena.web.shell import PageShell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from serving_arena import RunningArena
    from starlette.types import Message, Receive, Scope, Send

TOKENS = VoterTokens("a secret of sixteen or more")
DOCUMENT = (
    '<!doctype html><html lang="en"><head><meta property="og:url" content="https://gradio.app/" />'
    '<meta name="twitter:creator" content="@Gradio" /><link rel="manifest" href="/manifest.json">'
    "</head><body class='x'><p>Hello</p></body></html>"
)


async def site(scope: Scope, receive: Receive, send: Send) -> None:
    """A small application in place of the arena's."""
    answers = {
        "/en/": HTMLResponse(DOCUMENT),
        "/zh/": HTMLResponse(DOCUMENT),
        "/english/": HTMLResponse(DOCUMENT),
        "/en/assets/bare": HTMLResponse("<p>No head.</p>"),
        "/en/assets/error": HTMLResponse("<h1>Not here</h1>", status_code=404),
        "/text": PlainTextResponse("</head><body>"),
    }
    await answers[scope["path"]](scope, receive, send)


def visit(*, secure_cookies: bool = False, scheme: str = "http") -> TestClient:
    shell = PageShell(
        site, title="My <Arena>", layout="edition", tokens=TOKENS, secure_cookies=secure_cookies
    )
    return TestClient(shell, base_url=f"{scheme}://arena.test")


@pytest.mark.parametrize("path", ["/en/", "/zh/", "/en/assets/error", "/text"])
def test_every_answer_says_that_nothing_else_may_be_asked(path: str) -> None:
    headers = visit().get(path).headers
    policy = dict(
        part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["object-src"] == "'none'"
    assert not any("http" in sources or "*" in sources for sources in policy.values())
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_a_page_gets_our_head_and_language_and_nobody_elses() -> None:
    page = visit().get("/zh/").text
    assert "gradio.app" not in page
    assert "@Gradio" not in page
    assert "manifest" not in page
    assert '<html lang="zh' in page
    assert "<title>My &lt;Arena&gt;</title>" in page
    assert page.index("<title>") < page.index("</head>")
    assert re.search(
        r"<body class='x'><style>.+</style><noscript>.+</noscript>\s*<p>Hello</p></body></html>$",
        page,
        re.DOTALL,
    )


def test_the_length_that_is_told_is_that_of_the_dressed_page() -> None:
    answer = visit().get("/en/")
    assert int(answer.headers["content-length"]) == len(answer.content) > len(DOCUMENT)


def test_asking_for_the_headers_alone_gets_no_body() -> None:
    answer = visit().head("/en/")
    assert answer.status_code == 200
    assert answer.content == b""


@pytest.mark.parametrize("path", ["/en/assets/bare", "/en/assets/error", "/english/"])
def test_what_is_no_page_of_ours_is_left_as_it_is(path: str) -> None:
    answer = visit().get(path)
    bare = {
        "/en/assets/bare": "<p>No head.</p>",
        "/en/assets/error": "<h1>Not here</h1>",
        "/english/": DOCUMENT,
    }
    assert answer.text == bare[path]
    assert int(answer.headers["content-length"]) == len(answer.content)


def cookie_of(client: TestClient, path: str = "/en/") -> SimpleCookie:
    return SimpleCookie(client.get(path).headers.get("set-cookie", ""))


def test_the_cookie_is_for_this_site_and_not_for_scripts() -> None:
    morsel = cookie_of(visit())[COOKIE]
    assert TOKENS.read({COOKIE: morsel.value}) is not None
    assert morsel["httponly"] is True
    assert morsel["samesite"] == "Lax"
    assert morsel["path"] == "/"
    assert int(morsel["max-age"]) > 300 * 24 * 3600
    assert not morsel["secure"]
    assert not morsel["domain"]


def test_the_cookie_is_secure_where_the_connection_is_or_the_settings_say_so() -> None:
    assert cookie_of(visit(scheme="https"))[COOKIE]["secure"] is True
    assert cookie_of(visit(secure_cookies=True))[COOKIE]["secure"] is True


def test_a_voter_keeps_the_cookie_and_a_forged_one_is_replaced() -> None:
    client = visit()
    assert COOKIE in cookie_of(client)
    assert COOKIE not in cookie_of(client)
    forged = visit()
    forged.cookies.set(COOKIE, "forged.token", domain="arena.test")
    assert COOKIE in cookie_of(forged)


def test_only_pages_set_the_cookie_and_no_cache_keeps_them() -> None:
    assert COOKIE not in cookie_of(visit(), "/text")
    assert visit().get("/en/").headers["cache-control"] == "no-store"
    assert "cache-control" not in visit().get("/text").headers


async def test_an_event_stream_is_passed_on_as_it_comes() -> None:
    release = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        yield b"data: one\n\n"
        await release.wait()
        yield b"data: two\n\n"

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        answer = StreamingResponse(events(), media_type="text/event-stream")
        await answer(scope, receive, send)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    sent: asyncio.Queue[Message] = asyncio.Queue()
    shell = PageShell(
        application, title="Arena", layout="edition", tokens=TOKENS, secure_cookies=False
    )
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/en/gradio_api/queue/data",
        "headers": [],
        "scheme": "http",
        "asgi": {"spec_version": "2.4"},
    }
    going = asyncio.create_task(shell(scope, receive, sent.put))
    assert (await asyncio.wait_for(sent.get(), 60))["type"] == "http.response.start"
    assert (await asyncio.wait_for(sent.get(), 60))["body"] == b"data: one\n\n"
    assert sent.empty()
    release.set()
    assert (await asyncio.wait_for(sent.get(), 60))["body"] == b"data: two\n\n"
    await going


# The real one


def test_a_served_page_names_no_other_site(arena: RunningArena) -> None:
    with PageClient(arena.address) as client:
        for path in ("/en/", "/zh/", "/en/leaderboard/"):
            page = client.http.get(path).text
            found = set(
                re.findall(r"""(?:src|href|action|content)=["']((?:https?:)?//[^"']+)""", page)
            )
            assert {url for url in found if not url.startswith(arena.address)} == set()
            assert "gradio.app" not in page.split("<script", 1)[0]


def test_every_answer_of_a_served_arena_is_dressed(arena: RunningArena) -> None:
    with PageClient(arena.address) as client:
        for path in (
            "/",
            "/en/",
            "/en/config",
            "/healthz",
            "/en/theme.css",
            "/nowhere",
            "/en/nowhere",
        ):
            assert "default-src 'self'" in client.http.get(path).headers["content-security-policy"]
        assert client.http.head("/en/").content == b""


def test_answers_are_streamed_through_the_whole_application(arena: RunningArena) -> None:
    with PageClient(arena.address) as client:
        client.open()
        client.start_pressing("send", "Speak slowly", "0", "", "")
        kinds = [message["msg"] for message in client.listen()]
    assert kinds.count("process_generating") >= 5


@pytest.mark.parametrize(
    "path",
    [
        "/en/gradio_api/upload",
        "/zh/leaderboard/gradio_api/upload",
        "/en/upload",
        "/en/monitoring",
        "/en/gradio_api/monitoring/summary",
        "/en/gradio_api/file=/etc/hostname",
        "/en/gradio_api/call/ask",
        "/en/login",
        "/en/gradio_api/queue/join/more",
        "/en/anything",
    ],
)
def test_what_no_page_needs_of_gradio_stays_shut(path: str, arena: RunningArena) -> None:
    with PageClient(arena.address) as client:
        files = {"files": ("x.txt", b"something", "text/plain")}
        for answer in (client.http.get(path), client.http.post(path, files=files)):
            assert (answer.status_code, answer.text) == (404, "Not Found")
            assert answer.headers["x-content-type-options"] == "nosniff"
