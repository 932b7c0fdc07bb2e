"""Which pair to compare next: policies as distributions over the unordered pairs.

A policy gives every pair a weight; mixed with an exploration floor it becomes a
distribution in which every pair keeps a positive probability, so that the probability
can be logged with the battle and inverted later.

A policy is a pure function of the strengths ξ, their covariance Σ, the games of each pair
and which models are newcomers. For a pair: Δ = ξ_i − ξ_j, p = P(i beats j),
v = Σ_ii + Σ_jj − 2Σ_ij.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranking.fits.bradley_terry import DEFAULT_PRIOR

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Policy = Callable[[Floats, Floats, Floats, Bools], Floats]
"""Strengths (M,), covariance (M, M), games (M, M) and whether a model is a newcomer (M,) to
weights ≥ 0 of the M·(M−1)/2 pairs, in the order of `pair_indices`; all weights 0 stand for all
alike."""

# A pair whose stronger model is expected to win 6 of 10 keeps 61 % of the weight of an even
# pair, one at 7 of 10 keeps 14 %.
CLOSENESS = 0.1

# Chosen by tests/benchmarks/pairing.py; see docs/pairing.md for what else was tried.
OPEN = 1.3
FADE = 0.4
ILL_KNOWN = 2.0
NEWCOMER_SHARE = 2 / 3
# The largest share of `information` with which uniform drawing still needs 1.3 times the votes
# for the order of 60 models, on both seeds on which 0.1 to 0.5 were compared.
TEMPER = 0.15

# A model that came when the others had fewer games than this came with them.
_FEWEST_DUE = 30.0
# So that an old arena does not spend months on one model: after as many games its score has a
# standard error of some eight points.
MOST_DUE = 2_000.0

# Beyond this many log-odds a win is certain, and what is left of p(1 − p) still has a place
# in single precision.
_CERTAIN = 40.0
# Standard errors from which an order is beyond doubt, whose square has a place there too.
_HOPELESS = np.float32(1e4)
# Sums of weights whose inverses single precision holds.
_LEAST_SUM = 1e-30
# No sum of votes comes near it; it keeps rounding from a division by 0.
_LEAST_VARIANCE = 1e-30


@dataclass(frozen=True, slots=True)
class PairDistribution:
    """A distribution over the pairs of M models.

    Attributes:
        first: index of one model of each pair, shape (M·(M−1)/2,), first < second.
        second: index of the other.
        probability: of each pair; positive, sums to 1.
    """

    first: Indices
    second: Indices
    probability: Floats

    def draw(self, random: np.random.Generator, draws: int) -> Indices:
        """Positions of independently drawn pairs, shape (draws,)."""
        edges = np.cumsum(self.probability)
        return np.asarray(np.searchsorted(edges, random.random(draws) * edges[-1], side="right"))


@lru_cache(maxsize=8)
def pair_indices(models: int) -> tuple[Indices, Indices, Indices]:
    """All pairs first < second, and where each lies in a flattened (M, M) matrix.

    The arrays are shared between calls and cannot be written to.
    """
    first, second = np.triu_indices(models, k=1)
    indices = (first, second, first * models + second)
    for index in indices:
        index.flags.writeable = False
    return indices


def prior_covariance(models: int, *, prior: float = DEFAULT_PRIOR) -> Floats:
    """Covariance of centred strengths of which nothing is known yet, shape (M, M)."""
    return np.asarray(prior**2 * (np.eye(models) - 1.0 / models))


def find_games_due(arrivals: Floats) -> Floats:
    """Games that each model is to catch up with: as many as the others had when it came.

    A model with fewer is a newcomer. Games only grow, so that it is one once: a model whose
    place is clear is left alone later, and its standard error may then exceed the others'
    without making it new again.

    Args:
        arrivals: votes on record when the first vote on each model was cast, shape (M,).

    Returns:
        The mean of the models that were there, up to `MOST_DUE`, shape (M,); 0 for one that
        came while that was below 30.
    """
    there = np.searchsorted(np.sort(arrivals), arrivals)  # how many came before each
    due = np.minimum(2.0 * arrivals / np.maximum(there, 1), MOST_DUE)
    return np.where((there >= 2) & (due >= _FEWEST_DUE), due, 0.0)


def pair_differences(strengths: Floats) -> Floats:
    """Δ of each pair."""
    first, second, _ = pair_indices(len(strengths))
    difference = strengths[first]
    difference -= strengths[second]
    return difference


def pair_variances(covariance: Floats) -> Floats:
    """Variance v of each pair's difference, kept above 0."""
    first, second, flat = pair_indices(len(covariance))
    diagonal = covariance.diagonal()
    # Symmetric: read in whatever order it lies in memory, row by row or column by column.
    variance = covariance.ravel(order="K")[flat]
    variance *= -2.0
    variance += diagonal[first]
    variance += diagonal[second]
    return np.maximum(variance, _LEAST_VARIANCE, out=variance)


