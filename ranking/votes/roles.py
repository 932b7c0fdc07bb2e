"""Which column holds what: recognised by name, or said by the person who has the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ranking.errors import InvalidVote
from ranking.tables.table import fold_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ranking.tables.table import Table

__all__ = ["Roles", "list_columns", "recognise_columns"]


class Roles(NamedTuple):
    """Which column of a table plays which role.

    Attributes:
        columns: Name of the column, by role.
        unused: Columns that could have played a role too, with that role.
    """

    columns: dict[str, str]
    unused: dict[str, str]


def recognise_columns(
    table: Table,
    *,
    known: Mapping[str, Sequence[str]],
    given: Mapping[str, str],
    needed: Iterable[str] = (),
) -> Roles:
    """Find the columns of some roles.

    Args:
        table: Whose columns.
        known: Names that a column of each role may have, the best first.
        given: Names (or places from 1 on) that a person gave, by role.
        needed: Roles that must be there.

    Raises:
        InvalidVote: A role is unknown; a column is missing or stands twice.
    """
    found = {role: _find_given(table, role, name, known) for role, name in given.items()}
    unused: dict[str, str] = {}
    folded = _fold_columns(table)
    for role, names in known.items():
        matches = [
            column
            for name in names
            for column in folded.get(name, ())
            if column not in found.values()
        ]
        exact = [column for column in matches if column in names]
        if role not in found and matches:
            _refuse_repeated(table, role, matches)
            found[role] = next((c for c in exact if c == matches[0]), matches[0])
        unused |= {
            column: role
            for column in matches
            if column not in found.values() and column not in unused
        }
    for role in needed:
        if role not in found:
            raise InvalidVote(_say_missing(table, role, known[role]), value=role)
    return Roles(found, {c: r for c, r in unused.items() if c not in found.values()})


def _fold_columns(table: Table) -> dict[str, list[str]]:
    """Columns by folded name; fields of nested objects also by their own name."""
    folded: dict[str, list[str]] = {}
    for column in table.columns:
        plain = re.sub(r" \(\d+\)$", "", column) if _is_repeated(table, column) else column
        folded.setdefault(fold_column(plain), []).append(column)
    for column in table.columns:
        if "." in column:
            folded.setdefault(fold_column(column.rpartition(".")[2]), []).append(column)
    return folded


def _is_repeated(table: Table, column: str) -> bool:
    return any(column.startswith(f"{name} (") for name in table.repeated)


def _refuse_repeated(table: Table, role: str, matches: Sequence[str]) -> None:
    name = next((n for n in table.repeated if matches[0].startswith(f"{n} (")), None)
    if name is None:
        return
    places = [n for n, c in enumerate(table.columns, start=1) if c.startswith(f"{name} (")]
    first, *rest = (table.read_text(table.columns[place - 1]).tolist() for place in places)
    if all(column == first for column in rest):
        return
    choices = " or ".join(f"--column {role}={place}" for place in places)
    raise InvalidVote(
        f'{len(places)} different columns are named "{name}". Say which by its place: {choices}',
        value=name,
    )


def _find_given(table: Table, role: str, name: str, known: Mapping[str, Sequence[str]]) -> str:
    if role not in known:
        raise InvalidVote(f"unknown role {role!r}; known are {', '.join(known)}", value=role)
    found = table.find_column(name)
    if found is None:
        raise InvalidVote(
            f"no column {name!r} for {role}; the table has {list_columns(table)}", value=name
        )
    return found


def list_columns(table: Table) -> str:
    """The columns of a table for a message: not hundreds of them."""
    shown = [repr(name) for name in table.columns[:20]]
    more = len(table.columns) - len(shown)
    return f"[{', '.join(shown)}]" + (f" and {more} more" if more else "")


def _say_missing(table: Table, role: str, names: Sequence[str]) -> str:
    said = (
        f"no column for {role} (looked for {', '.join(names[:6])}"
        f"{', …' if len(names) > 6 else ''}); the table has {list_columns(table)}"
    )
    return f"{said}. Name it with --column {role}=NAME"
