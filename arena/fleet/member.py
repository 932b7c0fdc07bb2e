"""One process of a crew: a worker or the proxy, started, watched and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx2

from serving.server_process import find_free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.fleet.proxies import Proxy
    from arena.settings import Settings

__all__ = ["Member", "MemberFailed", "make_proxy_member", "make_worker"]

# Loading the libraries takes seconds of a processor, which all workers share.
_SECONDS_TO_START = 180.0
_SECONDS_TO_STOP = 20.0
_LOOK_SECONDS = 0.05


class MemberFailed(Exception):
    """A process did not start; what it said is on the standard error."""


class Member:
    """A process that lives as long as its input is open.

    Args:
        title: what it is called in messages.
        command: what runs it.
        address: where it answers, for a port.
        port: its port.
        order: makes the first line of its input from the port.
        movable: whether it may take another port when it is started again.
    """

    def __init__(
        self,
        title: str,
        command: Sequence[str],
        *,
        port: int,
        address: Callable[[int], str] = "http://127.0.0.1:{}".format,
        order: Callable[[int], bytes] = lambda _: b"",
        movable: bool = False,
    ) -> None:
        self._title = title
        self._command = list(command)
        self._address = address
        self._order = order
        self._movable = movable
        self._process: asyncio.subprocess.Process | None = None
        self._leaving = False
        self.port = port

    def __str__(self) -> str:
        return self._title

    @property
    def pid(self) -> int | None:
        """Its process, `None` while it does not run."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Starts it and waits until it answers.

        Raises:
            MemberFailed: it ended, or did not answer in time.
        """
        try:
            await self._launch()
            await self._wait_until_it_answers()
        except BaseException:
            await self._end()
            if self._movable:
                self.port = find_free_port()  # perhaps somebody else took the old one
            raise

    async def wait_for_death(self) -> bool:
        """Waits until it has ended; whether that was by itself."""
        if self._process is not None:
            await self._process.wait()
        return not self._leaving

    async def drain(self, patience: float) -> None:
        """Lets it finish the battles that it is answering, for so many seconds, and stops it."""
        deadline = time.monotonic() + patience
        async with self._client() as client:
            while await self._count_battles(client):
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(_LOOK_SECONDS)
        await self.stop()

    async def stop(self) -> None:
        """Tells it to stop, and waits until it has."""
        self._leaving = True
        await self._end()

    async def _launch(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # Ctrl-C in a terminal reaches the crew alone, which decides who stops when.
            start_new_session=True,
        )
        pipe = self._process.stdin
        # It may have died at once; then the wait for its answer says so.
        with contextlib.suppress(ConnectionError):
            if pipe is not None:
                pipe.write(self._order(self.port))
                await pipe.drain()

    async def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _SECONDS_TO_START
        async with self._client() as client:
            while time.monotonic() < deadline:
                if self._process is None or self._process.returncode is not None:
                    raise MemberFailed(f"{self._title} ended while starting")
                if await self._count_battles(client) is not None:
                    return
                await asyncio.sleep(_LOOK_SECONDS)
        raise MemberFailed(f"{self._title} did not answer within {_SECONDS_TO_START:g} s")

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(trust_env=False, timeout=5)

    async def _count_battles(self, client: httpx2.AsyncClient) -> int | None:
        """The battles that it is answering, `None` where it says nothing."""
        try:
            answer = await client.get(f"{self._address(self.port)}/healthz")
            count = answer.json()["live_battles"]
        except (httpx2.HTTPError, ValueError, KeyError):
            return None
        return int(count)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_SECONDS_TO_STOP):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def make_worker(settings: Settings, *, number: int) -> Member:
    """A process that serves the arena on a port of the loopback."""
    return Member(
        f"worker {number}",
        [sys.executable, "-P", "-m", "arena.fleet.worker"],
        port=find_free_port(),
        order=lambda port: json.dumps(_describe(settings, port, number)).encode() + b"\n",
        movable=True,
    )


def make_proxy_member(proxy: Proxy, settings: Settings) -> Member:
    """The proxy, which listens where the settings say."""
    server = settings.server.model_copy(update={"public_url": None})
    return Member(proxy.name, proxy.command, address=server.find_address, port=server.port)


def _describe(settings: Settings, port: int, number: int) -> dict[str, Any]:
    """The settings of a worker: believes its proxy alone, and signs as all of them do."""
    from arena.settings import read_signing_secret

    described = settings.model_dump(mode="json")
    described["server"] |= {
        "host": "127.0.0.1",
        "port": port,
        "forwarded_allow_ips": "127.0.0.1",
        "secret": read_signing_secret(settings),
    }
    if settings.server.metrics_port is not None:
        described["server"]["metrics_port"] = settings.server.metrics_port + number - 1
    return described