def outcome_variances(strengths: Floats) -> Floats:
    """p·(1 − p) of each pair: the Fisher information of one game on Δ."""
    first, second, _ = pair_indices(len(strengths))
    # p(1 − p) = (r + 1/r)⁻² with r = exp(Δ/2): M exponentials instead of one a pair.
    half = np.exp(0.5 * np.clip(strengths - strengths.mean(), -_CERTAIN, _CERTAIN))
    ratio = half[first]
    scratch = half[second]
    ratio /= scratch
    ratio += np.reciprocal(ratio, out=scratch)
    ratio *= ratio
    return np.asarray(np.reciprocal(ratio, out=ratio))


def uniform_weights(
    strengths: Floats, _covariance: Floats, _games: Floats, _newcomers: Bools
) -> Floats:
    """All pairs alike: the baseline."""
    return np.ones(len(pair_indices(len(strengths))[0]))


def closest_weights(
    strengths: Floats, _covariance: Floats, _games: Floats, _newcomers: Bools
) -> Floats:
    """More for pairs of which either may win: a Gaussian in p − ½ of width `CLOSENESS`."""
    # (p − ½)² = ¼ − p(1 − p).
    weight = outcome_variances(strengths)
    weight -= 0.25
    weight *= 0.5 / CLOSENESS**2
    return np.asarray(np.exp(weight, out=weight))


def variance_weights(
    strengths: Floats, _covariance: Floats, games: Floats, _newcomers: Bools
) -> Floats:
    """What one more game takes off the standard error of the pair's own win rate.

    √(p(1 − p)/n) − √(p(1 − p)/(n + 1)) after Chiang et al. 2024 (arXiv 2403.04132), n being
    the pair's games and one more, so that a pair that never met has a weight as well.
    """
    weight = np.take(games, pair_indices(len(strengths))[2])
    weight += 1.0
    after = 1.0 / np.sqrt(weight + 1.0)
    weight = 1.0 / np.sqrt(weight) - after
    weight *= np.sqrt(outcome_variances(strengths))
    return weight


def information_weights(
    strengths: Floats, covariance: Floats, _games: Floats, _newcomers: Bools
) -> Floats:
    """log(1 + p(1 − p)·v): what a game tells about all strengths alike."""
    return _information(strengths, pair_variances(covariance))


def uncertainty_weights(
    strengths: Floats, covariance: Floats, _games: Floats, newcomers: Bools
) -> Floats:
    """max(open order, ill known) · log(1 + p(1 − p)·v): what is unsure, times what a game tells.

    The order of a pair is open while |Δ| is within `OPEN` of its standard errors, and a
    matter of chance less and less beyond: exp(−(|Δ|/√v − OPEN)²/2·`FADE`²). A model whose
    standard error is above `ILL_KNOWN` times the median one is of interest whatever its
    place, such as one far from all others that would never be drawn again.

    While there are newcomers, `NEWCOMER_SHARE` of the draws are theirs, by what a game
    tells, and no more, for whoever is in every battle is soon recognised. Variances alone
    cannot say who came late and who is merely left alone.
    """
    weight, information = _pursue_order(strengths, covariance)
    if newcomers.any():
        _welcome(weight, information, newcomers)
    return weight.astype(np.float64)


def tempered_weights(
    strengths: Floats, covariance: Floats, _games: Floats, newcomers: Bools
) -> Floats:
    """A share `TEMPER` of `information` mixed into `uncertainty`: the order, and scores too.

    Models that stand apart are left alone by `uncertainty`, and their scores stay rough. Newcomers
    have the share of the draws that they have there.
    """
    weight, information = _pursue_order(strengths, covariance)
    pursued, told = float(weight.sum()), float(information.sum())
    if min(pursued, told) > _LEAST_SUM:
        weight *= np.float32((1 - TEMPER) / pursued)
        weight += np.float32(TEMPER / told) * information
    elif told > pursued:
        weight = information.copy()  # no order is open: what is left to learn is the scores
    if newcomers.any():
        _welcome(weight, information, newcomers)
    return weight.astype(np.float64)


