"""Intervals by voter from counts by bucket of voters: no vote and no voter is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import TooFewVoters
from ranking.fits.bradley_terry import hessian
from ranking.fits.curvature import invert_by_island
from ranking.fits.threads import one_blas_thread
from ranking.intervals.intervals import (
    build_from_covariance,
    count_ties,
    simulate_multiplier,
)
from ranking.intervals.sandwich import sandwich_pairs
from ranking.intervals.voters import LEAST_VOTERS, VoterSpread, stretch
from ranking.intervals.widening import widen
from ranking.votes.comparisons import BOTH_BAD, MODEL_A, MODEL_B, TIE
from ranking.votes.weights import effective_sample_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.fits.bradley_terry import BradleyTerryFit
    from ranking.intervals.result import Intervals
    from ranking.votes.buckets import BucketedCounts
    from ranking.votes.encoding import BothBad

    Floats = NDArray[np.float64]


@one_blas_thread
def bucket_intervals(
    counts: BucketedCounts,
    fit: BradleyTerryFit,
    *,
    level: float = 0.95,
    both_bad: BothBad = "tie",
    seed: int = 0,
) -> Intervals:
    """The sandwich with scores summed by bucket, as `cluster=True` sums them by voter.

    The cost is that of the buckets' matrices, whatever the number of votes.

    Args:
        counts: Those whose sum was fitted.
        fit: Their fit, ties as halves.
        level: Confidence level.
        both_bad: As in the fit.
        seed: Of the Gaussian draws behind the simultaneous multiplier.

    Raises:
        TooFewVoters: One bucket holds all votes, or nearly all.
    """
    spread = VoterSpread(effective_sample_size(count_by_bucket(counts, both_bad)))
    if spread.effective < LEAST_VOTERS:
        raise TooFewVoters("one bucket holds all votes, or nearly all; do without buckets")
    ties = count_ties(counts.to_comparisons(), both_bad)
    p = fit.predict()
    inverse = invert_by_island(
        hessian(fit.held_pairs.games, p, 0.0), fit.components, precision=fit.precision
    )
    scores = _sum_scores(counts, p, held=fit.held_pairs.games > 0, both_bad=both_bad) @ inverse.T
    covariance = spread.correction * (scores.T @ scores)
    plain = build_from_covariance(fit.placed, covariance, level=level, seed=seed)
    alone = simulate_multiplier(sandwich_pairs(fit, ties), level, seed)
    wide = stretch(plain, fit.placed, spread, multiplier=alone, resampled=False)
    return widen(wide, fit, fit.pairs.games, ties)


def count_by_bucket(counts: BucketedCounts, both_bad: BothBad) -> Floats:
    """Votes that have a say in the strengths, shape (buckets,)."""
    by_outcome = counts.count.sum(axis=(1, 2))
    said = by_outcome if both_bad == "tie" else by_outcome[:, :BOTH_BAD]
    return np.asarray(said.sum(axis=1), dtype=float)


def _sum_scores(
    counts: BucketedCounts, p: Floats, *, held: NDArray[np.bool_], both_bad: BothBad
) -> Floats:
    """Wins less expected wins of each model in each bucket, shape (buckets, models)."""
    scores = np.empty(counts.count.shape[:2])
    for number, cast in enumerate(counts.count):
        halves = cast[..., TIE] + (cast[..., BOTH_BAD] if both_bad == "tie" else 0)
        wins = cast[..., MODEL_A] + cast[..., MODEL_B].T + 0.5 * (halves + halves.T)
        games = wins + wins.T
        scores[number] = np.where(held, wins - games * p, 0.0).sum(axis=1)
    return scores
