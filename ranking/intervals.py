"""Confidence intervals of strengths: sandwich and bootstrap, single and simultaneous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.bootstrap import resample_strengths
from ranking.bradley_terry import (
    BothBad,
    BradleyTerryFit,
    Floats,
    PairCounts,
    invert_centred,
    solve_centred,
)
from ranking.errors import RankingError
from ranking.threads import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.comparisons import Comparisons

_GAUSSIAN_DRAWS = 20_000


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of the centred strengths at one level.

    Attributes:
        lower: Lower ends, natural log-odds, shape (models,).
        upper: Upper ends, shape (models,).
        simultaneous_lower: Lower ends that hold for all models at once.
        simultaneous_upper: Upper ends that hold for all models at once.
        standard_error: Shape (models,).
        covariance: Of the centred strengths, shape (models, models).
        multiplier: Simultaneous half-width in standard errors.
        level: Confidence level, between 0 and 1.
        widened: True where a model's votes show no variation (it won all, lost all, or
            only tied), so the interval was widened to the prior's own.
    """

    lower: Floats
    upper: Floats
    simultaneous_lower: Floats
    simultaneous_upper: Floats
    standard_error: Floats
    covariance: Floats
    multiplier: float
    level: float
    widened: NDArray[np.bool_]


def sandwich_covariance(fit: BradleyTerryFit, pairs: PairCounts, ties: Floats) -> Floats:
    """H⁺ S H⁺ with S summed per battle, shape (models, models).

    Args:
        fit: The fitted strengths.
        pairs: Games and wins, ties as halves.
        ties: Ties counted in `pairs`, symmetric, shape (models, models).
    """
    p = fit.predict()
    decisive = pairs.wins - 0.5 * ties
    squares = decisive * (1.0 - p) ** 2
    score = squares + squares.T + ties * (0.5 - p) ** 2
    spread = -score
    np.fill_diagonal(spread, score.sum(axis=1) - score.diagonal())
    # The prior is left out of H where the votes alone hold it up: a ridge there would
    # shorten the intervals of rarely seen models.
    needs_prior = bool(fit.components.strong.max() > 0)
    information = fit.information(with_prior=needs_prior)
    half = solve_centred(information, spread)
    return np.asarray(solve_centred(information, half.T))


@one_blas_thread
def sandwich_intervals(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    *,
    level: float = 0.95,
    both_bad: BothBad = "tie",
    seed: int = 0,
) -> Intervals:
    """Normal intervals from the sandwich covariance.

    Args:
        comparisons: The votes that were fitted.
        fit: Their fit.
        level: Confidence level.
        both_bad: As in the fit.
        seed: Of the Gaussian draws behind the simultaneous multiplier.
    """
    from scipy.special import ndtri

    _check_level(level)
    ties = count_ties(comparisons, both_bad)
    covariance = sandwich_covariance(fit, fit.pairs, ties)
    error = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    half = float(ndtri(0.5 + level / 2)) * error
    multiplier = _gaussian_multiplier(covariance, level, seed)
    plain = Intervals(
        lower=fit.strengths - half,
        upper=fit.strengths + half,
        simultaneous_lower=fit.strengths - multiplier * error,
        simultaneous_upper=fit.strengths + multiplier * error,
        standard_error=error,
        covariance=covariance,
        multiplier=multiplier,
        level=level,
        widened=np.zeros(len(error), dtype=bool),
    )
    return _widen(plain, fit, ties)


