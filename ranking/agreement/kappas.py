"""Agreement beyond chance: Cohen, Fleiss, Krippendorff, Gwet, and WMT's chance agreement.

Each coefficient is a function of sums over independent subjects, so that a bootstrap
replicate is a weighted sum of per-subject terms and never a recount. `*_terms` give the
terms of each subject, shape (subjects, k); `*_from_sums` turn sums of them, shape (…, k),
into coefficients, shape (…). Undefined values (no pair of ratings, or no disagreement
possible) are NaN.

Sources: Cohen (1960); Fleiss (1971), for unequal numbers of raters as in Fleiss, Levin &
Paik (2003); Krippendorff (2004), nominal α; Gwet (2008), AC1; Bojar et al. (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.checks import take_numbers
from ranking.errors import RankingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "ac1_from_sums",
    "ac1_terms",
    "alpha_from_sums",
    "alpha_terms",
    "cohen_from_sums",
    "cohen_kappa",
    "fleiss_from_sums",
    "fleiss_kappa",
    "fleiss_terms",
    "gwet_ac1",
    "krippendorff_alpha",
    "sideless_kappa",
]


def cohen_kappa(confusion: ArrayLike) -> float:
    """Cohen's κ of two raters, 1 − (1 − p_o) / (1 − Σ_c p_c· p_·c).

    Args:
        confusion: Subjects by category of the first and of the second rater, shape (C, C).
    """
    table = take_numbers(confusion, "the confusion table", "(C, C)", dimensions=2)
    if table.shape[0] != table.shape[1] or len(table) < 2:
        raise RankingError(
            f"the confusion table must be square, two categories or more; it is {table.shape}"
        )
    return float(cohen_from_sums(table.reshape(-1)))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' κ; subjects may have different numbers of raters.

    Args:
        counts: Raters by subject and category, shape (subjects, C). Subjects with fewer
            than two raters say nothing about agreement, but count in the categories' shares.
    """
    return float(fleiss_from_sums(fleiss_terms(_take_counts(counts)).sum(axis=0)))


def krippendorff_alpha(counts: ArrayLike) -> float:
    """Krippendorff's α for nominal categories; ratings may be missing.

    Args:
        counts: Raters by subject and category, shape (subjects, C). Subjects with fewer
            than two raters are left out, as the definition has it.
    """
    return float(alpha_from_sums(alpha_terms(_take_counts(counts)).sum(axis=0)))


def gwet_ac1(counts: ArrayLike) -> float:
    """Gwet's AC1; ratings may be missing.

    Args:
        counts: Raters by subject and category, shape (subjects, C); C is the number of
            categories a rater could choose from, whether or not one did.
    """
    return float(ac1_from_sums(ac1_terms(_take_counts(counts)).sum(axis=0)))


def sideless_kappa(
    agreement: ArrayLike, ties: ArrayLike, ties_too: ArrayLike | None = None
) -> Floats:
    """κ whose chance agreement does not depend on which model is called the first.

    With shares t and u of ties, p_e = t·u + (1 − t)(1 − u) / 2; for t = u this is the
    t² + 2((1 − t)/2)² of the WMT evaluations (Bojar et al. 2016).

    Args:
        agreement: Share of agreeing pairs, ties included.
        ties: Share of ties of the first raters.
        ties_too: That of the second raters; the same by default.
    """
    p, t = (
        take_numbers(agreement, "agreement", "(…)", dimensions=None),
        take_numbers(ties, "ties", "(…)", dimensions=None),
    )
    u = t if ties_too is None else take_numbers(ties_too, "ties_too", "(…)", dimensions=None)
    return _correct(p, t * u + (1 - t) * (1 - u) / 2)


def _take_counts(counts: ArrayLike) -> Floats:
    name = "raters by subject and category"
    table = take_numbers(counts, name, "(subjects, C)", dimensions=2)
    if not len(table) or table.shape[1] < 2:
        raise RankingError(
            f"{name} need a subject and two categories; their shape is {table.shape}"
        )
    return table


def cohen_from_sums(sums: Floats) -> Floats:
    """Cohen's κ of flattened confusion matrices, shape (…, C·C)."""
    size = round(sums.shape[-1] ** 0.5)
    table = sums.reshape(*sums.shape[:-1], size, size)
    total = table.sum(axis=(-2, -1))
    observed = _divide(np.trace(table, axis1=-2, axis2=-1), total)
    chance = _divide((table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1), total**2)
    return _correct(observed, chance)


def fleiss_terms(counts: ArrayLike) -> Floats:
    """P_i and 1 of each subject with two raters, and its counts, shape (subjects, 2 + C)."""
    n = np.asarray(counts, dtype=float)
    return np.column_stack([*_observe(n), n])


def fleiss_from_sums(sums: Floats) -> Floats:
    """Fleiss' κ from sums of `fleiss_terms`."""
    categories = sums[..., 2:]
    share = _divide(categories, categories.sum(axis=-1, keepdims=True))
    return _correct(_divide(sums[..., 0], sums[..., 1]), (share**2).sum(axis=-1))


def alpha_terms(counts: ArrayLike) -> Floats:
    """Σ_c n_c(n_c − 1)/(n − 1) and the counts of subjects with two raters, shape (…, 1 + C)."""
    n = np.asarray(counts, dtype=float)
    total = n.sum(axis=1)
    paired = np.where(total[:, None] >= 2, n, 0.0)
    within = (paired * (paired - 1)).sum(axis=1)
    return np.column_stack([_divide(within, total - 1, empty=0.0), paired])


def alpha_from_sums(sums: Floats) -> Floats:
    """Krippendorff's α from sums of `alpha_terms`."""
    categories = sums[..., 1:]
    total = categories.sum(axis=-1)
    observed = _divide(sums[..., 0], total)
    # The chance that two ratings drawn without replacement are alike.
    chance = _divide((categories * (categories - 1)).sum(axis=-1), total * (total - 1))
    return _correct(observed, chance)


def ac1_terms(counts: ArrayLike) -> Floats:
    """P_i and 1 of subjects with two raters, 1 and shares of rated ones, (subjects, 3 + C)."""
    n = np.asarray(counts, dtype=float)
    total = n.sum(axis=1)
    return np.column_stack([*_observe(n), total > 0, _divide(n, total[:, None], empty=0.0)])


def ac1_from_sums(sums: Floats) -> Floats:
    """Gwet's AC1 from sums of `ac1_terms`."""
    share = _divide(sums[..., 3:], sums[..., 2:3])
    chance = (share * (1 - share)).sum(axis=-1) / (share.shape[-1] - 1)
    return _correct(_divide(sums[..., 0], sums[..., 1]), chance)


def _observe(n: Floats) -> tuple[Floats, Floats]:
    """Share of agreeing pairs of raters of each subject, and whether it has a pair."""
    total = n.sum(axis=1)
    pairs = total * (total - 1)
    agree = _divide((n * (n - 1)).sum(axis=1), pairs, empty=0.0)
    return agree, (pairs > 0).astype(float)


def _correct(observed: Floats, chance: Floats) -> Floats:
    return np.asarray(1.0 - _divide(1.0 - observed, 1.0 - chance))


def _divide(a: ArrayLike, b: ArrayLike, *, empty: float = np.nan) -> Floats:
    """A / b, and `empty` where b is 0 or less."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    return np.asarray(np.divide(a, b, out=np.full(a.shape, empty), where=b > 0))
