"""Both SDK back ends against a real server that misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import logging
import socket
import time
import traceback
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from misbehaving_provider import collect, complete

from serving import (
    BadCredentials,
    ContextTooLong,
    Interrupted,
    Message,
    ModelSpec,
    ModelUnreachable,
    RateLimited,
    ReasoningDelta,
    Refused,
    Roster,
    RosterError,
    Sampling,
    ServingError,
    TextDelta,
    TimedOut,
)
from serving.openai_chat import OpenAIBackend
from serving.sdk import Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from misbehaving_provider import Behaviour, Connection, Provider

    from serving import ChatModel

KEY = "sk-proj-4f7Qz9LmN2xRw8Tv"
BACKENDS = ("openai", "anthropic")


class Api:
    """How one of the two APIs streams, as the provider plays it."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    async def say(self, connection: Connection, *words: str) -> None:
        for word in words:
            if self.backend == "openai":
                await connection.send_event(openai_chunk({"content": word}))
            else:
                await connection.send_event(*anthropic_delta("text_delta", text=word))

    async def answer(self, connection: Connection, *words: str) -> None:
        await connection.begin_stream()
        if self.backend == "anthropic":
            await connection.send_event(*ANTHROPIC_START)
        await self.say(connection, *words)
        if self.backend == "openai":
            await connection.send_event(openai_chunk({}, finish_reason="stop"))
            await connection.send_event(OPENAI_USAGE)
            await connection.send_event("[DONE]")
        else:
            await connection.send_event(*anthropic_end("end_turn"))
            await connection.send_event({"type": "message_stop"}, "message_stop")
        await connection.end_stream()

    async def good(self, connection: Connection) -> None:
        await self.answer(connection, "Hel", "lo")


def openai_chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "id": "1", "model": "real-1", "choices": [choice]}


OPENAI_USAGE = {
    **openai_chunk({}),
    "choices": [],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}
ANTHROPIC_START = (
    {
        "type": "message_start",
        "message": {"model": "real-1", "usage": {"input_tokens": 7, "output_tokens": 1}},
    },
    "message_start",
)


