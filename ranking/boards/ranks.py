"""Ranks of strengths, and the ranks their intervals leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranking.checks import take_numbers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _same_island(size: int, islands: NDArray[np.integer[Any]] | None) -> NDArray[np.bool_]:
    if islands is None:
        return np.ones((size, size), dtype=bool)
    return np.asarray(islands[:, None] == islands[None, :])


def compute_ranks(
    strengths: Floats, *, islands: NDArray[np.integer[Any]] | None = None
) -> Integers:
    """Rank 1 + the number of models with a strictly greater strength.

    Strengths 2.0, 1.8, 1.8, 1.2 give ranks 1, 2, 2, 4.

    Args:
        strengths: Shape (models,).
        islands: Island of each model; models of different islands are not compared.
    """
    xi = take_numbers(strengths, "strengths", "(models,)")
    above = xi[None, :] > xi[:, None]
    return np.asarray(1 + (above & _same_island(len(xi), islands)).sum(axis=1))


def compute_rank_ranges(
    lower: Floats, upper: Floats, *, islands: NDArray[np.integer[Any]] | None = None
) -> tuple[Integers, Integers]:
    """Best and worst rank each model can have if every strength lies in its interval.

    Best: 1 + #{lower(m′) > upper(m)}; worst: M − #{upper(m′) < lower(m)}, both among the M
    models of the island. With simultaneous intervals the statement holds for all models at
    once.

    Returns:
        The best and the worst ranks, each of shape (models,).
    """
    lower = take_numbers(lower, "lower ends", "(models,)")
    upper = take_numbers(upper, "upper ends", "(models,)")
    same = _same_island(len(lower), islands)
    best = 1 + ((lower[None, :] > upper[:, None]) & same).sum(axis=1)
    worst = same.sum(axis=1) - ((upper[None, :] < lower[:, None]) & same).sum(axis=1)
    return best, worst


def find_indistinct_groups(
    lower: Floats, upper: Floats, *, islands: NDArray[np.integer[Any]] | None = None
) -> list[tuple[int, ...]]:
    """Largest groups of models whose intervals all overlap one another.

    Intervals that overlap pairwise share a point, so every largest group is the set of
    intervals that hold some lower end.

    Returns:
        Groups of model indices, strongest first; a model may be in several.
    """
    same = _same_island(len(lower), islands)
    holds = (lower[None, :] <= lower[:, None]) & (upper[None, :] >= lower[:, None]) & same
    # Strongest first; of equal lower ends the first stands for all.
    found: list[frozenset[int]] = []
    for point in np.argsort(-lower, kind="stable"):
        group = frozenset(np.flatnonzero(holds[point]).tolist())
        if not any(group <= other for other in found):
            found = [other for other in found if not other <= group] + [group]
    return [tuple(sorted(group, key=lambda i: (-lower[i], i))) for group in found]
