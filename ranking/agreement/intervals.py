"""Intervals of agreement: items resampled, or judges with all their judgements.

Everything measured here is a function of sums over items, so a replicate over items is a
weighted sum of per-item terms: one product of a sparse matrix with the multinomial counts
of all replicates. A replicate over judges weighs each pair of judgements with the product
of the counts of its two judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranking.errors import RankingError
from ranking.intervals.sampling import MultinomialSampler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from ranking.agreement.pairs import Pairs

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

__all__ = [
    "FEW_JUDGES",
    "Cluster",
    "ClusteredResampling",
    "Estimate",
    "Statistic",
    "difference",
    "exact_bounds",
    "item_terms",
    "ratio",
    "widest",
]

Cluster = Literal["item", "judge"]

FEW_JUDGES = 10
"""Kinds with fewer individuals are taken as they are: resampling so few would say nothing."""

# Replicates whose weights are held at a time: 100 × 10,000 items are 8 MB.
_CHUNK = 100
# Replicates that differ by rounding only.
_NO_SPREAD = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Attributes:
        value: The number, None where it is not defined (nothing to compare).
        lower: None where no interval can be given.
        upper: None where no interval can be given.
        clustered_by: What was resampled for the interval shown, the wider of those possible:
            "item" or "judge".
    """

    value: float | None
    lower: float | None = None
    upper: float | None = None
    clustered_by: Cluster | None = None


@dataclass(frozen=True, eq=False)
class Statistic:
    """A function of sums over items.

    Attributes:
        terms: What each item contributes, sparse, shape (k, items).
        finish: From sums of shape (…, k) to values of shape (…).
    """

    terms: csr_array
    finish: Callable[[Floats], Floats]

    @property
    def value(self) -> float | None:
        """The value of the items as they are, None where it is not defined."""
        found = float(self.finish(np.asarray(self.terms.sum(axis=1), dtype=float)))
        return found if np.isfinite(found) else None


def item_terms(item: Codes, terms: Floats, items: int) -> csr_array:
    """Terms of rows as sums by item.

    Args:
        item: Of each row, shape (rows,).
        terms: Shape (rows, k).
        items: Number of items.
    """
    from scipy.sparse import csr_array

    k = terms.shape[1]
    row, column = np.nonzero(terms)
    summed = csr_array((terms[row, column], (column, item[row])), shape=(k, items))
    summed.sum_duplicates()
    return summed


def ratio(sums: Floats) -> Floats:
    """The first sum over the second, NaN where that is 0."""
    below = sums[..., 1]
    return np.asarray(np.divide(sums[..., 0], below, out=np.full(below.shape, np.nan),
                                where=below > 0))  # fmt: skip


def difference(sums: Floats) -> Floats:
    """The ratio of the first two sums minus that of the next two."""
    return ratio(sums[..., :2]) - ratio(sums[..., 2:])


