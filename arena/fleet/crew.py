"""Starts workers and their proxy, starts again what dies, replaces workers, stops all in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from arena.fleet.member import MemberFailed, make_proxy_member, make_worker
from arena.fleet.proxies import ProxyProblem, Site, choose_proxy
from arena.fleet.servers import ModelServers
from serving.server_process import find_free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from arena.fleet.member import Member
    from arena.fleet.proxies import Proxy
    from arena.settings import Settings

__all__ = ["Crew", "run_crew"]

logger = logging.getLogger(__name__)

# Before a member that died is started again, longer each time that it does not come up.
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
# How long a worker that was replaced may finish the battles it is answering.
_DRAIN_SECONDS = 60.0


class Crew:
    """Workers behind one proxy, as an async context.

    Args:
        settings: of the arena; the proxy listens where they say.
        proxy: listens and routes.
        reload_settings: reads the settings again, when workers are replaced.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        proxy: Proxy,
        reload_settings: Callable[[], Settings] | None = None,
    ) -> None:
        self._settings = settings
        self._proxy = proxy
        self._reload_settings = reload_settings
        self._members: list[Member] = []
        self._gate: Member | None = None
        self._servers = ModelServers()
        self._watches: set[asyncio.Task[None]] = set()
        self._replacing = asyncio.Lock()

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the workers that run now."""
        return tuple(member.pid for member in self._members if member.pid is not None)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs all of them.

        Raises:
            MemberFailed: one does not start; the message has its words.
            RosterError: the server of a local model does not start.
            ProxyProblem: the proxy refuses its configuration.
        """
        try:
            self._members = await self._start_workers(await self._servers.share(self._settings))
            self._proxy.configure(self._site())
            self._gate = make_proxy_member(self._proxy, self._settings)
            await self._gate.start()
            for member in (*self._members, self._gate):
                self._watch(member)
            yield
        finally:
            await self._stop()

    async def replace(self) -> None:
        """Puts new workers with the settings as they are now in the place of the old ones.

        New visitors go to the new ones at once; what the old ones are answering goes on.

        Raises:
            MemberFailed: a new one does not start; the old ones go on.
            ProxyProblem: the proxy refuses; the old ones go on.
        """
        async with self._replacing:
            settings = self._read_settings()
            fresh = await self._start_workers(await self._servers.share(settings))
            old, before = self._members, self._settings
            self._members, self._settings = fresh, settings
            try:
                self._reconfigure()
            except ProxyProblem:
                self._members, self._settings = old, before
                await _stop_all(fresh)
                raise
            for member in fresh:
                self._watch(member)
            await asyncio.gather(*(member.drain(_DRAIN_SECONDS) for member in old))
            await self._servers.release(settings)

    def _read_settings(self) -> Settings:
        """The settings as they are now, but for the address, which people know."""
        if self._reload_settings is None:
            return self._settings
        told, server = self._reload_settings(), self._settings.server
        kept = told.server.model_copy(update={"host": server.host, "port": server.port})
        return told.model_copy(update={"server": kept})

    async def _start_workers(self, settings: Settings) -> list[Member]:
        members = [make_worker(settings, number=n + 1) for n in range(settings.server.workers)]
        try:
            # The first one makes the tables and the secret, the others find them.
            await members[0].start()
            await asyncio.gather(*(member.start() for member in members[1:]))
        except BaseException:
            await _stop_all(members)
            raise
        return members

    def _site(self) -> Site:
        server = self._settings.server
        believed = tuple(name.strip() for name in server.forwarded_allow_ips.split(","))
        return Site(
            host=server.host,
            port=server.port,
            ports=tuple(member.port for member in self._members),
            trusted=tuple("0.0.0.0/0" if name == "*" else name for name in believed if name),
        )

    def _reconfigure(self) -> None:
        self._proxy.configure(self._site())
        self._proxy.reload()

    def _watch(self, member: Member) -> None:
        task = asyncio.create_task(self._keep_up(member))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def _keep_up(self, member: Member) -> None:
        """Starts a member again whenever it has ended by itself."""
        pause = _FIRST_PAUSE_SECONDS
        while await member.wait_for_death():
            logger.warning("%s has ended by itself and is started again", member)
            await asyncio.sleep(pause)
            known = self._site()
            try:
                await member.start()
                if self._site() != known:
                    self._reconfigure()
                pause = _FIRST_PAUSE_SECONDS
            except (MemberFailed, ProxyProblem) as error:
                logger.warning("%s", error)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _stop(self) -> None:
        for task in self._watches:
            task.cancel()
        # The workers first: what they stream ends in order, through the proxy.
        await _stop_all(self._members)
        if self._gate is not None:
            await self._gate.stop()
        await self._servers.aclose()


async def _stop_all(members: Sequence[Member]) -> None:
    await asyncio.gather(*(member.stop() for member in members))


async def _serve(crew: Crew, announce: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    stopping, replacing = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGHUP, replacing.set)
    async with crew.running():
        announce()
        stopped = asyncio.create_task(stopping.wait())
        while not stopped.done():
            asked = asyncio.create_task(replacing.wait())
            await asyncio.wait({stopped, asked}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                asked.cancel()
                continue
            replacing.clear()
            await _replace(crew, stopped)


async def _replace(crew: Crew, stopped: asyncio.Task[bool]) -> None:
    """Replaces the workers, unless all is to stop meanwhile."""
    work = asyncio.create_task(crew.replace())
    await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
    try:
        await work
    except asyncio.CancelledError:
        pass
    except Exception as error:  # noqa: BLE001  whatever is wrong with the new ones, the old ones serve
        logger.warning("the workers were not replaced: %s", error)
    else:
        logger.warning("the workers were replaced: now %s", ", ".join(map(str, crew.pids)))


def run_crew(
    settings: Settings,
    *,
    announce: Callable[[str], None],
    reload_settings: Callable[[], Settings] | None = None,
) -> None:
    """Serves an arena from several processes until it is interrupted.

    SIGHUP reads the settings again and replaces the workers.

    Args:
        settings: of the arena, and how many processes behind which proxy.
        announce: told where the page is, once all are up.
        reload_settings: reads the settings again.

    Raises:
        MemberFailed: a process does not start.
        ProxyProblem: no proxy is installed, or it refuses.
    """
    server = settings.server
    if server.port == 0:
        server = server.model_copy(update={"port": find_free_port()})
        settings = settings.model_copy(update={"server": server})
    with tempfile.TemporaryDirectory(prefix="arena-crew-") as folder:
        proxy = choose_proxy(Path(folder), server.proxy)
        crew = Crew(settings, proxy=proxy, reload_settings=reload_settings)
        announce(f"Starting {server.workers} workers behind {proxy.name} …")
        asyncio.run(_serve(crew, lambda: announce(server.invite(server.port))))
