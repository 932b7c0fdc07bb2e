"""The processes that answer battles, so that what a dead one left is found.

A battle being answered names its worker. A worker that was killed cannot say so: it is
known to be gone when its process no longer exists on this host, or when its heartbeat is
old (a process on another host).
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING

from sqlalchemy import and_, func, insert, or_, select, update

from arena.rules.battles import BattleStatus
from arena.store.tables import battles, workers
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, RowMapping
    from sqlalchemy.engine import Connection, Engine

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1.0
# How long a worker on another host may be silent before its battles are given back to their
# voters: one taken for dead too early loses two answers that can be asked for again.
SILENT_SECONDS = 3 * HEARTBEAT_SECONDS
# Before anything is paid for again, and for a process of this host that exists: it may be
# held up, or its number be another program's by now.
_SURELY_GONE_AFTER = timedelta(seconds=30)
# Longer than it takes from a battle's commit to the first request to its models.
_FORGOTTEN_AFTER = timedelta(seconds=5)


class Workers:
    """The register of processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self) -> str:
        """Enters this process and returns its id."""
        worker_id = secrets.token_urlsafe(12)
        with begin_write(self._engine) as connection:
            now = read_clock(connection)
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
            now = read_clock(connection)
            rows = connection.execute(select(workers)).mappings().all()
        return tuple((row["host"], row["pid"]) for row in rows if not is_gone(row, now=now))

    def abandon_orphans(self, worker_id: str, *, live: tuple[str, ...] = ()) -> int:
        """Marks the battles that nobody is answering any more as abandoned.

        These are the battles of dead workers, and those of the caller that it does not
        know (a page that left between the commit and the first request to a model). Nothing
        is written, and no writer waited for, unless there are any.

        Args:
            worker_id: the caller, who is alive whatever its row says.
            live: the battles that the caller is answering.

        Returns:
            How many battles were marked.
        """
        with self._engine.connect() as connection:
            now = read_clock(connection)
            orphaned = _find_orphaned(connection, worker_id, live, now)
            if connection.scalar(select(battles.c.id).where(orphaned).limit(1)) is None:
                return 0
        values = {"status": BattleStatus.ABANDONED, "worker_id": None, "updated_at": now}
        with begin_write(self._engine) as connection:
            return connection.execute(update(battles).where(orphaned).values(values)).rowcount

    def _touch(self, worker_id: str, column: str) -> None:
        with begin_write(self._engine) as connection:
            now = read_clock(connection)
            where = workers.c.id == worker_id
            connection.execute(update(workers).where(where).values({column: now}))


class Heartbeat:
    """A process on the register for as long as it lives.

    It beats in a thread of its own, so that no busy event loop is taken for a dead process.

    Args:
        workers: the register; this process is entered at once.

    Attributes:
        worker_id: this process on the register.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.worker_id = workers.register()
        self._ending = Event()
        self._is_stored = True
        self._thread = Thread(target=self._keep_beating, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the beats; the process stays on the register until it signs off."""
        self._ending.set()
        self._thread.join()

    def sign_off(self) -> None:
        """Says that this process has stopped in good order."""
        self.stop()
        self._workers.sign_off(self.worker_id)

    def _keep_beating(self) -> None:
        while not self._ending.wait(HEARTBEAT_SECONDS):
            try:
                self._workers.beat(self.worker_id)
            except Exception:
                if self._is_stored:  # said once: the next beat may make it good
                    logger.exception("the heartbeat cannot be stored")
                self._is_stored = False
            else:
                self._is_stored = True


def read_clock(connection: Connection) -> datetime:
    """The database's own time, as hosts that share one need not agree on theirs."""
    if connection.dialect.name != "postgresql":  # a file is on this host
        return datetime.now(UTC)
    now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return now.astimezone(UTC)


def is_gone(row: RowMapping, *, now: datetime, silent_for: timedelta = _SURELY_GONE_AFTER) -> bool:
    """Whether the worker of this row has stopped or died, as far as can be told from here.

    Args:
        row: of the register.
        now: by the database's clock.
        silent_for: how long one on another host may have been silent.
    """
    silence: timedelta = now - row["heartbeat_at"]
    if row["stopped_at"] is not None or silence > _SURELY_GONE_AFTER:
        return True
    if row["host"] != socket.gethostname():
        return silence > silent_for
    # A restarted container gets its host name and process number again: our own number on
    # another worker's row means that it was our predecessor.
    return row["pid"] == os.getpid() or not _exists(row["pid"])


def _find_orphaned(
    connection: Connection, worker_id: str, live: tuple[str, ...], now: datetime
) -> ColumnElement[bool]:
    busy = select(battles.c.worker_id).where(battles.c.worker_id.is_not(None)).distinct()
    others = select(workers).where(workers.c.id.in_(busy), workers.c.id != worker_id)
    dead = [
        row["id"]
        for row in connection.execute(others).mappings()
        if is_gone(row, now=now, silent_for=timedelta(seconds=SILENT_SECONDS))
    ]
    forgotten = and_(
        battles.c.worker_id == worker_id,
        battles.c.id.not_in(live),
        battles.c.updated_at < datetime.now(UTC) - _FORGOTTEN_AFTER,
    )
    return and_(
        battles.c.status == BattleStatus.ANSWERING, or_(battles.c.worker_id.in_(dead), forgotten)
    )


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
