"""The two providers' APIs as the misbehaving provider plays them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from serving import ModelSpec

if TYPE_CHECKING:
    from misbehaving_provider import Behaviour, Connection

    from serving import ChatModel

KEY = "sk-proj-4f7Qz9LmN2xRw8Tv"


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


class Ask(Protocol):
    """Makes the model that asks the provider, which then plays the script."""

    async def __call__(
        self, *script: Behaviour, url: str | None = None, **fields: object
    ) -> ChatModel: ...


def spec_for(api: Api, url: str, **fields: object) -> ModelSpec:
    base = url if api.backend == "anthropic" else f"{url}/v1"
    table = {"name": "it", "backend": api.backend, "model": "real", "base_url": base}
    return ModelSpec.model_validate({**table, "api_key_env": "IT_KEY", "retries": 0, **fields})


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
