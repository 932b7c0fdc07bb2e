"""The tables of a database, brought to those of this version."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

MIGRATIONS = Path(__file__).parent / "migrations"
# The first tables of 0.1.0 were made in six steps, which nobody has released. The last one's
# stamp stands for the same tables as the one migration that they have become.
FIRST = "r1"
LAST_STEP = "0006"
_EARLIER_STEPS = frozenset({"0001", "0002", "0003", "0004", "0005"})
# Knows all six steps.
_COMMIT_OF_THE_STEPS = "d7b7141"
_LOCK = 7_261_993  # any number that other users of the same PostgreSQL do not take


class UnknownTables(Exception):
    """The tables are not of a version that this one can bring up to date.

    The message says what they are and what to do.
    """


def bring_up_to_date(engine: Engine) -> None:
    """Runs the migrations that a database lacks; several processes at once take turns.

    Where none is lacking nothing is written, and no writer is waited for.

    Raises:
        UnknownTables: there is no way from these tables to those of this version.
        sqlalchemy.exc.SQLAlchemyError: the database does not answer.
    """
    with engine.connect() as connection:
        stamp = _read_stamp(connection)
    if stamp == find_head():
        return
    with begin_write(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # a migration may take long
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        stamp = _read_stamp(connection)
        _check(stamp)
        if stamp == LAST_STEP:
            command.stamp(_configure(connection), FIRST, purge=True)
        command.upgrade(_configure(connection), "head")


@cache
def find_head() -> str:
    """The stamp of this version's tables."""
    return _read_scripts().get_current_head() or ""


def _read_scripts() -> ScriptDirectory:
    return ScriptDirectory(str(MIGRATIONS))


def _read_stamp(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _check(stamp: str | None) -> None:
    if stamp is None or stamp == LAST_STEP:
        return
    if stamp in _EARLIER_STEPS:
        raise UnknownTables(
            f"its tables are those of a time before 0.1.0 (step {stamp}); open it once with the "
            f"program as it was at commit {_COMMIT_OF_THE_STEPS} (git checkout "
            f"{_COMMIT_OF_THE_STEPS}, arena db upgrade), from where this version goes on"
        )
    if stamp not in {script.revision for script in _read_scripts().walk_revisions()}:
        raise UnknownTables(
            f"its tables are those of another version ({stamp}): it was made by a newer version "
            "of this program; upgrade, or use another database"
        )


def _configure(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
