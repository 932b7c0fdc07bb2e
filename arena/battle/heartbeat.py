"""A process on the register of workers: alive, and looking for what dead ones left."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.store import Workers

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5.0


class Upkeep:
    """Registers this process, says that it is alive, and marks what nobody is answering.

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
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Registers, and marks at once what dead processes left behind."""
        self.worker_id = await asyncio.to_thread(self._workers.register)
        await self._sweep()
        self._task = asyncio.create_task(self._keep_up())

    async def rest(self) -> None:
        """Stops the heartbeat; the process stays on the register until it signs off."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def sign_off(self) -> None:
        """Says that this process has stopped in good order."""
        await asyncio.to_thread(self._workers.sign_off, self.worker_id)

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                await asyncio.to_thread(self._workers.beat, self.worker_id)
                await self._sweep()
            except Exception:
                # The database may be back at the next beat; ending here would be silent.
                logger.exception("the heartbeat could not be stored")

    async def _sweep(self) -> None:
        found = await asyncio.to_thread(
            self._workers.abandon_orphans, self.worker_id, live=self._live()
        )
        if found:
            logger.info("%d battles that nobody is answering marked as abandoned", found)
