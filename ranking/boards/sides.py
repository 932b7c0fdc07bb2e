"""Whether the left answer wins more than it should, and by how much."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import NoMaximum
from ranking.fits.bradley_terry import DEFAULT_PRIOR, check_prior
from ranking.fits.paired import Problem, solve_lifted
from ranking.fits.threads import one_blas_thread
from ranking.intervals.widening import normal_quantile
from ranking.votes.encoding import MODEL_A, MODEL_B, BothBad
from ranking.votes.inputs import VotesLike, take_counts
from ranking.votes.rows import Rows, sum_products

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.votes.comparisons import Comparisons

    Floats = NDArray[np.float64]

SIDE = "left side"
"""Name of the covariate that is 1 in every battle: the left model's."""

# A joint fit of a thousand strengths and the side takes a second.
_MOST_MODELS = 1_000
_CLEAR = 3.29
"""Standard errors at which an effect is taken for one: a chance of 1 in 1,000 without any."""


@dataclass(frozen=True)
class SideBias:
    """Advantage of the left side at equal strength.

    Attributes:
        effect: Log-odds.
        lower: Lower end of its interval.
        upper: Upper end of its interval.
        left_win_rate: P(left wins) between equals.
        level: Confidence level.
        is_clear: Whether chance would bring one as large less than once in 1,000 times, votes
            taken for independent.
        is_one_sided: Whether one side won every decisive battle. No finite advantage is then the
            most likely; the one told is as large as the prior lets it be.
    """

    effect: float
    lower: float
    upper: float
    left_win_rate: float
    level: float
    is_clear: bool
    is_one_sided: bool


def measure_side_bias(
    votes: VotesLike,
    *,
    prior: float | None = DEFAULT_PRIOR,
    both_bad: BothBad = "tie",
    level: float = 0.95,
) -> SideBias:
    """Fit the left side as a covariate beside the strengths, ties as halves.

    The advantage has the weak prior of a strength, so that there is an answer also where one
    side won everything.

    Args:
        votes: Counts, or votes.
        prior: Standard deviation of the prior on each strength.
        both_bad: As in a fit.
        level: Confidence level.

    Raises:
        RankingError: The votes, the prior or `both_bad` are unusable.
    """
    return _estimate(take_counts(votes), None, prior=prior, both_bad=both_bad, level=level)


def describe_side(
    comparisons: Comparisons,
    strengths: Floats,
    *,
    prior: float | None,
    both_bad: BothBad,
    level: float,
) -> dict[str, Any] | None:
    """`measure_side_bias` beside a fit, None where it would take longer than that."""
    if len(strengths) > _MOST_MODELS:
        return None
    found = _estimate(comparisons, strengths, prior=prior, both_bad=both_bad, level=level)
    return asdict(found)


@one_blas_thread
def _estimate(
    comparisons: Comparisons,
    strengths: Floats | None,
    *,
    prior: float | None,
    both_bad: BothBad,
    level: float,
) -> SideBias:
    plain = Rows.from_comparisons(comparisons, both_bad=both_bad)
    rows = plain.add_covariate(SIDE, np.ones(len(plain.count)))
    size = len(rows.models)
    precision = check_prior(DEFAULT_PRIOR if prior is None else prior)
    problem = Problem(rows, "half", precision, check_prior(DEFAULT_PRIOR))
    start = np.zeros(size + 1)
    if strengths is not None:
        start[:size] = strengths
    theta = problem.maximise(start)[0] if rows.weight.any() else start
    error = _find_error(problem, theta)
    won = np.bincount(comparisons.outcome, weights=comparisons.count, minlength=4)
    one_sided = min(won[MODEL_A], won[MODEL_B]) == 0
    effect = float(theta[-1])
    half = normal_quantile(level) * error
    return SideBias(
        effect=effect,
        lower=effect - half,
        upper=effect + half,
        left_win_rate=float(1.0 / (1.0 + np.exp(-effect))),
        level=level,
        is_clear=abs(effect) > _CLEAR * error,
        is_one_sided=bool(one_sided and won[MODEL_A] + won[MODEL_B] > 0),
    )


def add_side(rows: Rows) -> Rows:
    """The rows with the side as one more covariate, to be adjusted for.

    Raises:
        NoMaximum: One side won every decisive battle.
    """
    won = np.bincount(rows.outcome, weights=rows.weight, minlength=2)
    if min(won[MODEL_A], won[MODEL_B]) == 0:
        side = "right" if won[MODEL_B] else "left"
        what = (
            f"the {side} side won every decisive battle, so that its advantage has no finite size"
        )
        if not won[MODEL_A] + won[MODEL_B]:
            what = "no battle was decisive, so that nothing tells of sides"
        raise NoMaximum(f"{what}; do not adjust for it")
    return rows.add_covariate(SIDE, np.ones(len(rows.count)))


def _find_error(problem: Problem, theta: Floats) -> float:
    """The sandwich's, or the curvature's where that is more.

    Where one side won everything votes show no spread, exactly where little is known.
    """
    rows = problem.rows
    terms = problem.evaluate(theta)
    information = problem.differentiate(theta, terms)[1]
    unit = np.zeros(len(theta))
    unit[-1] = 1.0
    row = solve_lifted(information, unit, problem.size, precision=problem.precision)
    spread = sum_products(rows, rows.weight * terms.d**2, None)
    sandwich = float(row @ spread @ row)
    varied = np.unique(rows.outcome).size > 1
    return float(np.sqrt(sandwich if varied else max(sandwich, row[-1])))
