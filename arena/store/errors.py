"""What can be wrong with a database, in words that say the way back."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, ExceptionContext

# The longest that anybody waits for other writers; docs/deployment.md names it. Twenty processes
# on a machine four times overloaded need some of it.
WAIT_SECONDS = 30.0

_SQLITE_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# https://www.postgresql.org/docs/current/errcodes-appendix.html: data_corrupted and
# index_corrupted; lock_not_available.
_POSTGRESQL_DAMAGE = {"XX001", "XX002"}
_POSTGRESQL_BUSY = {"55P03"}


class StoreError(Exception):
    """The database cannot be used; the message names it and the remedy."""


class DatabaseBusy(StoreError):
    """Other writers have held the database for as long as anybody waits."""

    def __init__(self, url: URL) -> None:
        super().__init__(
            f"another writer has held the database {_name(url)} for more than {WAIT_SECONDS:g} "
            "seconds: end that (a copy, a long transaction by hand), then try again"
        )


class DatabaseDamaged(StoreError):
    """What the database holds cannot be read."""

    def __init__(self, url: URL, cause: object) -> None:
        super().__init__(
            f"the database {_name(url)} is damaged, or not an arena's database at all ({cause}): "
            "stop the arena, see what can be read (arena db check), and bring back the newest "
            "backup (arena db restore FOLDER --replace)"
        )


def name_error(context: ExceptionContext) -> StoreError | None:
    """What is raised in place of a driver's error; for SQLAlchemy's `handle_error`."""
    engine = context.engine
    return None if engine is None else find_name(context.original_exception, engine.url)


def find_name(error: BaseException, url: URL) -> StoreError | None:
    """The error that a driver's own stands for, `None` where there is nothing to add.

    Args:
        error: as the driver raised it.
        url: of the database.
    """
    code = getattr(error, "sqlite_errorcode", None)
    state = getattr(error, "sqlstate", None)
    if (code is not None and code & 0xFF in _SQLITE_DAMAGE) or state in _POSTGRESQL_DAMAGE:
        return DatabaseDamaged(url, error)
    if (code is not None and code & 0xFF == sqlite3.SQLITE_BUSY) or state in _POSTGRESQL_BUSY:
        return DatabaseBusy(url)
    return None


def _name(url: URL) -> str:
    return url.render_as_string(hide_password=True)
