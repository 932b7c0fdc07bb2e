"""Counts by bucket of voters: all that scores and intervals by voter need, and nobody's name.

A bucket is a keyed hash of the voter. Summed or resampled by bucket, intervals are on average
over the hash those by voter, for any number of buckets (256 make them 0.2 % wider).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import InvalidVote
from ranking.votes.comparisons import OUTCOMES, Comparisons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class BucketedCounts:
    """One integer matrix: bucket × ordered pair × outcome.

    Attributes:
        models: Names, sorted.
        count: Votes, shape (buckets, models, models, 4); the left model comes first, and
            outcomes are in the order of `OUTCOMES`.
    """

    models: tuple[str, ...]
    count: NDArray[np.int64]

    def __post_init__(self) -> None:
        size = len(self.models)
        shape = self.count.shape
        if len(shape) != 4 or shape[1:] != (size, size, len(OUTCOMES)):
            raise InvalidVote(f"counts of shape {shape} for {size} models", value=shape)
        if (self.count < 0).any():
            raise InvalidVote("a count is below 0", value=int(self.count.min()))
        if self.count[:, range(size), range(size)].any():
            raise InvalidVote("a model meets itself in the counts", value=self.models)

    @property
    def buckets(self) -> int:
        """How many parts the voters are in."""
        return int(self.count.shape[0])

    @property
    def votes(self) -> int:
        """Votes in all."""
        return int(self.count.sum())

    @classmethod
    def from_cells(
        cls,
        models: Sequence[str],
        buckets: int,
        cells: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
        count: ArrayLike | None = None,
    ) -> BucketedCounts:
        """Sum up cells.

        Args:
            models: Names, sorted.
            buckets: How many.
            cells: Bucket, index of the left model, of the right model, and of the outcome.
            count: Votes of each cell, 1 each by default.
        """
        size = len(models)
        shape = (buckets, size, size, len(OUTCOMES))
        total = np.zeros(shape, dtype=np.int64)
        places = tuple(np.asarray(part, dtype=np.intp) for part in cells)
        np.add.at(total, places, 1 if count is None else np.asarray(count, dtype=np.int64))
        return cls(tuple(models), total)

    def merge(self, more: BucketedCounts) -> BucketedCounts:
        """The votes of two arenas together, over the models of either.

        Buckets are laid side by side: one voter's bucket in one arena says nothing of the
        other's. Counts of one arena, whose key is the same for life, are added by `add`.
        """
        models, (own, others) = _spread(self, more)
        return BucketedCounts(models, np.concatenate([own, others]))

    def add(self, more: BucketedCounts) -> BucketedCounts:
        """More votes of the same arena, under the same key.

        Raises:
            InvalidVote: The numbers of buckets differ.
        """
        if self.buckets != more.buckets:
            raise InvalidVote(
                f"{self.buckets} and {more.buckets} buckets cannot be added; fold the finer one",
                value=more.buckets,
            )
        models, (own, others) = _spread(self, more)
        return BucketedCounts(models, own + others)

    def fold(self, buckets: int) -> BucketedCounts:
        """The same votes in fewer buckets, as if they had been counted like that.

        Raises:
            InvalidVote: The number does not divide that of the buckets.
        """
        if buckets < 1 or self.buckets % buckets:
            raise InvalidVote(
                f"{self.buckets} buckets cannot be folded into {buckets}", value=buckets
            )
        size = self.count.shape[1:]
        folded = self.count.reshape(self.buckets // buckets, buckets, *size).sum(axis=0)
        return BucketedCounts(self.models, folded)

    def to_comparisons(self) -> Comparisons:
        """The counts of all voters together."""
        total = self.count.sum(axis=0)
        a, b, outcome = np.nonzero(total)
        return Comparisons.from_codes(self.models, a, b, outcome, total[a, b, outcome])


def _spread(
    one: BucketedCounts, two: BucketedCounts
) -> tuple[tuple[str, ...], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Both over the models of either."""
    models = tuple(sorted({*one.models, *two.models}))
    position = {name: number for number, name in enumerate(models)}

    def widen(part: BucketedCounts) -> NDArray[np.int64]:
        places = [position[name] for name in part.models]
        shape = (part.buckets, len(models), len(models), len(OUTCOMES))
        wide = np.zeros(shape, dtype=np.int64)
        wide[np.ix_(range(part.buckets), places, places, range(len(OUTCOMES)))] = part.count
        return wide

    return models, (widen(one), widen(two))
