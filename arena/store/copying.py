"""The whole record from one database into another of either kind, equal row for row."""

from __future__ import annotations

from contextlib import closing
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, func, insert, select, text

from arena.store.errors import StoreError
from arena.store.tables import metadata
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from sqlalchemy import Table
    from sqlalchemy.engine import Engine

_ROWS_AT_ONCE = 2_000


def copy_record(
    source: Engine, target: Engine, progress: Callable[[str], None] = lambda _: None
) -> dict[str, int]:
    """Copies every table in one transaction, then reads both and compares each row.

    Args:
        source: whose rows are copied; nobody should write meanwhile.
        target: an arena's database without rows.
        progress: told the table that is being copied.

    Returns:
        Rows of each table.

    Raises:
        StoreError: the target has rows, or the source was written meanwhile.
    """
    rows: dict[str, int] = {}
    with begin_write(target) as connection:
        for table in metadata.sorted_tables:
            if connection.scalar(select(func.count()).select_from(table)):
                raise StoreError(f"the target has rows in {table.name}; name an empty database")
        for table in metadata.sorted_tables:
            progress(table.name)
            rows[table.name] = 0
            with closing(_read(source, table)) as pieces:
                for piece in pieces:
                    connection.execute(insert(table), piece)
                    rows[table.name] += len(piece)
            if target.dialect.name == "postgresql" and _counts_up(table):
                # Numbers that were given are unknown to what gives the next ones.
                connection.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "  # noqa: S608  our own name
                        f"(SELECT coalesce(max(id), 1) FROM {table.name}))"
                    )
                )
    for table in metadata.sorted_tables:
        progress(f"{table.name} is compared")
        _compare(source, target, table)
    return rows


def _counts_up(table: Table) -> bool:
    keys = list(table.primary_key)
    return len(keys) == 1 and isinstance(keys[0].type, Integer) and keys[0].name == "id"


def _read(engine: Engine, table: Table) -> Generator[list[dict[str, Any]]]:
    collation = "C" if engine.dialect.name == "postgresql" else "BINARY"
    order = [
        column if isinstance(column.type, Integer) else column.collate(collation)
        for column in table.primary_key
    ]
    options = {"stream_results": True, "yield_per": _ROWS_AT_ONCE}
    with (
        engine.connect() as connection,
        connection.execute(select(table).order_by(*order), execution_options=options) as found,
    ):
        for piece in found.mappings().partitions():
            yield [dict(row) for row in piece]


def _compare(source: Engine, target: Engine, table: Table) -> None:
    with closing(_read(source, table)) as ours, closing(_read(target, table)) as theirs:
        for one, two in zip_longest(ours, theirs):
            if one != two:
                raise StoreError(
                    f"{table.name} differs after copying: somebody wrote meanwhile. Stop the "
                    "arena, and copy into an empty database again"
                )
