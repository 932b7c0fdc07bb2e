"""Counts of a pair in one row, a column an outcome: wins_a, wins_b, ties, both_bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import InvalidVote
from ranking.tables.cells import read_counts
from ranking.tables.table import fold_column
from ranking.votes.comparisons import Comparisons
from ranking.votes.encoding import MODEL_A
from ranking.votes.faults import Faults
from ranking.votes.labels import Labels
from ranking.votes.layouts import LaidOut
from ranking.votes.names import read_names
from ranking.votes.roles import recognise_columns
from ranking.votes.verdict_rows import VerdictRows, check_models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ranking.tables.table import Table
    from ranking.votes.reading_report import ReadingReport

__all__ = ["find_count_columns", "read_pairs", "take_counts"]

_OUTCOMES = {
    "wins_a": "model_a", "wins_b": "model_b", "ties": "tie", "both_bad": "tie (bothbad)",
    "win_a": "model_a", "win_b": "model_b", "tie": "tie", "bothbad": "tie (bothbad)",
    "a_wins": "model_a", "b_wins": "model_b", "wins_1": "model_a", "wins_2": "model_b",
}  # fmt: skip


def find_count_columns(table: Table, given: Mapping[str, str]) -> dict[str, str]:
    """Columns of counts with their outcomes; none where a row is no pair."""
    if not set(given) <= {"model_a", "model_b"}:
        return {}
    found: dict[str, str] = {}
    for column in table.columns:
        outcome = _OUTCOMES.get(fold_column(column))
        if outcome is not None and outcome not in found.values():
            found[column] = outcome
    return found if {"model_a", "model_b"} <= set(found.values()) else {}


def take_counts(table: Table, column: str) -> NDArray[np.float64]:
    """A column of counts, NaN where there is none.

    Raises:
        InvalidVote: It could be read in two ways.
    """
    count, wrong = read_counts(table.read_text(column))
    if wrong and "." in wrong[0]:
        raise InvalidVote(
            f'{column} "{wrong[0]}" may be a thousand or a fraction. Write it without a mark',
            value=wrong[0],
        )
    return count


def read_pairs(
    table: Table,
    kinds: Mapping[str, str],
    *,
    known: Mapping[str, Sequence[str]],
    given: Mapping[str, str],
    skip_bad_rows: bool,
) -> tuple[Comparisons, dict[str, int], ReadingReport]:
    """Read counts per pair.

    Args:
        table: The file.
        kinds: Outcomes by column of counts.
        known: Names of the columns of the two models.
        given: These columns as a person named them.
        skip_bad_rows: Leave out rows that cannot be counted.

    Returns:
        The counts, rows left out by reason, and how the file was read.

    Raises:
        InvalidVote: A column is missing, or a row cannot be counted.
    """
    roles = recognise_columns(
        table,
        known={role: known[role] for role in ("model_a", "model_b")},
        given=given,
        needed=("model_a", "model_b"),
    ).columns
    names = [read_names(table.read_text(roles[role])) for role in ("model_a", "model_b")]
    labels = Labels(np.full(len(table), MODEL_A, dtype=np.int8))
    rows = VerdictRows(
        table, LaidOut({}, {}, np.arange(len(table))), {**roles}, "counts of a pair",
        names[0], names[1], labels, Faults(labels, ""),
    )  # fmt: skip
    check_models(rows)
    counts = []
    for column in kinds:
        count = take_counts(table, column)
        whole = np.isfinite(count) & (count >= 0) & (count == np.floor(count))
        rows.faults.add(f"{column} is no whole number ≥ 0", ~whole, count.item)
        counts.append(count)
    keep, left_out = rows.faults.choose_rows(skip=skip_bad_rows)
    a, b = (
        np.repeat(np.array(side.names, dtype=object)[side.codes[keep]], len(kinds))
        for side in names
    )
    outcome = np.tile(np.array(list(kinds.values()), dtype=object), int(keep.sum()))
    found = Comparisons.from_counts(a, b, outcome, np.stack(counts, axis=1)[keep].ravel())
    rows.columns = {
        **roles,
        **{f"counts of {outcome}": column for column, outcome in kinds.items()},
    }
    report = rows.report(left_out)
    return found, left_out, report
