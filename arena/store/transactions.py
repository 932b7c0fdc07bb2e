"""Transactions that write: who waits for whom, and for how long at most."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from arena.store.errors import WAIT_SECONDS, DatabaseBusy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection, Engine


# An INSERT … SELECT forgets how many rows it wrote unless it is asked to remember.
COUNTING_ROWS = {"preserve_rowcount": True}


@contextmanager
def begin_write(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; on SQLite it takes the write lock at once.

    A deferred SQLite transaction that reads first and writes later fails when another
    writer came between, whatever the busy timeout; an immediate one waits its turn. SQLite
    waits by sleeping longer and longer, so the threads of one process take turns by a lock
    of their own and only other processes are waited for like that; both together for
    `WAIT_SECONDS` at most.

    Raises:
        DatabaseBusy: other writers did not come to an end.
    """
    turns: Lock | None = engine.get_execution_options().get("arena_turns")
    deadline = time.monotonic() + WAIT_SECONDS
    if turns is not None and not turns.acquire(timeout=WAIT_SECONDS):
        raise DatabaseBusy(engine.url)
    try:
        with engine.execution_options(arena_deadline=deadline).begin() as connection:
            yield connection
    finally:
        if turns is not None:
            turns.release()


def prepare_sqlite(engine: Engine) -> None:
    """Full durability, foreign keys, and transactions that begin when we say so."""
    engine.update_execution_options(arena_turns=Lock())

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:  # noqa: ANN401  a DBAPI connection
        connection.isolation_level = None  # the driver must not open transactions by itself
        for pragma in (
            _wait(WAIT_SECONDS),
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        deadline = connection.get_execution_options().get("arena_deadline")
        if deadline is None:
            connection.exec_driver_sql("BEGIN")
            return
        left = max(0.0, deadline - time.monotonic())
        connection.exec_driver_sql(f"PRAGMA {_wait(left)}")
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        finally:
            connection.exec_driver_sql(f"PRAGMA {_wait(WAIT_SECONDS)}")


def prepare_postgresql(engine: Engine) -> None:
    """No statement waits longer for a lock than anybody waits."""

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:  # noqa: ANN401  a DBAPI connection
        connection.execute(f"SET lock_timeout = {round(WAIT_SECONDS * 1000)}")
        connection.commit()


def _wait(seconds: float) -> str:
    return f"busy_timeout = {round(seconds * 1000)}"
