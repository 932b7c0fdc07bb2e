"""Which pair to compare next: policies as distributions over the unordered pairs.

A policy gives every pair a weight; mixed with an exploration floor it becomes a
distribution in which every pair keeps a positive probability, so that the probability
can be logged with the battle and inverted later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# A pair whose stronger model is expected to win 6 of 10 keeps 61 % of the weight of an even
# pair, one at 7 of 10 keeps 14 %.
CLOSENESS = 0.1


@dataclass(frozen=True, slots=True)
class PairDistribution:
    """A distribution over the pairs of M models.

    Attributes:
        first: index of one model of each pair, shape (M·(M−1)/2,), first < second.
        second: index of the other.
        probability: of each pair; positive, sums to 1.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    probability: NDArray[np.float64]


def uniform_weights(win_probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """All pairs alike: the baseline."""
    return np.ones_like(win_probability)


def closest_weights(win_probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """More for pairs of which either may win: a Gaussian in p − ½ of width `CLOSENESS`."""
    return np.exp(-0.5 * ((win_probability - 0.5) / CLOSENESS) ** 2)


POLICIES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "uniform": uniform_weights,
    "closest": closest_weights,
}


def pair_distribution(
    strengths: NDArray[np.float64], *, policy: str, exploration: float
) -> PairDistribution:
    """The distribution from which the next pair is drawn.

    Args:
        strengths: Bradley-Terry strengths (natural log-odds), shape (M,).
        policy: a key of `POLICIES`.
        exploration: share of the uniform distribution in the mixture, in (0, 1].

    Returns:
        ε · uniform + (1 − ε) · policy.

    Raises:
        ValueError: fewer than two models, a strength that is not finite, an unknown policy
            or an exploration outside (0, 1].
    """
    if len(strengths) < 2 or not np.all(np.isfinite(strengths)):
        raise ValueError(f"strengths: need two or more finite values, got {strengths!r}")
    if policy not in POLICIES:
        raise ValueError(f"policy: {policy!r} is none of {', '.join(sorted(POLICIES))}")
    if not 0 < exploration <= 1:
        raise ValueError(f"exploration: {exploration!r} is not in (0, 1]")
    first, second = np.triu_indices(len(strengths), k=1)
    win_probability = expit(strengths[first] - strengths[second])
    weights = POLICIES[policy](win_probability)
    total = weights.sum()
    share = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
    probability = exploration / len(weights) + (1 - exploration) * share
    return PairDistribution(first, second, probability / probability.sum())
