"""Opening the database: one engine, set up so that what is committed is on disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from arena.store.errors import StoreError, name_error
from arena.store.transactions import prepare_postgresql, prepare_sqlite
from arena.store.upgrading import UnknownTables, bring_up_to_date

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


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
    engine = _create(url, shown)
    event.listen(engine, "handle_error", name_error)
    if engine.dialect.name == "sqlite":
        prepare_sqlite(engine)
    elif engine.dialect.name == "postgresql":
        prepare_postgresql(engine)
    try:
        bring_up_to_date(engine)
    except StoreError:
        engine.dispose()
        raise
    except (SQLAlchemyError, UnknownTables, OSError) as error:
        engine.dispose()
        said = f"database.url {shown!r} cannot be opened: {_explain(error)}"
        raise StoreError(said) from error
    return engine


def _create(url: str, shown: str) -> Engine:
    try:
        parsed = make_url(url)
        return create_engine(parsed, pool_pre_ping=parsed.get_backend_name() != "sqlite")
    except (ArgumentError, ImportError) as error:
        remedy = "use an SQLAlchemy URL whose driver is installed (extra: postgres)"
        raise StoreError(f"database.url {shown!r}: {error}; {remedy}") from error


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return re.sub(r":[^:@/]+@", ":***@", url)


def _explain(error: Exception) -> str:
    """What is wrong, and what to do about it."""
    if isinstance(error, UnknownTables):
        return str(error)  # says both
    cause = error.orig if isinstance(error, DBAPIError) else error
    remedy = "check that it is an arena's database and that its user may create tables there"
    if isinstance(error, OperationalError | OSError):
        remedy = "check that it exists, is writable and that the server is running"
    return f"{cause}; {remedy}"
