"""A provider that costs next to nothing: answers of ready-made bytes at an even pace.

    python tests/benchmarks/paced_provider.py --tokens 200 --tokens-per-second 50

Speaks OpenAI's and Anthropic's streaming APIs on a port of the loopback, which it prints. It is a
raw asyncio protocol, so that what is measured beside it is the arena and not the mock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import suppress
from typing import cast

import uvloop

FIRST_WORD = "alpha"
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: keep-alive\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def openai_frames(tokens: int) -> list[bytes]:
    """The chunks of an answer as OpenAI sends them, about 170 bytes each."""
    begin = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock"}

    def frame(**choice: object) -> bytes:
        body = {**begin, "choices": [{"index": 0, **choice}]}
        return b"data: " + json.dumps(body).encode() + b"\n\n"

    usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": tokens + 10}
    ends = [
        frame(delta={}, finish_reason="stop"),
        b"data: " + json.dumps({**begin, "choices": [], "usage": usage}).encode() + b"\n\n",
        b"data: [DONE]\n\n",
    ]
    return [*(frame(delta={"content": word}, finish_reason=None) for word in _words(tokens)), *ends]


def anthropic_frames(tokens: int) -> list[bytes]:
    """The events of an answer as Anthropic sends them."""

    def frame(kind: str, **body: object) -> bytes:
        text = json.dumps({"type": kind, **body})
        return f"event: {kind}\ndata: {text}\n\n".encode()

    message: dict[str, object] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }  # fmt: skip
    begin = frame("message_start", message=message)
    block = frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
    words = [
        frame("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
        for word in _words(tokens)
    ]
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    ends = [
        frame("content_block_stop", index=0),
        frame("message_delta", delta=end, usage={"output_tokens": tokens}),
        frame("message_stop"),
    ]
    return [begin + block + words[0], *words[1:], *ends]


def _words(tokens: int) -> list[str]:
    return [FIRST_WORD, *(f" word{number}" for number in range(tokens - 1))]


def _chunk(frame: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(frame), frame)


class Provider(asyncio.Protocol):
    """One connection: a request after the other, each answered by the frames of its API.

    Args:
        frames: of OpenAI's and of Anthropic's API, in chunks of HTTP.
        seconds: from one frame to the next.
    """

    def __init__(self, frames: dict[bytes, list[bytes]], seconds: float) -> None:
        self._frames = frames
        self._seconds = seconds
        self._received = b""
        self._left: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._next: asyncio.TimerHandle | None = None
        self._due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Stops writing."""
        if self._next is not None:
            self._next.cancel()
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Begins to answer once the request is whole."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        size = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if len(body) < size:
            return
        self._received = body[size:]
        path = head.split(b" ", 2)[1]
        self._answer(b"messages" if b"/messages" in path else b"completions")

    def _answer(self, api: bytes) -> None:
        frames = self._frames[api]
        loop = asyncio.get_running_loop()
        self._left = frames[::-1]
        self._due = loop.time() + 0.1
        self._write(_HEAD)
        self._next = loop.call_at(self._due, self._go_on)

    def _go_on(self) -> None:
        if self._transport is None:
            return
        self._write(self._left.pop())
        if not self._left:
            self._write(b"0\r\n\r\n")
            return
        # Whatever the pace of this process: the next frame is due when it is due.
        self._due += self._seconds
        self._next = asyncio.get_running_loop().call_at(self._due, self._go_on)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


async def serve(tokens: int, tokens_per_second: float) -> None:
    """Answers until it is stopped."""
    frames = {b"completions": openai_frames(tokens), b"messages": anthropic_frames(tokens)}
    chunks = {api: [_chunk(frame) for frame in found] for api, found in frames.items()}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Provider(chunks, 1 / tokens_per_second), "127.0.0.1", 0, backlog=4096
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--tokens-per-second", type=float, default=50)
    options = parser.parse_args()
    with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(options.tokens, options.tokens_per_second))
