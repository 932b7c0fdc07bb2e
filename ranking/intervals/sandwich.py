"""Covariances that do not trust the model: H⁺ S H⁺, S from the battles as they fell.

Both are without the prior, except for models that it alone keeps finite, and strengths are
centred within their islands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.fits.bradley_terry import BradleyTerryFit, check_prior, hessian
from ranking.fits.curvature import invert_by_island
from ranking.fits.paired import PairedFit, Problem
from ranking.intervals.voters import VoterSpread
from ranking.votes.rows import sum_products

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.votes.rows import Rows

    Floats = NDArray[np.float64]


def sandwich_pairs(fit: BradleyTerryFit, ties: Floats) -> Floats:
    """Sandwich covariance from the pair table alone, shape (models, models).

    Args:
        fit: The fitted strengths.
        ties: Ties counted as halves in the fit, symmetric, shape (models, models).
    """
    p, pairs = fit.predict(), fit.held_pairs
    decisive = pairs.wins - 0.5 * ties
    squares = decisive * p.T**2
    score = squares + squares.T + ties * (0.5 - p) ** 2
    spread = -score
    np.fill_diagonal(spread, score.sum(axis=1) - score.diagonal())
    inverse = invert_by_island(
        hessian(pairs.games, p, 0.0), fit.components, precision=fit.precision
    )
    return np.asarray(inverse @ spread @ inverse.T)


def sandwich_rows(fit: PairedFit, *, by_cluster: bool = True) -> Floats:
    """Sandwich covariance over `fit.parameters`, square.

    Scores are summed per cluster where the rows carry one (with the usual G / (G − 1), G the
    clusters alike that they are worth), unless told otherwise; else per vote.
    """
    rows = fit.held_rows
    problem = Problem(rows, fit.tie_model, 0.0)
    terms = problem.evaluate(fit.parameters, rows)
    if rows.cluster is None or not by_cluster:
        squares = rows.count * rows.vote_weight**2
        tie = (squares * terms.d * terms.t, squares * terms.t**2) if fit.fits_ties else None
        spread = sum_products(rows, squares * terms.d**2, tie)
    else:
        spread = _sum_clusters(rows, terms.d, terms.t if fit.fits_ties else None)
    information = problem.differentiate(fit.parameters, problem.evaluate(fit.parameters))[1]
    inverse = invert_by_island(information, fit.components, precision=check_prior(fit.prior))
    return np.asarray(inverse @ spread @ inverse.T)


def _sum_clusters(rows: Rows, margin: Floats, tie: Floats | None) -> Floats:
    """Σ over clusters of the outer product of their summed scores."""
    from scipy.sparse import csr_array

    code, clusters = rows.number_clusters()
    size = len(rows.models)
    weight = rows.weight * margin
    columns = [rows.first, rows.second]
    values = [weight, -weight]
    for j in range(len(rows.names)):
        columns.append(np.full(len(code), size + j))
        values.append(weight * rows.covariates[:, j])
    if tie is not None:
        columns.append(np.full(len(code), size + len(rows.names)))
        values.append(rows.weight * tie)
    total = size + len(rows.names) + (tie is not None)
    where = (np.tile(code, len(columns)), np.concatenate(columns))
    scores = csr_array((np.concatenate(values), where), shape=(clusters, total))
    return np.asarray(VoterSpread.of(rows).correction * (scores.T @ scores).toarray())
