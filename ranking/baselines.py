"""Older ways to score models, for comparison only.

None of them is an estimate of strength with an interval: win rates and counts depend on
whom a model met, Elo also on the order of the votes, and the two centralities on how
often a model was drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.fits.bradley_terry import PairCounts, fit_bradley_terry
from ranking.votes.comparisons import Comparisons
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, BothBad, check_both_bad
from ranking.votes.inputs import VotesLike, take_counts, take_single_votes, take_votes

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def compare_baselines(votes: VotesLike, *, both_bad: BothBad = "tie") -> pd.DataFrame:
    """Every one of these scores beside the strengths of Bradley and Terry, strongest first.

    Args:
        votes: A table, single votes, counts, or a file as read. Counts have no order, and so
            no Elo.
        both_bad: "tie" counts both-bad votes as ties, "keep" and "drop" leave them out.
    """
    import pandas as pd

    cast = take_votes(votes)
    counts = cast if isinstance(cast, Comparisons) else cast.count()
    columns = {
        "strength": fit_bradley_terry(counts, both_bad=both_bad).strengths,
        "wins": count_wins(counts, both_bad=both_bad),
        "average_win_rate": average_win_rates(counts, both_bad=both_bad),
        "pagerank": score_by_pagerank(counts, both_bad=both_bad),
        "eigenvector": score_by_eigenvector(counts, both_bad=both_bad),
    }
    if not isinstance(cast, Comparisons):
        columns["elo"] = rate_elo(cast, both_bad=both_bad)
    index = pd.Index(counts.models, name="model")
    return pd.DataFrame(columns, index=index).sort_values("strength", ascending=False)


def count_wins(votes: VotesLike, *, both_bad: BothBad = "tie") -> Floats:
    """Battles won, ties as halves, shape (models,)."""
    return np.asarray(_count(votes, both_bad).wins.sum(axis=1))


def average_win_rates(votes: VotesLike, *, both_bad: BothBad = "tie") -> Floats:
    """Mean over the opponents met of the share won, ties as halves, shape (models,).

    NaN for a model that met nobody.
    """
    pairs = _count(votes, both_bad)
    met = pairs.games > 0
    rate = np.divide(pairs.wins, pairs.games, out=np.zeros_like(pairs.wins), where=met)
    opponents = met.sum(axis=1)
    mean = np.full(len(rate), np.nan)
    np.divide(rate.sum(axis=1), opponents, out=mean, where=opponents > 0)
    return mean


def rate_elo(
    votes: VotesLike, *, k: float = 4.0, initial: float = 1000.0, both_bad: BothBad = "tie"
) -> Floats:
    """Online Elo ratings after the votes in their order, shape (models,)."""
    cast = take_single_votes(votes, "Elo, which depends on the order of the votes,")
    ratings = [initial] * len(cast.models)
    columns = (cast.model_a.tolist(), cast.model_b.tolist(), cast.outcome.tolist())
    for a, b, outcome in zip(*columns, strict=True):
        if outcome == BOTH_BAD and not check_both_bad(both_bad):
            continue
        expected = 1.0 / (1.0 + 10.0 ** ((ratings[b] - ratings[a]) / 400.0))
        credit = 1.0 if outcome == MODEL_A else 0.0 if outcome == MODEL_B else 0.5
        ratings[a] += k * (credit - expected)
        ratings[b] -= k * (credit - expected)
    return np.array(ratings)


def score_by_pagerank(
    votes: VotesLike, *, damping: float = 0.85, both_bad: BothBad = "tie"
) -> Floats:
    """PageRank of the graph in which a loser points to its winners, sum 1."""
    wins = _count(votes, both_bad).wins
    lost = wins.sum(axis=0)
    size = len(wins)
    # A model that never lost points to all alike.
    flow = np.divide(wins, lost, out=np.full_like(wins, 1.0 / size), where=lost > 0)
    google = damping * flow + (1.0 - damping) / size
    score = np.full(size, 1.0 / size)
    for _ in range(1000):
        score, before = google @ score, score
        if np.abs(score - before).sum() < 1e-15:
            break
    return np.asarray(score / score.sum())


def score_by_eigenvector(votes: VotesLike, *, both_bad: BothBad = "tie") -> Floats:
    """Leading eigenvector of the matrix of losses of row to column, length 1.

    So do published tables define it: a model scores by losing to models that score, which
    makes it a measure of how often a model was drawn rather than of strength.
    """
    wins = _count(votes, both_bad).wins
    values, vectors = np.linalg.eig(wins.T)
    leading = np.abs(vectors[:, np.argmax(values.real)].real)
    return np.asarray(leading / np.linalg.norm(leading))


def _count(votes: VotesLike, both_bad: BothBad) -> PairCounts:
    return PairCounts.from_comparisons(take_counts(votes), both_bad=both_bad)