@one_blas_thread
def bootstrap_intervals(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    *,
    replicates: int = 1000,
    level: float = 0.95,
    both_bad: BothBad = "tie",
    seed: int = 0,
    threads: int | None = None,
) -> Intervals:
    """Percentile intervals of strengths refitted to resampled battles.

    Args:
        comparisons: The votes that were fitted.
        fit: Their fit.
        replicates: Number of resamples.
        level: Confidence level.
        both_bad: As in the fit.
        seed: The same seed gives the same intervals, whatever the number of threads.
        threads: Threads to use; all cores by default.

    Raises:
        RankingError: Fewer than two replicates.
        NoMaximum: Without a prior, a replicate has no finite strengths.
    """
    _check_level(level)
    if replicates < 2:
        raise RankingError(f"a bootstrap needs at least 2 replicates, not {replicates}")
    draws = resample_strengths(
        comparisons,
        fit,
        replicates=replicates,
        seed=seed,
        drop_both_bad=both_bad == "drop",
        threads=threads,
    )
    covariance = np.atleast_2d(np.cov(draws, rowvar=False))
    error = np.sqrt(covariance.diagonal())
    tail = (1.0 - level) / 2
    lower, upper = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    deviation = np.abs(draws - draws.mean(axis=0))
    multiplier = _quantile_of_maximum(deviation, error, level)
    plain = Intervals(
        lower=lower,
        upper=upper,
        simultaneous_lower=np.minimum(lower, fit.strengths - multiplier * error),
        simultaneous_upper=np.maximum(upper, fit.strengths + multiplier * error),
        standard_error=error,
        covariance=covariance,
        multiplier=multiplier,
        level=level,
        widened=np.zeros(len(error), dtype=bool),
    )
    return _widen(plain, fit, count_ties(comparisons, both_bad))


def count_ties(comparisons: Comparisons, both_bad: BothBad) -> Floats:
    """Ties of each pair as fitted, symmetric, shape (models, models)."""
    counts = comparisons.outcome_counts
    ties = counts[2] + counts[3] if both_bad == "tie" else counts[2]
    return np.asarray(ties + ties.T, dtype=float)


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise RankingError(f"level must lie between 0 and 1, not {level!r}")


def _quantile_of_maximum(deviation: Floats, error: Floats, level: float) -> float:
    seen = error > 0
    if not seen.any():
        return 0.0
    return float(np.quantile((deviation[:, seen] / error[seen]).max(axis=1), level))


def _gaussian_multiplier(covariance: Floats, level: float, seed: int) -> float:
    """Quantile of the largest of |N(0, Σ)| in standard errors, by simulation."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = np.random.default_rng(seed).standard_normal((_GAUSSIAN_DRAWS, len(values))) @ root.T
    return _quantile_of_maximum(np.abs(draws), np.sqrt(np.maximum(covariance.diagonal(), 0)), level)


def _widen(intervals: Intervals, fit: BradleyTerryFit, ties: Floats) -> Intervals:
    """Fall back on the curvature of likelihood and prior where the votes show no spread.

    A model that won every battle wins every battle of every resample, too: its bootstrap
    and sandwich intervals say "certain" exactly where nothing is known.
    """
    from scipy.special import ndtri

    undecided = ties.sum(axis=1) >= fit.pairs.games.sum(axis=1)
    widened = fit.components.provisional | undecided
    if not widened.any():
        return intervals
    model_based = np.sqrt(invert_centred(fit.information()).diagonal())
    error = np.where(widened, np.maximum(model_based, intervals.standard_error),
                     intervals.standard_error)  # fmt: skip
    z = float(ndtri(0.5 + intervals.level / 2))
    multiplier = max(intervals.multiplier, z)
    low, high = fit.strengths - z * error, fit.strengths + z * error
    wide_low, wide_high = fit.strengths - multiplier * error, fit.strengths + multiplier * error
    return Intervals(
        lower=np.where(widened, np.minimum(low, intervals.lower), intervals.lower),
        upper=np.where(widened, np.maximum(high, intervals.upper), intervals.upper),
        simultaneous_lower=np.minimum(wide_low, intervals.simultaneous_lower),
        simultaneous_upper=np.maximum(wide_high, intervals.simultaneous_upper),
        standard_error=error,
        covariance=intervals.covariance,
        multiplier=multiplier,
        level=intervals.level,
        widened=widened,
    )
