"""The body of a request, whole or refused: Gradio reads whatever it is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
from starlette.datastructures import Headers

from arena.web.gradio_seams import BODY_BYTES

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

# Whoever sends slower than this sends half a request.
BODY_SECONDS = 20.0


class Refused(Exception):
    """A request that is not let in.

    Attributes:
        status: of the answer.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


async def read_json(scope: Scope, receive: Receive) -> Any:  # noqa: ANN401  whatever it says
    """What a request sends, which must be JSON as RFC 8259 has it.

    So there is no NaN in it, no lone surrogate, no text that is not UTF-8 and no nesting without
    end.

    Raises:
        Refused: it is no JSON, too large, or does not come.
    """
    headers = Headers(scope=scope)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "an event is sent as application/json")
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > BODY_BYTES:
        raise Refused(413, f"a request has at most {BODY_BYTES:,} bytes")
    body = await _read(receive)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refused(400, "what was sent is no JSON") from None


def replay(body: bytes, receive: Receive) -> Receive:
    """Hands a body over as if it had come just now; after it comes what really comes.

    Args:
        body: all of it.
        receive: of the request.
    """
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def _receive() -> Message:
        return waiting.pop() if waiting else await receive()

    return _receive


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the request broke off")
                body += message.get("body", b"")
                if len(body) > BODY_BYTES:
                    raise Refused(413, f"a request has at most {BODY_BYTES:,} bytes")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Refused(408, "the request did not come within its time") from None
