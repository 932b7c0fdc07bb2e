"""A proxy that behaves as bad lines do: it loses, resets, refuses, stalls and delays when told to.

It passes on bytes and looks into them only to answer 502 and to end a stream in good order. It
runs in a thread of its own, so that a test that drives a browser can tell it what to do.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")

_ANSWER_502 = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_LAST_CHUNK = b"0\r\n\r\n"
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: what is left is thrown away, and said so


class Manner(Enum):
    """How what comes is dealt with."""

    HONEST = "honest"
    RESET = "reset"  # every connection ends at once, with a reset
    BAD_GATEWAY = "bad gateway"  # every request is answered 502, in HTML
    SILENT = "silent"  # connections are taken and nothing goes through, now or later
    LATE = "late"  # nothing goes through until the manner changes, then all of it


class MisbehavingProxy:
    """A TCP proxy on a port of its own in front of a server on this machine.

    Args:
        backend: the server's port.

    Attributes:
        port: where it listens.
    """

    def __init__(self, backend: int) -> None:
        self._backend = backend
        self._manner = Manner.HONEST
        self._changed = asyncio.Event()
        self._pipes: set[_Pipe] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def address(self) -> str:
        """Of the server behind it, as a browser has it."""
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def behaving(self, manner: Manner) -> Iterator[None]:
        """Behaves so until the block ends; silent connections stay so for good."""
        self._call(self._change(manner))
        try:
            yield
        finally:
            self._call(self._change(Manner.HONEST))

    def point_at(self, backend: int) -> None:
        """From here on passes everything to another server; what was open is reset."""

        async def switch() -> None:
            self._backend = backend
            self._cut(_Pipe.reset)

        self._call(switch())

    def reset(self) -> None:
        """Resets what is open, once."""

        async def cut() -> None:
            self._cut(_Pipe.reset)

        self._call(cut())

    def end_streams(self) -> None:
        """Ends every answer that is being streamed as if it were complete."""

        async def end() -> None:
            self._cut(_Pipe.end)

        self._call(end())

    def _call(self, work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        self._cut(_Pipe.reset)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _change(self, manner: Manner) -> None:
        self._manner = manner
        if manner is Manner.SILENT:
            self._cut(_Pipe.silence)
        if manner in (Manner.RESET, Manner.BAD_GATEWAY):
            self._cut(_Pipe.reset)
        self._changed.set()
        self._changed = asyncio.Event()

    def _cut(self, how: Callable[[_Pipe], None]) -> None:
        for pipe in list(self._pipes):
            how(pipe)

    async def wait_for_passage(self) -> None:
        """Returns once what comes may go through."""
        while self._manner is Manner.LATE:
            await self._changed.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pipe = _Pipe(self, writer)
        self._pipes.add(pipe)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                if self._manner is Manner.RESET:
                    pipe.reset()
                elif self._manner is Manner.BAD_GATEWAY:
                    await _answer_502(reader, writer)
                elif self._manner is Manner.SILENT:
                    pipe.silence()
                    await reader.read()
                else:
                    await self.wait_for_passage()
                    await pipe.run(reader, self._backend)
        finally:
            self._pipes.discard(pipe)
            writer.close()


class _Pipe:
    """A connection from the browser and the one to the server that belongs to it."""

    def __init__(self, proxy: MisbehavingProxy, browser: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._browser = browser
        self._server: asyncio.StreamWriter | None = None
        self._is_silent = False
        self._is_streaming = False

    async def run(self, reader: asyncio.StreamReader, backend: int) -> None:
        try:
            answers, self._server = await asyncio.open_connection("127.0.0.1", backend)
        except OSError:  # nobody there: what a proxy says then
            await _answer_502(reader, self._browser)
            return
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, self._server))
                both.create_task(self._pass_on(answers, self._browser))
        except* OSError:
            pass
        finally:
            self._server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._proxy.wait_for_passage()
            if self._is_silent:
                continue
            if writer is self._browser:
                self._notice(data)
            writer.write(data)
            await writer.drain()
        if not self._is_silent:
            writer.close()
            raise ConnectionResetError  # with one end the other is over

    def _notice(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1"):
            self._is_streaming = b"text/event-stream" in data.partition(b"\r\n\r\n")[0]
        if data.endswith(_LAST_CHUNK):
            self._is_streaming = False

    def reset(self) -> None:
        self._browser.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _RESET
        )
        self._browser.transport.abort()
        if self._server is not None:
            self._server.transport.abort()

    def end(self) -> None:
        if self._is_streaming and not self._is_silent:
            self._browser.write(_LAST_CHUNK)
            self._browser.close()

    def silence(self) -> None:
        self._is_silent = True


async def _answer_502(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = (
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(_ANSWER_502)
    )
    writer.write(head + _ANSWER_502)
    await writer.drain()
