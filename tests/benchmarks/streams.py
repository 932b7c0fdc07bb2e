"""What reading a provider's stream costs: this arena's reader beside the SDKs' own, in one run.

    python tests/benchmarks/streams.py --streams 100

A raw asyncio server in a process of its own streams answers over real HTTP on the loopback:
170 bytes a chunk, each an HTTP chunk, 50 a second and stream. Every reader reads as many of them
at the same time, in a process of its own; what is counted is that process's CPU: for opening a
request (an answer of one chunk), for each further chunk, and for whole answers. The ratio is that
of whole answers, taken within a round; medians of the rounds are printed. Exits 1 if the reader
takes more than half of the time of OpenAI's SDK, or more than that of Anthropic's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

from serving.limits import LimitedModel
from serving.protocol import Message, ModelCard, TextDelta
from serving.sdk import Endpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

APIS = ("openai", "anthropic")
CHUNKS_PER_SECOND = 50
TEXT = "alpha"
GOALS = {"openai": 0.5, "anthropic": 1.0}
_PADDING: dict[str, dict[str, object]] = {
    "openai": {"object": "chat.completion.chunk", "created": 1_700_000_000, "id": "chatcmpl-01"},
    "anthropic": {"padding": "x" * 40},
}
ASKS = [{"role": "user", "content": "Say something long."}]


# The server


def _piece(api: str) -> bytes:
    if api == "openai":
        choice = {"index": 0, "delta": {"content": TEXT}, "finish_reason": None}
        return _frame({**_PADDING[api], "model": "mock", "choices": [choice]})
    delta = {"type": "text_delta", "text": TEXT}
    return _frame({"type": "content_block_delta", "index": 0, "delta": delta, **_PADDING[api]})


def _beginning(api: str) -> bytes:
    if api == "openai":
        return b""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, object] = {
        "id": "1", "type": "message", "role": "assistant", "model": "mock", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    block: dict[str, object] = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    return _frame({"type": "message_start", "message": message}) + _frame(block)


def _ending(api: str) -> bytes:
    if api == "openai":
        choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
        return _frame({**_PADDING[api], "model": "mock", "choices": [choice]}) + b"data: [DONE]\n\n"
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    end: dict[str, object] = {
        "type": "message_delta",
        "delta": delta,
        "usage": {"output_tokens": 2},
    }
    return _frame(end) + _frame({"type": "message_stop"})


def _frame(body: dict[str, object]) -> bytes:
    event = f"event: {body['type']}\n" if "type" in body else ""
    return f"{event}data: {json.dumps(body, separators=(',', ':'))}\n\n".encode()


def _http_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class _Mock(asyncio.Protocol):
    """Streams ready-made bytes at a pace; how many pieces, the model's name says."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._held = b""

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        if found and len(body) >= int(length or 0):
            self._held = b""
            self._begin("anthropic" if b"/messages" in head else "openai", json.loads(body))

    def _begin(self, api: str, request: dict[str, object]) -> None:
        self._piece = _http_chunk(_piece(api))
        self._end = _http_chunk(_ending(api)) + b"0\r\n\r\n"
        self._left = int(str(request["model"]))
        self._started, self._sent = time.monotonic(), 0
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked"
        beginning = _beginning(api)
        self._transport.write(head + b"\r\n\r\n" + (_http_chunk(beginning) if beginning else b""))
        self._tick()

    def _tick(self) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(self._piece)
        self._sent += 1
        if self._sent >= self._left:
            self._transport.write(self._end)
            return
        due = self._started + self._sent / CHUNKS_PER_SECOND
        loop = asyncio.get_running_loop()
        loop.call_later(max(0.0, due - time.monotonic()), self._tick)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Mock, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# The readers


def _endpoint(url: str, pieces: int) -> Endpoint:
    return Endpoint(name="it", model=str(pieces), base_url=url)


