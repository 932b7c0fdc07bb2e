"""Where intervals are made wider: votes that show no variation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.fits.bradley_terry import BradleyTerryFit
    from ranking.fits.paired import PairedFit
    from ranking.intervals.result import Intervals

    Floats = NDArray[np.float64]


def normal_quantile(level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def widen(
    intervals: Intervals, fit: BradleyTerryFit | PairedFit, games: Floats, ties: Floats
) -> Intervals:
    """Fall back on the curvature of likelihood and prior where the votes show no spread.

    A model that won every battle wins every battle of every resample, too: its bootstrap
    and sandwich intervals say "certain" exactly where nothing is known.
    """
    undecided = ties.sum(axis=1) >= games.sum(axis=1)
    widened = fit.components.provisional | undecided
    if not widened.any():
        return intervals
    size = len(fit.models)
    from_model = np.sqrt(fit.covariance().diagonal()[:size])
    error = np.where(
        widened, np.maximum(from_model, intervals.standard_error), intervals.standard_error
    )
    z = normal_quantile(intervals.level)
    multiplier = max(intervals.multiplier, z)
    low, high = fit.strengths - z * error, fit.strengths + z * error
    wide_low, wide_high = fit.strengths - multiplier * error, fit.strengths + multiplier * error
    return replace(
        intervals,
        lower=np.where(widened, np.minimum(low, intervals.lower), intervals.lower),
        upper=np.where(widened, np.maximum(high, intervals.upper), intervals.upper),
        simultaneous_lower=np.minimum(wide_low, intervals.simultaneous_lower),
        simultaneous_upper=np.maximum(wide_high, intervals.simultaneous_upper),
        standard_error=error,
        multiplier=multiplier,
        widened=widened,
    )
