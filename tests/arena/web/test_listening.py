"""What nobody listens to is not worked on, and not kept."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

import httpx2
import pytest
from page_client import PageClient

from arena.web.listening import Listeners, ListeningGate

if TYPE_CHECKING:
    from serving_arena import RunningArena
    from starlette.types import Message, Receive, Scope, Send

POSTS = 60


async def test_a_session_is_heard_from_when_its_stream_opens_until_it_closes() -> None:
    listeners = Listeners()
    waiting = asyncio.create_task(listeners.is_heard("one", patience=60))
    await asyncio.sleep(0)
    assert not await listeners.is_heard("other", patience=0.01)
    assert not await listeners.is_heard(None)
    with listeners.listening("one"), listeners.listening("one"):
        assert await waiting
        assert await listeners.is_heard("one", patience=0)
    assert not await listeners.is_heard("one", patience=0.01)
    assert vars(listeners) == {"_open": {}, "_awaited": {}}


@pytest.mark.parametrize(
    ("path", "heard"),
    [
        ("/en/gradio_api/queue/data", True),
        ("/zh/gradio_api/queue/data", True),
        ("/en/gradio_api/queue/join", False),
    ],
)
async def test_the_gate_knows_the_streams_from_other_requests(path: str, heard: bool) -> None:
    listeners = Listeners()
    found: list[bool] = []

    async def serve(_scope: Scope, _receive: Receive, _send: Send) -> None:
        found.append(await listeners.is_heard("one", patience=0.01))

    async def receive() -> Message:
        raise AssertionError

    async def send(_message: Message) -> None:
        raise AssertionError

    scope = {"type": "http", "path": path, "query_string": b"session_hash=one"}
    await ListeningGate(serve, listeners)(scope, receive, send)
    assert found == [heard]
    assert not await listeners.is_heard("one", patience=0.01)


def test_events_that_nobody_listens_to_begin_no_battle_and_hold_nobody_up(
    arena: RunningArena,
) -> None:
    with PageClient(arena.address) as visitor, httpx2.Client(base_url=arena.address) as flood:
        visitor.open()
        before = arena.count("SELECT count(*) FROM battles")
        page = flood.get("/en/")
        assert page.status_code == 200
        number, inputs = visitor.event("send")
        for _ in range(POSTS):
            sent = {
                "data": ["For nobody", "0", "", ""][:inputs],
                "fn_index": number,
                "session_hash": secrets.token_hex(8),
            }
            assert flood.post("/en/gradio_api/queue/join", json=sent).status_code == 200
        heard = visitor.ask("Hello")
        assert heard.status == "ready"
        # In the order of the queue: once this one is told so, those before it have been dropped.
        late = {**sent, "session_hash": "late"}
        assert flood.post("/en/gradio_api/queue/join", json=late).status_code == 200
        asyncio.run(asyncio.sleep(6))
        with flood.stream("GET", "/en/gradio_api/queue/data?session_hash=late") as stream:
            assert '"session_not_found":true' in next(stream.iter_lines())
    assert arena.count("SELECT count(*) FROM battles") == before + 1
