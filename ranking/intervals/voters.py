"""How much wider intervals are when the votes are those of few or of unequal voters.

A variance summed over G voters is known as well as one of G − 1 degrees of freedom only if
the voters are alike. Where a few cast most of the votes it is known as well as from fewer:
(Σn)²/Σn² of them, n votes each (Kish 1965).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import TooFewVoters
from ranking.intervals.widening import normal_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.intervals.result import Intervals
    from ranking.votes.rows import Rows

    Floats = NDArray[np.float64]

LEAST_VOTERS = 1.5
"""Voters worth less than this many alike tell nothing of how voters differ."""


@dataclass(frozen=True)
class VoterSpread:
    """What a variance between voters is worth.

    Attributes:
        effective: How many voters with equally many votes they are worth.
    """

    effective: float

    @classmethod
    def of(cls, rows: Rows) -> VoterSpread:
        """That of the clusters of some rows.

        Raises:
            TooFewVoters: One voter cast all votes, or nearly all.
        """
        effective = rows.effective_clusters
        if effective < LEAST_VOTERS:
            share = "all" if rows.number_clusters()[1] == 1 else "nearly all"
            raise TooFewVoters(
                f"one voter cast {share} votes, so how voters differ is unknown; "
                "do without clusters"
            )
        return cls(effective)

    @property
    def correction(self) -> float:
        """What the sum over voters misses for want of the strengths themselves."""
        return self.effective / (self.effective - 1.0)

    def quantile(self, level: float) -> float:
        """Student's, two-sided, where many voters would have the normal one."""
        return self.at_tail_of(normal_quantile(level))

    def at_tail_of(self, normal: float) -> float:
        """Student's quantile with the tail that a normal one has.

        Stretching a multiplier of all models at once by the ratio of their own quantiles
        would be too little: the further out, the more the two differ.
        """
        from scipy.special import ndtr, stdtrit

        return float(-stdtrit(self.effective - 1.0, ndtr(-normal)))


def stretch(
    intervals: Intervals,
    estimate: Floats,
    spread: VoterSpread,
    *,
    multiplier: float,
    resampled: bool,
) -> Intervals:
    """Intervals as wide as voters so few and so unequal make them (Hesterberg 2015).

    Args:
        intervals: As many voters alike would make them.
        estimate: Where they are taken at.
        spread: Of the voters.
        multiplier: Simultaneous half-width, in standard errors, of the votes taken for
            independent. Few voters differ in few directions, so that the greatest deviation
            of many models looks smaller than it is: 95 % intervals held for all of 20
            models in 78 % of arenas with three voters.
        resampled: Whether the covariance is still without `spread.correction`.
    """
    missing = float(np.sqrt(spread.correction)) if resampled else 1.0
    level = intervals.level
    factor = missing * spread.quantile(level) / normal_quantile(level)
    lower = estimate + factor * (intervals.lower - estimate)
    upper = estimate + factor * (intervals.upper - estimate)
    whole = spread.at_tail_of(max(intervals.multiplier, multiplier))
    error = missing * intervals.standard_error
    return replace(
        intervals,
        lower=lower,
        upper=upper,
        simultaneous_lower=np.minimum(lower, estimate - whole * error),
        simultaneous_upper=np.maximum(upper, estimate + whole * error),
        standard_error=error,
        covariance=missing**2 * intervals.covariance,
        multiplier=whole,
    )
