"""Paired-comparison models fitted row by row: ties as outcomes, covariates, weights.

The general sibling of `bradley_terry`: the same Newton step, assembled from one row per
distinct battle instead of one number per pair.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ranking.bradley_terry import DEFAULT_PRIOR, BothBad, check_both_bad, check_prior
from ranking.comparisons import BOTH_BAD, MODEL_A, MODEL_B, TIE, Comparisons
from ranking.components import Components, find_components
from ranking.errors import NoMaximum, NotConverged, RankingError
from ranking.likelihoods import TIE_MODELS, Terms, TieModel, evaluate, predict_outcomes
from ranking.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_GRADIENT_PER_VOTE = 1e-9
_STEP = 1e-9
_MOST_STEPS = 200


def _no_covariates() -> Floats:
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct battles with a weight each.

    Attributes:
        models: Names.
        first: Index of the left model, shape (rows,).
        second: Index of the right model, shape (rows,).
        outcome: 0 the left won, 1 the right won, 2 a tie, shape (rows,).
        weight: Σ of the weights of the votes in the row, shape (rows,).
        squares: Σ of their squares (for the sandwich), shape (rows,).
        covariates: z of each row, left minus right, shape (rows, k).
        names: Of the covariates.
        cluster: Code of the voter of each row, or None.
    """

    models: tuple[str, ...]
    first: NDArray[np.integer[Any]]
    second: NDArray[np.integer[Any]]
    outcome: NDArray[np.int8]
    weight: Floats
    squares: Floats
    covariates: Floats = field(default_factory=_no_covariates)
    names: tuple[str, ...] = ()
    cluster: NDArray[np.integer[Any]] | None = None

    @classmethod
    def from_comparisons(
        cls,
        comparisons: Comparisons,
        *,
        both_bad: BothBad = "tie",
        covariates: Floats | None = None,
        names: Sequence[str] = (),
    ) -> Rows:
        """One row a cell of counts; `covariates` has a line for each cell."""
        kept = slice(None) if check_both_bad(both_bad) else comparisons.outcome != BOTH_BAD
        weight = comparisons.count[kept].astype(float)
        z = np.empty((len(comparisons), 0)) if covariates is None else np.asarray(covariates)
        return cls(
            models=comparisons.models,
            first=comparisons.model_a[kept],
            second=comparisons.model_b[kept],
            outcome=np.minimum(comparisons.outcome[kept], TIE).astype(np.int8),
            weight=weight,
            squares=weight,
            covariates=z[kept].reshape(len(weight), len(names)),
            names=tuple(names),
        )

    def wins(self) -> Floats:
        """Weight of wins of row over column, ties as halves, shape (models, models)."""
        size = len(self.models)
        credit = np.array([1.0, 0.0, 0.5])[self.outcome]
        won = _scatter(self.first, self.second, self.weight * credit, size)
        return np.asarray(won + _scatter(self.second, self.first, self.weight * (1 - credit), size))


@dataclass(frozen=True, eq=False)
class PairedFit:
    """Strengths, coefficients and tie parameter at the maximum.

    Attributes:
        models: Names.
        strengths: ξ at z = 0, natural log-odds, sum 0, shape (models,).
        coefficients: γ, shape (k,).
        names: Of the covariates.
        tie_model: "half", "davidson" or "rao-kupper".
        tie_parameter: ν (Davidson) or θ (Rao–Kupper), None for "half".
        rows: What was fitted.
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
        return problem.differentiate(self.parameters)[1]

    def covariance(self) -> Floats:
        """Inverse information over `parameters`, strengths centred."""
        return invert_lifted(self.information(), len(self.models))

    def scores(self) -> Floats:
        """Derivatives (d, τ) of each row's log likelihood for one vote, shape (rows, 2)."""
        problem = Problem(self.rows, self.tie_model, 0.0)
        terms = problem.evaluate(self.parameters)
        return np.stack([terms.d, terms.t], axis=1)


@one_blas_thread
def fit_paired(
    rows: Rows,
    *,
    tie_model: TieModel = "half",
    prior: float | None = DEFAULT_PRIOR,
    start: Floats | None = None,
) -> PairedFit:
    """Fit by Newton's method with step halving.

    Args:
        rows: The battles.
        tie_model: How ties are read; without any tie all three are plain Bradley–Terry.
        prior: Standard deviation of a Gaussian prior on each strength (not on γ, τ).
        start: `parameters` of an earlier fit of the same shape.

    Raises:
        NoMaximum: Without a prior the votes do not tie all models together, every vote is
            a tie (tie models), or a covariate does not vary or repeats another.
        NotConverged: The tolerance was not reached.
        RankingError: An option is unknown or a covariate is not finite.
    """
    _check(rows, tie_model)
    components = find_components(rows.wins())
    if prior is None and components.strong.max() > 0:
        raise NoMaximum("no finite maximum: the votes do not tie all models together; use a prior")
    problem = Problem(rows, tie_model, check_prior(prior))
    theta, value, steps = problem.maximise(start)
    size, k = len(rows.models), len(rows.names)
    fit_ties = problem.has_tau
    penalty = 0.5 * problem.precision * float(theta[:size] @ theta[:size])
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


