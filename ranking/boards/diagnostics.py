"""Can the strengths be believed? Calibration on held-out votes, side bias, drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.boards.sides import SideBias, measure_side_bias
from ranking.errors import RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR, fit_bradley_terry, win_probabilities
from ranking.intervals.intervals import sandwich_intervals
from ranking.votes.comparisons import Comparisons
from ranking.votes.encoding import MODEL_A, MODEL_B, TIE, BothBad
from ranking.votes.inputs import VotesLike, take_counts, take_single_votes

__all__ = [
    "Accuracy",
    "Bin",
    "Calibration",
    "Drift",
    "SideBias",
    "measure_calibration",
    "measure_drift",
    "measure_side_bias",
]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LOWEST = 1e-12


@dataclass(frozen=True)
class Accuracy:
    """How good predicted win probabilities of the left model were.

    Attributes:
        log_loss: Mean negative log likelihood, nats.
        brier: Mean squared error.
        calibration_error: ECE: mean |predicted − observed| over bins of equal width,
            weighted by their votes.
    """

    log_loss: float
    brier: float
    calibration_error: float


@dataclass(frozen=True)
class Bin:
    """One bin of a reliability curve."""

    predicted: float
    observed: float
    votes: int


@dataclass(frozen=True)
class Calibration:
    """Predictions of decisive votes that the fit had not seen.

    Attributes:
        votes: Decisive votes predicted.
        bradley_terry: Predictions from fitted strengths.
        win_rate: From the two models' overall win rates (the log5 rule).
        constant: The share of left wins among the other votes.
        curve: Reliability of the Bradley–Terry predictions.
    """

    votes: int
    bradley_terry: Accuracy
    win_rate: Accuracy
    constant: Accuracy
    curve: tuple[Bin, ...]


@dataclass(frozen=True, eq=False)
class Drift:
    """Strengths in windows of time.

    Attributes:
        models: Names.
        edges: Ends of the windows, seconds since 1970, shape (windows + 1,).
        strengths: NaN where a model has too few votes, shape (windows, models).
        standard_errors: Of the strengths, same shape.
        p_values: Chance of such differences between windows without any drift, shape
            (models,); NaN with fewer than two windows.
    """

    models: tuple[str, ...]
    edges: Floats
    strengths: Floats
    standard_errors: Floats
    p_values: Floats


def measure_calibration(
    votes: VotesLike,
    *,
    folds: int = 5,
    bins: int = 10,
    prior: float | None = DEFAULT_PRIOR,
    both_bad: BothBad = "tie",
    seed: int = 0,
) -> Calibration:
    """Cross-validate win probabilities; every decisive vote is predicted once.

    Raises:
        RankingError: Fewer than two folds, or no decisive vote.
    """
    if folds < 2:
        raise RankingError(f"cross-validation needs at least 2 folds, not {folds}")
    comparisons = take_counts(votes)
    rng = np.random.default_rng(seed)
    parts = rng.multinomial(comparisons.count, np.full(folds, 1.0 / folds)).T
    predicted = [np.empty(0)] * 3
    won, count = np.empty(0), np.empty(0)
    for part in parts:
        test = (part > 0) & (comparisons.outcome < TIE)
        rest = comparisons.count - part
        if not test.any() or not rest.any():
            continue
        guesses = _predict(_replace_counts(comparisons, rest), prior, both_bad)
        a, b = comparisons.model_a[test], comparisons.model_b[test]
        predicted = [
            np.concatenate([old, new[a, b]]) for old, new in zip(predicted, guesses, strict=True)
        ]
        won = np.concatenate([won, comparisons.outcome[test] == MODEL_A])
        count = np.concatenate([count, part[test]])
    if not count.size:
        raise RankingError("there is no decisive vote to predict")
    accuracies = [_score(p, won, count, bins) for p in predicted]
    return Calibration(
        votes=int(count.sum()),
        bradley_terry=accuracies[0],
        win_rate=accuracies[1],
        constant=accuracies[2],
        curve=_reliability(predicted[0], won, count, bins),
    )


def measure_drift(
    votes: VotesLike,
    *,
    windows: int = 4,
    min_votes: int = 50,
    prior: float | None = DEFAULT_PRIOR,
    both_bad: BothBad = "tie",
) -> Drift:
    """Fit windows of equally many votes separately, and test each model for a change.

    Strengths are relative to the mean of the models with enough votes in every window,
    so that a newcomer does not move the others.

    Raises:
        RankingError: The votes have no times, or there are fewer than two windows.
    """
    from scipy.special import chdtrc

    cast = take_single_votes(votes, "measuring drift")
    if cast.time is None:
        raise RankingError("drift needs the time of every vote: Votes.from_columns(…, time=…)")
    cast = cast.select(np.isfinite(cast.time))
    if windows < 2:
        raise RankingError(f"drift needs at least 2 windows, not {windows}")
    moments = np.asarray(cast.time)
    order = np.argsort(moments, kind="stable")
    places = np.linspace(0, len(cast), windows + 1).astype(int)
    size = len(cast.models)
    strengths = np.zeros((windows, size))
    enough = np.zeros((windows, size), dtype=bool)
    covariances = []
    for window in range(windows):
        part = cast.select(order[places[window] : places[window + 1]]).count()
        fit = fit_bradley_terry(part, prior=prior, both_bad=both_bad)
        spread = sandwich_intervals(part, fit, both_bad=both_bad)
        enough[window] = (fit.pairs.games.sum(axis=1) >= min_votes) & ~fit.components.provisional
        strengths[window] = fit.strengths
        covariances.append(spread.covariance)
    steady = enough.all(axis=0)
    if steady.sum() >= 2:
        contrast = np.eye(size) - steady / steady.sum()
        strengths = strengths @ contrast.T
        covariances = [contrast @ covariance @ contrast.T for covariance in covariances]
    # An absent model's variance is 0 up to rounding, to either side.
    variances = np.array([covariance.diagonal() for covariance in covariances])
    errors = np.sqrt(np.maximum(variances, 0.0))
    strengths, errors = np.where(enough, strengths, np.nan), np.where(enough, errors, np.nan)
    statistic, freedom = _compare_windows(strengths, errors)
    p = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), np.nan)
    times = moments[order]
    return Drift(
        models=cast.models,
        edges=times[np.minimum(places, len(times) - 1)],
        strengths=strengths,
        standard_errors=errors,
        p_values=p,
    )


def _compare_windows(strengths: Floats, errors: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """χ² of each model's strengths around their weighted mean, and its degrees of freedom."""
    weight = np.where(np.isnan(strengths), 0.0, 1.0 / np.maximum(errors, _LOWEST) ** 2)
    weight = np.nan_to_num(weight)
    value = np.nan_to_num(strengths)
    total = weight.sum(axis=0)
    mean = np.divide((weight * value).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    statistic = (weight * (value - mean) ** 2).sum(axis=0)
    return statistic, (weight > 0).sum(axis=0) - 1


def _predict(train: Comparisons, prior: float | None, both_bad: BothBad) -> list[Floats]:
    """P(row beats column) by Bradley–Terry, by win rates, and the constant share."""
    fit = fit_bradley_terry(train, prior=prior, both_bad=both_bad)
    games = fit.pairs.games.sum(axis=1)
    # One win and one loss more, so that no rate is 0 or 1.
    rate = (fit.pairs.wins.sum(axis=1) + 1.0) / (games + 2.0)
    odds = rate / (1.0 - rate)
    log5 = odds[:, None] / (odds[:, None] + odds[None, :])
    by_outcome = np.bincount(train.outcome, weights=train.count, minlength=4)
    share = (by_outcome[MODEL_A] + 1.0) / (by_outcome[MODEL_A] + by_outcome[MODEL_B] + 2.0)
    return [win_probabilities(fit.strengths), log5, np.full_like(log5, share)]


def _replace_counts(comparisons: Comparisons, count: NDArray[np.int64]) -> Comparisons:
    kept = count > 0
    chosen = comparisons.select(kept)
    return Comparisons(chosen.models, chosen.model_a, chosen.model_b, chosen.outcome, count[kept])


def _score(p: Floats, won: Floats, count: Floats, bins: int) -> Accuracy:
    total = count.sum()
    safe = np.clip(p, _LOWEST, 1.0 - _LOWEST)
    loss = -(won * np.log(safe) + (1.0 - won) * np.log1p(-safe))
    curve = _reliability(p, won, count, bins)
    gap = sum(abs(b.predicted - b.observed) * b.votes for b in curve)
    return Accuracy(
        log_loss=float(count @ loss / total),
        brier=float(count @ (p - won) ** 2 / total),
        calibration_error=float(gap / total),
    )


def _reliability(p: Floats, won: Floats, count: Floats, bins: int) -> tuple[Bin, ...]:
    place = np.minimum((p * bins).astype(int), bins - 1)
    votes = np.bincount(place, weights=count, minlength=bins)
    guessed = np.bincount(place, weights=count * p, minlength=bins)
    came = np.bincount(place, weights=count * won, minlength=bins)
    return tuple(
        Bin(predicted=float(g / v), observed=float(c / v), votes=int(v))
        for v, g, c in zip(votes, guessed, came, strict=True)
        if v
    )
