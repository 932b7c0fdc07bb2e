"""Older ways to score models, for comparison only.

None of them is an estimate of strength with an interval: win rates and counts depend on
whom a model met, Elo also on the order of the votes, and the two centralities on how
often a model was drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.fits.bradley_terry import PairCounts
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, BothBad, check_both_bad

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.votes.comparisons import Comparisons
    from ranking.votes.votes import Votes

    Floats = NDArray[np.float64]


def count_wins(comparisons: Comparisons, *, both_bad: BothBad = "tie") -> Floats:
    """Battles won, ties as halves, shape (models,)."""
    return np.asarray(PairCounts.from_comparisons(comparisons, both_bad=both_bad).wins.sum(axis=1))


def average_win_rates(comparisons: Comparisons, *, both_bad: BothBad = "tie") -> Floats:
    """Mean over the opponents met of the share won, ties as halves, shape (models,).

    NaN for a model that met nobody.
    """
    pairs = PairCounts.from_comparisons(comparisons, both_bad=both_bad)
    met = pairs.games > 0
    rate = np.divide(pairs.wins, pairs.games, out=np.zeros_like(pairs.wins), where=met)
    opponents = met.sum(axis=1)
    mean = np.full(len(rate), np.nan)
    np.divide(rate.sum(axis=1), opponents, out=mean, where=opponents > 0)
    return mean


def rate_elo(
    votes: Votes, *, k: float = 4.0, initial: float = 1000.0, both_bad: BothBad = "tie"
) -> Floats:
    """Online Elo ratings after the votes in their order, shape (models,)."""
    ratings = [initial] * len(votes.models)
    columns = (votes.model_a.tolist(), votes.model_b.tolist(), votes.outcome.tolist())
    for a, b, outcome in zip(*columns, strict=True):
        if outcome == BOTH_BAD and not check_both_bad(both_bad):
            continue
        expected = 1.0 / (1.0 + 10.0 ** ((ratings[b] - ratings[a]) / 400.0))
        credit = 1.0 if outcome == MODEL_A else 0.0 if outcome == MODEL_B else 0.5
        ratings[a] += k * (credit - expected)
        ratings[b] -= k * (credit - expected)
    return np.array(ratings)


def score_by_pagerank(
    comparisons: Comparisons, *, damping: float = 0.85, both_bad: BothBad = "tie"
) -> Floats:
    """PageRank of the graph in which a loser points to its winners, sum 1."""
    wins = PairCounts.from_comparisons(comparisons, both_bad=both_bad).wins
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


def score_by_eigenvector(comparisons: Comparisons, *, both_bad: BothBad = "tie") -> Floats:
    """Leading eigenvector of the matrix of losses of row to column, length 1.

    So do published tables define it: a model scores by losing to models that score, which
    makes it a measure of how often a model was drawn rather than of strength.
    """
    wins = PairCounts.from_comparisons(comparisons, both_bad=both_bad).wins
    values, vectors = np.linalg.eig(wins.T)
    leading = np.abs(vectors[:, np.argmax(values.real)].real)
    return np.asarray(leading / np.linalg.norm(leading))
