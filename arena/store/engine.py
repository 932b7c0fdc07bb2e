"""Opening the database: one engine, set up so that what is committed is on disk."""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATION_LOCK = 7_261_993  # any number that other users of the same PostgreSQL do not take


class StoreError(Exception):
    """The database cannot be used; the message names it and the remedy."""


def open_engine(url: str) -> Engine:
    """Connects, brings the tables up to date and returns the engine.

    Args:
        url: an SQLAlchemy URL, such as `sqlite:////var/lib/arena/arena.db` or
            `postgresql+psycopg://arena@localhost/arena`.

    Raises:
        StoreError: the URL is no URL, its driver is missing, or the database cannot be
            reached or written.
    """
    shown = _without_password(url)
    try:
        parsed = make_url(url)
        engine = create_engine(parsed, pool_pre_ping=parsed.get_backend_name() != "sqlite")
    except (ArgumentError, ImportError) as error:
        remedy = "use an SQLAlchemy URL whose driver is installed (extra: postgres)"
        raise StoreError(f"database.url {shown!r}: {error}; {remedy}") from error
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    try:
        _upgrade(engine)
    except (SQLAlchemyError, CommandError, OSError) as error:
        engine.dispose()
        cause = error.orig if isinstance(error, DBAPIError) else error
        remedy = _remedy(error)
        raise StoreError(f"database.url {shown!r} cannot be opened: {cause}; {remedy}") from error
    return engine


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return re.sub(r":[^:@/]+@", ":***@", url)


def _remedy(error: Exception) -> str:
    if isinstance(error, CommandError):
        return "it was made by a newer version of this program; upgrade, or use another database"
    if isinstance(error, OperationalError | OSError):
        return "check that it exists, is writable and that the server is running"
    return "check that it is an arena's database and that its user may create tables there"


@contextmanager
def begin_write(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; on SQLite it takes the write lock at once.

    A deferred SQLite transaction that reads first and writes later fails when another
    writer came between, whatever the busy timeout; an immediate one waits its turn. SQLite
    waits by sleeping longer and longer, so the threads of one process take turns by a lock
    of their own and only other processes are waited for like that.
    """
    options = engine.get_execution_options()
    with (
        options.get("arena_turns", nullcontext()),
        engine.execution_options(arena_write=True).begin() as connection,
    ):
        yield connection


def _prepare_sqlite(engine: Engine) -> None:
    """Full durability, foreign keys, and transactions that begin when we say so."""
    engine.update_execution_options(arena_turns=Lock())

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:  # noqa: ANN401  a DBAPI connection
        connection.isolation_level = None  # the driver must not open transactions by itself
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "busy_timeout = 60000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("arena_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _upgrade(engine: Engine) -> None:
    """Runs the migrations; several processes starting at once take turns."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with begin_write(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
