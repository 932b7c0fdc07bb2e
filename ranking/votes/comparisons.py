"""Votes as counts: all that a Bradley–Terry likelihood needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import InvalidVote
from ranking.votes.encoding import (
    BOTH_BAD,
    MODEL_A,
    MODEL_B,
    OUTCOMES,
    TIE,
    check_columns,
    encode_models,
    encode_outcomes,
)

__all__ = ["BOTH_BAD", "MODEL_A", "MODEL_B", "OUTCOMES", "TIE", "Comparisons"]

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

# Up to this many possible cells a dense bincount is faster than sorting the votes.
_DENSE_CELLS = 4_000_000
# Votes counted at a time.
_PIECE = 1 << 16


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Counts of each distinct (left model, right model, outcome).

    Attributes:
        models: Names, in sorted order where they can be sorted.
        model_a: Index into `models` of the left model, shape (cells,).
        model_b: Index into `models` of the right model, shape (cells,).
        outcome: Index into `OUTCOMES`, shape (cells,).
        count: Votes in the cell, positive integers, shape (cells,).
    """

    models: tuple[str, ...]
    model_a: NDArray[np.int32]
    model_b: NDArray[np.int32]
    outcome: NDArray[np.int8]
    count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.count)

    @property
    def votes(self) -> int:
        """Votes in all."""
        return int(self.count.sum())

    @classmethod
    def from_counts(
        cls,
        model_a: Sequence[Hashable] | NDArray[Any],
        model_b: Sequence[Hashable] | NDArray[Any],
        outcome: Sequence[Hashable] | NDArray[Any],
        count: ArrayLike | None = None,
        *,
        models: Sequence[str] | None = None,
    ) -> Comparisons:
        """Build from parallel columns: one row a vote, or a row a count.

        Args:
            model_a: Names of the left models (or indices into `models`).
            model_b: Names of the right models (or indices into `models`).
            outcome: Labels as in `OUTCOMES` and their known spellings (left/right,
                A/B, 1/0/0.5, both_bad). Upper and lower case are alike.
            count: Votes a row stands for, whole numbers ≥ 0; 1 each by default.
            models: When given, the two model columns hold integer indices into it.

        Raises:
            InvalidVote: Empty input, an unknown outcome, a missing name, a model
                against itself, or a count that is no whole number ≥ 0; the error
                names the row and the value.
        """
        if not len(model_a) == len(model_b) == len(outcome):
            lengths = (len(model_a), len(model_b), len(outcome))
            raise InvalidVote(f"columns of different lengths {lengths}", value=lengths)
        if models is None:
            names, a, b = encode_models(model_a, model_b)
        else:
            names, a, b = _check_indices(tuple(models), np.asarray(model_a), np.asarray(model_b))
        return cls.from_codes(names, a, b, encode_outcomes(outcome), count)

    @classmethod
    def from_codes(
        cls,
        models: tuple[str, ...],
        model_a: NDArray[np.integer[Any]],
        model_b: NDArray[np.integer[Any]],
        outcome: NDArray[np.integer[Any]],
        count: ArrayLike | None = None,
    ) -> Comparisons:
        """Aggregate integer columns; codes are trusted to be in range.

        Raises:
            InvalidVote: Fewer than two models, no votes, a model against itself,
                or an unusable count.
        """
        if len(models) < 2:
            raise InvalidVote(f"a ranking needs two models, got {list(models)}", value=models)
        size = len(models)
        if count is None:
            cells, totals = _count_rows(size, model_a, model_b, outcome)
        else:
            counts = _check_counts(count, len(model_a))
            cells, totals = _sum_rows(size, model_a, model_b, outcome, counts)
        if not totals.size:
            raise InvalidVote("there are no votes", value=0)
        a, b = cells // size % size, cells % size
        if (a == b).any():
            row = int(np.argmax(np.asarray(model_a) == np.asarray(model_b)))
            name = models[int(model_a[row])]
            raise InvalidVote(f"model {name!r} against itself", row=row, value=name)
        return cls(
            models=models,
            model_a=a.astype(np.int32),
            model_b=b.astype(np.int32),
            outcome=(cells // (size * size)).astype(np.int8),
            count=totals,
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        model_a: str = "model_a",
        model_b: str = "model_b",
        outcome: str = "winner",
        count: str | None = None,
    ) -> Comparisons:
        """Build from a table with one row a vote (or a count), columns chosen by name.

        Raises:
            InvalidVote: As `from_counts`; a missing column is named.
        """
        check_columns(frame, [model_a, model_b, outcome, *([count] if count else [])])
        return cls.from_counts(
            frame[model_a].array,
            frame[model_b].array,
            frame[outcome].array,
            None if count is None else frame[count].to_numpy(),
        )

    @cached_property
    def outcome_counts(self) -> NDArray[np.int64]:
        """Votes by (outcome, left model, right model), shape (4, models, models)."""
        size = len(self.models)
        table = np.zeros((len(OUTCOMES), size, size), dtype=np.int64)
        table[self.outcome, self.model_a, self.model_b] = self.count
        return table

    def merge(self, more: Comparisons) -> Comparisons:
        """These votes and some more, over the models of either."""
        models = tuple(sorted({*self.models, *more.models}))
        position = {name: i for i, name in enumerate(models)}
        parts = [self, more]
        own = [np.array([position[name] for name in part.models]) for part in parts]
        return Comparisons.from_codes(
            models,
            np.concatenate([n[part.model_a] for n, part in zip(own, parts, strict=True)]),
            np.concatenate([n[part.model_b] for n, part in zip(own, parts, strict=True)]),
            np.concatenate([part.outcome for part in parts]),
            np.concatenate([part.count for part in parts]),
        )

    def select(self, keep: NDArray[np.bool_]) -> Comparisons:
        """The cells where `keep` is true, over the same models."""
        return Comparisons(
            self.models,
            self.model_a[keep],
            self.model_b[keep],
            self.outcome[keep],
            self.count[keep],
        )


def _check_indices(
    models: tuple[str, ...], a: NDArray[Any], b: NDArray[Any]
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]:
    if len(set(models)) < len(models):
        raise InvalidVote("the model names are not distinct", value=models)
    for column in (a, b):
        if column.size and not np.issubdtype(column.dtype, np.integer):
            raise InvalidVote(f"indices must be integers, not {column.dtype}", value=column.dtype)
        outside = np.flatnonzero((column < 0) | (column >= len(models)))
        if outside.size:
            row = int(outside[0])
            value = int(column[row])
            raise InvalidVote(f"no model number {value} of {len(models)}", row=row, value=value)
    return models, a.astype(np.int32), b.astype(np.int32)


def _check_counts(count: ArrayLike, rows: int) -> NDArray[np.int64]:
    values = np.asarray(count)
    if values.shape != (rows,):
        raise InvalidVote(f"{values.shape} counts for {rows} rows", value=values.shape)
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
        wrong = np.flatnonzero((whole != values) | (values < 0))
    if wrong.size:
        row = int(wrong[0])
        value = values[row].item()
        raise InvalidVote(f"count {value!r} is not a whole number ≥ 0", row=row, value=value)
    return whole


def _number_cells(
    size: int,
    a: NDArray[np.integer[Any]],
    b: NDArray[np.integer[Any]],
    outcome: NDArray[np.integer[Any]],
) -> NDArray[np.intp]:
    key = outcome.astype(np.intp)
    key *= size
    key += a
    key *= size
    key += b
    return key


def _count_rows(
    size: int,
    a: NDArray[np.integer[Any]],
    b: NDArray[np.integer[Any]],
    outcome: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Cells with any vote, ascending, and their votes; in pieces that fit a core's cache."""
    possible = len(OUTCOMES) * size * size
    if possible > _DENSE_CELLS:
        cells, totals = np.unique(_number_cells(size, a, b, outcome), return_counts=True)
        return cells, totals.astype(np.int64)
    table = np.zeros(possible, dtype=np.int64)
    # Counting a piece also touches the whole table once.
    piece = max(_PIECE, possible)
    for start in range(0, len(outcome), piece):
        part = slice(start, start + piece)
        key = _number_cells(size, a[part], b[part], outcome[part])
        table += np.bincount(key, minlength=possible)
    cells = np.flatnonzero(table)
    return cells, table[cells]


def _sum_rows(
    size: int,
    a: NDArray[np.integer[Any]],
    b: NDArray[np.integer[Any]],
    outcome: NDArray[np.integer[Any]],
    count: NDArray[np.int64],
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Cells with any vote, ascending, and the sum of their counts."""
    found, inverse = np.unique(_number_cells(size, a, b, outcome), return_inverse=True)
    totals = np.zeros(len(found), dtype=np.int64)
    np.add.at(totals, inverse, count)
    kept = totals > 0
    return found[kept], totals[kept]
