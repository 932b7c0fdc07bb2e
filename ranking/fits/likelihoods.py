"""Three ways to read a tie, each as derivatives of one battle's log likelihood.

Every battle has a margin d = ξ_a − ξ_b (+ covariates) and, where ties are outcomes of
their own, a tie parameter τ. All three are concave in (d, τ), so Newton's method with
step halving finds the one maximum.

- half: Bradley & Terry (1952), a tie is half a win for each side; no τ.
- davidson: Davidson (1970), P(tie) ∝ ν √(π_a π_b), ν = exp(τ).
- rao-kupper: Rao & Kupper (1967), P(a) = π_a / (π_a + θ π_b), θ = exp(τ) ≥ 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ranking.votes.comparisons import MODEL_A, MODEL_B, TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TieModel = Literal["half", "davidson", "rao-kupper"]
TIE_MODELS: tuple[TieModel, ...] = ("half", "davidson", "rao-kupper")


class Terms(NamedTuple):
    """Log likelihood of each row and its derivatives by margin d and tie parameter τ."""

    value: Floats
    d: Floats
    dd: Floats
    t: Floats
    tt: Floats
    dt: Floats


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(−x)), accurate in both tails."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def evaluate(kind: TieModel, margin: Floats, tau: float, outcome: NDArray[np.int8]) -> Terms:
    """Terms of each row; `outcome` is 0 (a), 1 (b) or 2 (tie)."""
    if kind == "davidson":
        return _evaluate_davidson(margin, tau, outcome)
    if kind == "rao-kupper":
        return _evaluate_rao_kupper(margin, tau, outcome)
    return _evaluate_half(margin, outcome)


def predict_outcomes(kind: TieModel, margin: Floats, tau: float | None) -> Floats:
    """P(a), P(b), P(tie) of each margin, shape (rows, 3); "half" gives no ties."""
    if kind == "davidson" and tau is not None:
        logits = np.stack([margin / 2, -margin / 2, np.full_like(margin, tau)], axis=-1)
        logits -= logits.max(axis=-1, keepdims=True)
        weight = np.exp(logits)
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))
    eta = tau if kind == "rao-kupper" and tau is not None else 0.0
    a, b = sigmoid(margin - eta), sigmoid(-margin - eta)
    return np.stack([a, b, np.expm1(2 * eta) * a * b], axis=-1)


def _evaluate_half(margin: Floats, outcome: NDArray[np.int8]) -> Terms:
    credit = np.array([1.0, 0.0, 0.5])[outcome]
    # One exponential for both tails: e = exp(−|d|), softplus(−d) = log(1 + e) + max(−d, 0).
    e = np.exp(-np.abs(margin))
    large = 1.0 / (1.0 + e)
    small = e * large
    positive = margin >= 0
    p, q = np.where(positive, large, small), np.where(positive, small, large)
    loss = np.log1p(e) + np.maximum(-margin, 0.0)
    zero = np.zeros_like(margin)
    return Terms(
        value=-loss - (1 - credit) * margin,
        d=credit * q - (1 - credit) * p,
        dd=-p * q,
        t=zero,
        tt=zero,
        dt=zero,
    )


def _evaluate_davidson(margin: Floats, tau: float, outcome: NDArray[np.int8]) -> Terms:
    """Multinomial logit with utilities d/2, −d/2 and τ."""
    p = predict_outcomes("davidson", margin, tau)
    a, b, tie = p[:, 0], p[:, 1], p[:, 2]
    mean = 0.5 * (a - b)
    half = np.array([0.5, -0.5, 0.0])[outcome]
    drawn = (outcome == TIE).astype(float)
    top = np.maximum(np.abs(margin) / 2, tau)
    total = np.exp(margin / 2 - top) + np.exp(-margin / 2 - top) + np.exp(tau - top)
    return Terms(
        value=half * margin + drawn * tau - top - np.log(total),
        d=half - mean,
        dd=mean**2 - 0.25 * (a + b),
        t=drawn - tie,
        tt=-tie * (1 - tie),
        dt=mean * tie,
    )


def _evaluate_rao_kupper(margin: Floats, eta: float, outcome: NDArray[np.int8]) -> Terms:
    """Log σ(d − η) and log σ(−d − η); a tie has both, and log(exp(2η) − 1)."""
    has_a = (outcome != MODEL_B).astype(float)
    has_b = (outcome != MODEL_A).astype(float)
    drawn = (outcome == TIE).astype(float)
    not_a, not_b = sigmoid(eta - margin), sigmoid(eta + margin)
    slope_a, slope_b = has_a * not_a * (1 - not_a), has_b * not_b * (1 - not_b)
    growth = -1.0 / np.expm1(-2 * eta)  # exp(2η) / (exp(2η) − 1)
    value = -has_a * np.logaddexp(0, eta - margin) - has_b * np.logaddexp(0, eta + margin)
    return Terms(
        value=value + drawn * (2 * eta + np.log(-np.expm1(-2 * eta))),
        d=has_a * not_a - has_b * not_b,
        dd=-slope_a - slope_b,
        t=2 * growth * drawn - has_a * not_a - has_b * not_b,
        tt=-slope_a - slope_b - 4 * growth * (growth - 1) * drawn,
        dt=slope_a - slope_b,
    )
