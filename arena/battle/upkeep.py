"""A process that answers battles: alive on the register, and looking for what dead ones left."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from arena.store import HEARTBEAT_SECONDS, Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.store import Workers

logger = logging.getLogger(__name__)


class Upkeep:
    """Keeps this process on the register, and marks the battles that nobody is answering.

    Args:
        workers: the register.
        live: the ids of the battles that this process is answering.

    Attributes:
        worker_id: this process on the register, empty before `open`.
    """

    def __init__(self, workers: Workers, *, live: Callable[[], tuple[str, ...]]) -> None:
        self._workers = workers
        self._live = live
        self.worker_id = ""
        self._heartbeat: Heartbeat | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Registers, and marks at once what dead processes left behind."""
        self._heartbeat = await asyncio.to_thread(Heartbeat, self._workers)
        self.worker_id = self._heartbeat.worker_id
        await self._sweep()
        self._sweeping = asyncio.create_task(self._keep_sweeping())

    async def rest(self) -> None:
        """Looks for nothing any more; the heart goes on beating until the process signs off."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])

    async def sign_off(self) -> None:
        """Says that this process has stopped in good order."""
        if self._heartbeat is not None:
            await asyncio.to_thread(self._heartbeat.sign_off)

    async def _keep_sweeping(self) -> None:
        is_open = True
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                await self._sweep()
            except Exception:
                # Said once. The database may be back the next time; ending here would be silent.
                if is_open:
                    logger.exception("lost battles cannot be looked for")
                is_open = False
            else:
                is_open = True

    async def _sweep(self) -> None:
        found = await asyncio.to_thread(
            self._workers.abandon_orphans, self.worker_id, live=self._live()
        )
        if found:
            logger.info("%d battles that nobody is answering marked as abandoned", found)
