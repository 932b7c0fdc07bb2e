"""Votes as counts: all that a Bradley–Terry likelihood needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import InvalidVote

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

OUTCOMES = ("model_a", "model_b", "tie", "tie (bothbad)")
MODEL_A, MODEL_B, TIE, BOTH_BAD = range(4)

# Up to this many possible cells a dense bincount is faster than sorting the votes.
_DENSE_CELLS = 4_000_000

_SPELLINGS: dict[object, int] = {
    "model_a": MODEL_A, "model_b": MODEL_B, "tie": TIE, "tie (bothbad)": BOTH_BAD,
    "a": MODEL_A, "b": MODEL_B, "left": MODEL_A, "right": MODEL_B,
    "both_bad": BOTH_BAD, "bothbad": BOTH_BAD, "both bad": BOTH_BAD,
    "1": MODEL_A, "0": MODEL_B, "0.5": TIE, "1.0": MODEL_A, "0.0": MODEL_B,
}  # fmt: skip


def _spell_outcome(value: object) -> int | None:
    """The code of one outcome label, or None when it is not one."""
    if isinstance(value, (bool, np.bool_)):
        return None
    return _SPELLINGS.get(str(value).strip().lower())


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
        same = np.flatnonzero(model_a == model_b)
        if same.size:
            row = int(same[0])
            name = models[int(model_a[row])]
            raise InvalidVote(f"model {name!r} against itself", row=row, value=name)
        counts = None if count is None else _check_counts(count, len(model_a))
        cells, totals = _aggregate(len(models), model_a, model_b, outcome, counts)
        if not totals.size:
            raise InvalidVote("there are no votes", value=0)
        size = len(models)
        return cls(
            models=models,
            model_a=(cells // size % size).astype(np.int32),
            model_b=(cells % size).astype(np.int32),
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
        wanted = [model_a, model_b, outcome, *([count] if count else [])]
        missing = [name for name in wanted if name not in frame.columns]
        if missing:
            raise InvalidVote(
                f"no column {missing[0]!r}; the table has {list(frame.columns)}", value=missing[0]
            )
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

    def select(self, keep: NDArray[np.bool_]) -> Comparisons:
        """The cells where `keep` is true, over the same models."""
        return Comparisons(
            self.models,
            self.model_a[keep],
            self.model_b[keep],
            self.outcome[keep],
            self.count[keep],
        )


def encode_models(
    model_a: Sequence[Hashable] | NDArray[Any], model_b: Sequence[Hashable] | NDArray[Any]
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]:
    """Give every model name an integer, by sorted name.

    Raises:
        InvalidVote: A name is missing or empty.
    """
    import pandas as pd

    size = len(model_a)
    columns = [pd.array(np.asarray(c, dtype=object)) if isinstance(c, (list, tuple)) else c
               for c in (model_a, model_b)]  # fmt: skip
    codes_a, names_a = pd.factorize(columns[0])
    codes_b, names_b = pd.factorize(columns[1])
    for codes, column in ((codes_a, model_a), (codes_b, model_b)):
        missing = np.flatnonzero(codes < 0)
        if missing.size:
            row = int(missing[0])
            raise InvalidVote("the model name is missing", row=row, value=column[row])
    left, right = [str(n) for n in names_a], [str(n) for n in names_b]
    models = tuple(sorted({*left, *right}))
    if "" in models:
        rows = [list(map(str, c)).index("") for c in (model_a, model_b) if "" in map(str, c)]
        raise InvalidVote("the model name is empty", row=min(rows), value="")
    position = {name: i for i, name in enumerate(models)}
    lookup_a = np.array([position[n] for n in left], dtype=np.int32)
    lookup_b = np.array([position[n] for n in right], dtype=np.int32)
    if not size:
        return models, np.empty(0, np.int32), np.empty(0, np.int32)
    return models, lookup_a[codes_a], lookup_b[codes_b]


def encode_outcomes(outcome: Sequence[Hashable] | NDArray[Any]) -> NDArray[np.int8]:
    """Give every outcome label its index in `OUTCOMES`.

    Raises:
        InvalidVote: A label is missing or unknown.
    """
    import pandas as pd

    column = np.asarray(outcome, dtype=object) if isinstance(outcome, (list, tuple)) else outcome
    codes, labels = pd.factorize(column)
    meaning = [_spell_outcome(label) for label in labels]
    bad = [i for i, code in enumerate(meaning) if code is None]
    wrong = np.flatnonzero((codes < 0) | np.isin(codes, bad))
    if wrong.size:
        row = int(wrong[0])
        value = outcome[row]
        raise InvalidVote(
            f"unknown outcome {value!r}; expected one of {', '.join(OUTCOMES)}",
            row=row,
            value=value,
        )
    return np.array(meaning, dtype=np.int8)[codes] if len(codes) else np.empty(0, np.int8)


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


def _aggregate(
    size: int,
    a: NDArray[np.integer[Any]],
    b: NDArray[np.integer[Any]],
    outcome: NDArray[np.integer[Any]],
    count: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sum the counts of equal cells; return the cells' keys, ascending, and their sums."""
    key = (outcome.astype(np.int64) * size + a) * size + b
    if len(OUTCOMES) * size * size > _DENSE_CELLS:
        cells, inverse = np.unique(key, return_inverse=True)
    else:
        cells, inverse = np.arange(len(OUTCOMES) * size * size), key
    if count is None:
        totals = np.bincount(inverse, minlength=len(cells))
    else:
        totals = np.zeros(len(cells), dtype=np.int64)
        np.add.at(totals, inverse, count)
    kept = np.flatnonzero(totals)
    return cells[kept], totals[kept].astype(np.int64)
