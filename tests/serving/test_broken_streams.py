"""Both SDK back ends against a provider that stalls, breaks off or is not there."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from misbehaving_provider import collect, complete
from played_apis import (
    cut_after,
    end_quietly_after,
    send_error_after,
    send_rubbish_after,
)

from serving import (
    BadCredentials,
    ContextTooLong,
    Interrupted,
    Message,
    ModelUnreachable,
    RateLimited,
    Refused,
    ServerFault,
    ServingError,
    TextDelta,
    TimedOut,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from misbehaving_provider import Behaviour, Connection, Provider
    from played_apis import Api, Ask


async def test_a_stall_before_the_first_byte_times_out(ask: Ask, provider: Provider) -> None:
    async def stall(connection: Connection) -> None:
        await connection.wait_for_disconnect()

    model = await ask(stall, retries=2, timeouts={"first_token": 1})
    with pytest.raises(TimedOut, match="`first_token` of 1 s"):
        await collect(model)
    await asyncio.wait_for(provider.disconnected.wait(), 60)
    assert len(provider.requests) == 1


async def test_a_stall_between_tokens_times_out(api: Api, ask: Ask, provider: Provider) -> None:
    async def stall(connection: Connection) -> None:
        await connection.begin_stream()
        await api.say(connection, "Hel")
        await connection.wait_for_disconnect()

    model = await ask(stall, timeouts={"between_tokens": 0.2})
    events = model.stream([Message("user", "hi")])
    assert await anext(events) == TextDelta("Hel")
    with pytest.raises(TimedOut, match=r"`between_tokens` of 0\.2 s"):
        await anext(events)
    await asyncio.wait_for(provider.disconnected.wait(), 60)


RUBBISH = ["{not json", "[1, 2]", '{"choices": "none"}', '{"choices": [{"delta": 3}]}']
BREAKS: list[Callable[..., Behaviour]] = [cut_after, end_quietly_after, send_error_after]


@pytest.mark.parametrize("break_off", BREAKS)
async def test_a_break_in_the_middle_is_an_interruption(
    break_off: Callable[..., Behaviour], api: Api, ask: Ask, provider: Provider
) -> None:
    model = await ask(break_off(api, "Hel"), retries=2)
    events = model.stream([Message("user", "hi")])
    assert await anext(events) == TextDelta("Hel")
    with pytest.raises(Interrupted, match=r"^it: "):
        await anext(events)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("break_off", BREAKS)
async def test_a_break_before_any_text_is_tried_again(
    break_off: Callable[..., Behaviour], api: Api, ask: Ask, provider: Provider
) -> None:
    model = await ask(break_off(api), api.good, retries=1)
    assert (await complete(model)).text == "Hello"
    assert len(provider.requests) == 2


@pytest.mark.parametrize("rubbish", RUBBISH)
async def test_a_malformed_chunk_is_an_interruption(rubbish: str, api: Api, ask: Ask) -> None:
    model = await ask(send_rubbish_after(api, "Hel", rubbish=rubbish))
    events = model.stream([Message("user", "hi")])
    assert await anext(events) == TextDelta("Hel")
    with pytest.raises(Interrupted, match=r"^it: "):
        await anext(events)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"type": "rate_limit_error"}, RateLimited),
        ({"type": "x", "code": 429}, RateLimited),
        ({"type": "authentication_error"}, BadCredentials),
        ({"type": "invalid_request_error", "code": "bad_value"}, Refused),
        ({"type": "x", "code": 1}, ServerFault),
        ({"type": "api_error"}, ServerFault),
    ],
)
async def test_an_error_in_place_of_a_stream_is_told_apart(
    fields: dict[str, Any], kind: type[ServingError], api: Api, ask: Ask
) -> None:
    model = await ask(send_error_after(api, **fields))
    with pytest.raises(kind, match=r"^it: "):
        await collect(model)


async def test_too_long_is_recognised_in_a_stream_too(api: Api, ask: Ask) -> None:
    model = await ask(send_error_after(api, message="exceeds the available context size"))
    with pytest.raises(ContextTooLong):
        await collect(model)


async def test_a_refused_connection_names_the_address(ask: Ask) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        model = await ask(url=url)
        with pytest.raises(ModelUnreachable, match=rf"{url}.*is the server running\?"):
            await collect(model)


async def test_a_server_that_never_accepts_times_out(ask: Ask) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # until the queue of connections that wait is full
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        model = await ask(url=url, timeouts={"connect": 0.3})
        with pytest.raises(TimedOut, match=r"`connect` of 0\.3 s") as caught:
            await collect(model)
        assert caught.value.limit == "connect"


async def test_leaving_closes_the_request_at_the_provider(
    api: Api, ask: Ask, provider: Provider
) -> None:
    async def go_on(connection: Connection) -> None:
        await connection.begin_stream()
        await api.say(connection, "Hel")
        await connection.wait_for_disconnect()

    model = await ask(go_on)
    async with aclosing(model.stream([Message("user", "hi")])) as events:
        await anext(events)
        assert not provider.disconnected.is_set()
    await asyncio.wait_for(provider.disconnected.wait(), 60)


async def test_cancelling_closes_the_request_at_the_provider(ask: Ask, provider: Provider) -> None:
    asked = asyncio.Event()

    async def stall(connection: Connection) -> None:
        asked.set()
        await connection.wait_for_disconnect()

    task = asyncio.create_task(collect(await ask(stall)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(provider.disconnected.wait(), 60)