class Problem:
    """The penalised likelihood of some rows as a function of (ξ, γ, τ)."""

    def __init__(self, rows: Rows, tie_model: TieModel, precision: float) -> None:
        self.rows = rows
        self.size = len(rows.models)
        self.precision = precision
        self.has_tau = tie_model != "half" and bool((rows.outcome == TIE).any())
        self.kind: TieModel = tie_model if self.has_tau else "half"

    def evaluate(self, theta: Floats) -> Terms:
        """Terms of each row, for one vote."""
        rows, size = self.rows, self.size
        margin = theta[rows.first] - theta[rows.second]
        if rows.names:
            margin = margin + rows.covariates @ theta[size : size + len(rows.names)]
        return evaluate(self.kind, margin, float(theta[-1]), rows.outcome)

    def objective(self, theta: Floats) -> float:
        """Penalised log likelihood; −∞ outside the parameter space."""
        if self.kind == "rao-kupper" and theta[-1] <= 0:
            return -np.inf
        strengths = theta[: self.size]
        value = float(self.rows.weight @ self.evaluate(theta).value)
        return value - 0.5 * self.precision * float(strengths @ strengths)

    def differentiate(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and negative Hessian over (ξ, γ, τ)."""
        rows, size = self.rows, self.size
        terms = self.evaluate(theta)
        w = rows.weight
        curve = -w * terms.dd
        laplacian = _laplacian(rows, curve, size)
        laplacian[np.diag_indices(size)] += self.precision
        score = w * terms.d
        gradient = [_difference(rows, score, size) - self.precision * theta[:size]]
        # Columns of the Hessian that are no strengths: covariates, then τ.
        columns = [curve * rows.covariates[:, j] for j in range(len(rows.names))]
        corner = np.zeros((len(theta) - size, len(theta) - size))
        k = len(rows.names)
        if k:
            gradient.append(rows.covariates.T @ score)
            corner[:k, :k] = rows.covariates.T @ (curve[:, None] * rows.covariates)
        if self.has_tau:
            gradient.append(np.array([w @ terms.t]))
            columns.append(-w * terms.dt)
            corner[:k, k] = corner[k, :k] = rows.covariates.T @ columns[-1] if k else 0
            corner[k, k] = -(w @ terms.tt)
        border = np.array([_difference(rows, c, size) for c in columns]).reshape(-1, size)
        return np.concatenate(gradient), np.block([[laplacian, border.T], [border, corner]])

    def maximise(self, start: Floats | None) -> tuple[Floats, float, int]:
        """Parameters, penalised log likelihood, Newton steps."""
        theta = self._start() if start is None else start.copy()
        value = self.objective(theta)
        tolerance = _GRADIENT_PER_VOTE * max(float(self.rows.weight.sum()), 1.0)
        for number in range(1, _MOST_STEPS + 1):
            gradient, matrix = self.differentiate(theta)
            step = solve_lifted(matrix, gradient, self.size)
            if np.abs(step).max() <= _STEP and np.abs(gradient).max() <= tolerance:
                return theta + step, value, number
            slack = 1e-12 * abs(value)
            while (trial := self.objective(theta + step)) < value - slack:
                step = step / 2
            theta, value = theta + step, trial
        raise NotConverged(f"no convergence after {_MOST_STEPS} Newton steps")

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


def solve_lifted(matrix: Floats, vector: Floats, size: int) -> Floats:
    """Solve with the first `size` parameters free only on the subspace that sums to 0."""
    lifted = matrix.copy()
    lifted[:size, :size] += matrix[:size, :size].trace() / size**2
    try:
        factor = cho_factor(lifted, check_finite=False)
    except LinAlgError as error:
        raise NoMaximum(
            "the votes do not determine the coefficients: a covariate does not vary "
            "or repeats another one"
        ) from error
    return np.asarray(cho_solve(factor, vector, check_finite=False))


def invert_lifted(matrix: Floats, size: int) -> Floats:
    """Inverse with the first `size` parameters centred."""
    projector = np.eye(len(matrix))
    projector[:size, :size] -= 1.0 / size
    return np.asarray(projector @ solve_lifted(matrix, projector, size))


def _check(rows: Rows, tie_model: str) -> None:
    if tie_model not in TIE_MODELS:
        raise RankingError(f"tie_model must be one of {TIE_MODELS}, not {tie_model!r}")
    if not rows.weight.sum() > 0:
        raise RankingError("there are no votes with a positive weight")
    if tie_model != "half" and not np.isin(rows.outcome, (MODEL_A, MODEL_B)).any():
        raise NoMaximum(f"every vote is a tie: {tie_model} has no finite tie parameter")
    if not np.isfinite(rows.covariates).all():
        row, column = np.argwhere(~np.isfinite(rows.covariates))[0]
        name, value = rows.names[column], rows.covariates[row, column]
        raise RankingError(f"row {row}: covariate {name!r} is {value}")
    for column, name in enumerate(rows.names):
        if not np.ptp(rows.covariates[:, column]) and not rows.covariates[0, column]:
            raise NoMaximum(f"covariate {name!r} is 0 in every row")


def _scatter(
    row: NDArray[np.integer[Any]], column: NDArray[np.integer[Any]], value: Floats, size: int
) -> Floats:
    key = row.astype(np.intp) * size + column
    return np.asarray(np.bincount(key, weights=value, minlength=size * size).reshape(size, size))


def _difference(rows: Rows, value: Floats, size: int) -> Floats:
    """Xᵀ value, with X the rows e_first − e_second."""
    up = np.bincount(rows.first, weights=value, minlength=size)
    return np.asarray(up - np.bincount(rows.second, weights=value, minlength=size))


def _laplacian(rows: Rows, value: Floats, size: int) -> Floats:
    """Xᵀ diag(value) X."""
    upper = _scatter(rows.first, rows.second, value, size)
    both = upper + upper.T
    result = -both
    np.fill_diagonal(result, both.sum(axis=1))
    return np.asarray(result)
