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

from ranking.agreement_intervals import Cluster, ClusteredResampling, Estimate, widest
from ranking.bradley_terry import DEFAULT_PRIOR, BradleyTerryFit, fit_bradley_terry
from ranking.chord import ChordSolver
from ranking.comparisons import Comparisons
from ranking.sampling import MultinomialSampler
from ranking.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from ranking.judgements import Judgements

    Floats = NDArray[np.float64]
    Measure = Callable[[Floats, Floats], float]

__all__ = ["BoardAgreement", "KindBoard", "compare_boards"]

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
    table: Judgements, resampling: ClusteredResampling, *, prior: float | None = DEFAULT_PRIOR
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
        estimates = [
            _measure(measure, fits[one].strengths[places[0]], fits[other].strengths[places[1]],
                     [(drawn[one][:, places[0]], drawn[other][:, places[1]])
                      for drawn in (by_item, by_judge) if drawn], resampling)
            for measure in (_kendall, _spearman, _weighted)
        ]  # fmt: skip
        names = (table.kinds[one], table.kinds[other])
        found.append(BoardAgreement(*names, len(common), *estimates))
    return boards, tuple(found)


def _fit(mine: Judgements, prior: float | None) -> BradleyTerryFit:
    seen = np.unique(np.concatenate([mine.first, mine.second]))
    number = np.zeros(len(mine.models), dtype=np.int32)
    number[seen] = np.arange(len(seen))
    names = tuple(mine.models[code] for code in seen)
    counts = Comparisons.from_codes(names, number[mine.first], number[mine.second], mine.verdict)
    return fit_bradley_terry(counts, prior=prior)


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
    sampler = MultinomialSampler(np.ones(clusters, dtype=np.int64))
    rng = np.random.default_rng([resampling.seed, 0])
    drawn: dict[int, list[Floats]] = {kind: [] for kind in fits}
    for start in range(0, resampling.replicates, _CHUNK):
        stop = min(start + _CHUNK, resampling.replicates)
        weights = (
            sampler.draw(stop - start, rng) if by == "item" else resampling.judge_counts[start:stop]
        ).astype(float)
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
    one: Floats,
    other: Floats,
    drawn: list[tuple[Floats, Floats]],
    resampling: ClusteredResampling,
) -> Estimate:
    value = measure(one, other)
    known = value if np.isfinite(value) else None
    clusters: tuple[Cluster, ...] = ("item", "judge")
    estimates = [
        resampling.estimate(
            known, np.array([measure(a, b) for a, b in zip(*pair, strict=True)]), by
        )
        for pair, by in zip(drawn, clusters, strict=False)
    ]
    return widest(estimates)


def _kendall(one: Floats, other: Floats) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(one, other).statistic)


def _spearman(one: Floats, other: Floats) -> float:
    from scipy.stats import rankdata

    ranks = rankdata(one), rankdata(other)
    if min(np.ptp(ranks[0]), np.ptp(ranks[1])) == 0:
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])


def _weighted(one: Floats, other: Floats) -> float:
    from scipy.stats import weightedtau

    return float(weightedtau(one, other).statistic)
