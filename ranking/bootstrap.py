"""Strengths refitted to resampled battles.

Resampling rows with replacement is a multinomial draw over the aggregated counts, so
a replicate costs as much for ten million votes as for ten thousand. Each replicate is
fitted to full convergence: chord Newton with the inverse Hessian of the whole data,
and Newton's own Hessian for the replicates where that does not contract.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.bradley_terry import (
    BradleyTerryFit,
    Floats,
    PairCounts,
    check_prior,
    invert_centred,
    maximise,
)
from ranking.comparisons import BOTH_BAD, MODEL_B, TIE, Comparisons
from ranking.components import find_components
from ranking.errors import NoMaximum

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Replicates drawn from one random stream: fixed, so that the result does not depend on
# the number of threads.
_BLOCK = 32
# Elements of a batch of games matrices that stay in a core's cache.
_BATCH_ELEMENTS = 40_000
_CHORD_STEPS = 14
_CHORD_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts per unordered pair and result, ties (and both-bad) in one cell.

    Attributes:
        first: The lower model index, shape (cells,).
        second: The higher model index, shape (cells,).
        credit: The first model's share of the win: 1, 0 or ½, shape (cells,).
        count: Votes, shape (cells,).
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    credit: Floats
    count: NDArray[np.int64]


def fold_cells(comparisons: Comparisons, *, drop_both_bad: bool) -> Cells:
    """The cells a Bradley–Terry likelihood tells apart."""
    kept = comparisons
    if drop_both_bad:
        kept = comparisons.select(comparisons.outcome != BOTH_BAD)
    size = len(kept.models)
    swapped = kept.model_a > kept.model_b
    result = np.minimum(kept.outcome, TIE).astype(np.int64)
    result = np.where(swapped & (result < TIE), 1 - result, result)
    low = np.minimum(kept.model_a, kept.model_b).astype(np.int64)
    high = np.maximum(kept.model_a, kept.model_b).astype(np.int64)
    keys, inverse = np.unique((low * size + high) * 3 + result, return_inverse=True)
    count = np.zeros(len(keys), dtype=np.int64)
    np.add.at(count, inverse, kept.count)
    kind = keys % 3
    return Cells(
        first=keys // 3 // size,
        second=keys // 3 % size,
        credit=np.where(kind == TIE, 0.5, np.where(kind == MODEL_B, 0.0, 1.0)),
        count=count,
    )


def resample_strengths(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    *,
    replicates: int,
    seed: int,
    drop_both_bad: bool = False,
    threads: int | None = None,
) -> Floats:
    """Strengths of bootstrap replicates, each centred, shape (replicates, models).

    The same seed gives the same strengths whatever the number of threads.

    Raises:
        NoMaximum: Without a prior, a replicate's votes do not tie the models together.
    """
    cells = fold_cells(comparisons, drop_both_bad=drop_both_bad)
    if not len(cells.count):
        return np.zeros((replicates, len(fit.models)))
    inverse = invert_centred(fit.information())
    starts = range(0, replicates, _BLOCK)
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    workers = min(threads or os.cpu_count() or 1, len(starts))

    def run(block: int) -> Floats:
        draws = min(_BLOCK, replicates - starts[block])
        rng = np.random.default_rng(seeds[block])
        return _fit_block(_draw_counts(cells.count, draws, rng), cells, fit, inverse)

    if workers == 1:
        return np.concatenate([run(block) for block in range(len(starts))])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(run, range(len(starts)))))


def _draw_counts(count: NDArray[np.int64], draws: int, rng: np.random.Generator) -> Floats:
    """Multinomial counts, shape (draws, cells).

    Poisson counts of a slightly smaller mean, topped up vote by vote to the total, have
    exactly this distribution and cost half of numpy's chain of binomials.
    """
    total = int(count.sum())
    if total < 10_000:
        return rng.multinomial(total, count / total, size=draws).astype(float)
    mean = total - 6.0 * np.sqrt(total)
    drawn = rng.poisson(count * (mean / total), size=(draws, len(count)))
    edges = np.cumsum(count)
    for row in drawn:
        short = total - int(row.sum())
        if short < 0:  # six standard deviations away: draw this row the plain way
            row[:] = rng.multinomial(total, count / total)
            continue
        votes = np.searchsorted(edges, rng.integers(0, total, size=short), side="right")
        np.add.at(row, votes, 1)
    return drawn.astype(float)


def _fit_block(drawn: Floats, cells: Cells, fit: BradleyTerryFit, inverse: Floats) -> Floats:
    size = len(fit.models)
    batch = max(1, _BATCH_ELEMENTS // size**2)
    parts = [
        _fit_batch(drawn[start : start + batch], cells, fit, inverse)
        for start in range(0, len(drawn), batch)
    ]
    return np.concatenate(parts)


def _fit_batch(drawn: Floats, cells: Cells, fit: BradleyTerryFit, inverse: Floats) -> Floats:
    """Chord Newton on a batch; Newton for what it leaves."""
    size = len(fit.models)
    wins = _scatter_wins(drawn, cells, size)
    games = wins + wins.transpose(0, 2, 1)
    won = wins.sum(axis=2)
    precision = fit.precision
    xi = np.repeat(fit.strengths[None, :], len(drawn), axis=0)
    shared = np.empty_like(games)
    for _ in range(_CHORD_STEPS):
        odds = np.exp(xi)
        np.add(odds[:, :, None], odds[:, None, :], out=shared)
        np.divide(games, shared, out=shared)
        step = (won - odds * shared.sum(axis=2) - precision * xi) @ inverse
        size_of_step = np.abs(step).max(axis=1)
        if not size_of_step.max() < 1.0:
            break
        xi += step
        if size_of_step.max() <= _CHORD_TOLERANCE:
            return xi
    for row in np.flatnonzero(~(size_of_step <= _CHORD_TOLERANCE)):
        xi[row] = _fit_alone(PairCounts(games[row], wins[row]), fit)
    return xi


def _scatter_wins(drawn: Floats, cells: Cells, size: int) -> Floats:
    """Wins of row over column of every draw, shape (draws, models, models)."""
    kinds = ((1.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.5, 0.5))
    wins = np.zeros((len(drawn), size * size))
    for credit, forward, backward in kinds:
        here = np.flatnonzero(cells.credit == credit)
        first, second = cells.first[here], cells.second[here]
        if forward:
            wins[:, first * size + second] += forward * drawn[:, here]
        if backward:
            wins[:, second * size + first] += backward * drawn[:, here]
    return wins.reshape(len(drawn), size, size)


def _fit_alone(pairs: PairCounts, fit: BradleyTerryFit) -> Floats:
    if fit.prior is None and find_components(pairs.wins).strong.max() > 0:
        raise NoMaximum(
            "a bootstrap replicate's votes do not tie the models together; "
            "use a prior or the sandwich interval"
        )
    return maximise(pairs, precision=check_prior(fit.prior), start=fit.strengths)[0]
