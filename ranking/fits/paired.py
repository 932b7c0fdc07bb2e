"""Paired-comparison models fitted row by row: ties as outcomes, covariates, weights.

The general sibling of `bradley_terry`: the same Newton step, assembled from one row per
distinct battle instead of one number per pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ranking.errors import NoMaximum, NotConverged, RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR, check_prior, is_converged
from ranking.fits.components import Components, find_components
from ranking.fits.likelihoods import TIE_MODELS, Terms, TieModel, evaluate, predict_outcomes
from ranking.fits.threads import one_blas_thread
from ranking.votes.comparisons import MODEL_A, MODEL_B, TIE
from ranking.votes.inputs import VotesLike, take_rows
from ranking.votes.rows import Rows, sum_products, sum_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class PairedFit:
    """Strengths, coefficients and tie parameter at the maximum.

    Attributes:
        models: Names.
        strengths: ξ at z = 0, natural log-odds, sum 0 in each island, shape (models,).
        coefficients: γ, shape (k,).
        names: Of the covariates.
        tie_model: "half", "davidson" or "rao-kupper".
        tie_parameter: ν (Davidson) or θ (Rao–Kupper), None for "half".
        rows: The battles within islands.
        components: Which models the votes tie together.
        prior: Standard deviation of the prior, or None.
        log_likelihood: Weighted, natural logarithm, without the prior.
        steps: Newton steps taken.
    """

    models: tuple[str, ...]
    strengths: Floats
    coefficients: Floats
    names: tuple[str, ...]
    tie_model: TieModel
    tie_parameter: float | None
    rows: Rows
    components: Components
    prior: float | None
    log_likelihood: float
    steps: int

    @property
    def tau(self) -> float:
        """Log ν or log θ; 0 where no tie parameter was fitted."""
        return float(np.log(self.tie_parameter)) if self.tie_parameter else 0.0

    @property
    def fits_ties(self) -> bool:
        """Whether a tie parameter was estimated (there were ties to estimate it from)."""
        return self.tie_model != "half" and bool((self.rows.outcome == TIE).any())

    @property
    def held_rows(self) -> Rows:
        """The battles that strengths were fitted to, without those of outsiders."""
        return self.rows.within(self.components.held)

    @property
    def placed(self) -> Floats:
        """Strengths less the mean of their island's models that the votes hold."""
        return self.components.centre(self.strengths)

    @property
    def parameters(self) -> Floats:
        """(ξ, γ, τ where fitted), in the order of every covariance."""
        tail = [self.tau] if self.fits_ties else []
        return np.concatenate([self.strengths, self.coefficients, tail])

    def predict(self, margin_offset: float = 0.0) -> Floats:
        """P(row wins), P(column wins), P(tie) at z = 0, shape (models, models, 3)."""
        margin = self.strengths[:, None] - self.strengths[None, :] + margin_offset
        tau = self.tau if self.fits_ties else None
        kind = self.tie_model if self.fits_ties else "half"
        return predict_outcomes(kind, margin.ravel(), tau).reshape(*margin.shape, 3)

    def information(self, *, with_prior: bool = True) -> Floats:
        """Negative Hessian over `parameters`, square."""
        problem = Problem(self.rows, self.tie_model, check_prior(self.prior) if with_prior else 0)
        return problem.differentiate(self.parameters, problem.evaluate(self.parameters))[1]

    def covariance(self) -> Floats:
        """Inverse information over `parameters`, strengths centred."""
        precision = check_prior(self.prior)
        return invert_lifted(self.information(), len(self.models), precision=precision)


