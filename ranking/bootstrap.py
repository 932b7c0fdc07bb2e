"""Strengths refitted to resampled battles, or to resampled voters with all their battles.

Resampling rows with replacement is a multinomial draw over the aggregated counts, so
a replicate costs as much for ten million votes as for ten thousand. Each replicate is
fitted to full convergence: chord Newton with the inverse Hessian of the whole data,
and Newton's own Hessian for the replicates where that does not contract.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.bradley_terry import (
    BothBad,
    BradleyTerryFit,
    Floats,
    PairCounts,
    check_prior,
    maximise,
    win_probabilities,
)
from ranking.components import find_components
from ranking.errors import NoMaximum
from ranking.paired import PairedFit, Problem
from ranking.rows import Rows
from ranking.sampling import MultinomialSampler

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ranking.comparisons import Comparisons

# Replicates drawn from one random stream: fixed, so that the result does not depend on
# the number of threads.
_BLOCK = 32
# Elements of a batch of games matrices that stay in a core's cache.
_BATCH_ELEMENTS = 40_000
_CHORD_STEPS = 14
# Steps get this short only where each is at most 0.3 of the one before, so the error left
# is at most 0.43 of the last: below 1e-6 points.
_CHORD_TOLERANCE = 1e-8
_NEWTON_STEPS = 30
# A draw this close whose steps shrink no faster than this is cheaper to finish by Newton.
_CLOSE = 0.03
_SLOW = 0.3


def resample_strengths(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    *,
    replicates: int,
    seed: int,
    both_bad: BothBad = "tie",
    threads: int | None = None,
) -> Floats:
    """Strengths of bootstrap replicates, each centred, shape (replicates, models).

    The same seed gives the same strengths whatever the number of threads.

    Raises:
        NoMaximum: Without a prior, a replicate's votes do not tie the models together.
    """
    rows = fold_sides(Rows.from_comparisons(comparisons, both_bad=both_bad))
    if not len(rows.count):
        return np.zeros((replicates, len(fit.models)))
    solver = ChordSolver(fit.strengths, fit.covariance(), fit.prior)
    return _run_blocks(_resample_wins(rows, solver), replicates, seed, threads)


def resample_paired(
    fit: PairedFit, *, replicates: int, seed: int, threads: int | None = None
) -> Floats:
    """`parameters` of bootstrap replicates, shape (replicates, parameters).

    Rows with a cluster are resampled by cluster, others vote by vote.

    Raises:
        NoMaximum: A replicate has no finite maximum (without a prior), or no tie.
    """
    if fit.fits_ties or fit.names:
        return _run_blocks(_resample_newton(fit), replicates, seed, threads)
    solver = ChordSolver(fit.strengths, fit.covariance(), fit.prior)
    rows = fit.rows if fit.rows.cluster is not None else fold_sides(fit.rows)
    return _run_blocks(_resample_wins(rows, solver), replicates, seed, threads)


def fold_sides(rows: Rows) -> Rows:
    """Merge rows that differ only in which side a model was on; rarest first."""
    size = len(rows.models)
    swapped = rows.first > rows.second
    outcome = np.where(swapped & (rows.outcome < 2), 1 - rows.outcome, rows.outcome)
    low = np.minimum(rows.first, rows.second).astype(np.int64)
    high = np.maximum(rows.first, rows.second).astype(np.int64)
    key = (low * size + high) * 3 + outcome
    levels, level = np.unique(rows.vote_weight, return_inverse=True)
    keys, inverse = np.unique(key * len(levels) + level, return_inverse=True)
    count = np.bincount(inverse, weights=rows.count).astype(float)
    rarest = np.argsort(count, kind="stable")
    keys, count = keys[rarest], count[rarest]
    cell = keys // len(levels)
    return Rows(
        models=rows.models,
        first=cell // 3 // size,
        second=cell // 3 % size,
        outcome=(cell % 3).astype(np.int8),
        count=count,
        vote_weight=levels[keys % len(levels)],
    )


@dataclass(frozen=True, eq=False)
class ChordSolver:
    """Fits many games matrices that are all near one that is already fitted.

    Attributes:
        strengths: Where every fit starts, shape (models,).
        inverse: Inverse information there, shape (models, models).
        prior: Standard deviation of the prior, or None.
    """

    strengths: Floats
    inverse: Floats
    prior: float | None

    def solve(self, wins: Floats) -> Floats:
        """Strengths for wins of shape (draws, models, models)."""
        size = len(self.strengths)
        batch = max(1, _BATCH_ELEMENTS // size**2)
        parts = [self._solve(wins[i : i + batch]) for i in range(0, len(wins), batch)]
        return np.concatenate(parts)

    def _solve(self, wins: Floats) -> Floats:
        games = wins + wins.transpose(0, 2, 1)
        won = wins.sum(axis=2)
        precision = check_prior(self.prior)
        xi = np.repeat(self.strengths[None, :], len(wins), axis=0)
        shared = np.empty_like(games)
        length = np.full(len(wins), np.inf)
        for _ in range(_CHORD_STEPS):
            # Expected wins: odds_i · Σ_j games_ij / (odds_i + odds_j), one exp a model.
            odds = np.exp(xi)
            np.add(odds[:, :, None], odds[:, None, :], out=shared)
            np.divide(games, shared, out=shared)
            step = (won - odds * shared.sum(axis=2) - precision * xi) @ self.inverse
            length, before = np.abs(step).max(axis=1), length
            if not length.max() < 1.0:
                break
            xi += step
            if length.max() <= _CHORD_TOLERANCE:
                break
            if length.max() < _CLOSE and length.max() > _SLOW * before.max():
                break
        left = np.flatnonzero(~(length <= _CHORD_TOLERANCE))
        if left.size:
            close = (length[left] < _CLOSE)[:, None]
            start = np.where(close, xi[left], self.strengths)
            xi[left] = self._solve_newton(games[left], wins[left], start)
        return xi

    def _solve_newton(self, games: Floats, wins: Floats, start: Floats) -> Floats:
        """Newton's method with each draw's own Hessian, steps of at most 1."""
        self._check_maxima(wins)
        size = len(self.strengths)
        precision = check_prior(self.prior)
        xi = start.copy()
        diagonal = np.arange(size)
        length = np.full(len(wins), np.inf)
        for _ in range(_NEWTON_STEPS):
            p = win_probabilities(xi)
            surplus = wins * p.transpose(0, 2, 1)
            gradient = surplus.sum(axis=2) - surplus.sum(axis=1) - precision * xi
            curve = games * p * p.transpose(0, 2, 1)
            matrix = -curve
            matrix[:, diagonal, diagonal] = curve.sum(axis=2) + precision
            if not precision:
                matrix += (curve.sum(axis=(1, 2)) / size**2)[:, None, None]
            step = np.linalg.solve(matrix, gradient[..., None])[..., 0]
            length = np.abs(step).max(axis=1)
            xi += step / np.maximum(length, 1.0)[:, None]
            if length.max() <= _CHORD_TOLERANCE:
                break
        for row in np.flatnonzero(~(length <= _CHORD_TOLERANCE)):
            pairs = PairCounts(games[row], wins[row])
            xi[row] = maximise(pairs, precision=precision, start=self.strengths)[0]
        return xi

    def _check_maxima(self, wins: Floats) -> None:
        if self.prior is None and any(find_components(w).strong.max() > 0 for w in wins):
            raise NoMaximum(
                "a bootstrap replicate's votes do not tie the models together; "
                "use a prior or the sandwich interval"
            )


def _run_blocks(
    run: Callable[[int, np.random.Generator], Floats],
    replicates: int,
    seed: int,
    threads: int | None,
) -> Floats:
    """Call `run(draws, stream)` for blocks of replicates, each with its own stream."""
    starts = range(0, replicates, _BLOCK)
    streams = np.random.SeedSequence(seed).spawn(len(starts))
    workers = min(threads or os.cpu_count() or 1, len(starts))

    def run_block(block: int) -> Floats:
        draws = min(_BLOCK, replicates - starts[block])
        return run(draws, np.random.default_rng(streams[block]))

    if workers == 1:
        return np.concatenate([run_block(block) for block in range(len(starts))])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(run_block, range(len(starts)))))


def _resample_wins(rows: Rows, solver: ChordSolver) -> Callable[[int, np.random.Generator], Floats]:
    rows, draw = _resampler(rows)
    size = len(rows.models)
    credit = np.array([1.0, 0.0, 0.5])[rows.outcome] * rows.vote_weight
    debit = rows.vote_weight - credit
    forward = rows.first.astype(np.intp) * size + rows.second
    backward = rows.second.astype(np.intp) * size + rows.first

    def run(draws: int, rng: np.random.Generator) -> Floats:
        counts = draw(draws, rng)
        wins = np.empty((draws, size * size))
        for row, count in enumerate(counts):
            wins[row] = np.bincount(forward, weights=count * credit, minlength=size * size)
            wins[row] += np.bincount(backward, weights=count * debit, minlength=size * size)
        return solver.solve(wins.reshape(draws, size, size))

    return run


def _resample_newton(fit: PairedFit) -> Callable[[int, np.random.Generator], Floats]:
    rows, draw = _resampler(fit.rows)

    def run(draws: int, rng: np.random.Generator) -> Floats:
        return np.array([_refit(fit, rows, count) for count in draw(draws, rng)])

    return run


def _refit(fit: PairedFit, rows: Rows, count: Floats) -> Floats:
    kept = count > 0
    drawn = replace(
        rows,
        first=rows.first[kept],
        second=rows.second[kept],
        outcome=rows.outcome[kept],
        count=count[kept],
        vote_weight=rows.vote_weight[kept],
        covariates=rows.covariates[kept],
        cluster=None,
    )
    if fit.prior is None and find_components(drawn.wins()).strong.max() > 0:
        raise NoMaximum("a bootstrap replicate has no finite maximum; use a prior or the sandwich")
    problem = Problem(drawn, fit.tie_model, check_prior(fit.prior))
    if problem.has_tau != fit.fits_ties:
        raise NoMaximum("a bootstrap replicate has no tie; use the sandwich interval")
    return problem.maximise(fit.parameters)[0]


def _resampler(rows: Rows) -> tuple[Rows, Callable[[int, np.random.Generator], NDArray[Any]]]:
    """Rows, and a function of (draws, stream) to counts of each, shape (draws, rows)."""
    if rows.cluster is None:
        return rows, MultinomialSampler(rows.count.astype(np.int64)).draw
    code, clusters = rows.number_clusters()
    share = np.full(clusters, 1 / clusters)
    if rows.names:
        return (
            rows,
            lambda draws, rng: rng.multinomial(clusters, share, size=draws)[:, code] * rows.count,
        )
    from scipy.sparse import csr_array

    cells, inverse = rows.collapse()
    shape = (len(cells.count), clusters)
    weight = csr_array((rows.weight, (inverse, code)), shape=shape)
    return (
        cells,
        lambda draws, rng: (
            (weight @ rng.multinomial(clusters, share, size=draws).T.astype(float)).T
        ),
    )
