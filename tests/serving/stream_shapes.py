"""What providers really send: shapes of answers, and what is to become of each.

Most are written once for both APIs, in terms of `Wire`, which knows how an API says things.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from misbehaving_provider import Behaviour, Connection

ApiName = Literal["openai", "anthropic"]
Ending = Literal["close", "hang", "cut", "raw"]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
EVERY: tuple[ApiName, ...] = ("openai", "anthropic")


def frame(body: object, event: str = "") -> bytes:
    """One event; a mapping as JSON, a text as it is."""
    data = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {data}\n\n".encode()


class Wire:
    """How an API says things, frame by frame."""

    def __init__(self, api: ApiName) -> None:
        self.api = api

    @property
    def is_openai(self) -> bool:
        return self.api == "openai"

    def chunk(self, delta: object, **choice: object) -> bytes:
        body = {"index": 0, "delta": delta, **choice}
        return frame(
            {"id": "1", "object": "chat.completion.chunk", "model": "real-1", "choices": [body]}
        )

    def block(self, delta: object, event: str = "content_block_delta") -> bytes:
        return frame({"type": event, "index": 0, "delta": delta}, event)

    def start(self, usage: object = None) -> bytes:
        if self.is_openai:
            return self.chunk({"role": "assistant", "content": ""})
        counts = {"input_tokens": 7, "output_tokens": 1} if usage is None else usage
        message = {"id": "1", "model": "real-1", "content": [], "usage": counts}
        return frame({"type": "message_start", "message": message}, "message_start")

    def text(self, text: str) -> bytes:
        if self.is_openai:
            return self.chunk({"content": text})
        return self.block({"type": "text_delta", "text": text})

    def end(self, reason: str | None = None, usage: object = None) -> bytes:
        """The frame that says why it ends, by default by itself."""
        if self.is_openai:
            return self.chunk({}, finish_reason=reason or "stop")
        body = {"stop_reason": reason or "end_turn", "stop_sequence": None}
        counts = {"output_tokens": 2} if usage is None else usage
        return frame({"type": "message_delta", "delta": body, "usage": counts}, "message_delta")

    @property
    def mark(self) -> bytes:
        """The last frame."""
        return (
            frame("[DONE]") if self.is_openai else frame({"type": "message_stop"}, "message_stop")
        )

    def say(self, *texts: str, reason: str | None = None) -> list[bytes]:
        """A whole answer as it should be."""
        return [self.start(), *map(self.text, texts), self.end(reason), self.mark]

    def whole(self, text: str) -> dict[str, Any]:
        """An answer that is not streamed."""
        if self.is_openai:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 7, "completion_tokens": 2}
            return {
                "object": "chat.completion",
                "model": "real-1",
                "choices": [choice],
                "usage": usage,
            }
        usage = {"input_tokens": 7, "output_tokens": 2}
        content = [{"type": "text", "text": text}]
        return {
            "type": "message",
            "model": "real-1",
            "content": content,
            "stop_reason": "end_turn",
            "usage": usage,
        }


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is sent, and what is to become of it.

    Attributes:
        name: what is odd about it.
        pieces: the HTTP chunks to send (with `raw`, all bytes of the connection).
        text: that is kept.
        reasoning: that is kept apart.
        end: how it ends: a finish reason, or the kind of the error.
        says: words that the error must hold.
        ending: what the server does when all is sent.
        apis: that can send it.
        settings: of the model.
    """

    name: str
    pieces: Callable[[Wire], list[bytes]]
    text: str = "Hello"
    reasoning: str = ""
    end: str = "stop"
    says: str = ""
    ending: Ending = "close"
    apis: tuple[ApiName, ...] = EVERY
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def is_votable(self) -> bool:
        return self.end in {"stop", "length"} and self.name not in EMPTY

    def play(self, api: ApiName) -> Behaviour:
        """Sends it to whoever asks."""

        async def send(connection: Connection) -> None:
            pieces = self.pieces(Wire(api))
            if self.ending == "raw":
                for piece in pieces:
                    await connection.send_raw(piece)
                return
            await connection.begin_stream()
            for piece in pieces:
                await connection.send_chunk(piece)
            if self.ending == "close":
                await connection.end_stream()
            elif self.ending == "hang":
                await connection.wait_for_disconnect()
            else:
                connection.cut()

        return send


# Complete, but nothing in them can be seen.
EMPTY = {
    "no text at all",
    "characters of no width",
    "bare markup",
    "an empty code block",
    "reasoning alone",
    "reasoning that nothing closes",
    "a tool is called and nothing said",
}


def between(odd: bytes) -> Callable[[Wire], list[bytes]]:
    """A good answer with something odd in the middle."""
    return lambda w: [w.start(), w.text("Hel"), odd, w.text("lo"), w.end(), w.mark]


def instead(body: object, *, status: str = "200 OK", kind: str = "application/json") -> list[bytes]:
    """A response with a body that is no stream."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    data = text.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n"
    return [head.encode() + data]


def refusal(status: int, body: object) -> Callable[[Wire], list[bytes]]:
    return lambda w: instead(body, status=f"{status} X")


def joined(pieces: list[bytes]) -> bytes:
    return b"".join(pieces)


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def pretty(w: Wire) -> list[bytes]:
    """A frame whose JSON is spread over several data lines."""
    name, _, data = w.text("lo").rpartition(b"data: ")
    lines = json.dumps(json.loads(data), indent=1).splitlines()
    spread = name + "".join(f"data: {line}\n" for line in lines).encode() + b"\n"
    return [w.start(), w.text("Hel"), spread, w.end(), w.mark]


def packed(w: Wire) -> list[bytes]:
    data = gzip.compress(joined(w.say("Hel", "lo")))
    head = HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data)
    return [head + data]


def error_event(body: object) -> Callable[[Wire], list[bytes]]:
    return lambda w: [w.start(), w.text("Hel"), frame(body, "error")]
