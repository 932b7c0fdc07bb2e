"""The processes that answer battles, so that what a dead one left is found.

A battle being answered names its worker. A worker that was killed cannot say so: it is
known to be gone when its process no longer exists on this host, or when its heartbeat is
old (a process on another host).
"""

from __future__ import annotations

import os
import secrets
import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from arena.battles import BattleStatus
from arena.store.engine import begin_write
from arena.store.tables import battles, workers

if TYPE_CHECKING:
    from sqlalchemy import RowMapping
    from sqlalchemy.engine import Engine

HEARTBEAT_SECONDS = 5.0
_GONE_AFTER = timedelta(seconds=6 * HEARTBEAT_SECONDS)


class Workers:
    """The register of processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self) -> str:
        """Enters this process and returns its id."""
        worker_id, now = secrets.token_urlsafe(12), datetime.now(UTC)
        with begin_write(self._engine) as connection:
            connection.execute(
                insert(workers).values(
                    id=worker_id,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    started_at=now,
                    heartbeat_at=now,
                )
            )
        return worker_id

    def beat(self, worker_id: str) -> None:
        """Says that a worker is alive."""
        self._touch(worker_id, "heartbeat_at")

    def sign_off(self, worker_id: str) -> None:
        """Says that a worker has stopped in good order."""
        self._touch(worker_id, "stopped_at")

    def abandon_orphans(self, worker_id: str) -> int:
        """Marks the battles of dead workers as abandoned.

        Args:
            worker_id: the caller, who is alive whatever its row says.

        Returns:
            How many battles were marked.
        """
        with begin_write(self._engine) as connection:
            open_workers = select(workers).where(
                workers.c.id.in_(select(battles.c.worker_id).distinct()),
                workers.c.id != worker_id,
            )
            rows = connection.execute(open_workers).mappings().all()
            dead = [row["id"] for row in rows if _is_gone(row)]
            if not dead:
                return 0
            where = (battles.c.worker_id.in_(dead), battles.c.status == BattleStatus.ANSWERING)
            values = {
                "status": BattleStatus.ABANDONED,
                "worker_id": None,
                "updated_at": datetime.now(UTC),
            }
            return connection.execute(update(battles).where(*where).values(values)).rowcount

    def _touch(self, worker_id: str, column: str) -> None:
        with begin_write(self._engine) as connection:
            where = workers.c.id == worker_id
            connection.execute(update(workers).where(where).values({column: datetime.now(UTC)}))


def _is_gone(row: RowMapping) -> bool:
    if row["stopped_at"] is not None or datetime.now(UTC) - row["heartbeat_at"] > _GONE_AFTER:
        return True
    if row["host"] != socket.gethostname():
        return False
    # A restarted container gets its host name and process number again: our own number on
    # another worker's row means that it was our predecessor.
    return row["pid"] == os.getpid() or not _exists(row["pid"])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