def _pursue_order(strengths: Floats, covariance: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weights of `uncertainty` without newcomers, and what a game of each pair tells."""
    own = covariance.diagonal()
    ill_known = own / (ILL_KNOWN**2 * max(np.median(own), _LEAST_VARIANCE)) - 1.0
    # A weight needs no more than seven digits, and half the memory is half the time.
    variance: NDArray[Any] = pair_variances(covariance).astype(np.float32)
    strengths = strengths.astype(np.float32)
    weight = pair_differences(strengths)
    weight /= np.sqrt(variance)
    np.abs(weight, out=weight)
    weight -= np.float32(OPEN)
    np.clip(weight, np.float32(0.0), _HOPELESS, out=weight)
    weight *= weight
    weight *= np.float32(-0.5 / FADE**2)
    np.exp(weight, out=weight)
    excess = np.clip(ill_known, 0.0, 1.0).astype(np.float32)
    if excess.any():
        first, second, _ = pair_indices(len(strengths))
        np.maximum(weight, excess[first], out=weight)
        np.maximum(weight, excess[second], out=weight)
    information = _information(strengths, variance)
    weight *= information
    return weight, information


def _welcome(weight: Floats, information: Floats, newcomers: Bools) -> None:
    """Sets a share of the weights aside for pairs with a newcomer, in place."""
    theirs = _pairs_with(newcomers)
    own, told = weight[theirs], information[theirs]
    weight[theirs] = 0.0
    rest, aside = float(weight.sum()), float(told.sum())
    if rest > 0 and aside > 0:
        weight *= (1 - NEWCOMER_SHARE) / rest
        weight[theirs] = NEWCOMER_SHARE / aside * told
    else:
        weight[theirs] = own


def _pairs_with(chosen: Bools) -> Indices:
    """Positions of the pairs with any of some models, in the order of `pair_indices`."""
    one, other = np.flatnonzero(chosen)[:, None], np.arange(len(chosen))
    first, second = np.minimum(one, other), np.maximum(one, other)
    position = first * len(chosen) - first * (first + 1) // 2 + second - first - 1
    # Two of them are a pair once.
    return np.asarray(position[(other > one) | (other < one) & ~chosen])


POLICIES: Mapping[str, Policy] = {
    "uniform": uniform_weights,
    "closest": closest_weights,
    "variance": variance_weights,
    "information": information_weights,
    "uncertainty": uncertainty_weights,
    "tempered": tempered_weights,
}
WELCOMING = frozenset({"uncertainty", "tempered"})
"""The policies that look at who is a newcomer."""


def pair_distribution(
    strengths: Floats,
    covariance: Floats | None = None,
    counts: Floats | None = None,
    *,
    policy: str,
    exploration: float,
    newcomers: Bools | None = None,
) -> PairDistribution:
    """The distribution from which the next pair is drawn.

    Args:
        strengths: Bradley-Terry strengths (natural log-odds), shape (M,).
        covariance: of the strengths, shape (M, M); that of the prior by default.
        counts: games of each pair, symmetric, shape (M, M); none by default.
        policy: a key of `POLICIES`.
        exploration: share of the uniform distribution in the mixture, in (0, 1].
        newcomers: which models came late and have yet to catch up, shape (M,); none by
            default. Only the policies of `WELCOMING` ask.

    Returns:
        ε · uniform + (1 − ε) · policy.

    Raises:
        ValueError: fewer than two models, a value that is not finite, a shape that does not
            fit, an unknown policy or an exploration outside (0, 1].
    """
    models = len(strengths)
    if models < 2 or not np.all(np.isfinite(strengths)):
        raise ValueError(f"strengths: need two or more finite values, got {strengths!r}")
    if policy not in POLICIES:
        raise ValueError(f"policy: {policy!r} is none of {', '.join(sorted(POLICIES))}")
    if not 0 < exploration <= 1:
        raise ValueError(f"exploration: {exploration!r} is not in (0, 1]")
    covariance = prior_covariance(models) if covariance is None else covariance
    counts = np.zeros((models, models)) if counts is None else counts
    for name, matrix in {"covariance": covariance, "counts": counts}.items():
        if matrix.shape != (models, models):
            raise ValueError(f"{name}: shape {matrix.shape} does not fit {models} strengths")
    newcomers = np.zeros(models, dtype=np.bool_) if newcomers is None else newcomers
    if newcomers.shape != (models,):
        raise ValueError(f"newcomers: shape {newcomers.shape} does not fit {models} strengths")
    probability = POLICIES[policy](strengths, covariance, counts, newcomers)
    total = float(probability.sum())
    if not np.isfinite(total):
        raise ValueError("covariance, counts: not every value is finite, or a count is below 0")
    return PairDistribution(*pair_indices(models)[:2], _mix(probability, total, exploration))


def _information(strengths: Floats, variance: Floats) -> Floats:
    information = outcome_variances(strengths)
    information *= variance
    return np.log1p(information, out=information)


def _mix(weight: Floats, total: float, exploration: float) -> Floats:
    """ε · uniform + (1 − ε) · weights, written into the weights."""
    if total > 0:
        weight *= (1.0 - exploration) / total
        weight += exploration / len(weight)
    else:
        weight[:] = 1.0 / len(weight)
    weight /= weight.sum()
    return weight
