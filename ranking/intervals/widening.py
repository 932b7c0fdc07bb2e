"""Where intervals are made wider: votes that show no variation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.fits.bradley_terry import DEFAULT_PRIOR, check_prior
from ranking.fits.paired import invert_lifted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.fits.bradley_terry import BradleyTerryFit
    from ranking.fits.paired import PairedFit
    from ranking.intervals.result import Intervals

    Floats = NDArray[np.float64]


_FLAT = 1e-6
"""Standard errors, log-odds, that are none."""


def normal_quantile(level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def find_errors(fit: BradleyTerryFit | PairedFit) -> Floats:
    """Standard errors of the placed strengths by the curvature of likelihood and prior.

    Of a model that met nobody nothing is known but the prior: 0 would be its distance to
    itself.
    """
    components, size = fit.components, len(fit.models)
    errors = np.sqrt(components.centred_variances(fit.covariance()[:size, :size]))
    if components.outsiders.size:
        errors[components.outsiders] = _find_outsiders_errors(fit)
    alone = components.sizes[components.island] == 1
    return np.where(alone, fit.prior or 0.0, errors)


def _find_outsiders_errors(fit: BradleyTerryFit | PairedFit) -> Floats:
    """Those of models that won or lost all, in the order of `Components.outsiders`.

    By the weak prior, also where a narrower one was fitted to the others: whoever won
    everything may not be one of them. With theirs, all intervals held in 81 % of arenas with
    such a model.
    """
    size, precision = len(fit.models), check_prior(max(fit.prior or 0.0, DEFAULT_PRIOR))
    information = fit.information(with_prior=False)
    information[np.arange(size), np.arange(size)] += precision
    covariance = invert_lifted(information, size, precision=precision)[:size, :size]
    variances = fit.components.centred_variances(covariance)
    return np.asarray(np.sqrt(variances[fit.components.outsiders]))


def widen(
    intervals: Intervals, fit: BradleyTerryFit | PairedFit, games: Floats, ties: Floats
) -> Intervals:
    """Fall back on the curvature of likelihood and prior where the votes show no spread.

    A model that won every battle wins every battle of every resample, too: its bootstrap
    and sandwich intervals say "certain" exactly where nothing is known. Of an outsider, whose
    battles are not resampled, they say nothing at all.
    """
    undecided = ties.sum(axis=1) >= games.sum(axis=1)
    # Scores that cancel to the last digit, as those of few voters may.
    flat = intervals.standard_error <= _FLAT
    widened = fit.components.provisional | undecided | flat
    if not widened.any():
        return intervals
    from_model = find_errors(fit)
    outside = ~fit.components.reference
    greater = np.maximum(from_model, intervals.standard_error)
    error = np.where(outside, from_model, np.where(widened, greater, intervals.standard_error))
    z = normal_quantile(intervals.level)
    multiplier = max(intervals.multiplier, z)
    low, high = fit.placed - z * error, fit.placed + z * error
    wide_low, wide_high = fit.placed - multiplier * error, fit.placed + multiplier * error
    return replace(
        intervals,
        lower=_choose(outside, widened, low, np.minimum(low, intervals.lower), intervals.lower),
        upper=_choose(outside, widened, high, np.maximum(high, intervals.upper), intervals.upper),
        simultaneous_lower=np.where(
            outside, wide_low, np.minimum(wide_low, intervals.simultaneous_lower)
        ),
        simultaneous_upper=np.where(
            outside, wide_high, np.maximum(wide_high, intervals.simultaneous_upper)
        ),
        standard_error=error,
        multiplier=multiplier,
        widened=widened,
    )


def _choose(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    values: Floats,
    others: Floats,
    rest: Floats,
) -> Floats:
    """The values where `first`, else the others where `second`, else the rest."""
    return np.where(first, values, np.where(second, others, rest))
