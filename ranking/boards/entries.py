"""The lines, pair tables and diagnostics of a leaderboard."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.boards.ranks import compute_rank_ranges, compute_ranks, find_indistinct_groups
from ranking.fits.bradley_terry import BradleyTerryFit
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ranking.fits.paired import PairedFit
    from ranking.intervals.result import Intervals
    from ranking.votes.comparisons import Comparisons

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Entry:
    """One model's line.

    Attributes:
        model: Name.
        strength: ξ, natural log-odds, centred over all models.
        score: 1000 + 400·ξ/ln 10, or shifted to an anchor.
        lower: Lower end of the score's interval.
        upper: Upper end of the score's interval.
        simultaneous_lower: Lower end of the interval that holds for all models at once.
        simultaneous_upper: Upper end of the interval that holds for all models at once.
        rank: 1 + number of models (of the same island) with a greater strength.
        rank_lower: Best rank the simultaneous intervals leave open.
        rank_upper: Worst rank the simultaneous intervals leave open.
        rank_published: 1 + number of models whose own interval lies wholly above (the
            "rank (UB)" of published leaderboards).
        votes: Battles.
        wins: Battles won.
        losses: Battles lost.
        ties: Battles tied, both-bad not among them.
        both_bad: Battles in which both answers were called bad.
        win_rate: (wins + ½ ties) / battles without both-bad; None without such battles.
        both_bad_rate: both_bad / votes; None without votes, or where both-bad are dropped.
        standard_error: Of the score, points.
        provisional: True where only the prior keeps the strength finite.
        island: Number of the island; models of different islands are never ordered.
    """

    model: str
    strength: float
    score: float
    lower: float
    upper: float
    simultaneous_lower: float
    simultaneous_upper: float
    rank: int
    rank_lower: int
    rank_upper: int
    rank_published: int
    votes: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    both_bad_rate: float | None
    standard_error: float
    provisional: bool
    island: int


def order_models(fit: BradleyTerryFit | PairedFit) -> list[int]:
    """Model indices by island, then strength, then name."""
    rounded = _round(fit.strengths)
    islands = fit.components.weak
    return sorted(range(len(fit.models)), key=lambda i: (islands[i], -rounded[i], fit.models[i]))


def build_entries(
    comparisons: Comparisons,
    fit: BradleyTerryFit | PairedFit,
    spread: Intervals,
    *,
    centre: float = SCORE_CENTRE,
) -> list[Entry]:
    """A line for each model, in the order of `fit.models`; `centre` is the score of ξ = 0."""
    islands = fit.components.weak
    ranks = compute_ranks(_round(fit.strengths), islands=islands)
    best, worst = compute_rank_ranges(
        spread.simultaneous_lower, spread.simultaneous_upper, islands=islands
    )
    published, _ = compute_rank_ranges(spread.lower, spread.upper, islands=islands)
    tables = _count_outcomes(comparisons)
    scores = {
        name: (centre + POINTS_PER_LOG_ODDS * column).tolist()
        for name, column in {
            "score": fit.strengths,
            "lower": spread.lower,
            "upper": spread.upper,
            "simultaneous_lower": spread.simultaneous_lower,
            "simultaneous_upper": spread.simultaneous_upper,
        }.items()
    }
    entries = []
    for i, name in enumerate(fit.models):
        counts = {key: int(column[i]) for key, column in tables.items()}
        decided = counts["wins"] + counts["losses"] + counts["ties"]
        votes = decided + counts["both_bad"]
        entries.append(
            Entry(
                model=name,
                strength=float(fit.strengths[i]),
                **{key: column[i] for key, column in scores.items()},
                rank=int(ranks[i]),
                rank_lower=int(best[i]),
                rank_upper=int(worst[i]),
                rank_published=int(published[i]),
                votes=votes,
                **counts,
                win_rate=(counts["wins"] + 0.5 * counts["ties"]) / decided if decided else None,
                both_bad_rate=counts["both_bad"] / votes if votes else None,
                standard_error=POINTS_PER_LOG_ODDS * float(spread.standard_error[i]),
                provisional=bool(fit.components.provisional[i]),
                island=int(islands[i]),
            )
        )
    return entries


def build_pair_tables(
    comparisons: Comparisons, order: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[float | None, ...], ...]]:
    """Battles and win rates of each pair; both-bad votes are battles, but decide nothing."""
    counts = comparisons.outcome_counts
    halves = 0.5 * (counts[TIE] + counts[TIE].T)
    wins = (counts[MODEL_A] + counts[MODEL_B].T + halves)[np.ix_(order, order)]
    decided = wins + wins.T
    met = counts.sum(axis=0)
    battles = (met + met.T)[np.ix_(order, order)]
    rates = np.full(wins.shape, np.nan)
    np.divide(wins, decided, out=rates, where=decided > 0)
    return (
        tuple(tuple(row) for row in battles.tolist()),
        tuple(tuple(None if math.isnan(r) else r for r in row) for row in rates.tolist()),
    )


def diagnose(
    comparisons: Comparisons, fit: BradleyTerryFit | PairedFit, spread: Intervals
) -> dict[str, Any]:
    """What a reader should know before believing the ranks."""
    by_outcome = np.bincount(comparisons.outcome, weights=comparisons.count, minlength=4)
    votes = comparisons.votes
    decisive = by_outcome[MODEL_A] + by_outcome[MODEL_B]
    met = comparisons.outcome_counts.sum(axis=0)
    per_pair = (met + met.T)[np.triu_indices(len(fit.models), 1)]
    names = np.array(fit.models, dtype=object)
    groups = find_indistinct_groups(
        spread.simultaneous_lower, spread.simultaneous_upper, islands=fit.components.weak
    )
    return {
        "votes": votes,
        "effective_votes": round(fit.pairs.total)
        if isinstance(fit, BradleyTerryFit)
        else fit.rows.effective_votes,
        "models": len(fit.models),
        "islands": int(fit.components.weak.max()) + 1,
        "strong_components": int(fit.components.strong.max()) + 1,
        "provisional": names[fit.components.provisional].tolist(),
        "widened": names[spread.widened].tolist(),
        "indistinct_groups": [names[list(group)].tolist() for group in groups],
        "pairs": len(per_pair),
        "pairs_met": int((per_pair > 0).sum()),
        "median_votes_per_pair_met": float(np.median(per_pair[per_pair > 0])),
        "least_votes_per_model": int((met + met.T).sum(axis=1).min()),
        "left_win_rate": float(by_outcome[MODEL_A] / decisive) if decisive else None,
        "tie_rate": float(by_outcome[TIE] / votes),
        "both_bad_rate": float(by_outcome[BOTH_BAD] / votes),
        "log_likelihood": fit.log_likelihood,
        "newton_steps": fit.steps,
    }


def _count_outcomes(comparisons: Comparisons) -> dict[str, NDArray[np.int64]]:
    counts = comparisons.outcome_counts
    return {
        "wins": counts[MODEL_A].sum(axis=1) + counts[MODEL_B].sum(axis=0),
        "losses": counts[MODEL_A].sum(axis=0) + counts[MODEL_B].sum(axis=1),
        "ties": counts[TIE].sum(axis=0) + counts[TIE].sum(axis=1),
        "both_bad": counts[BOTH_BAD].sum(axis=0) + counts[BOTH_BAD].sum(axis=1),
    }


def _round(strengths: Floats) -> Floats:
    """Drop digits below the fit's tolerance, so that equal records are equal ranks."""
    return np.asarray(np.round(strengths, 9))
