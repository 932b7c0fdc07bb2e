"""Whether different judges would publish the same leaderboard.

Each kind of judge gets its own Bradley–Terry fit (ties and both-bad as half a win each),
and the strengths of the models that two kinds have in common are compared: Kendall's τ-b,
Spearman's ρ, and Vigna's (2015) weighted τ, in which the top counts more. Resampled
leaderboards are noisier than the one observed and so agree less with each other: these
intervals tend to lie below the value, which is a reason to trust their lower end only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.intervals import Cluster, ClusteredResampling, Estimate, widest
from ranking.fits.bradley_terry import BradleyTerryFit, fit_bradley_terry
from ranking.fits.chord import ChordSolver
from ranking.fits.prior import Prior, find_prior
from ranking.fits.threads import one_blas_thread
from ranking.votes.comparisons import Comparisons

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from ranking.agreement.judgements import Judgements

    Floats = NDArray[np.float64]
    Measure = Callable[[Floats, Floats], Floats]

__all__ = [
    "BoardAgreement",
    "KindBoard",
    "compare_boards",
    "kendall_tau",
    "spearman_rho",
    "weighted_tau",
]

_CHUNK = 100


@dataclass(frozen=True)
class KindBoard:
    """The leaderboard of one kind of judges.

    Attributes:
        kind: Name.
        models: Names, strongest first.
        strengths: ξ of each, natural log-odds, sum 0.
        win_rates: Share of battles won, ties and both-bad as half a win.
        battles: Judgements with each model.
    """

    kind: str
    models: tuple[str, ...]
    strengths: tuple[float, ...]
    win_rates: tuple[float, ...]
    battles: tuple[int, ...]


@dataclass(frozen=True)
class BoardAgreement:
    """How alike two leaderboards are.

    Attributes:
        first: A kind.
        second: Another kind.
        models: How many they have in common.
        kendall: τ-b of the strengths.
        spearman: ρ of the strengths.
        weighted_tau: τ weighted by 1/rank, averaged over both rankings.
    """

    first: str
    second: str
    models: int
    kendall: Estimate
    spearman: Estimate
    weighted_tau: Estimate


@one_blas_thread
def compare_boards(
    table: Judgements, resampling: ClusteredResampling, *, prior: Prior = "fitted"
) -> tuple[tuple[KindBoard, ...], tuple[BoardAgreement, ...]]:
    """The leaderboard of each kind with two models, and how alike each two are.

    Raises:
        NoMaximum: Without a prior, a kind's judgements do not tie all its models together.
    """
    fits: dict[int, BradleyTerryFit] = {}
    for kind in range(len(table.kinds)):
        mine = table.kind == kind
        if mine.any():
            fits[kind] = _fit(table.select(mine), prior)
    boards = tuple(_list_board(table.kinds[kind], fit) for kind, fit in fits.items())
    by_item = _resample(table, fits, resampling, "item")
    by_judge = _resample(table, fits, resampling, "judge")
    found: list[BoardAgreement] = []
    for one, other in combinations(fits, 2):
        common = sorted(set(fits[one].models) & set(fits[other].models))
        if len(common) < 2:
            continue
        places = [[fits[kind].models.index(name) for name in common] for kind in (one, other)]
        strengths = [fits[kind].strengths[place]
                     for kind, place in zip((one, other), places, strict=True)]  # fmt: skip
        replicates = [
            (drawn[one][:, places[0]], drawn[other][:, places[1]])
            for drawn in (by_item, by_judge)
            if drawn
        ]
        members = np.flatnonzero(np.isin(table.judge_kind, (one, other)))
        sizes = (len(np.unique(table.item)), resampling.count_judges(members))
        estimates = [
            _measure(measure, strengths, replicates, sizes, resampling)
            for measure in (kendall_tau, spearman_rho, weighted_tau)
        ]
        names = (table.kinds[one], table.kinds[other])
        found.append(BoardAgreement(*names, len(common), *estimates))
    return boards, tuple(found)


def _fit(mine: Judgements, prior: Prior) -> BradleyTerryFit:
    seen = np.unique(np.concatenate([mine.first, mine.second]))
    number = np.zeros(len(mine.models), dtype=np.int32)
    number[seen] = np.arange(len(seen))
    names = tuple(mine.models[code] for code in seen)
    counts = Comparisons.from_codes(names, number[mine.first], number[mine.second], mine.verdict)
    return fit_bradley_terry(counts, prior=find_prior(prior, counts))


def _list_board(kind: str, fit: BradleyTerryFit) -> KindBoard:
    order = np.argsort(-fit.strengths, kind="stable")
    games, won = fit.pairs.games.sum(axis=1)[order], fit.pairs.wins.sum(axis=1)[order]
    return KindBoard(
        kind=kind,
        models=tuple(fit.models[i] for i in order),
        strengths=tuple(fit.strengths[order].tolist()),
        win_rates=tuple((won / games).tolist()),
        battles=tuple(games.astype(int).tolist()),
    )


def _resample(
    table: Judgements,
    fits: dict[int, BradleyTerryFit],
    resampling: ClusteredResampling,
    by: Cluster,
) -> dict[int, Floats]:
    """Strengths of each kind in each replicate, the same items for all kinds.

    Empty where judges are asked for and all kinds have few of them.
    """
    if by == "judge" and not resampling.are_many.any():
        return {}
    clusters = len(table.items) if by == "item" else len(table.judges)
    code = table.item if by == "item" else table.judge
    terms = {kind: _count_wins(table, kind, fit, code, clusters) for kind, fit in fits.items()}
    solvers = {kind: ChordSolver(fit.strengths, fit.covariance(), fit.prior)
               for kind, fit in fits.items()}  # fmt: skip
    counts = resampling.item_counts if by == "item" else resampling.judge_counts
    drawn: dict[int, list[Floats]] = {kind: [] for kind in fits}
    for start in range(0, resampling.replicates, _CHUNK):
        weights = counts[start : start + _CHUNK].astype(float)
        for kind, fit in fits.items():
            size = len(fit.models)
            wins = np.asarray(terms[kind] @ weights.T).T.reshape(-1, size, size)
            drawn[kind].append(solvers[kind].solve(np.ascontiguousarray(wins)))
    return {kind: np.concatenate(parts) for kind, parts in drawn.items()}


def _count_wins(
    table: Judgements,
    kind: int,
    fit: BradleyTerryFit,
    cluster: NDArray[np.intp],
    clusters: int,
) -> csr_array:
    """Wins of the row over the column by cluster, shape (models², clusters)."""
    from scipy.sparse import csr_array

    mine = table.kind == kind
    place = np.array([fit.models.index(n) if n in fit.models else -1 for n in table.models])
    size = len(fit.models)
    first, second = place[table.first[mine]], place[table.second[mine]]
    won = np.array([1.0, 0.0, 0.5, 0.5])[table.verdict[mine]]
    cell = np.concatenate([first * size + second, second * size + first])
    share = np.concatenate([won, 1 - won])
    columns = np.concatenate([cluster[mine]] * 2)
    return csr_array((share, (cell, columns)), shape=(size**2, clusters))


def _measure(
    measure: Measure,
    strengths: list[Floats],
    drawn: list[tuple[Floats, Floats]],
    sizes: tuple[int, int],
    resampling: ClusteredResampling,
) -> Estimate:
    found = float(measure(strengths[0][None, :], strengths[1][None, :])[0])
    known = found if np.isfinite(found) else None
    kinds: tuple[Cluster, ...] = ("item", "judge")
    estimates = [
        resampling.estimate(known, measure(*pair), by, clusters)
        for pair, by, clusters in zip(drawn, kinds, sizes, strict=False)
    ]
    return widest(estimates)


def kendall_tau(one: Floats, other: Floats) -> Floats:
    """Kendall's τ-b of each row, shape (rows,), from strengths of shape (rows, models)."""
    return _correlate_signs(one, other, np.ones((1, 1, 1)))


