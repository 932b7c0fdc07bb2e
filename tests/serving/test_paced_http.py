"""Reading at a pace: few readings, none late, and nothing lost however the connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import USER_ASKS, collect
from stream_shapes import ApiName, Wire

from serving import Completion, Interrupted, ModelSpec, Roster, TextDelta
from serving.paced_http import SECONDS_BETWEEN_READINGS

if TYPE_CHECKING:
    from misbehaving_provider import Connection
    from played_apis import Api, Ask


def wire(api: Api) -> Wire:
    name: ApiName = "openai" if api.backend == "openai" else "anthropic"
    return Wire(name)


async def test_what_came_before_a_cut_is_kept(api: Api, ask: Ask) -> None:
    async def cut(connection: Connection) -> None:
        await connection.begin_stream()
        await connection.send_chunk(wire(api).start())
        for letter in "Hello":  # the first is read at once, the others while nobody reads
            await connection.send_chunk(wire(api).text(letter))
            await asyncio.sleep(SECONDS_BETWEEN_READINGS / 20)
        connection.cut()

    text = ""

    async def hear() -> None:
        nonlocal text
        async with aclosing((await ask(cut)).stream(USER_ASKS)) as events:
            async for event in events:
                text += event.text

    with pytest.raises(Interrupted, match="cut"):
        await hear()
    assert text == "Hello"


async def test_an_answer_that_ended_before_a_cut_is_complete(api: Api, ask: Ask) -> None:
    async def cut(connection: Connection) -> None:
        await connection.begin_stream()
        for piece in wire(api).say(*"Hello"):
            await connection.send_chunk(piece)
            await asyncio.sleep(SECONDS_BETWEEN_READINGS / 50)
        connection.cut()

    last = (await collect(await ask(cut)))[-1]
    assert isinstance(last, Completion)
    assert last.text == "Hello"


async def test_many_chunks_come_in_few_readings_and_the_first_at_once(api: Api, ask: Ask) -> None:
    sent: list[float] = []

    async def stream(connection: Connection) -> None:
        await connection.begin_stream()
        await connection.send_chunk(wire(api).start())
        for _ in range(100):
            sent.append(time.monotonic())
            await connection.send_chunk(wire(api).text("a"))
            await asyncio.sleep(0.005)
        await connection.send_chunk(wire(api).end() + wire(api).mark)
        await connection.end_stream()

    async with aclosing((await ask(stream)).stream(USER_ASKS)) as events:
        came = [time.monotonic() async for event in events if isinstance(event, TextDelta)]
    # A reading takes all that waits, so there is one for each pause and no more.
    assert len(came) <= (sent[-1] - sent[0]) / SECONDS_BETWEEN_READINGS + 3
    assert len(came) < 100
    assert (
        min(later - sooner for sooner, later in itertools.pairwise(came[1:-1]))
        > SECONDS_BETWEEN_READINGS / 2
    )


async def test_a_connection_serves_the_next_request_too(api: Api) -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
        with contextlib.suppress(asyncio.IncompleteReadError), contextlib.closing(writer):
            while request := await reader.readuntil(b"\r\n\r\n"):
                length = int(request.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                body = b"".join(wire(api).say("Hello"))
                writer.write(head % len(body) + body)

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(serve(reader, writer)))

    tasks: list[asyncio.Task[None]] = []
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    spec = ModelSpec.model_validate(
        {"name": "it", "backend": api.backend, "model": "m", "base_url": url}
    )
    async with server, Roster([spec], environ={}) as roster:
        for _ in range(3):
            last = (await collect(roster.models["it"]))[-1]
            assert isinstance(last, Completion)
    assert connections == 1
    await asyncio.gather(*tasks)