@dataclass(frozen=True, eq=False)
class ClusteredResampling:
    """How often each item, and each judge, is in each replicate.

    Attributes:
        items: Number of items.
        judge_kind: Kind of each individual, shape (judges,).
        replicates: Number of replicates.
        level: Confidence level.
        seed: The same seed gives the same replicates.
    """

    items: int
    judge_kind: Codes
    replicates: int
    level: float
    seed: int

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise RankingError(f"level must be between 0 and 1, not {self.level!r}")
        if self.replicates < 2:
            raise RankingError(f"a bootstrap needs 2 replicates, not {self.replicates!r}")

    @cached_property
    def judge_counts(self) -> NDArray[np.int16]:
        """How often each individual is drawn among its kind, shape (replicates, judges).

        Kinds of fewer than `FEW_JUDGES` individuals stay as they are.
        """
        rng = np.random.default_rng([self.seed, 1])
        counts = np.ones((self.replicates, len(self.judge_kind)), dtype=np.int16)
        for code in np.unique(self.judge_kind):
            members = np.flatnonzero(self.judge_kind == code)
            if len(members) >= FEW_JUDGES:
                sampler = MultinomialSampler(np.ones(len(members), dtype=np.int64))
                counts[:, members] = sampler.draw(self.replicates, rng)
        return counts

    @cached_property
    def are_many(self) -> NDArray[np.bool_]:
        """Whether each individual is one of a kind that is resampled, shape (judges,)."""
        return np.asarray(np.bincount(self.judge_kind)[self.judge_kind] >= FEW_JUDGES)

    @cached_property
    def item_counts(self) -> NDArray[np.int16]:
        """How often each item is drawn, shape (replicates, items)."""
        rng = np.random.default_rng([self.seed, 0])
        sampler = MultinomialSampler(np.ones(self.items, dtype=np.int64))
        counts = np.empty((self.replicates, self.items), dtype=np.int16)
        for start in range(0, self.replicates, _CHUNK):
            part = counts[start : start + _CHUNK]
            part[:] = sampler.draw(len(part), rng)
        return counts

    def over_items(self, statistics: Sequence[Statistic]) -> list[Floats]:
        """Values of each statistic in each replicate, always the same replicates."""
        if not statistics:
            return []
        from scipy.sparse import csr_array, vstack

        distinct = {id(s.terms): s.terms for s in statistics}
        edges = np.cumsum([0, *(terms.shape[0] for terms in distinct.values())])
        place = dict(zip(distinct, pairwise(edges.tolist()), strict=True))
        stacked = csr_array(vstack(list(distinct.values()), format="csr"))
        values = [np.empty(self.replicates) for _ in statistics]
        for start in range(0, self.replicates, _CHUNK):
            weights = self.item_counts[start : start + _CHUNK].T.astype(float)
            sums = np.asarray(stacked @ weights).T
            for value, statistic in zip(values, statistics, strict=True):
                part = sums[:, slice(*place[id(statistic.terms)])]
                value[start : start + _CHUNK] = statistic.finish(part)
        return values

    def over_judges(self, pairs: Pairs, terms: Sequence[csr_array]) -> list[Floats]:
        """Sums of terms of pairs in each replicate; a pair's weight is m_j · m_k.

        Two copies of one person are never a pair: agreement is between different people.

        Args:
            pairs: Whose judgements are compared.
            terms: Matrices of shape (k, pairs).

        Returns:
            For each matrix, shape (replicates, k).
        """
        from scipy.sparse import csr_array

        couple, code = np.unique(
            np.stack([pairs.judge, pairs.judge_too]), axis=1, return_inverse=True
        )
        size = couple.shape[1]
        of_couple = csr_array((np.ones(len(code)), (np.arange(len(code)), code.ravel())),
                              shape=(len(code), size))  # fmt: skip
        by_couple = [part @ of_couple for part in terms]
        sums = [np.empty((self.replicates, part.shape[0])) for part in terms]
        # As much at a time as a hundred replicates of a hundred thousand couples.
        chunk = max(1, 10_000_000 // size)
        for start in range(0, self.replicates, chunk):
            # A rule is nobody, number −1: it is never resampled.
            drawn = np.pad(self.judge_counts[start : start + chunk], ((0, 0), (0, 1)),
                           constant_values=1).astype(float)  # fmt: skip
            weights = (drawn[:, couple[0]] * drawn[:, couple[1]]).T
            for whole, part in zip(sums, by_couple, strict=True):
                whole[start : start + chunk] = np.asarray(part @ weights).T
        return sums

    def estimate_rows(
        self, item: Codes, judge: Codes, terms: Floats, finish: Callable[[Floats], Floats]
    ) -> Estimate:
        """A function of sums over rows, with the wider of its two intervals.

        Args:
            item: Item of each row, shape (rows,).
            judge: Individual of each row.
            terms: What each row contributes, shape (rows, k).
            finish: From sums of shape (…, k) to values of shape (…).
        """
        if not len(item):
            return Estimate(None)
        statistic = Statistic(item_terms(item, terms, self.items), finish)
        value = statistic.value
        if finish is ratio and value in (0.0, 1.0):
            n = int(statistic.terms[[1], :].count_nonzero())
            return Estimate(value, *exact_bounds(value, n, self.level), "item")
        clusters = len(np.unique(statistic.terms.indices))
        estimates = [self.estimate(value, self.over_items([statistic])[0], "item", clusters)]
        if self.are_many[judge].any():
            by_judge = item_terms(judge, terms, len(self.judge_kind))
            sums = np.asarray(by_judge @ self.judge_counts.T.astype(float)).T
            estimates.append(self.estimate(value, finish(sums), "judge", self.count_judges(judge)))
        return widest(estimates)

    def estimate(
        self, value: float | None, replicates: Floats, by: Cluster, clusters: int
    ) -> Estimate:
        """An expanded percentile interval (Hesterberg 2015); none where it cannot be had.

        With n clusters a bootstrap's spread is too small by √((n − 1)/n), and its percentiles
        know nothing of Student's t: the tails are Φ(−√(n/(n − 1)) · t) instead of α/2.

        Args:
            value: What was observed.
            replicates: Its replicates; half of them must have a value.
            by: What was resampled.
            clusters: How many of these there are.
        """
        from scipy.special import ndtr, stdtrit

        finite = replicates[np.isfinite(replicates)]
        if value is None or clusters < 2 or 2 * len(finite) < len(replicates):
            return Estimate(value)
        if np.ptp(finite) < _NO_SPREAD:
            return Estimate(value)
        t = stdtrit(clusters - 1, (1 + self.level) / 2)
        tail = ndtr(-t * np.sqrt(clusters / (clusters - 1)))
        lower, upper = np.quantile(finite, [tail, 1 - tail])
        return Estimate(value, float(lower), float(upper), by)

    def count_judges(self, judges: Codes) -> int:
        """How many individuals the smallest resampled kind among some judges has."""
        kinds = self.judge_kind[judges[judges >= 0]]
        sizes = np.bincount(self.judge_kind)[np.unique(kinds)]
        return int(sizes[sizes >= FEW_JUDGES].min(initial=len(self.judge_kind)))


def widest(estimates: Sequence[Estimate]) -> Estimate:
    """The estimate with the longest interval; those without one come last."""

    def width(estimate: Estimate) -> float:
        if estimate.lower is None or estimate.upper is None:
            return -1.0
        return estimate.upper - estimate.lower

    return max(estimates, key=width)


def exact_bounds(value: float, n: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's (1934) interval of a share of n independent clusters.

    For shares of 0 or 1, where every resample says the same and would look certain.
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    hits = round(value * n)
    lower = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    upper = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return lower, upper
