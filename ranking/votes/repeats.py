"""Rows that repeat an earlier one: files joined twice, pages that sent twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.votes.names import number_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.votes.verdict_rows import VerdictRows

__all__ = ["count_repeats"]

# Odd constants that spread the bits of a key (Knuth's multiplicative hashing).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def count_repeats(
    rows: VerdictRows,
    codes: NDArray[np.int8],
    time: NDArray[np.float64] | None,
    kept: NDArray[np.bool_],
) -> int:
    """How many rows have the models, outcome, voter, turn and time (or id) of an earlier one.

    Without a time or an id two like votes are just two votes.
    """
    if time is not None and _count_equal(time[kept]) == 0:
        return 0
    key = codes.astype(np.int64).astype(np.uint64)
    parts: list[NDArray[np.uint64]] = []
    if time is not None and not np.isnan(time).any():
        parts.append(np.ascontiguousarray(time).view(np.uint64))
    elif rows.has("id"):
        ids = rows.read_names("id")
        # Without voters, one id on many rows is that of a question, which many answered.
        asked = not rows.has("voter") and len(ids.names) * 2 < len(rows)
        if asked or (ids.codes < 0).any():
            return 0
        parts.append(ids.codes.astype(np.uint64))
    else:
        return 0
    if rows.has("voter"):
        parts.append(rows.read_names("voter").codes.astype(np.uint64))
    turn = next((c for c in rows.table.columns if c == "turn"), None)
    if turn is not None:
        parts.append(number_labels(rows.pick(rows.table.read_text(turn)))[0].astype(np.uint64))
    parts += [side.codes.astype(np.uint64) for side in (rows.model_a, rows.model_b)]
    for part in parts:
        key = (key * _SPREAD) ^ (part + (key >> np.uint64(29)))
    return _count_equal(key[kept])


def _count_equal(values: NDArray[Any]) -> int:
    """How many values are like another one before them."""
    ordered = np.sort(values)
    return int((ordered[1:] == ordered[:-1]).sum())
