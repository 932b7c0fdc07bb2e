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

from sqlalchemy import and_, insert, or_, select, update

from arena.rules.battles import BattleStatus
from arena.store.engine import begin_write
from arena.store.tables import battles, workers

if TYPE_CHECKING:
    from sqlalchemy import RowMapping
    from sqlalchemy.engine import Engine

# Six beats of the conductor: a busy process may miss a few.
_GONE_AFTER = timedelta(seconds=30)
# Longer than it takes from a battle's commit to the first request to its models.
_FORGOTTEN_AFTER = timedelta(seconds=30)


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

    def list_alive(self) -> tuple[tuple[str, int], ...]:
        """Host and process of every worker that is alive, as far as can be told from here."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(workers)).mappings().all()
        return tuple((row["host"], row["pid"]) for row in rows if not is_gone(row))

    def abandon_orphans(self, worker_id: str, *, live: tuple[str, ...] = ()) -> int:
        """Marks the battles that nobody is answering any more as abandoned.

        These are the battles of dead workers, and those of the caller that it does not
        know (a page that left between the commit and the first request to a model).

        Args:
            worker_id: the caller, who is alive whatever its row says.
            live: the battles that the caller is answering.

        Returns:
            How many battles were marked.
        """
        now = datetime.now(UTC)
        with begin_write(self._engine) as connection:
            busy = select(battles.c.worker_id).where(battles.c.worker_id.is_not(None)).distinct()
            others = select(workers).where(workers.c.id.in_(busy), workers.c.id != worker_id)
            dead = [row["id"] for row in connection.execute(others).mappings() if is_gone(row)]
            forgotten = and_(
                battles.c.worker_id == worker_id,
                battles.c.id.not_in(live),
                battles.c.updated_at < now - _FORGOTTEN_AFTER,
            )
            orphaned = or_(battles.c.worker_id.in_(dead), forgotten)
            values = {"status": BattleStatus.ABANDONED, "worker_id": None, "updated_at": now}
            return connection.execute(
                update(battles)
                .where(battles.c.status == BattleStatus.ANSWERING, orphaned)
                .values(values)
            ).rowcount

    def _touch(self, worker_id: str, column: str) -> None:
        with begin_write(self._engine) as connection:
            where = workers.c.id == worker_id
            connection.execute(update(workers).where(where).values({column: datetime.now(UTC)}))


def is_gone(row: RowMapping) -> bool:
    """Whether the worker of this row has stopped or died, as far as can be told from here."""
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