def spearman_rho(one: Floats, other: Floats) -> Floats:
    """Spearman's ρ of each row: the correlation of ranks, ties at their mean rank."""
    ranks = [_compare(x).sum(axis=2) for x in (one, other)]
    return _cosine(*ranks)


def weighted_tau(one: Floats, other: Floats) -> Floats:
    """Vigna's additive hyperbolic τ of each row, mean over the ranks by either side."""
    by_side = []
    for first, second in ((one, other), (other, one)):
        # Ranks from 0, strongest first; equal ones in the order of the other side.
        order = np.lexsort((-second, -first), axis=1)
        weight = np.empty_like(first)
        np.put_along_axis(weight, order, 1.0 / np.arange(1, first.shape[1] + 1)[None, :], axis=1)
        by_side.append(_correlate_signs(one, other, weight[:, :, None] + weight[:, None, :]))
    return np.asarray(np.mean(by_side, axis=0))


def _compare(x: Floats) -> Floats:
    """Sign of the row model's strength minus the column model's, (rows, models, models)."""
    return np.asarray(np.sign(x[:, :, None] - x[:, None, :]))


def _correlate_signs(one: Floats, other: Floats, weight: Floats) -> Floats:
    rows = len(one)
    scaled = np.sqrt(weight)
    return _cosine(*((_compare(x) * scaled).reshape(rows, -1) for x in (one, other)))


def _cosine(a: Floats, b: Floats) -> Floats:
    """Of each two rows; NaN where one of them is 0."""
    length = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.asarray(
        np.divide((a * b).sum(axis=1), length, out=np.full(len(a), np.nan), where=length > 0)
    )
