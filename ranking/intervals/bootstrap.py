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

from ranking.errors import NoMaximum, NotConverged
from ranking.fits.bradley_terry import BradleyTerryFit, Floats, check_prior
from ranking.fits.chord import ChordSolver
from ranking.fits.components import find_components
from ranking.fits.paired import PairedFit, Problem, invert_lifted
from ranking.intervals.sampling import MultinomialSampler
from ranking.votes.encoding import TIE
from ranking.votes.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ranking.fits.components import Components
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
        estimates: Strengths centred in their islands, shape (replicates, parameters).
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
    every = Rows.from_comparisons(comparisons, both_bad=both_bad)
    rows = fold_sides(every.within(fit.components.held))
    if not len(rows.count):
        shape = (resampling.replicates, len(fit.models))
        return Replicates(np.zeros(shape), np.ones(shape) if resampling.errors else None)
    return _run_blocks(_resample_wins(rows, fit, resampling), resampling)


def resample_paired(fit: PairedFit, resampling: Resampling) -> Replicates:
    """`parameters` of bootstrap replicates.

    Rows with a cluster are resampled by cluster, others vote by vote.

    Raises:
        NoMaximum: A replicate has no finite maximum (without a prior), or no tie.
    """
    if fit.fits_ties or fit.names:
        return _run_blocks(_resample_newton(fit, resampling), resampling)
    rows = fit.held_rows if fit.rows.cluster is not None else fold_sides(fit.held_rows)
    return _run_blocks(_resample_wins(rows, fit, resampling), resampling)


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
    rows: Rows, fit: BradleyTerryFit | PairedFit, resampling: Resampling
) -> Callable[[int, np.random.Generator], Replicates]:
    solver = ChordSolver(fit.strengths, fit.covariance(), fit.prior)
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
        errors = None
        if resampling.errors:
            errors = solver.find_errors(strengths, wins, fit.components)
        return Replicates(fit.components.centre(strengths), errors)

    return run


def _resample_newton(
    fit: PairedFit, resampling: Resampling
) -> Callable[[int, np.random.Generator], Replicates]:
    rows, draw = _resampler(fit.held_rows)

    def run(draws: int, rng: np.random.Generator) -> Replicates:
        problems = [_draw_problem(fit, rows, count) for count in draw(draws, rng)]
        found = [_refit(problem, fit) for problem in problems]
        errors = None
        if resampling.errors:
            pairs = zip(problems, found, strict=True)
            errors = np.array([_find_errors(*pair, fit.components) for pair in pairs])
        size, estimates = len(fit.models), np.array(found)
        estimates[:, :size] = fit.components.centre(estimates[:, :size])
        return Replicates(estimates, errors)

    return run


def _refit(problem: Problem, fit: PairedFit) -> Floats:
    try:
        return problem.maximise(fit.parameters)[0]
    except (NoMaximum, NotConverged) as error:
        raise NoMaximum(
            "a bootstrap replicate has no finite coefficients; use the sandwich interval"
        ) from error


def _draw_problem(fit: PairedFit, rows: Rows, count: Floats) -> Problem:
    drawn = replace(rows, count=count, cluster=None).select(count > 0)
    if fit.prior is None and find_components(drawn.wins()).strong.max() > 0:
        raise NoMaximum("a bootstrap replicate has no finite maximum; use a prior or the sandwich")
    problem = Problem(drawn, fit.tie_model, check_prior(fit.prior))
    if problem.has_tau != fit.fits_ties:
        raise NoMaximum("a bootstrap replicate has no tie; use the sandwich interval")
    if fit.fits_ties and (drawn.outcome == TIE).all():
        raise NoMaximum("a bootstrap replicate has only ties; use the sandwich interval")
    return problem


def _find_errors(problem: Problem, theta: Floats, components: Components) -> Floats:
    information = problem.differentiate(theta, problem.evaluate(theta))[1]
    size = problem.size
    covariance = invert_lifted(information, size, precision=problem.precision)
    strengths = components.centred_variances(covariance[:size, :size])
    others = np.maximum(covariance.diagonal()[size:], 0.0)
    return np.asarray(np.sqrt(np.concatenate([strengths, others])))


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
