"""How wide a prior on the strengths should be, as the votes themselves tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ranking.fits.bradley_terry import DEFAULT_PRIOR, fit_bradley_terry

if TYPE_CHECKING:
    from ranking.fits.bradley_terry import BradleyTerryFit
    from ranking.votes.comparisons import Comparisons
    from ranking.votes.encoding import BothBad

Prior = float | Literal["fitted"] | None


def estimate_prior(fit: BradleyTerryFit) -> float:
    """The standard deviation of the strengths, without what is noise of their estimates.

    Pairs that were drawn where the votes so far leave most open bring few votes to a model
    that luck has put too far out. A prior that says how far out models are at all pulls it
    back, and intervals hold again (docs/pairing.md has the shares). By moments: the variance
    of the estimates within islands less the mean of their squared standard errors.

    Args:
        fit: With the weak prior.

    Outsiders (`Components`) say nothing of it: they are where the prior puts them.

    Returns:
        Log-odds, at most the weak prior's own. The prior is never told to know more of a
        model than the votes on an average model do: where noise is all there is, it stays
        as wide as the noise.
    """
    known, islands = fit.components.reference, fit.components.islands
    models = int(known.sum())
    if models == islands:
        return DEFAULT_PRIOR
    noise = float(fit.components.centred_variances(fit.covariance())[known].mean())
    noise *= (models - 1) / (models - islands)
    spread = float(fit.placed[known] @ fit.placed[known]) / (models - islands)
    return float(np.sqrt(min(max(spread - noise, noise), DEFAULT_PRIOR**2)))


def find_prior(
    prior: Prior, comparisons: Comparisons, *, both_bad: BothBad = "tie"
) -> float | None:
    """The width of a prior: "fitted" is that which the votes tell, anything else itself."""
    if prior == "fitted":
        return estimate_prior(fit_bradley_terry(comparisons, both_bad=both_bad))
    return prior
