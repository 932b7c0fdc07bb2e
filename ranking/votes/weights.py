"""Weights that undo what the matchmaker did, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranking.checks import take_numbers
from ranking.errors import InvalidVote

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


Weighting = Literal["given", "uniform", "design"]


@dataclass(frozen=True, eq=False)
class DesignWeights:
    """Inverse-probability weights.

    Attributes:
        weight: Mean 1, shape (votes,).
        clip: Largest weight allowed before normalisation, as a multiple of the mean.
        clipped_share: Share of votes whose weight was clipped.
        effective_votes: (Σw)² / Σw².
    """

    weight: Floats
    clip: float
    clipped_share: float
    effective_votes: float


def compute_design_weights(draw_probability: ArrayLike, *, clip: float = 20.0) -> DesignWeights:
    """1 / draw probability of each vote's pair, normalised to mean 1 and clipped.

    With them the strengths refer to pairs drawn uniformly whatever the matchmaker did.

    Args:
        draw_probability: Chance the matchmaker gave the pair, in (0, 1], shape (votes,).
        clip: No weight above this multiple of the mean; the rest is normalised again.

    Raises:
        InvalidVote: A probability outside (0, 1], naming the row.
    """
    p = take_numbers(draw_probability, "votes.draw_probability or the like", "(votes,)")
    wrong = np.flatnonzero(~((p > 0) & (p <= 1)))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidVote(f"draw probability {p[row]} is not in (0, 1]", row=row, value=p[row])
    raw = 1.0 / p
    raw /= raw.mean()
    clipped = np.minimum(raw, clip)
    weight = clipped / clipped.mean()
    return DesignWeights(
        weight=weight,
        clip=clip,
        clipped_share=float((raw > clip).mean()),
        effective_votes=effective_sample_size(weight),
    )


def effective_sample_size(weight: Floats) -> float:
    """(Σw)² / Σw² (Kish 1965)."""
    return float(weight.sum() ** 2 / (weight @ weight))