@one_blas_thread
def fit_paired(
    votes: Rows | VotesLike,
    *,
    tie_model: TieModel = "half",
    prior: float | None = DEFAULT_PRIOR,
    start: Floats | None = None,
) -> PairedFit:
    """Fit by Newton's method with step halving, islands each by its own battles.

    Args:
        votes: Rows of battles; or a table, single votes, counts, or a file as read, all as
            `Votes.to_rows` makes rows of them.
        tie_model: How ties are read; without any tie all three are plain Bradley–Terry.
        prior: Standard deviation of a Gaussian prior on each strength (not on γ, τ).
        start: `parameters` of an earlier fit of the same shape.

    Raises:
        NoMaximum: Without a prior the votes do not tie all models together, every vote is
            a tie (tie models), or a covariate does not vary or repeats another.
        NotConverged: The tolerance was not reached.
        RankingError: An option is unknown or a covariate is not finite.
    """
    rows = take_rows(votes)
    _check(rows, tie_model)
    components = _find_held(rows, tie_model)
    rows = rows.within(components.island)
    if prior is None and components.strong.max() > 0:
        raise NoMaximum("no finite maximum: the votes do not tie all models together; use a prior")
    precision = check_prior(prior)
    problem = Problem(rows.within(components.held), tie_model, precision)
    theta, value, steps = problem.maximise(start)
    size, k = len(rows.models), len(rows.names)
    fit_ties = problem.has_tau
    if (outsiders := components.outsiders).size:
        # Placed beside the others as they are without them.
        theta[:size] = components.centre(theta[:size])
        theta[outsiders] = 0.0
        problem = Problem(rows, tie_model, precision)
        theta, value, more = problem.maximise(theta, free=outsiders)
        steps += more
    penalty = 0.5 * precision * float(theta[:size] @ theta[:size])
    theta[:size] = components.centre_all(theta[:size])
    return PairedFit(
        models=rows.models,
        strengths=theta[:size],
        coefficients=theta[size : size + k],
        names=rows.names,
        tie_model=tie_model,
        tie_parameter=float(np.exp(theta[-1])) if fit_ties else None,
        rows=rows,
        components=components,
        prior=prior,
        log_likelihood=value + penalty,
        steps=steps,
    )


def _find_held(rows: Rows, tie_model: TieModel) -> Components:
    """Components of the battles; where all but outsiders only tied, nobody is one.

    A tie model has no finite parameter without a decisive battle.
    """
    components = find_components(rows.wins())
    held = rows.within(components.held)
    if tie_model == "half" or (held.outcome != TIE).any():
        return components
    return replace(components, reference=np.ones_like(components.reference))


class Problem:
    """The penalised likelihood of some rows as a function of (ξ, γ, τ).

    Args:
        rows: The battles.
        tie_model: How ties are read.
        precision: Of the prior on each ξ.
        on_covariates: Of the prior on each γ, none by default.
    """

    def __init__(
        self, rows: Rows, tie_model: TieModel, precision: float, on_covariates: float = 0.0
    ) -> None:
        self.rows = rows if rows.names else rows.collapse()[0]
        self.weight = self.rows.weight
        self.size = len(rows.models)
        self.precision = precision
        self._precisions = np.zeros(self.size + len(rows.names))
        self._precisions[: self.size] = precision
        self._precisions[self.size :] = on_covariates
        self.has_tau = tie_model != "half" and bool((rows.outcome == TIE).any())
        self.kind: TieModel = tie_model if self.has_tau else "half"

    def evaluate(self, theta: Floats, rows: Rows | None = None) -> Terms:
        """Terms of each row (those fitted, or others), for one vote."""
        rows, size = rows or self.rows, self.size
        margin = theta[rows.first] - theta[rows.second]
        if rows.names:
            margin = margin + rows.covariates @ theta[size : size + len(rows.names)]
        return evaluate(self.kind, margin, float(theta[-1]), rows.outcome)

    def objective(self, theta: Floats, terms: Terms) -> float:
        """Penalised log likelihood."""
        held = theta[: len(self._precisions)]
        return float(self.weight @ terms.value) - 0.5 * float(self._precisions @ held**2)

    def differentiate(self, theta: Floats, terms: Terms) -> tuple[Floats, Floats]:
        """Gradient and negative Hessian over (ξ, γ, τ)."""
        rows, w, held = self.rows, self.weight, len(self._precisions)
        gradient = sum_scores(rows, w * terms.d, w * terms.t if self.has_tau else None)
        gradient[:held] -= self._precisions * theta[:held]
        tie = (-w * terms.dt, -w * terms.tt) if self.has_tau else None
        matrix = sum_products(rows, -w * terms.dd, tie)
        matrix[np.arange(held), np.arange(held)] += self._precisions
        return gradient, matrix

    def maximise(
        self, start: Floats | None, *, free: NDArray[np.intp] | None = None
    ) -> tuple[Floats, float, int]:
        """Parameters, penalised log likelihood, Newton steps.

        Args:
            start: Where to start.
            free: The parameters to move; all by default.
        """
        theta = self._start() if start is None else start.copy()
        terms = self.evaluate(theta)
        value = self.objective(theta, terms)
        votes = float(self.weight.sum())
        length = np.inf
        for number in range(1, _MOST_STEPS + 1):
            gradient, matrix = self.differentiate(theta, terms)
            step = self._find_step(matrix, gradient, free)
            if free is not None:
                gradient = gradient[free]
            length, before = float(np.abs(step).max()), length
            if is_converged(length, before, gradient, votes):
                return theta + step, value, number
            slack = 1e-12 * abs(value)
            while True:
                trial = theta + step
                if self.kind != "rao-kupper" or trial[-1] > 0:
                    terms = self.evaluate(trial)
                    reached = self.objective(trial, terms)
                    if reached >= value - slack:
                        break
                step = step / 2
            theta, value = trial, reached
        raise NotConverged(self._explain_no_convergence())

    def _explain_no_convergence(self) -> str:
        """What keeps a likelihood from a maximum that it should have, and what helps."""
        said = f"no convergence after {_MOST_STEPS} Newton steps"
        if self.rows.names:
            return (
                f"{said}: {' and '.join(map(repr, self.rows.names))} may tell every outcome, and "
                "then no finite effect is the most likely; do not adjust for it"
            )
        if self.has_tau:
            return f"{said}: use a prior, or count ties as halves (tie_model='half')"
        return f"{said}: use a prior"

    def _find_step(self, matrix: Floats, gradient: Floats, free: NDArray[np.intp] | None) -> Floats:
        if free is None:
            try:
                return solve_lifted(matrix, gradient, self.size, precision=self.precision)
            except NoMaximum as error:
                if self.rows.names:
                    raise
                raise NoMaximum(
                    "the votes do not determine the tie parameter beside the strengths: use a "
                    "prior, or count ties as halves (tie_model='half')"
                ) from error
        step = np.zeros_like(gradient)
        step[free] = np.linalg.solve(matrix[np.ix_(free, free)], gradient[free])
        return step

    def _start(self) -> Floats:
        theta = np.zeros(self.size + len(self.rows.names) + self.has_tau)
        if self.has_tau:
            rows = self.rows
            ties = float(rows.weight[rows.outcome == TIE].sum())
            share = ties / float(rows.weight.sum())
            # The tie parameter that fits the share of ties among equals.
            nu = 2 * share / (1 - share)
            theta[-1] = np.log(nu) if self.kind == "davidson" else np.log1p(nu)
        return theta


