"""The inverse curvature of a likelihood over strengths that only differences tell.

Within an island a sum of strengths is nobody's: it is fixed before the inversion and taken
out after it. The prior enters for the models that it alone keeps finite, and no others: a
ridge would shorten the intervals of rarely seen models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ranking.errors import NoMaximum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.fits.components import Components

    Floats = NDArray[np.float64]


def invert_by_island(information: Floats, components: Components, *, precision: float) -> Floats:
    """A·H⁻¹, A centring the strengths within islands, square.

    Args:
        information: H without the prior, strengths first, then other parameters.
        components: Of the models.
        precision: Of the prior.

    Raises:
        NoMaximum: Without the prior, covariates repeat what strengths say.
    """
    size = len(components.island)
    matrix = information.copy()
    strengths = matrix[:size, :size]
    strengths += _lift(strengths.diagonal(), components)
    if components.provisional.any():
        away = components.centre(np.eye(size)).T[components.provisional]
        strengths += precision * away.T @ away
    try:
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise NoMaximum(
            "the votes without the prior do not determine every coefficient; count ties as halves "
            "(tie_model='half'), or if a covariate is adjusted for leave it out"
        ) from error
    inverse = cho_solve(factor, np.eye(len(matrix)), overwrite_b=True, check_finite=False)
    inverse[:size] = components.centre(inverse[:size].T).T
    return np.asarray(inverse)


def _lift(diagonal: Floats, components: Components) -> Floats:
    """Curvature along each island's sum, as large as that across it is on average."""
    trace = np.bincount(components.island, weights=diagonal)
    height = np.where(trace > 0, trace, 1.0) / components.sizes**2
    same = components.island[:, None] == components.island
    return np.asarray(same * height[components.island])
