"""What is known of strengths: intervals, each alone and all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of strengths, centred in their islands, at one level.

    Attributes:
        lower: Lower ends, natural log-odds, shape (models,).
        upper: Upper ends, shape (models,).
        simultaneous_lower: Lower ends that hold for all models at once.
        simultaneous_upper: Upper ends that hold for all models at once.
        standard_error: Shape (models,).
        covariance: Of the strengths, shape (models, models).
        multiplier: Simultaneous half-width in standard errors.
        level: Confidence level, between 0 and 1.
        widened: True where a model's votes show no variation (it won all, lost all, only
            tied, or its voters cancel out), so the interval was widened to the prior's own.
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


@dataclass(frozen=True, eq=False)
class PairedIntervals:
    """Intervals of every parameter of a paired fit.

    Attributes:
        strengths: Of the strengths.
        lower: Lower ends of `fit.parameters` (strengths, coefficients, log tie parameter).
        upper: Upper ends of `fit.parameters`.
    """

    strengths: Intervals
    lower: Floats
    upper: Floats
