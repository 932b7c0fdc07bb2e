"""The SDKs' own aiohttp client, made to read a stream ten times a second and not oftener.

A page is not updated oftener than that, and each reading costs a wake-up of everything behind
it. Between two readings the socket itself is not read: what arrives waits in the kernel, where
it costs nothing, and one reading takes all of it (measured by `tests/benchmarks/streams.py`).
Nothing is lost where the connection breaks meanwhile, because it is not heard of either.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import aiohttp
import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from aiohttp.connector import Connection

__all__ = ["SECONDS_BETWEEN_READINGS", "make_http_client", "was_stale"]

SECONDS_BETWEEN_READINGS = 0.1
# A reading as large as this shows that more is waiting, so the next one follows at once.
_MUCH = 64 * 1024

# Uvicorn, and so vLLM, SGLang and many more, closes a connection after five idle seconds: one
# that is given up before is never met while it is being closed.
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=4.0)

_Client = TypeVar("_Client", bound="httpx2.AsyncClient")


def make_http_client(base: type[_Client], *, trust_env: bool) -> _Client:
    """An HTTP client for an SDK.

    Args:
        base: the SDK's `DefaultAioHttpClient`.
        trust_env: whether the environment's proxies come between.
    """

    class PacedClient(base):  # type: ignore[valid-type, misc]
        """The SDK's client, whose transports read at a pace."""

        def _init_transport(self, *args: object, **options: object) -> httpx2.AsyncBaseTransport:
            return _pace(super()._init_transport(*args, **options))

        def _init_proxy_transport(
            self, *args: object, **options: object
        ) -> httpx2.AsyncBaseTransport:
            return _pace(super()._init_proxy_transport(*args, **options))

    client = PacedClient(follow_redirects=False, trust_env=trust_env, limits=_LIMITS)
    return cast("_Client", client)


def was_stale(error: Exception) -> bool:
    """Whether a request met a connection of the pool that the server was just closing.

    Nothing was answered on it, so asking again at once is right.
    """
    kinds = (aiohttp.ClientConnectionResetError, aiohttp.ServerDisconnectedError)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kinds):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


class AiohttpTransport(Protocol):
    """What is used of the SDK's transport.

    Attributes:
        client: the session, or what makes it when the first request comes.
    """

    client: Callable[[], aiohttp.ClientSession] | None

    def get_client(self) -> aiohttp.ClientSession:
        """Makes a session by the client's settings."""
        ...


def _pace(transport: AiohttpTransport) -> httpx2.AsyncBaseTransport:
    """The SDK's transport over aiohttp, with responses that are read at a pace."""

    def open_session() -> aiohttp.ClientSession:
        transport.client = None  # so that the transport makes one
        made = transport.get_client()
        paced = aiohttp.ClientSession(connector=made.connector, response_class=_PacedResponse)
        made.detach()  # its connections go on in the other
        return paced

    transport.client = open_session
    return cast("httpx2.AsyncBaseTransport", transport)


class _PacedResponse(aiohttp.ClientResponse):
    """A response whose body is read at a pace."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Reads the head, then puts the pace before the body."""
        await super().start(connection)
        if connection.transport is not None:
            paced = _PacedContent(self.content, connection.transport)
            self.content = cast("aiohttp.StreamReader", paced)
        return self


class _PacedContent:
    """A body; what the pace does not concern is the reader's own."""

    def __init__(self, reader: aiohttp.StreamReader, transport: asyncio.Transport) -> None:
        self._reader = reader
        self._transport = transport

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)

    async def iter_chunked(self, size: int) -> AsyncGenerator[bytes]:
        """All that has arrived, at once and then in turns of `SECONDS_BETWEEN_READINGS`."""
        del size  # whoever reads has room for what one reading brings
        reader, transport = self._reader, self._transport
        while data := await reader.readany():
            if reader.at_eof() or len(data) >= _MUCH or transport.is_closing():
                yield data
                continue
            transport.pause_reading()
            try:
                yield data
                await asyncio.sleep(SECONDS_BETWEEN_READINGS)
            finally:
                if not transport.is_closing():
                    transport.resume_reading()