def solve_lifted(matrix: Floats, vector: Floats, size: int, *, precision: float) -> Floats:
    """Solve with the first `size` parameters free only on the subspace that sums to 0."""
    lifted = matrix
    if not precision:
        lifted = matrix.copy()
        lifted[:size, :size] += matrix[:size, :size].trace() / size**2
    try:
        factor = cho_factor(lifted, check_finite=False)
    except LinAlgError as error:
        raise NoMaximum(
            "the votes do not determine the coefficients: a covariate does not vary "
            "or repeats another one; leave it out"
        ) from error
    return np.asarray(cho_solve(factor, vector, check_finite=False))


def invert_lifted(matrix: Floats, size: int, *, precision: float) -> Floats:
    """Inverse with the first `size` parameters centred."""
    projector = np.eye(len(matrix))
    projector[:size, :size] -= 1.0 / size
    return np.asarray(projector @ solve_lifted(matrix, projector, size, precision=precision))


def _check(rows: Rows, tie_model: str) -> None:
    if tie_model not in TIE_MODELS:
        raise RankingError(f"tie_model must be one of {TIE_MODELS}, not {tie_model!r}")
    if not rows.weight.sum() > 0:
        raise RankingError(
            "there are no votes with a positive weight; count both-bad votes as ties, or look at "
            "the weights"
        )
    if tie_model != "half" and not np.isin(rows.outcome, (MODEL_A, MODEL_B)).any():
        raise NoMaximum(
            f"every vote is a tie: {tie_model} has no finite tie parameter; count ties as halves "
            "(tie_model='half')"
        )
    if not np.isfinite(rows.covariates).all():
        row, column = np.argwhere(~np.isfinite(rows.covariates))[0]
        name, value = rows.names[column], rows.covariates[row, column]
        raise RankingError(f"row {row}: covariate {name!r} is {value}")
    for column, name in enumerate(rows.names):
        if not np.ptp(rows.covariates[:, column]) and not rows.covariates[0, column]:
            raise NoMaximum(f"covariate {name!r} is 0 in every row; leave it out")
