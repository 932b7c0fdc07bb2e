"""Rows of verdicts in a table, whatever its layout: two models and who won, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import InvalidVote, UnreadableFile
from ranking.tables.table import fold_column
from ranking.votes.faults import Faults
from ranking.votes.labels import BAD_LABEL, check_outcomes, is_outcome, read_labels
from ranking.votes.layouts import LaidOut, find_layout
from ranking.votes.names import (
    Names,
    find_look_alikes,
    number_labels,
    quote_option,
    read_names,
    say_names,
    say_rows,
)
from ranking.votes.reading_report import ReadingReport
from ranking.votes.roles import recognise_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from ranking.tables.table import Table
    from ranking.votes.labels import Labels

__all__ = ["VerdictRows", "check_models", "read_rows"]

_COUNT_NAMES = frozenset({"n", "votes", "num", "number", "freq", "frequency", "n_votes",
                          "num_votes", "battles", "n_battles"})  # fmt: skip
_MOST_NOTED = 5
_VERDICT = ("model_a", "model_b", "outcome")


@dataclass
class VerdictRows:
    """The verdicts of a file.

    Attributes:
        table: The file.
        laid: Its rows in the plain layout.
        columns: Which column was taken for what, by role.
        layout: Name of the layout, "" for a plain table.
        model_a: The left models.
        model_b: The right models.
        labels: Who won.
        faults: What is wrong with which rows.
        notes: What a reader should know.
    """

    table: Table
    laid: LaidOut
    columns: dict[str, str]
    layout: str
    model_a: Names
    model_b: Names
    labels: Labels
    faults: Faults
    notes: list[str] = field(default_factory=list)
    _named: dict[str, Names] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.laid.rows)

    def has(self, role: str) -> bool:
        """Whether some column plays a role."""
        return role in self.laid.columns or role in self.columns

    def read(self, role: str) -> pd.Series:
        """The column of a role, as it is."""
        if role in self.laid.columns:
            return self.laid.columns[role]
        return self.pick(self.table.read(self.columns[role]))

    def read_names(self, role: str) -> Names:
        """The column of a role as names."""
        if role not in self._named:
            column = self.laid.columns.get(role)
            if column is None:
                column = self.pick(self.table.read_text(self.columns[role]))
            self._named[role] = read_names(column)
        return self._named[role]

    def number_models(self) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]:
        """All models, sorted, and the index of the left and the right one of each row."""
        models = tuple(sorted({*self.model_a.names, *self.model_b.names}))
        place = {name: code for code, name in enumerate(models)}
        a, b = (
            np.array([*(place[name] for name in side.names), -1], dtype=np.int32)[side.codes]
            for side in (self.model_a, self.model_b)
        )
        return models, a, b

    def pick(self, column: pd.Series) -> pd.Series:
        """The cells of a column of the file that belong to the rows here."""
        if len(self.laid.rows) == len(column) and (
            not len(column) or self.laid.rows[-1] == len(column) - 1
        ):
            return column
        return column.iloc[self.laid.rows].reset_index(drop=True)

    def find_missing(self, names: Names, what: str) -> None:
        """Note rows in which a name is missing."""
        self.faults.add(f"{what} is missing", np.asarray(names.codes < 0))

    def report(self, left_out: Mapping[str, int]) -> ReadingReport:
        """How it was read."""
        told = {**self.columns, **self.laid.told}
        columns = {role: told[role] for role in (*_VERDICT, *told) if role in told}
        return ReadingReport(
            facts=self.table.facts,
            layout=self.layout,
            columns=columns,
            outcomes=self.labels.told,
            left_out={**self.laid.left_out, **left_out},
            notes=tuple(self.notes),
        )


def read_rows(
    table: Table,
    *,
    known: Mapping[str, Sequence[str]],
    given: Mapping[str, str],
    outcomes: Mapping[str, str],
    needed: Iterable[str],
    others: Mapping[str, int],
) -> VerdictRows:
    """Read two models and a verdict from every row.

    Args:
        table: The file.
        known: Names of columns by role.
        given: Columns by role, as a person named them.
        outcomes: What labels mean, as a person said.
        needed: Roles that must be there.
        others: Labels that are known beside the usual ones.

    Raises:
        InvalidVote: A column is missing, or it is not plain which one is meant.
    """
    if not len(table):
        raise UnreadableFile("there is no line of values. Name a file that holds votes.")
    laid, layout = _lay_out(table, given)
    wanted = [role for role in needed if laid is None or role not in laid.columns]
    free = {r: names for r, names in known.items() if laid is None or r not in laid.columns}
    named = {role: name for role, name in given.items() if role in free or role not in known}
    try:
        roles = recognise_columns(table, known=free, given=named, needed=wanted)
    except InvalidVote as error:
        raise _explain_missing(table, error) from None
    rows = np.arange(len(table))
    texts = {role: table.read_text(roles.columns[role]) for role in wanted if role in _VERDICT}
    if laid is None:
        laid = LaidOut(texts, {}, rows)
    else:
        rows = laid.rows
        picked = {role: c.iloc[rows].reset_index(drop=True) for role, c in texts.items()}
        laid = replace(laid, columns={**picked, **laid.columns})
    left, right = (read_names(laid.columns[role]) for role in ("model_a", "model_b"))
    codes, labels = number_labels(laid.columns["outcome"])
    listed = [str(label) for label in labels]
    # A row that could not be read has no label, and that is not the label's fault.
    whole = ~table.find_broken()[laid.rows]
    read = read_labels(
        ["" if not label.strip() else label for label in listed] + [""],
        np.where(codes < 0, len(listed), codes)[whole].astype(np.intp),
        models=(left.select(whole), right.select(whole)),
        outcomes=check_outcomes(outcomes),
        others={**others, **laid.labels},
    )
    if not whole.all():
        spread = np.full(len(whole), BAD_LABEL, dtype=np.int8)
        spread[whole] = read.codes
        read = replace(read, codes=spread)
    column = laid.told.get("outcome") or roles.columns["outcome"]
    found = VerdictRows(
        table, laid, roles.columns, layout, left, right, read, Faults(read, column),
        [*laid.notes, *_note_columns(table, roles.unused, roles.columns)],
    )  # fmt: skip
    check_models(found)
    return found


def _lay_out(table: Table, given: Mapping[str, str]) -> tuple[LaidOut | None, str]:
    """A layout of the field, unless a person says where the outcome is."""
    found = None if "outcome" in given else find_layout(table)
    if found is None:
        return None, ""
    layout, columns = found
    return layout.read(table, columns), layout.name


def check_models(found: VerdictRows) -> None:
    """Note rows that cannot be read, lack a model, or have one model twice."""
    broken = found.table.find_broken()
    for reason, rows in _group(found.table.broken).items():
        mask = np.zeros(len(broken), dtype=bool)
        mask[rows] = True
        found.faults.add(reason, np.asarray(mask[found.laid.rows]))
    whole = ~broken[found.laid.rows]
    for role, names in (("model_a", found.model_a), ("model_b", found.model_b)):
        column = found.laid.told.get(role) or found.columns.get(role, role)
        found.faults.add(f"{column} is missing", np.asarray((names.codes < 0) & whole))
    place = {name: code for code, name in enumerate(found.model_a.names)}
    table = np.array([*(place.get(name, -2) for name in found.model_b.names), -3])
    same = np.asarray(found.model_a.codes == table[found.model_b.codes])
    left = found.model_a
    found.faults.add("a model against itself", same, lambda row: left.names[left.codes[row]])
    _note_names(found)


def _group(broken: Mapping[int, str]) -> dict[str, list[int]]:
    """Rows by what is wrong with them, the details left out."""
    grouped: dict[str, list[int]] = {}
    for row, what in broken.items():
        grouped.setdefault(what.partition(" (")[0], []).append(row)
    return grouped


def _note_names(found: VerdictRows) -> None:
    """Say which names were respelled, look alike, or may stand for nothing."""
    both = (found.model_a, found.model_b)
    respelled = {name: ways for side in both for name, ways in side.respelled.items()}
    if respelled:
        shown = "; ".join(
            f"{say_names([name])} from {', '.join(ascii(way) for way in ways[:3])}"
            for name, ways in list(respelled.items())[:_MOST_NOTED]
        )
        found.notes.append(f"names written in several ways are one model: {shown}")
    for group in find_look_alikes([*both[0].names, *both[1].names])[:_MOST_NOTED]:
        shown = " and ".join(_show(name) for name in group)
        found.notes.append(f"{shown} look alike and are counted as different models")
    nothings: dict[str, int] = {}
    for side in both:
        for name, rows in side.find_nothings().items():
            nothings[name] = nothings.get(name, 0) + rows
    for name, rows in nothings.items():
        found.notes.append(f'"{name}" is taken for the name of a model ({say_rows(rows)})')


def _show(name: str) -> str:
    """A name, with its letters beyond ASCII spelled out."""
    return f'"{name}"' if name.isascii() else f'"{name}" ({ascii(name)[1:-1]})'


def _note_columns(table: Table, unused: Mapping[str, str], columns: Mapping[str, str]) -> list[str]:
    notes = [
        f"column {column} is not used ({role} is {columns[role]}); if it is meant, say "
        f"--column {quote_option(f'{role}={column}')}"
        for column, role in unused.items()
        if role in ("model_a", "model_b", "outcome")
    ]
    notes += [
        f"column {column} is not taken for counts of votes; if it holds them, say "
        f"--column {quote_option(f'count={column}')}"
        for column in table.columns
        if fold_column(column) in _COUNT_NAMES and column not in columns.values()
    ]
    return notes


def _explain_missing(table: Table, error: InvalidVote) -> InvalidVote:
    """Where the first line looks like a verdict itself, say how to read it."""
    places = [n for n, c in enumerate(table.columns, start=1) if is_outcome(c)]
    if error.value not in _VERDICT or len(places) != 1 or len(table.columns) < 3:
        return error
    models = [n for n in range(1, len(table.columns) + 1) if n not in places][:2]
    return InvalidVote(
        f"{error.reason}. If the first line is no header, say --no-header "
        f"--column model_a={models[0]} --column model_b={models[1]} --column outcome={places[0]}",
        value=error.value,
    )
