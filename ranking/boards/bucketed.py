"""Leaderboards from counts by bucket of voters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.boards.leaderboard import Leaderboard, assemble
from ranking.boards.options import Options, take_options
from ranking.errors import RankingError
from ranking.fits.bradley_terry import fit_bradley_terry
from ranking.fits.prior import find_prior
from ranking.intervals.buckets import bucket_intervals, count_by_bucket
from ranking.votes.comparisons import BOTH_BAD
from ranking.votes.weights import effective_sample_size

if TYPE_CHECKING:
    from typing import Unpack

    from ranking.boards.options import OptionKeywords
    from ranking.votes.buckets import BucketedCounts

__all__ = ["compute_bucketed_leaderboard"]


def compute_bucketed_leaderboard(
    counts: BucketedCounts, options: Options | None = None, **changes: Unpack[OptionKeywords]
) -> Leaderboard:
    """The board of `compute_leaderboard` with `cluster=True` and the sandwich, from counts alone.

    Args:
        counts: By bucket of voters.
        options: The recipe; what needs single votes, and the interval, are set to the above.
        changes: Options by name, in place of those of the recipe.

    Raises:
        RankingError: No vote is left, or one bucket holds nearly all; ties are no halves.
        NoMaximum: Without a prior, the votes do not tie all models together.
    """
    told = take_options(options, changes).change(
        cluster=True, interval="sandwich", adjust=False, weights="given"
    )
    if told.tie_model != "half" or told.adjust_side:
        raise RankingError("bucketed counts are ranked with ties as halves and no side effect")
    dropped = 0
    if told.both_bad == "drop":
        dropped = int(counts.count[..., BOTH_BAD].sum())
        counts = replace(counts, count=counts.count * (np.arange(4) != BOTH_BAD))
    whole = counts.to_comparisons()
    width = find_prior(told.prior, whole, both_bad=told.both_bad)
    fit = fit_bradley_terry(whole, prior=width, both_bad=told.both_bad)
    spread = bucket_intervals(counts, fit, level=told.level, both_bad=told.both_bad, seed=told.seed)
    noted = {
        "both_bad_dropped": dropped,
        "buckets": counts.buckets,
        "effective_voters": effective_sample_size(count_by_bucket(counts, told.both_bad)),
    }
    return assemble(whole, fit, spread, told, noted=noted)
