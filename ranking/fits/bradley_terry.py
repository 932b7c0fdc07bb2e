"""The Bradley–Terry strengths of a set of comparisons.

Bradley & Terry (1952): P(i beats j) = 1 / (1 + exp(ξ_j − ξ_i)); a tie is half a win
for each side. With counts per pair a Newton step is one Cholesky factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ranking.errors import NoMaximum, NotConverged, RankingError
from ranking.fits.components import Components, find_components
from ranking.fits.threads import one_blas_thread
from ranking.votes.comparisons import BOTH_BAD, MODEL_A, MODEL_B, TIE, Comparisons
from ranking.votes.encoding import BothBad, check_both_bad
from ranking.votes.inputs import VotesLike, take_counts

Floats = NDArray[np.float64]

DEFAULT_PRIOR = 3.0
"""Standard deviation of the Gaussian prior on a strength, natural log-odds."""

_GRADIENT_PER_VOTE = 1e-9
_STEP = 1e-10
_MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class PairCounts:
    """What the likelihood sees: games and wins, ties as half a win each.

    Attributes:
        games: Games of each pair, symmetric, shape (models, models).
        wins: Wins of the row over the column, games = wins + winsᵀ.
    """

    games: Floats
    wins: Floats

    @classmethod
    def from_comparisons(cls, comparisons: Comparisons, *, both_bad: BothBad = "tie") -> PairCounts:
        """Fold the four outcomes into wins of the row model over the column model."""
        counts = comparisons.outcome_counts
        ties = counts[TIE] + counts[BOTH_BAD] if check_both_bad(both_bad) else counts[TIE]
        half = 0.5 * (ties + ties.T)
        wins = counts[MODEL_A] + counts[MODEL_B].T + half
        return cls(games=wins + wins.T, wins=wins)

    def within(self, label: NDArray[np.integer[Any]]) -> PairCounts:
        """The games of models with the same label."""
        same = label[:, None] == label
        return self if same.all() else PairCounts(games=self.games * same, wins=self.wins * same)

    @property
    def total(self) -> float:
        """Number of games."""
        return float(self.games.sum() / 2)


def check_prior(prior: float | None) -> float:
    """The precision 1/sd² of a prior, 0 for None.

    Raises:
        RankingError: The standard deviation is not a positive number.
    """
    if prior is None:
        return 0.0
    if isinstance(prior, str) and prior == "fitted":
        raise RankingError(
            "prior must be a number here, or None: compute_leaderboard finds the fitted one, "
            "board.method['prior_sd']"
        )
    if not (isinstance(prior, (int, float, np.number)) and np.isfinite(prior) and prior > 0):
        raise RankingError(
            "prior must be a standard deviation > 0 (log-odds), or None for no prior, "
            f"not {prior!r}"
        )
    return 1.0 / prior**2


@dataclass(frozen=True, eq=False)
class BradleyTerryFit:
    """Strengths at the maximum of the (penalised) likelihood.

    Attributes:
        models: Names, as in the comparisons.
        strengths: ξ, natural log-odds, sum 0 in each island, shape (models,).
        pairs: The games and wins within islands.
        components: Which models the votes tie together.
        prior: Standard deviation of the prior, or None.
        log_likelihood: Of the games, without the prior.
        steps: Newton steps taken.
    """

    models: tuple[str, ...]
    strengths: Floats
    pairs: PairCounts
    components: Components
    prior: float | None
    log_likelihood: float
    steps: int

    @property
    def precision(self) -> float:
        """The prior's 1/sd²."""
        return check_prior(self.prior)

    @property
    def held_pairs(self) -> PairCounts:
        """The games and wins that strengths were fitted to, without those of outsiders."""
        return self.pairs.within(self.components.held)

    @property
    def placed(self) -> Floats:
        """Strengths less the mean of their island's models that the votes hold."""
        return self.components.centre(self.strengths)

    def predict(self) -> Floats:
        """P(row beats column), shape (models, models), ½ on the diagonal."""
        return win_probabilities(self.strengths)

    def information(self, *, with_prior: bool = True) -> Floats:
        """Negative Hessian at the strengths, shape (models, models)."""
        return hessian(self.pairs.games, self.predict(), self.precision if with_prior else 0.0)

    def covariance(self) -> Floats:
        """Inverse information on the centred subspace Σξ = 0."""
        return invert_centred(self.information(), precision=self.precision)


@one_blas_thread
def fit_bradley_terry(
    votes: VotesLike,
    *,
    prior: float | None = DEFAULT_PRIOR,
    both_bad: BothBad = "tie",
    start: Floats | None = None,
) -> BradleyTerryFit:
    """Fit by Newton's method to a gradient of 1e-9 a vote and a step of 1e-10.

    Islands (`Components`) are fitted each by its own games; games between two of them, in which
    one won all, say nothing of by how much it is stronger and are left out. A model that won
    or lost all its games is placed where these and the prior put it, beside the others as they
    are without it.

    Args:
        votes: A table, single votes, counts, or a file as read; only their counts matter.
        prior: Standard deviation of a Gaussian prior on each strength (log-odds), or
            None for the plain likelihood.
        both_bad: "tie" counts them as ties, "keep" and "drop" leave them out.
        start: Strengths of an earlier fit of the same models, shape (models,); with a few
            more votes it takes two steps from there.

    Raises:
        NoMaximum: With `prior=None`, the "did not lose to" graph is not strongly
            connected (Ford 1957), so no finite strengths are most likely.
        NotConverged: The tolerance was not reached.
    """
    check_prior(prior)
    comparisons = take_counts(votes)
    met = PairCounts.from_comparisons(comparisons, both_bad=both_bad)
    components = find_components(met.wins)
    pairs = met.within(components.island)
    if prior is None and components.strong.max() > 0:
        raise NoMaximum(_explain_no_maximum(comparisons.models, components))
    precision = check_prior(prior)
    held = pairs.within(components.held)
    strengths, steps = maximise(held, precision=precision, start=start)
    if components.outsiders.size:
        strengths = _place_outsiders(components.centre(strengths), pairs, components, precision)
        strengths = components.centre_all(strengths)
    return BradleyTerryFit(
        models=comparisons.models,
        strengths=strengths,
        pairs=pairs,
        components=components,
        prior=prior,
        log_likelihood=log_likelihood(strengths, pairs),
        steps=steps,
    )


