"""What maintainers decide about draws, over whatever a policy would have drawn.

A model's share is the share of draws in which it appears: a draw shows two models, so the
shares of all add up to 2. Of all distributions that keep the bounds, the one really used is
the closest to the policy's (least Kullback–Leibler divergence): q ∝ p · a_i · a_j with one
factor a model, 1 where neither of its bounds is reached, found by fitting proportions
(Csiszár 1975). Every pair that is allowed stays possible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ranking.pairing.policies import PairDistribution, pair_indices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_TOLERANCE = 1e-9
_MOST_SWEEPS = 3_000
# A factor beyond this stands for a pair that the bounds leave no chance at all.
_LARGEST_FACTOR = 1e12


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PairConstraints:
    """Bounds on what is drawn; pairs are (i, j) in either order.

    Bounds of models that are not enabled, and pins of pairs of which one is not, rest
    until they are back.

    Attributes:
        names: of the models, for messages; models that are drawn from, in their order.
        enabled: models that may be drawn, shape (M,); all if None.
        largest: share of draws that a model has at most, by index, in (0, 1].
        least: share of draws that a model has at least, by index, in [0, 1).
        pinned: share of draws that a pair has, in (0, 1).
        apart: pairs that never meet.
    """

    names: Sequence[str]
    enabled: Mask | None = None
    largest: Mapping[int, float] = field(default_factory=dict)
    least: Mapping[int, float] = field(default_factory=dict)
    pinned: Mapping[tuple[int, int], float] = field(default_factory=dict)
    apart: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        for i, cap in self.largest.items():
            if not 0 < cap <= 1:
                raise ValueError(f"largest share {cap} of {self.names[i]}: not in (0, 1]")
        for i, least in self.least.items():
            if not 0 <= least < 1:
                raise ValueError(f"least share {least} of {self.names[i]}: not in [0, 1)")
            if least > self.largest.get(i, 1.0):
                raise ValueError(
                    f"least share {least} of {self.names[i]} is above its largest, "
                    f"{self.largest[i]}: lower the one or raise the other"
                )
        for (i, j), share in self.pinned.items():
            if i == j or not 0 < share < 1:
                raise ValueError(
                    f"pinned share {share} of {self.pair_name(i, j)}: need two models and a "
                    "share in (0, 1)"
                )
            if (i, j) in self.apart or (j, i) in self.apart:
                raise ValueError(
                    f"{self.pair_name(i, j)} is pinned and kept apart: leave out one of the two"
                )

    def pair_name(self, i: int, j: int) -> str:
        """The pair as messages name it."""
        return f"{self.names[i]} – {self.names[j]}"


@dataclass(frozen=True, eq=False, slots=True)
class _Bounds:
    """Bounds on shares of the pairs that are not pinned, which together have `free`."""

    lower: Floats
    upper: Floats
    free: float


def model_shares(distribution: PairDistribution, models: int) -> Floats:
    """Share of draws in which each model appears, shape (M,); they add up to 2."""
    weights = distribution.probability
    return np.asarray(
        np.bincount(distribution.first, weights, models)
        + np.bincount(distribution.second, weights, models)
    )


def constrain(distribution: PairDistribution, constraints: PairConstraints) -> PairDistribution:
    """The distribution really used.

    Args:
        distribution: what a policy wants: all pairs in the order of `pair_indices`, with
            positive probabilities.
        constraints: the bounds.

    Returns:
        The same pairs; 0 where they may not be drawn, positive elsewhere, sum 1. Shares keep
        their bounds to 1e-9.

    Raises:
        ValueError: no distribution keeps all bounds, or they leave hardly any room; the
            message names the value that stands in the way, and what to change.
    """
    models = len(constraints.names)
    first, second, flat = pair_indices(models)
    if len(distribution.probability) != len(first):
        raise ValueError(
            f"{len(distribution.probability)} pairs do not fit {models} models' constraints"
        )
    allowed, pins = _select(constraints, models)
    bounds = _find_bounds(constraints, allowed, pins)
    wanted = np.where(allowed, distribution.probability, 0.0)
    if total := float(wanted.sum()):
        wanted *= bounds.free / total
    free = PairDistribution(first, second, wanted)
    shares = model_shares(free, models)
    if np.any(shares > bounds.upper + _TOLERANCE) or np.any(shares < bounds.lower - _TOLERANCE):
        table = np.zeros((models, models))
        table.ravel()[flat] = wanted
        factor = _fit(table + table.T, bounds, constraints)
        wanted *= factor[first]
        wanted *= factor[second]
        wanted *= bounds.free / wanted.sum()
    for position, share in pins.items():
        wanted[position] = share
    return PairDistribution(first, second, wanted / wanted.sum())


def _locate(i: int, j: int, models: int) -> int:
    """Where a pair lies in `pair_indices`."""
    low, high = (i, j) if i < j else (j, i)
    return low * models - low * (low + 1) // 2 + high - low - 1


def _select(constraints: PairConstraints, models: int) -> tuple[Mask, dict[int, float]]:
    """Which pairs are free to be drawn, and the shares of those that are pinned."""
    first, second, _ = pair_indices(models)
    enabled = constraints.enabled
    if enabled is None:
        enabled = np.ones(models, dtype=np.bool_)
    allowed = enabled[first] & enabled[second]
    for i, j in constraints.apart:
        allowed[_locate(i, j, models)] = False
    pins = {
        _locate(i, j, models): share
        for (i, j), share in constraints.pinned.items()
        if enabled[i] and enabled[j]
    }
    allowed[list(pins)] = False
    if not (allowed.any() or pins):
        raise ValueError(
            f"no pair is left to draw: {int(enabled.sum())} models are enabled and "
            f"{len(constraints.apart)} pairs kept apart; enable models or let pairs meet"
        )
    return allowed, pins


def _find_bounds(constraints: PairConstraints, allowed: Mask, pins: dict[int, float]) -> _Bounds:
    """Bounds on the free shares, or what is wrong with them."""
    models = len(constraints.names)
    first, second, _ = pair_indices(models)
    free = 1.0 - sum(pins.values())
    if (free <= 0) if allowed.any() else (abs(free) > _TOLERANCE):
        raise ValueError(
            f"pinned shares add up to {1.0 - free:g}: with other pairs to draw they must stay "
            "below 1, and without they must reach it; change the pins"
        )
    taken = np.zeros(models)
    for position, share in pins.items():
        taken[[first[position], second[position]]] += share
    drawable = np.zeros(models, dtype=np.bool_)
    drawable[first[allowed]] = drawable[second[allowed]] = True
    lower, upper = np.zeros(models), np.full(models, np.inf)
    for i, cap in constraints.largest.items():
        if drawable[i] or taken[i]:
            upper[i] = cap - taken[i]
            if upper[i] < 0 or (drawable[i] and upper[i] <= 0):
                raise ValueError(
                    f"the pinned pairs of {constraints.names[i]} need {taken[i]:g} of the draws, "
                    f"and its largest share is {cap:g}: raise it, or pin less"
                )
    for i, least in constraints.least.items():
        if drawable[i]:
            lower[i] = max(least - taken[i], 0.0)
    _check_sums(constraints, lower, np.where(drawable, np.minimum(upper, free), 0.0), free)
    return _Bounds(lower, upper, free)


def _check_sums(constraints: PairConstraints, lower: Floats, upper: Floats, free: float) -> None:
    if upper.sum() < 2 * free - _TOLERANCE:
        i = int(np.argmin(np.where(upper > 0, upper, np.inf)))
        raise ValueError(
            f"the largest shares leave room for {upper.sum():g} of {2 * free:g} (each draw shows "
            f"two models): raise some, such as the {constraints.largest.get(i, 1.0):g} of "
            f"{constraints.names[i]}, or enable more models"
        )
    if lower.sum() > 2 * free + _TOLERANCE:
        i = int(np.argmax(lower))
        raise ValueError(
            f"the least shares need {lower.sum():g} of {2 * free:g} (each draw shows two models): "
            f"lower some, such as the {constraints.least[i]:g} of {constraints.names[i]}"
        )


def _fit(table: Floats, bounds: _Bounds, constraints: PairConstraints) -> Floats:
    """The factors of the closest distribution.

    Each sweep moves every factor to where its model's share would keep its bounds if the
    others stayed. They do not: where that overshoots, it goes half the way (in logarithms).
    """
    lower, upper = (np.minimum(b / bounds.free, 1.0) for b in (bounds.lower, bounds.upper))
    with np.errstate(divide="ignore"):
        least, most = lower / (1.0 - lower), upper / (1.0 - upper)
    factor = np.ones(len(table))
    active = table.any(axis=1)
    shares = np.zeros(len(table))
    power, before = 1.0, np.inf
    for _ in range(_MOST_SWEEPS):
        row = table @ factor
        total = float(factor @ row) / 2
        shares = factor * row / total
        if np.all(shares <= upper + _TOLERANCE) and np.all(shares >= lower - _TOLERANCE):
            # Where a bound is not reached any more, its factor must have come back to 1.
            lowered, raised = factor < 1 - _TOLERANCE, factor > 1 + _TOLERANCE
            slack = np.where(lowered, upper - shares, np.where(raised, shares - lower, 0.0))
            if np.all(slack <= _TOLERANCE):
                return factor
        others = np.where(active, (total - factor * row) / np.where(active, row, 1.0), 1.0)
        goal = np.clip(1.0, least * others, most * others)
        move = np.where(active, goal / factor, 1.0)
        with np.errstate(divide="ignore"):  # a goal of 0: no chance is left for the model
            length = float(np.abs(np.log(move)).max())
        if length > 0.9 * before:
            power = 0.5
        before = length
        factor = factor * move**power
        if not (factor.max() < _LARGEST_FACTOR and factor.min() > 1 / _LARGEST_FACTOR):
            break
    raise ValueError(_explain(shares - upper, lower - shares, constraints))


def _explain(above: Floats, below: Floats, constraints: PairConstraints) -> str:
    """Names the bound that is missed by most."""
    i, j = int(np.argmax(above)), int(np.argmax(below))
    if above[i] >= below[j]:
        what = f"the largest share {constraints.largest.get(i, 1.0):g} of {constraints.names[i]}"
        remedy = "raise it, lower the least shares of others"
    else:
        what = f"the least share {constraints.least.get(j, 0.0):g} of {constraints.names[j]}"
        remedy = "lower it, raise the largest shares of others"
    return f"{what} cannot be kept beside the other constraints: {remedy}, or let more pairs meet"
