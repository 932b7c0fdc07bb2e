"""A provider that misbehaves as told, and short ways to ask a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from serving import Completion, Message

if TYPE_CHECKING:
    from serving import ChatModel, Sampling, StreamEvent

USER_ASKS = [Message("user", "Say hello.")]


async def collect(
    model: ChatModel, messages: list[Message] | None = None, sampling: Sampling | None = None
) -> list[StreamEvent]:
    """All events of one answer."""
    async with aclosing(model.stream(messages or USER_ASKS, sampling)) as events:
        return [event async for event in events]


async def complete(
    model: ChatModel, messages: list[Message] | None = None, sampling: Sampling | None = None
) -> Completion:
    """The completion of one answer."""
    last = (await collect(model, messages, sampling))[-1]
    assert isinstance(last, Completion)
    return last


@dataclass
class Request:
    """What the provider saw of a request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Connection:
    """One request's connection, as a behaviour writes to it."""

    def __init__(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.request = request
        self._reader = reader
        self._writer = writer

    async def send_status(self, status: int, body: object, **headers: str) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        lines = [f"HTTP/1.1 {status} X", "content-type: application/json", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines += [f"content-length: {len(text.encode())}", "", text]
        self._writer.write("\r\n".join(lines).encode())
        await self._writer.drain()

    async def begin_stream(self) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked"
        self._writer.write(f"{head}\r\n\r\n".encode())
        await self._writer.drain()

    async def send_event(self, data: object, event: str | None = None) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        line = (f"event: {event}\n" if event else "") + f"data: {text}\n\n"
        await self.send_chunk(line.encode())

    async def send_chunk(self, data: bytes) -> None:
        """One HTTP chunk, whatever it holds."""
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()

    async def send_raw(self, data: bytes) -> None:
        """Bytes of the connection itself, head and all."""
        self._writer.write(data)
        await self._writer.drain()

    async def end_stream(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def cut(self) -> None:
        self._writer.transport.abort()

    async def wait_for_disconnect(self) -> None:
        while await self._reader.read(1024):
            pass


Behaviour = Callable[[Connection], Awaitable[None]]


@dataclass
class Provider:
    """A real HTTP server on the loopback that does what its script says, request by request."""

    port: int = 0
    script: list[Behaviour] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            behaviour = self.script[min(len(self.requests), len(self.script) - 1)]
            self.requests.append(request)
            connection = Connection(request, reader, writer)
            await behaviour(connection)
            self.disconnected.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnected.set()
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(first.split()[1], headers, json.loads(body or b"{}"))