def maximise(
    pairs: PairCounts,
    *,
    precision: float,
    start: Floats | None = None,
    pull: Floats | None = None,
) -> tuple[Floats, int]:
    """Newton's method with step halving; return the centred strengths and the steps.

    Args:
        pairs: The games.
        precision: Of the prior, 0 for none.
        start: Where to start, shape (models,).
        pull: Precision times the prior's centre, summing to 0, shape (models,); 0 by default.

    Raises:
        NotConverged: After 100 steps the tolerance is not reached.
    """
    size = len(pairs.games)
    xi = np.zeros(size) if start is None else start - start.mean()
    pull = np.zeros(size) if pull is None else pull
    value = _objective(xi, pairs, precision, pull)
    length = np.inf
    for step_number in range(1, _MOST_STEPS + 1):
        p = win_probabilities(xi)
        # Not wins − games·p: where p is within rounding of 1, only pᵀ still tells how far.
        surplus = pairs.wins * p.T
        gradient = surplus.sum(axis=1) - surplus.sum(axis=0) - precision * xi + pull
        step = solve_centred(hessian(pairs.games, p, precision), gradient, precision=precision)
        length, before = float(np.abs(step).max()), length
        if is_converged(length, before, gradient, pairs.total):
            return xi + step, step_number
        # A rise lost in rounding near the maximum is no reason to halve a Newton step.
        slack = 1e-12 * abs(value)
        while (trial := _objective(xi + step, pairs, precision, pull)) < value - slack:
            step = step / 2
        xi, value = xi + step, trial
    raise NotConverged(f"no convergence after {_MOST_STEPS} Newton steps")


def is_converged(length: float, before: float, gradient: Floats, votes: float) -> bool:
    """Whether a Newton step of this length, after one of length `before`, is the last.

    Beside a thousand million votes the step itself is rounded at more than 1e-10: there
    it ends when steps no longer get shorter.
    """
    level = np.abs(gradient).max() <= _GRADIENT_PER_VOTE * max(votes, 1.0)
    return bool(level and (length <= _STEP or (length <= 1e4 * _STEP and length > before / 4)))


def _place_outsiders(
    strengths: Floats, pairs: PairCounts, components: Components, precision: float
) -> Floats:
    """Strengths with those of the outsiders where their games and the prior put them.

    Newton's method on them alone, the others' strengths staying as they are.
    """
    where = components.outsiders
    block = np.ix_(where, where)
    xi = strengths.copy()
    xi[where] = 0.0
    for _ in range(_MOST_STEPS):
        p = win_probabilities(xi)
        surplus = pairs.wins * p.T
        gradient = surplus.sum(axis=1) - surplus.sum(axis=0) - precision * xi
        curve = hessian(pairs.games, p, precision)[block]
        step = np.linalg.solve(curve, gradient[where])
        length = float(np.abs(step).max())
        xi[where] += step / max(length, 1.0)
        if length <= _STEP:
            return xi
    raise NotConverged(f"no convergence after {_MOST_STEPS} Newton steps")


def win_probabilities(strengths: Floats) -> Floats:
    """P(row beats column) for strengths of shape (..., models)."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(strengths[..., None, :] - strengths[..., :, None])))


def hessian(games: Floats, p: Floats, precision: float) -> Floats:
    """Negative second derivative of the log likelihood plus the prior's precision."""
    weight = games * p * p.T
    result = -weight
    np.fill_diagonal(result, weight.sum(axis=1) - weight.diagonal() + precision)
    return result


def solve_centred(matrix: Floats, vector: Floats, *, precision: float) -> Floats:
    """Solve on the subspace that sums to 0; `matrix` maps it to itself.

    Without a prior the matrix is singular across that subspace and is lifted there. With
    one it is not, and lifting would cost digits where counts are very unequal.
    """
    size = len(matrix)
    lifted = matrix if precision else matrix + matrix.trace() / size**2
    solution = cho_solve(cho_factor(lifted, check_finite=False), vector, check_finite=False)
    return np.asarray(solution - solution.mean(axis=0))


def invert_centred(matrix: Floats, *, precision: float) -> Floats:
    """Pseudo-inverse of `matrix` on the subspace that sums to 0."""
    size = len(matrix)
    return solve_centred(matrix, np.eye(size) - 1.0 / size, precision=precision)


def log_likelihood(strengths: Floats, pairs: PairCounts) -> float:
    """Σ wins · log P, natural logarithm."""
    difference = strengths[:, None] - strengths[None, :]
    return float(-(pairs.wins * np.logaddexp(0.0, -difference)).sum())


def _objective(xi: Floats, pairs: PairCounts, precision: float, pull: Floats) -> float:
    return log_likelihood(xi, pairs) - 0.5 * precision * float(xi @ xi) + float(pull @ xi)


def _explain_no_maximum(models: tuple[str, ...], components: Components) -> str:
    if components.weak.max() > 0:
        what = f"the votes fall into {components.weak.max() + 1} islands that never met"
    else:
        what = "some models won or lost every game against the rest"
    outside = [models[i] for i in np.flatnonzero(components.strong)][:5]
    return f"no finite maximum: {what} (among them {outside}); use a prior"
