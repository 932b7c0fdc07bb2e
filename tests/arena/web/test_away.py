"""A page that cannot be read while the database is away says so and comes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest
from sqlalchemy.exc import OperationalError
from starlette.responses import PlainTextResponse

from arena.web.away import AwayGate

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

GONE = OperationalError("SELECT 1", None, Exception("secret-host is down"))


async def fail(scope: Scope, receive: Receive, send: Send) -> None:
    raise GONE


async def break_off(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise GONE


async def ask(path: str, *, method: str = "GET", accept: str = "text/html,*/*") -> httpx2.Response:
    gate = AwayGate(fail, title="Our <arena>", language="zh")
    transport = httpx2.ASGITransport(app=gate)
    async with httpx2.AsyncClient(transport=transport, base_url="http://arena") as visitor:
        return await visitor.request(method, path, headers={"accept": accept})


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/en/agreement/", "this page tries again by itself"),
        ("/zh/expert/?key=x", "本页会自动重试"),
        ("/", "本页会自动重试"),
        ("/en", "this page tries again by itself"),
    ],
)
async def test_a_page_says_so_in_its_language_and_is_loaded_again(path: str, said: str) -> None:
    answer = await ask(path)
    assert answer.status_code == 503
    assert said in answer.text
    assert "Our &lt;arena&gt;" in answer.text
    assert answer.headers["refresh"] == answer.headers["retry-after"] == "3"
    assert answer.headers["cache-control"] == "no-store"
    assert "secret-host" not in answer.text


@pytest.mark.parametrize(
    ("method", "accept"), [("GET", "application/json"), ("POST", "text/html"), ("GET", "")]
)
async def test_who_is_no_browser_gets_a_line(method: str, accept: str) -> None:
    answer = await ask("/en/agreement/", method=method, accept=accept)
    assert answer.status_code == 503
    assert "refresh" not in answer.headers
    assert answer.text == "The arena cannot read its record at the moment. Please try again.\n"


async def test_what_has_begun_is_not_answered_twice() -> None:
    gate = AwayGate(break_off, title="A", language="en")
    transport = httpx2.ASGITransport(app=gate)
    async with httpx2.AsyncClient(transport=transport, base_url="http://arena") as visitor:
        with pytest.raises(OperationalError):
            await visitor.get("/en/")


async def test_what_goes_well_is_passed_on() -> None:
    gate = AwayGate(PlainTextResponse("here"), title="A", language="en")
    transport = httpx2.ASGITransport(app=gate)
    async with httpx2.AsyncClient(transport=transport, base_url="http://arena") as visitor:
        assert (await visitor.get("/en/")).text == "here"
