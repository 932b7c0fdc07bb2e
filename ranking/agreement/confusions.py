"""Figures of agreement from confusion matrices, also weighted and stacked ones.

Every function takes pairs by their two verdicts, flattened, shape (…, categories²), and
gives values of shape (…); NaN where nothing can be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.intervals import ratio
from ranking.agreement.kappas import (
    ac1_from_sums,
    alpha_from_sums,
    fleiss_from_sums,
    sideless_kappa,
)
from ranking.votes.encoding import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "ac1_from_confusion",
    "alpha_from_confusion",
    "decided_rate_from_confusion",
    "fleiss_from_confusions",
    "rate_from_confusion",
    "sideless_from_confusion",
    "symmetric_sideless_from_confusion",
]


def rate_from_confusion(sums: Floats) -> Floats:
    """Share of pairs that agree."""
    return ratio(np.stack([_agreeing(_square(sums)), sums.sum(axis=-1)], axis=-1))


def decided_rate_from_confusion(sums: Floats) -> Floats:
    """Share of decisive pairs that agree."""
    decided = _square(sums)[..., :TIE, :TIE]
    return ratio(np.stack([_agreeing(decided), decided.sum(axis=(-2, -1))], axis=-1))


def alpha_from_confusion(sums: Floats) -> Floats:
    """Krippendorff's α, each pair a battle of two ratings."""
    table = _square(sums)
    agree = 2 * _agreeing(table)[..., None]
    return alpha_from_sums(np.concatenate([agree, _ratings(table)], axis=-1))


def ac1_from_confusion(sums: Floats) -> Floats:
    """Gwet's AC1, each pair a battle of two ratings."""
    table, total = _square(sums), sums.sum(axis=-1)
    head = np.stack([_agreeing(table), total, total], axis=-1)
    return ac1_from_sums(np.concatenate([head, _ratings(table) / 2], axis=-1))


def sideless_from_confusion(sums: Floats) -> Floats:
    """κ with WMT's chance agreement."""
    table = _square(sums)
    ties = [table[..., TIE:, :].sum(axis=(-2, -1)), table[..., :, TIE:].sum(axis=(-2, -1))]
    parts = (_agreeing(table), *ties)
    return np.asarray(
        sideless_kappa(*(ratio(np.stack([x, sums.sum(axis=-1)], axis=-1)) for x in parts))
    )


def symmetric_sideless_from_confusion(sums: Floats) -> Floats:
    """Who of two alike is the first says nothing: each pair is taken both ways."""
    table = _square(sums)
    both = table + np.swapaxes(table, -1, -2)
    return sideless_from_confusion(both.reshape(sums.shape))


def fleiss_from_confusions(by_battle: Floats, by_rating: Floats) -> Floats:
    """Agreement from pairs that weigh each battle alike, categories from each rating alike."""
    observed = np.stack([_agreeing(_square(by_battle)), by_battle.sum(axis=-1)], axis=-1)
    return fleiss_from_sums(np.concatenate([observed, _ratings(_square(by_rating))], axis=-1))


def _square(sums: Floats) -> Floats:
    size = round(sums.shape[-1] ** 0.5)
    return sums.reshape(*sums.shape[:-1], size, size)


def _ratings(table: Floats) -> Floats:
    """Ratings by category: each pair of judgements has two."""
    return np.asarray(table.sum(axis=-1) + table.sum(axis=-2))


def _agreeing(table: Floats) -> Floats:
    return np.asarray(np.trace(table, axis1=-2, axis2=-1))
