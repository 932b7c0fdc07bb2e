"""Both SDK back ends ask as they should and tell a provider's refusals apart."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING, Any

import pytest
from misbehaving_provider import collect, complete
from played_apis import (
    anthropic_delta,
    anthropic_end,
    openai_chunk,
    spec_for,
)

from serving import (
    BadCredentials,
    Completion,
    ContextTooLong,
    Message,
    ModelNotFound,
    QuotaUsedUp,
    RateLimited,
    ReasoningDelta,
    Refused,
    Roster,
    Sampling,
    ServerFault,
    ServingError,
    TextDelta,
)
from serving.openai_chat import OpenAIBackend
from serving.sdk import Endpoint

if TYPE_CHECKING:
    from misbehaving_provider import Connection, Provider
    from played_apis import Api, Ask


async def test_an_answer_is_streamed_and_counted(api: Api, ask: Ask, provider: Provider) -> None:
    model = await ask(api.good, system_prompt="Be brief.", extra_body={"top_k": 3})
    asked = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=8, seed=1, stop=("END",))
    *deltas, completion = await collect(model, asked, sampling)
    assert isinstance(completion, Completion)
    assert "".join(delta.text for delta in deltas) == "Hello"
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


async def test_an_answer_is_asked_for_by_a_schema(api: Api, ask: Ask, provider: Provider) -> None:
    schema = {"type": "object", "properties": {"verdict": {"type": "string"}}}
    model = await ask(api.good, api.good)
    await complete(model, sampling=Sampling(response_schema=schema))
    await complete(model)
    asked, plain = (request.body for request in provider.requests)
    if api.backend == "openai":
        told = {"name": "answer", "strict": True, "schema": schema}
        assert asked.pop("response_format") == {"type": "json_schema", "json_schema": told}
    else:
        told = {"type": "json_schema", "schema": schema}
        assert asked.pop("output_config") == {"format": told}
    assert asked == plain


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
    [
        (None, "max_completion_tokens"),
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://api.openai.com/v1/", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("http://localhost:1/v1", "max_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
    ],
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
        await connection.send_event(*anthropic_end("max_tokens"))
        await connection.end_stream()

    *deltas, completion = await collect(await ask(reason))
    assert isinstance(completion, Completion)
    assert deltas == [ReasoningDelta("because"), TextDelta("Yes")]
    assert completion.finish_reason == "length"
    assert completion.prompt_tokens == 27


STATUSES = [
    (401, BadCredentials, "IT_KEY"),
    (403, BadCredentials, "may not use model 'real'"),
    (404, ModelNotFound, "check `base_url` and `model`"),
    (400, Refused, "no such thing"),
    (422, Refused, "no such thing"),
    (307, ModelNotFound, "final address into `base_url`"),
    (413, ContextTooLong, "too long"),
    (408, ServerFault, "fault of the server"),
    (500, ServerFault, "fault of the server"),
    (503, ServerFault, "no such thing"),
    (529, ServerFault, "fault of the server"),
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
    expected = pytest.approx(seconds, abs=3600 if seconds == 100_000 else 0) if seconds else None
    assert caught.value.retry_after == expected


async def test_a_used_up_quota_is_not_waited_for(ask: Ask, provider: Provider) -> None:
    async def refuse(connection: Connection) -> None:
        body = {"error": {"message": "You exceeded …", "code": "insufficient_quota"}}
        await connection.send_status(429, body)

    model = await ask(refuse, retries=2)
    with pytest.raises(QuotaUsedUp, match="quota is used up"):
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