def anthropic_delta(kind: str, **fields: str) -> tuple[dict[str, Any], str]:
    delta = {"type": kind, **fields}
    return {"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta"


def anthropic_end(reason: str) -> tuple[dict[str, Any], str]:
    body = {"delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}}
    return {"type": "message_delta", **body}, "message_delta"


@pytest.fixture(params=BACKENDS)
def api(request: pytest.FixtureRequest) -> Api:
    return Api(request.param)


def spec_for(api: Api, url: str, **fields: object) -> ModelSpec:
    base = url if api.backend == "anthropic" else f"{url}/v1"
    table = {"name": "it", "backend": api.backend, "model": "real", "base_url": base}
    return ModelSpec.model_validate({**table, "api_key_env": "IT_KEY", "retries": 0, **fields})


Ask = "Callable[..., Awaitable[ChatModel]]"


@pytest.fixture
async def ask(api: Api, provider: Provider) -> AsyncIterator[Ask]:
    """Makes the model of the API at hand, over the provider."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(*script: Behaviour, url: str | None = None, **fields: object) -> ChatModel:
            provider.script = list(script)
            spec = spec_for(api, url or provider.root_url, **fields)
            roster = Roster([spec], environ={"IT_KEY": KEY})
            await stack.enter_async_context(roster)
            return roster.models["it"]

        yield make


async def test_an_answer_is_streamed_and_counted(api: Api, ask: Ask, provider: Provider) -> None:
    model = await ask(api.good, system_prompt="Be brief.", extra_body={"top_k": 3})
    asked = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=8, seed=1, stop=("END",))
    *deltas, completion = await collect(model, asked, sampling)
    assert deltas == [TextDelta("Hel"), TextDelta("lo")]
    assert completion.text == "Hello"
    assert completion.finish_reason == "stop"
    assert completion.model_id == "real-1"
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 2)
    body = provider.requests[0].body
    turns = [{"role": turn.role, "content": turn.content} for turn in asked]
    if api.backend == "openai":
        assert body["messages"] == [{"role": "system", "content": "Be brief."}, *turns]
        assert (body["seed"], body["stop"]) == (1, ["END"])
        assert body["stream_options"] == {"include_usage": True}
    else:
        assert (body["system"], body["messages"]) == ("Be brief.", turns)
        assert body["stop_sequences"] == ["END"]
    assert (body["model"], body["temperature"], body["top_p"]) == ("real", 0.5, 0.9)
    assert (body["max_tokens"], body["top_k"], body["stream"]) == (8, 3, True)


async def test_a_request_tells_nothing_about_this_machine_and_its_accounts(
    api: Api, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
    ):
        monkeypatch.setenv(variable, "private-value")
    provider.script = [api.good]
    spec = spec_for(api, provider.root_url, api_key_env=None)
    async with Roster([spec], environ={}) as roster:
        await complete(roster.models["it"])
    headers = provider.requests[0].headers
    assert [name for name in headers if name.startswith("x-stainless")] == []
    assert [name for name in headers if "private-value" in headers[name]] == []


async def test_no_proxy_comes_between_this_machine_and_itself(
    api: Api, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await complete(await ask(api.good))).text == "Hello"


@pytest.mark.parametrize(
    ("url", "field"),
    [(None, "max_completion_tokens"), ("http://localhost:1/v1", "max_tokens")],
)
async def test_the_limit_on_tokens_is_called_as_the_server_wants_it(
    url: str | None, field: str
) -> None:
    backend = OpenAIBackend(Endpoint(name="it", model="m", base_url=url))
    request = backend._request([Message("user", "hi")], Sampling(max_tokens=5))
    await backend.aclose()
    assert {name: value for name, value in request.items() if "max" in name} == {field: 5}


@pytest.mark.parametrize("api", ["openai"], indirect=True)
async def test_vllm_elsewhere_is_an_openai_server(api: Api, ask: Ask) -> None:
    assert (await complete(await ask(api.good, backend="vllm"))).text == "Hello"


STATUSES = [
    (401, BadCredentials, "IT_KEY"),
    (403, BadCredentials, "may not use model 'real'"),
    (404, Refused, "check `base_url` and `model`"),
    (400, Refused, "no such thing"),
    (422, Refused, "no such thing"),
    (307, Refused, "final address into `base_url`"),
    (413, ContextTooLong, "too long"),
    (408, ModelUnreachable, "fault of the server"),
    (500, ModelUnreachable, "fault of the server"),
    (503, ModelUnreachable, "no such thing"),
    (529, ModelUnreachable, "fault of the server"),
]


@pytest.mark.parametrize(("status", "kind", "words"), STATUSES)
async def test_a_status_becomes_an_error_in_words(
    status: int, kind: type[ServingError], words: str, ask: Ask, provider: Provider
) -> None:
    async def refuse(connection: Connection) -> None:
        body = {"error": {"message": "no such thing", "type": "x"}}
        await connection.send_status(status, body, location="http://127.0.0.1:9/elsewhere")

    model = await ask(refuse)
    with pytest.raises(kind, match=words) as caught:
        await collect(model)
    assert str(caught.value).startswith("it: ")
    assert str(status) in str(caught.value)
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after_ms": "1500", "retry_after": "7"}, 1.5),
        ({"retry_after": email.utils.formatdate(time.time() + 100_000, usegmt=True)}, 100_000),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
async def test_a_rate_limit_says_how_long_to_wait(
    headers: dict[str, str], seconds: float | None, ask: Ask
) -> None:
    async def slow_down(connection: Connection) -> None:
        await connection.send_status(429, {"error": {"message": "slow down"}}, **headers)

    model = await ask(slow_down)
    with pytest.raises(RateLimited) as caught:
        await collect(model)
    expected = pytest.approx(seconds, abs=60 if seconds == 100_000 else 0) if seconds else None
    assert caught.value.retry_after == expected


async def test_a_used_up_quota_is_not_waited_for(ask: Ask, provider: Provider) -> None:
    async def refuse(connection: Connection) -> None:
        body = {"error": {"message": "You exceeded …", "code": "insufficient_quota"}}
        await connection.send_status(429, body)

    model = await ask(refuse, retries=2)
    with pytest.raises(Refused, match="quota is used up"):
        await collect(model)
    assert len(provider.requests) == 1


TOO_LONG = [
    {"code": 400, "message": "request (9 tokens) …", "type": "exceed_context_size_error"},
    {"message": "too many", "type": "invalid_request_error", "code": "context_length_exceeded"},
    {"message": "This model's maximum context length is 8 tokens. However, …", "code": 400},
    {"message": "The decoder prompt (length 9) is longer than the maximum model length of 8."},
    {"message": "prompt is too long: 9 tokens > 8 maximum", "type": "invalid_request_error"},
]


@pytest.mark.parametrize("error", TOO_LONG)
async def test_too_long_a_conversation_is_recognised(error: dict[str, Any], ask: Ask) -> None:
    async def refuse(connection: Connection) -> None:
        await connection.send_status(400, {"error": error})

    with pytest.raises(ContextTooLong):
        await collect(await ask(refuse))


async def test_a_busy_server_is_asked_again(api: Api, ask: Ask, provider: Provider) -> None:
    async def busy(connection: Connection) -> None:
        await connection.send_status(503, {"error": {"message": "loading"}})

    model = await ask(busy, api.good, retries=1)
    assert (await complete(model)).text == "Hello"
    assert len(provider.requests) == 2


async def test_a_rate_limit_is_waited_for(api: Api, ask: Ask, provider: Provider) -> None:
    async def slow_down(connection: Connection) -> None:
        await connection.send_status(429, {}, retry_after="1.3")

    model = await ask(slow_down, api.good, retries=1)
    start = time.monotonic()
    assert (await complete(model)).text == "Hello"
    assert time.monotonic() - start >= 1.3
    assert len(provider.requests) == 2


async def test_a_stall_before_the_first_byte_times_out(ask: Ask, provider: Provider) -> None:
    async def stall(connection: Connection) -> None:
        await connection.wait_for_disconnect()

    model = await ask(stall, retries=2, timeouts={"first_token": 0.2})
    with pytest.raises(TimedOut, match=r"`first_token` of 0\.2 s"):
        await collect(model)
    await asyncio.wait_for(provider.disconnected.wait(), 2)
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
    await asyncio.wait_for(provider.disconnected.wait(), 2)


def cut_after(api: Api, *words: str) -> Behaviour:
    async def cut(connection: Connection) -> None:
        await connection.begin_stream()
        await api.say(connection, *words)
        await asyncio.sleep(0.05)
        connection.cut()

    return cut


def end_quietly_after(api: Api, *words: str) -> Behaviour:
    async def end(connection: Connection) -> None:
        await connection.begin_stream()
        await api.say(connection, *words)
        await connection.end_stream()

    return end


def send_rubbish_after(api: Api, *words: str, rubbish: object) -> Behaviour:
    async def send(connection: Connection) -> None:
        await connection.begin_stream()
        await api.say(connection, *words)
        await connection.send_event(rubbish, event="content_block_delta")
        await connection.end_stream()

    return send


def send_error_after(
    api: Api, *words: str, message: str = "engine died", **fields: object
) -> Behaviour:
    error = {"type": "overloaded_error", "message": message, **fields}

    async def send(connection: Connection) -> None:
        await connection.begin_stream()
        await api.say(connection, *words)
        await connection.send_event({"type": "error", "error": error}, event="error")
        await connection.end_stream()

    return send


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
        ({"type": "x", "code": 1}, ModelUnreachable),
        ({"type": "api_error"}, ModelUnreachable),
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
    await asyncio.wait_for(provider.disconnected.wait(), 2)


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
    await asyncio.wait_for(provider.disconnected.wait(), 2)


OPENAI_REASONING = [
    [{"reasoning_content": "be"}, {"reasoning_content": "cause"}, {"content": "Yes"}],
    [{"reasoning": "because"}, {"content": "Yes"}],
    [{"content": "<thi"}, {"content": "nk>because</th"}, {"content": "ink>\n\nYes"}],
    [{"reasoning_content": "because", "reasoning": "because", "content": "Yes"}],
]


@pytest.mark.parametrize("deltas", OPENAI_REASONING)
@pytest.mark.parametrize("api", ["openai"], indirect=True)
async def test_reasoning_is_kept_apart_over_openai(deltas: list[dict[str, str]], ask: Ask) -> None:
    async def reason(connection: Connection) -> None:
        await connection.begin_stream()
        for delta in deltas:
            await connection.send_event(openai_chunk(delta))
        await connection.send_event(openai_chunk({}, finish_reason="length"))
        await connection.end_stream()

    completion = await complete(await ask(reason))
    assert (completion.reasoning, completion.text) == ("because", "Yes")
    assert completion.finish_reason == "length"
    assert completion.completion_tokens is None


@pytest.mark.parametrize("api", ["anthropic"], indirect=True)
async def test_reasoning_is_kept_apart_over_anthropic(ask: Ask) -> None:
    async def reason(connection: Connection) -> None:
        await connection.begin_stream()
        usage = {"input_tokens": 7, "cache_read_input_tokens": 20, "output_tokens": 1}
        begin = {"type": "message_start", "message": {"model": "real-1", "usage": usage}}
        await connection.send_event(begin, "message_start")
        await connection.send_event(*anthropic_delta("thinking_delta", thinking="because"))
        await connection.send_event(*anthropic_delta("signature_delta", signature="…"))
        await connection.send_event(*anthropic_delta("text_delta", text="Yes"))
        await connection.send_event(*anthropic_end("refusal"))
        await connection.end_stream()

    *deltas, completion = await collect(await ask(reason))
    assert deltas == [ReasoningDelta("because"), TextDelta("Yes")]
    assert completion.finish_reason == "content_filter"
    assert completion.prompt_tokens == 27


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_is_never_shown_even_if_the_provider_quotes_it(
    status: int, ask: Ask, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(connection: Connection) -> None:  # a careless provider
        headers = connection.request.headers
        await connection.send_status(status, {"error": {"message": f"I saw {headers}"}})

    model = await ask(echo)
    with pytest.raises(ServingError) as caught:
        await collect(model)
    assert KEY in str(provider.requests[0].headers)
    error: BaseException | None = caught.value
    assert "".join(traceback.format_exception(caught.value)).count(KEY) == 0
    while error is not None:
        assert KEY not in f"{error} {error!r} {error.__dict__} {error.args}"
        error = error.__cause__ or error.__context__
    assert KEY not in f"{model} {model!r}"
    assert KEY not in caplog.text


async def test_a_key_is_never_shown_when_a_stream_quotes_it(
    api: Api, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model = await ask(send_error_after(api, "Hel", message=f"I saw {KEY}"))
    with pytest.raises(Interrupted, match="I saw") as caught:
        await collect(model)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", ["", "  ", "two words", "line\nbreak", "schlüssel"])
async def test_a_variable_without_a_usable_key_is_named_at_the_start(value: str, api: Api) -> None:
    roster = Roster([spec_for(api, "http://localhost:1")], environ={"IT_KEY": value})
    with pytest.raises(RosterError, match=r"'it'.* variable IT_KEY") as caught:
        await roster.start()
    assert value.strip() == "" or value not in str(caught.value)
    assert not roster.models
