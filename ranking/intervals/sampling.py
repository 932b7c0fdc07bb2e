"""Multinomial counts, the part of a bootstrap that takes the time.

Independent Poisson counts given their total are multinomial, so Poisson counts with
single votes added or taken away at random until the total is right have exactly the
distribution of resampled rows. Most cells of an arena hold few votes, and many hold
equally many: their Poisson counts are looked up in one table per mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

_BITS = 14
_BUCKETS = 1 << _BITS
# The largest mean that is tabled: a count above 254, the most a byte holds beside the
# mark, then has a chance below 1e-14.
_LARGEST_TABLED = 140
_UNSURE = 255
# Below this total numpy's own multinomial is as fast.
_FEW_VOTES = 10_000


class MultinomialSampler:
    """Draws counts with the total and the shares of given ones; fastest where they ascend.

    For 14,500 cells of a million votes a draw takes half the time of numpy's Poisson counts
    alone, and a quarter of its multinomial.
    """

    def __init__(self, count: Counts) -> None:
        self.count = count
        self.total = int(count.sum())
        self.edges = np.cumsum(count)
        self.ascending = bool((np.diff(count) >= 0).all())
        self.order = np.argsort(count, kind="stable")
        ordered = count[self.order]
        self.large = ordered[ordered > _LARGEST_TABLED]
        means, starts = np.unique(ordered[ordered <= _LARGEST_TABLED], return_index=True)
        self.means = means
        self.bounds = [*starts.tolist(), len(ordered) - len(self.large)]
        self.tabled = self.total >= _FEW_VOTES
        if self.tabled:
            cumulative = [_cumulate(int(mean)) for mean in means]
            self.tables = [_tabulate(c) for c in cumulative]
            # One ascending array for all means: that of the i-th lies in (i, i + 1].
            self.offsets = np.cumsum([0, *(len(c) for c in cumulative)])
            self.joined = np.concatenate([np.empty(0), *(i + c for i, c in enumerate(cumulative))])

    def draw(self, draws: int, rng: np.random.Generator) -> Counts:
        """Counts of shape (draws, cells)."""
        if not self.tabled:
            share = self.count / self.total
            return np.asarray(rng.multinomial(self.total, share, size=draws), dtype=np.int64)
        small = self._draw_small(draws, rng)
        large = rng.poisson(self.large[:, None], size=(len(self.large), draws))
        drawn = np.empty((draws, len(self.count)), dtype=np.int64)
        if self.ascending:
            drawn[:, : len(small)], drawn[:, len(small) :] = small.T, large.T
        else:
            drawn[:, self.order[: len(small)]] = small.T
            drawn[:, self.order[len(small) :]] = large.T
        for row in drawn:
            self._correct(row, rng)
        return drawn

    def _draw_small(self, draws: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        bucket = rng.integers(0, _BUCKETS, size=(self.bounds[-1], draws), dtype=np.uint16)
        drawn = np.empty(bucket.shape, dtype=np.uint8)
        for table, start, stop in zip(self.tables, self.bounds, self.bounds[1:], strict=False):
            drawn[start:stop] = table[bucket[start:stop]]
        cell, column = np.nonzero(drawn == _UNSURE)
        which = np.searchsorted(self.bounds, cell, side="right") - 1
        chance = (bucket[cell, column] + rng.random(len(cell))) / _BUCKETS
        place = np.searchsorted(self.joined, which + chance, side="right")
        drawn[cell, column] = place - self.offsets[which]
        return drawn

    def _correct(self, row: Counts, rng: np.random.Generator) -> None:
        surplus = int(row.sum()) - self.total
        if surplus <= 0:
            votes = rng.integers(0, self.total, size=-surplus)
            row += np.bincount(self.edges.searchsorted(votes, side="right"), minlength=len(row))
        else:
            votes = rng.choice(self.total + surplus, size=surplus, replace=False, shuffle=False)
            taken = np.cumsum(row).searchsorted(votes, side="right")
            row -= np.bincount(taken, minlength=len(row))


def _cumulate(mean: int) -> Floats:
    """P(count ≤ k) for k = 0, 1, … up to where nothing is left."""
    from scipy.special import pdtr

    highest = mean + 12.0 * np.sqrt(mean) + 25.0
    return np.asarray(pdtr(np.arange(int(highest) + 1), float(mean)))


def _tabulate(cumulative: Floats) -> NDArray[np.uint8]:
    """The count of each bucket of probability that holds only one, else a mark."""
    table = np.full(_BUCKETS, _UNSURE, dtype=np.uint8)
    edges = np.concatenate([[0.0], cumulative]) * _BUCKETS
    first, last = np.ceil(edges[:-1]).astype(int), np.floor(edges[1:]).astype(int)
    for count in np.flatnonzero(last > first):
        table[first[count] : last[count]] = count
    return table
