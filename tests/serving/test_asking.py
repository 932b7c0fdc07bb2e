"""What is asked for: fields that some servers refuse, and what is learned from a refusal."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from misbehaving_provider import USER_ASKS, collect, complete

from serving import Message, ParameterRefused, Refused, Sampling, check_model

if TYPE_CHECKING:
    from misbehaving_provider import Behaviour, Connection, Provider
    from played_apis import Api, Ask

OPENAI = pytest.mark.parametrize("api", ["openai"], indirect=True)


def refuse(message: str, **fields: object) -> Behaviour:
    async def send(connection: Connection) -> None:
        error = {"message": message, "type": "invalid_request_error", **fields}
        await connection.send_status(400, {"error": error})

    return send


NOT_MAX_TOKENS = refuse(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
NOT_THE_NEW_ONE = refuse("Unrecognized request argument supplied: max_completion_tokens")
NOT_STREAM_OPTIONS = refuse("body -> stream_options: Extra inputs are not permitted")


@OPENAI
@pytest.mark.parametrize(
    ("refusal", "gone", "instead"),
    [
        (NOT_MAX_TOKENS, "max_tokens", "max_completion_tokens"),
        (NOT_STREAM_OPTIONS, "stream_options", "max_tokens"),
    ],
)
async def test_what_a_server_does_not_take_is_not_sent_again(
    refusal: Behaviour,
    gone: str,
    instead: str,
    api: Api,
    ask: Ask,
    provider: Provider,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    model = await ask(refusal, api.good, sampling={"max_tokens": 9})
    assert (await complete(model)).text == "Hello"
    assert (await complete(model)).text == "Hello"
    first, second, third = (request.body for request in provider.requests)
    assert gone in first
    for body in (second, third):
        assert gone not in body
        assert instead in body
    assert f"does not take `{gone}`" in caplog.text
    assert "in this model's settings" in caplog.text


@OPENAI
async def test_a_server_that_takes_neither_limit_is_not_asked_for_ever(
    ask: Ask, provider: Provider
) -> None:
    model = await ask(NOT_MAX_TOKENS, NOT_THE_NEW_ONE, NOT_MAX_TOKENS, sampling={"max_tokens": 9})
    with pytest.raises(ParameterRefused):
        await collect(model)
    assert len(provider.requests) <= 3


@OPENAI
async def test_a_limit_that_is_set_is_kept(ask: Ask, provider: Provider) -> None:
    kept: dict[str, Any] = {"token_limit": "max_tokens", "sampling": {"max_tokens": 9}}
    model = await ask(NOT_MAX_TOKENS, **kept)
    with pytest.raises(ParameterRefused, match="max_completion_tokens"):
        await collect(model)
    assert len(provider.requests) == 1


@OPENAI
async def test_a_limit_that_is_too_large_is_no_reason_to_call_it_otherwise(
    ask: Ask, provider: Provider
) -> None:
    words = "max_tokens is too large: 100000. This model supports at most 16384 tokens"
    model = await ask(refuse(words, param="max_tokens"), sampling={"max_tokens": 100_000})
    with pytest.raises(Refused, match="16384"):
        await collect(model)
    assert len(provider.requests) == 1


@OPENAI
async def test_counts_can_be_left_unasked(api: Api, ask: Ask, provider: Provider) -> None:
    model = await ask(api.good, stream_options=False)
    assert (await complete(model)).text == "Hello"
    assert "stream_options" not in provider.requests[0].body


async def test_a_system_prompt_can_go_into_the_first_message(
    api: Api, ask: Ask, provider: Provider
) -> None:
    model = await ask(api.good, system_role="user", system_prompt="Be brief.")
    asked = [
        Message("system", "You are a judge."),
        Message("user", "a"),
        Message("assistant", "b"),
        Message("user", "c"),
    ]
    await complete(model, asked)
    body = provider.requests[0].body
    assert "system" not in body
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        ("user", "Be brief.\n\nYou are a judge.\n\na"),
        ("assistant", "b"),
        ("user", "c"),
    ]


async def test_a_temperature_that_is_refused_says_so(api: Api, ask: Ask) -> None:
    model = await ask(refuse("'temperature' does not support 0.0 with this model"))
    with pytest.raises(ParameterRefused, match="temperature") as caught:
        await collect(model, sampling=Sampling(temperature=0.0))
    assert caught.value.parameter == "temperature"


async def test_a_check_sends_what_a_battle_sends(api: Api, ask: Ask, provider: Provider) -> None:
    model = await ask(
        api.good, sampling={"temperature": 0.5, "max_tokens": 77}, system_prompt="Be brief."
    )
    await collect(model)
    assert (await check_model(model)).status == "ok"
    battle, check = (dict(request.body) for request in provider.requests)
    for body in (battle, check):
        body["messages"] = [turn for turn in body["messages"] if turn["role"] != "user"]
    assert battle == check


async def test_a_connection_that_the_server_gave_up_is_not_an_error(
    api: Api, ask: Ask, provider: Provider
) -> None:
    model = await ask(api.good, retries=0)
    for _ in range(5):
        assert (await complete(model, USER_ASKS)).text == "Hello"


@pytest.mark.parametrize(
    ("words", "status", "says", "warns"),
    [
        (("\u200b", "**"), "failed", "ended without any text", ""),
        (("<think>well</think>",), "failed", "reasoning alone", ""),
        (("well\n</think>\n\nHello",), "ok", "", "begins_inside = true"),
        (("Hello",), "ok", "", ""),
    ],
)
async def test_a_check_finds_what_would_spoil_a_battle(
    words: tuple[str, ...], status: str, says: str, warns: str, api: Api, ask: Ask
) -> None:
    async def answer(connection: Connection) -> None:
        await api.answer(connection, *words)

    report = await check_model(await ask(answer))
    assert report.status == status
    assert says in (report.message or "")
    assert warns in "".join(report.warnings)
    assert bool(warns) == bool(report.warnings)
    assert (report.error == "EmptyAnswer") == (status == "failed")