def _our_reader(api: str, port: int) -> Callable[[int], Awaitable[int]]:
    from serving.anthropic_chat import AnthropicBackend
    from serving.openai_chat import OpenAIBackend

    make = OpenAIBackend if api == "openai" else AnthropicBackend
    url = f"http://127.0.0.1:{port}" + ("/v1" if api == "openai" else "")
    models: dict[int, LimitedModel] = {}

    async def read(pieces: int) -> int:
        if pieces not in models:
            backend = make(_endpoint(url, pieces))
            models[pieces] = LimitedModel(backend, card=ModelCard(name="it"))
        letters = 0
        async with aclosing(models[pieces].stream([Message("user", "Go on.")])) as events:
            async for event in events:
                letters += len(event.text) if isinstance(event, TextDelta) else 0
        return letters // len(TEXT)

    return read


def _openai_sdk(port: int) -> Callable[[int], Awaitable[int]]:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="x", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)

    async def read(pieces: int) -> int:
        found = 0
        stream = await client.chat.completions.create(
            model=str(pieces), messages=[{"role": "user", "content": "Go on."}], stream=True
        )
        async for chunk in stream:
            found += bool(chunk.choices and chunk.choices[0].delta.content)
        return found

    return read


def _anthropic_sdk(port: int) -> Callable[[int], Awaitable[int]]:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(api_key="x", base_url=f"http://127.0.0.1:{port}", max_retries=0)

    async def read(pieces: int) -> int:
        found = 0
        stream = await client.messages.create(
            model=str(pieces),
            messages=[{"role": "user", "content": "Go on."}],
            max_tokens=9,
            stream=True,
        )
        async for event in stream:
            found += event.type == "content_block_delta"
        return found

    return read


def _reader(name: str, api: str, port: int) -> Callable[[int], Awaitable[int]]:
    if name == "ours":
        return _our_reader(api, port)
    return _openai_sdk(port) if api == "openai" else _anthropic_sdk(port)


async def _measure(
    name: str, api: str, port: int, *, streams: int, pieces: int
) -> tuple[float, float, float]:
    """Milliseconds of CPU to open a request, microseconds a chunk, seconds for all answers."""
    read = _reader(name, api, port)
    await read(1)

    async def read_all(each: int) -> float:
        start = time.process_time()
        found = await asyncio.gather(*(read(each) for _ in range(streams)))
        assert found == [each] * streams, found[:3]
        return time.process_time() - start

    await read_all(1)
    opening = await read_all(1)
    whole = await read_all(pieces)
    chunk = (whole - opening) / (streams * (pieces - 1))
    return opening / streams * 1e3, chunk * 1e6, whole


def _measure_apart(name: str, api: str, port: int, options: argparse.Namespace) -> list[float]:
    command = [sys.executable, __file__, "--reader", name, "--api", api, "--port", str(port),
               "--streams", str(options.streams), "--seconds", str(options.seconds)]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(figure) for figure in done.stdout.split()]


def _report(port: int, options: argparse.Namespace) -> int:
    print(f"{options.streams} streams of {options.seconds:g} s at once, {CHUNKS_PER_SECOND} chunks "
          f"a second each, medians of {options.rounds} rounds; CPU")  # fmt: skip
    missed = 0
    for api in APIS:
        rounds = [
            {name: _measure_apart(name, api, port, options) for name in ("sdk", "ours")}
            for _ in range(options.rounds)
        ]
        for name in ("sdk", "ours"):
            opening, chunk, _ = (
                statistics.median(column) for column in zip(*(r[name] for r in rounds), strict=True)
            )
            print(f"{api:10} {name:5} {opening:5.2f} ms to open a request, {chunk:6.1f} µs a chunk")
        ratio = statistics.median(figures["ours"][2] / figures["sdk"][2] for figures in rounds)
        print(f"{api:10} whole answers: {ratio:.2f} of the SDK's time")
        missed += ratio > GOALS[api]
    return 1 if missed else 0


def main() -> int:
    """Runs the benchmark, or one of its processes; 0 if the goal is met."""
    options = _options()
    if options.serve:
        asyncio.run(_serve())
        return 0
    if options.reader:
        pieces = round(options.seconds * CHUNKS_PER_SECOND)
        print(*asyncio.run(_measure(options.reader, options.api, options.port,
                                    streams=options.streams, pieces=pieces)))  # fmt: skip
        return 0
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        return _report(int(server.stdout.readline()), options)
    finally:
        server.terminate()
        server.wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=100, help="read at the same time")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of an answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--reader", choices=("ours", "sdk"), help=argparse.SUPPRESS)
    parser.add_argument("--api", choices=APIS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
