"""Strengths refitted to resampled battles, or to resampled voters with all their battles.

Resampling rows with replacement is a multinomial draw over the aggregated counts, so
a replicate costs as much for ten million votes as for ten thousand.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import NoMaximum
from ranking.fits.bradley_terry import BradleyTerryFit, Floats, check_prior
from ranking.fits.chord import ChordSolver
from ranking.fits.components import find_components
from ranking.fits.paired import PairedFit, Problem, invert_lifted
from ranking.intervals.sampling import MultinomialSampler
from ranking.votes.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ranking.votes.comparisons import Comparisons
    from ranking.votes.encoding import BothBad

    # Called with the replicates that are done, and how many there will be.
    Progress = Callable[[int, int], None]

# Replicates drawn from one random stream: fixed, so that the result does not depend on
# the number of threads.
_BLOCK = 32


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How to resample.

    Attributes:
        replicates: How many times.
        seed: The same seed gives the same replicates, whatever the number of threads.
        errors: Also find each replicate's standard errors.
        threads: Threads to use; all cores by default.
        progress: Called from the calling thread, a few times a hundred replicates.
    """

    replicates: int
    seed: int
    errors: bool = False
    threads: int | None = None
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Replicates:
    """Refitted parameters.

    Attributes:
        estimates: Strengths centred, shape (replicates, parameters).
        errors: Standard errors by the curvature of each replicate's own likelihood and
            prior, of the same shape; None where they were not asked for.
    """

    estimates: Floats
    errors: Floats | None = None

    def select(self, parameters: slice) -> Replicates:
        """Some of the parameters."""
        errors = None if self.errors is None else self.errors[:, parameters]
        return Replicates(self.estimates[:, parameters], errors)


def resample_strengths(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    resampling: Resampling,
    *,
    both_bad: BothBad = "tie",
) -> Replicates:
    """Strengths of bootstrap replicates.

    Raises:
        NoMaximum: Without a prior, a replicate's votes do not tie the models together.
    """
    rows = fold_sides(Rows.from_comparisons(comparisons, both_bad=both_bad))
    if not len(rows.count):
        shape = (resampling.replicates, len(fit.models))
        errors = np.broadcast_to(np.sqrt(fit.covariance().diagonal()), shape)
        return Replicates(np.zeros(shape), errors if resampling.errors else None)
    solver = ChordSolver(fit.strengths, fit.covariance(), fit.prior)
    return _run_blocks(_resample_wins(rows, solver, resampling), resampling)


def resample_paired(fit: PairedFit, resampling: Resampling) -> Replicates:
    """`parameters` of bootstrap replicates.

    Rows with a cluster are resampled by cluster, others vote by vote.

    Raises:
        NoMaximum: A replicate has no finite maximum (without a prior), or no tie.
    """
    if fit.fits_ties or fit.names:
        return _run_blocks(_resample_newton(fit, resampling), resampling)
    solver = ChordSolver(fit.strengths, fit.covariance(), fit.prior)
    rows = fit.rows if fit.rows.cluster is not None else fold_sides(fit.rows)
    return _run_blocks(_resample_wins(rows, solver, resampling), resampling)


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


def _run_blocks(
    run: Callable[[int, np.random.Generator], Replicates], resampling: Resampling
) -> Replicates:
    """Call `run(draws, stream)` for blocks of replicates, each with its own stream."""
    starts = range(0, resampling.replicates, _BLOCK)
    streams = np.random.SeedSequence(resampling.seed).spawn(len(starts))
    workers = min(resampling.threads or os.cpu_count() or 1, len(starts))

    def run_block(block: int) -> Replicates:
        draws = min(_BLOCK, resampling.replicates - starts[block])
        return run(draws, np.random.default_rng(streams[block]))

    if workers == 1:
        return _collect(map(run_block, range(len(starts))), resampling)
    with ThreadPoolExecutor(workers) as pool:
        return _collect(pool.map(run_block, range(len(starts))), resampling)


def _collect(blocks: Iterable[Replicates], resampling: Resampling) -> Replicates:
    """All blocks as one, telling how far they are as they come in."""
    parts: list[Replicates] = []
    done = 0
    for part in blocks:
        parts.append(part)
        done += len(part.estimates)
        if resampling.progress is not None:
            resampling.progress(done, resampling.replicates)
    errors = [part.errors for part in parts if part.errors is not None]
    return Replicates(
        np.concatenate([part.estimates for part in parts]),
        np.concatenate(errors) if errors else None,
    )


def _resample_wins(
    rows: Rows, solver: ChordSolver, resampling: Resampling
) -> Callable[[int, np.random.Generator], Replicates]:
    rows, draw = _resampler(rows)
    size = len(rows.models)
    credit = np.array([1.0, 0.0, 0.5])[rows.outcome] * rows.vote_weight
    debit = rows.vote_weight - credit
    forward = rows.first.astype(np.intp) * size + rows.second
    backward = rows.second.astype(np.intp) * size + rows.first

    def run(draws: int, rng: np.random.Generator) -> Replicates:
        counts = draw(draws, rng)
        flat = np.empty((draws, size * size))
        for row, count in enumerate(counts):
            flat[row] = np.bincount(forward, weights=count * credit, minlength=size * size)
            flat[row] += np.bincount(backward, weights=count * debit, minlength=size * size)
        wins = flat.reshape(draws, size, size)
        strengths = solver.solve(wins, solver.draw_centres(draws, rng))
        errors = solver.find_errors(strengths, wins) if resampling.errors else None
        return Replicates(strengths, errors)

    return run


def _resample_newton(
    fit: PairedFit, resampling: Resampling
) -> Callable[[int, np.random.Generator], Replicates]:
    rows, draw = _resampler(fit.rows)

    def run(draws: int, rng: np.random.Generator) -> Replicates:
        problems = [_draw_problem(fit, rows, count) for count in draw(draws, rng)]
        found = [problem.maximise(fit.parameters)[0] for problem in problems]
        if not resampling.errors:
            return Replicates(np.array(found))
        errors = [_find_errors(*pair) for pair in zip(problems, found, strict=True)]
        return Replicates(np.array(found), np.array(errors))

    return run


def _draw_problem(fit: PairedFit, rows: Rows, count: Floats) -> Problem:
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
    return problem


def _find_errors(problem: Problem, theta: Floats) -> Floats:
    information = problem.differentiate(theta, problem.evaluate(theta))[1]
    covariance = invert_lifted(information, problem.size, precision=problem.precision)
    return np.sqrt(np.maximum(covariance.diagonal(), 0.0))


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
