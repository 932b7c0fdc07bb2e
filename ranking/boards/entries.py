"""The lines, pair tables and diagnostics of a leaderboard."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.boards.ranks import compute_rank_ranges, compute_ranks, find_indistinct_groups
from ranking.errors import RankingError
from ranking.fits.bradley_terry import BradleyTerryFit
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ranking.fits.components import Components
    from ranking.fits.paired import PairedFit
    from ranking.intervals.result import Intervals
    from ranking.votes.comparisons import Comparisons

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Entry:
    """One model's line.

    Attributes:
        model: Name.
        strength: ξ, natural log-odds, centred over the models of its island that the votes
            hold (those not provisional, or all where every one is).
        score: 1000 + 400·ξ/ln 10, or shifted to an anchor.
        lower: Lower end of the score's interval.
        upper: Upper end of the score's interval.
        simultaneous_lower: Lower end of the interval that holds for all models at once.
        simultaneous_upper: Upper end of the interval that holds for all models at once.
        rank: 1 + number of models of the same island with a greater strength.
        rank_lower: Best rank in its island that the simultaneous intervals leave open.
        rank_upper: Worst rank in its island that the simultaneous intervals leave open.
        rank_published: 1 + number of models of the island whose own interval lies wholly above (the
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
        island: Number of the island, from 0; models of different islands are never ordered.
        island_label: What readers see of it: A, B, …
        island_size: How many models it has.
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
    island_label: str
    island_size: int


def label_island(number: int) -> str:
    """A, B, …, Z, AA, AB, … of an island counted from 0."""
    label = ""
    while number >= 0:
        label = chr(ord("A") + number % 26) + label
        number = number // 26 - 1
    return label


def describe_rank(entry: Entry, entries: Sequence[Entry]) -> str:
    """The rank, and where entries are of several islands among whom: "2 of 5 (group B)"."""
    if not any(other.island for other in entries):
        return str(entry.rank)
    return f"{entry.rank} of {entry.island_size} (group {entry.island_label})"


def order_models(fit: BradleyTerryFit | PairedFit) -> list[int]:
    """Model indices by island, then strength, then name."""
    rounded = _round(fit.placed)
    islands = fit.components.island
    return sorted(range(len(fit.models)), key=lambda i: (islands[i], -rounded[i], fit.models[i]))


def build_entries(
    comparisons: Comparisons,
    fit: BradleyTerryFit | PairedFit,
    spread: Intervals,
    *,
    centre: Floats,
) -> list[Entry]:
    """A line for each model, in the order of `fit.models`; `centre` has its score of ξ = 0."""
    islands, strengths = fit.components.island, fit.placed
    ranks = compute_ranks(_round(strengths), islands=islands)
    best, worst = compute_rank_ranges(
        spread.simultaneous_lower, spread.simultaneous_upper, islands=islands
    )
    published, _ = compute_rank_ranges(spread.lower, spread.upper, islands=islands)
    tables = _count_outcomes(comparisons)
    scores = {
        name: (centre + POINTS_PER_LOG_ODDS * column).tolist()
        for name, column in {
            "score": strengths,
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
                strength=float(strengths[i]),
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
                island_label=label_island(int(islands[i])),
                island_size=int(fit.components.sizes[islands[i]]),
            )
        )
    return entries


def find_centres(fit: BradleyTerryFit | PairedFit, anchor: tuple[str, float] | None) -> Floats:
    """The score of ξ = 0 for each model: an anchor shifts its own island.

    Raises:
        RankingError: The anchor is not among the models.
    """
    centres = np.full(len(fit.models), SCORE_CENTRE)
    if anchor is None:
        return centres
    name, score = anchor
    if name not in fit.models:
        raise RankingError(f"the anchor {name!r} is not among the {len(fit.models)} models")
    at, island = fit.models.index(name), fit.components.island
    centre = score - POINTS_PER_LOG_ODDS * float(fit.placed[at])
    return np.where(island == island[at], centre, centres)


def read_entries(lines: Sequence[dict[str, Any]]) -> tuple[Entry, ...]:
    """Entries from plain dictionaries; unknown keys are ignored."""
    known = {f.name for f in fields(Entry)}
    sizes = Counter(line["island"] for line in lines)
    return tuple(
        Entry(
            **{
                # Boards written before islands had labels.
                "island_label": label_island(line["island"]),
                "island_size": sizes[line["island"]],
                **{key: value for key, value in line.items() if key in known},
            }
        )
        for line in lines
    )


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
        spread.simultaneous_lower, spread.simultaneous_upper, islands=fit.components.island
    )
    return {
        "votes": votes,
        "effective_votes": round(fit.pairs.total)
        if isinstance(fit, BradleyTerryFit)
        else fit.rows.effective_votes,
        "models": len(fit.models),
        "islands": fit.components.islands,
        "one_sided": list_one_sided(comparisons, fit.components),
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


def list_one_sided(comparisons: Comparisons, components: Components) -> list[dict[str, Any]]:
    """Pairs of islands that met: which one won every game, and how many there were."""
    label, size = components.island, components.islands
    first, second = label[comparisons.model_a], label[comparisons.model_b]
    apart = (first != second) & (comparisons.outcome <= MODEL_B)
    won = comparisons.outcome[apart] == MODEL_A
    first, second = first[apart], second[apart]
    above, below = np.where(won, first, second), np.where(won, second, first)
    key, place = np.unique(above.astype(np.intp) * size + below, return_inverse=True)
    games = np.bincount(place, weights=comparisons.count[apart], minlength=len(key))
    return [
        {
            "winner": label_island(int(pair) // size),
            "loser": label_island(int(pair) % size),
            "games": int(count),
        }
        for pair, count in zip(key, games, strict=True)
    ]


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
