"""Everything a leaderboard shows, in one frozen result that survives JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranking.bradley_terry import (
    DEFAULT_PRIOR,
    BothBad,
    BradleyTerryFit,
    fit_bradley_terry,
)
from ranking.comparisons import BOTH_BAD, MODEL_A, MODEL_B, TIE, Comparisons
from ranking.errors import RankingError
from ranking.intervals import Intervals, bootstrap_intervals, sandwich_intervals
from ranking.ranks import compute_rank_ranges, compute_ranks
from ranking.threads import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

IntervalKind = Literal["bootstrap", "sandwich"]

SCORE_CENTRE = 1000.0
POINTS_PER_LOG_ODDS = 400.0 / math.log(10.0)


@dataclass(frozen=True)
class Entry:
    """One model's line.

    Attributes:
        model: Name.
        strength: ξ, natural log-odds, centred over all models.
        score: 1000 + 400·ξ/ln 10, or shifted to an anchor.
        lower: Lower end of the score's interval.
        upper: Upper end of the score's interval.
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
        both_bad_rate: both_bad / votes; None without votes.
        standard_error: Of the score, points.
        provisional: True where only the prior keeps the strength finite.
        island: Number of the island; models of different islands are never ordered.
    """

    model: str
    strength: float
    score: float
    lower: float
    upper: float
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


@dataclass(frozen=True)
class Leaderboard:
    """A ranking with its method and diagnostics.

    Attributes:
        entries: Best first (by island, then strength, then name).
        battles: Battles per pair, symmetric, in the order of `entries`.
        win_rates: Share of battles won by the row over the column, ties as halves and
            both-bad left out; None where the two never met.
        method: Everything needed to compute it again from the same votes.
        diagnostics: Islands, provisional models, votes a pair, side and tie rates.
    """

    entries: tuple[Entry, ...]
    battles: tuple[tuple[int, ...], ...]
    win_rates: tuple[tuple[float | None, ...], ...]
    method: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Names, best first."""
        return tuple(entry.model for entry in self.entries)

    def entry(self, model: str) -> Entry:
        """The line of one model.

        Raises:
            KeyError: The model is not on the board.
        """
        for entry in self.entries:
            if entry.model == model:
                return entry
        raise KeyError(model)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` gives the same leaderboard back."""
        return {
            "models": [asdict(entry) for entry in self.entries],
            "battles": [list(row) for row in self.battles],
            "win_rates": [list(row) for row in self.win_rates],
            "method": self.method,
            "diagnostics": self.diagnostics,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Leaderboard:
        """Read what `to_dict` wrote; unknown keys of an entry are ignored."""
        known = {f.name for f in fields(Entry)}
        return cls(
            entries=tuple(
                Entry(**{key: value for key, value in line.items() if key in known})
                for line in data["models"]
            ),
            battles=tuple(tuple(row) for row in data["battles"]),
            win_rates=tuple(tuple(row) for row in data["win_rates"]),
            method=dict(data["method"]),
            diagnostics=dict(data["diagnostics"]),
        )


@one_blas_thread
def compute_leaderboard(
    comparisons: Comparisons,
    *,
    interval: IntervalKind = "bootstrap",
    replicates: int = 1000,
    level: float = 0.95,
    prior: float | None = DEFAULT_PRIOR,
    both_bad: BothBad = "tie",
    seed: int = 0,
    anchor: tuple[str, float] | None = None,
    threads: int | None = None,
) -> Leaderboard:
    """Fit, intervals, ranks and counts of one set of votes.

    Args:
        comparisons: The votes.
        interval: "bootstrap" (percentile, battles resampled) or "sandwich".
        replicates: Of the bootstrap.
        level: Confidence level of every interval.
        prior: Standard deviation of the Gaussian prior (log-odds); None for none.
        both_bad: "tie" counts both-bad votes as ties, "drop" leaves them out of strengths.
        seed: The same seed gives the same board.
        anchor: A model and the score to show it at. It shifts what is shown, not the
            intervals, which remain those of the centred strengths.
        threads: Threads of the bootstrap; all cores by default.

    Raises:
        RankingError: An option is unusable, or the anchor is not among the models.
        NoMaximum: Without a prior, the votes do not tie all models together.
    """
    fit = fit_bradley_terry(comparisons, prior=prior, both_bad=both_bad)
    if interval == "bootstrap":
        spread = bootstrap_intervals(
            comparisons, fit, replicates=replicates, level=level, both_bad=both_bad, seed=seed,
            threads=threads,
        )  # fmt: skip
    elif interval == "sandwich":
        spread = sandwich_intervals(comparisons, fit, level=level, both_bad=both_bad, seed=seed)
    else:
        raise RankingError(f"interval must be 'bootstrap' or 'sandwich', not {interval!r}")
    method = {
        "model": "bradley-terry",
        "interval": interval,
        "replicates": replicates if interval == "bootstrap" else None,
        "level": level,
        "prior": prior,
        "both_bad": both_bad,
        "seed": seed,
        "anchor": list(anchor) if anchor else None,
        "simultaneous_multiplier": spread.multiplier,
    }
    return assemble(comparisons, fit, spread, method, anchor=anchor)


def assemble(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    spread: Intervals,
    method: dict[str, Any],
    *,
    anchor: tuple[str, float] | None = None,
) -> Leaderboard:
    """Put a fit and its intervals on a board."""
    islands = fit.components.weak
    rounded = _round(fit.strengths)
    order = sorted(range(len(fit.models)), key=lambda i: (islands[i], -rounded[i], fit.models[i]))
    lines = _build_entries(comparisons, fit, spread, _find_centre(fit, anchor))
    battles, rates = _pair_tables(comparisons, order)
    return Leaderboard(
        entries=tuple(lines[i] for i in order),
        battles=battles,
        win_rates=rates,
        method=method,
        diagnostics=_diagnose(comparisons, fit, spread),
    )


def _round(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop digits below the fit's tolerance, so that equal records are equal ranks."""
    return np.asarray(np.round(strengths, 9))


def _find_centre(fit: BradleyTerryFit, anchor: tuple[str, float] | None) -> float:
    if anchor is None:
        return SCORE_CENTRE
    name, score = anchor
    if name not in fit.models:
        raise RankingError(f"the anchor {name!r} is not among the {len(fit.models)} models")
    return score - POINTS_PER_LOG_ODDS * float(fit.strengths[fit.models.index(name)])


def _count_tables(comparisons: Comparisons) -> dict[str, NDArray[np.int64]]:
    counts = comparisons.outcome_counts
    return {
        "wins": counts[MODEL_A].sum(axis=1) + counts[MODEL_B].sum(axis=0),
        "losses": counts[MODEL_A].sum(axis=0) + counts[MODEL_B].sum(axis=1),
        "ties": counts[TIE].sum(axis=0) + counts[TIE].sum(axis=1),
        "both_bad": counts[BOTH_BAD].sum(axis=0) + counts[BOTH_BAD].sum(axis=1),
    }


def _build_entries(
    comparisons: Comparisons, fit: BradleyTerryFit, spread: Intervals, centre: float
) -> list[Entry]:
    islands = fit.components.weak
    ranks = compute_ranks(_round(fit.strengths), islands=islands)
    best, worst = compute_rank_ranges(
        spread.simultaneous_lower, spread.simultaneous_upper, islands=islands
    )
    published, _ = compute_rank_ranges(spread.lower, spread.upper, islands=islands)
    tables = _count_tables(comparisons)
    entries = []
    for i, name in enumerate(fit.models):
        counts = {key: int(column[i]) for key, column in tables.items()}
        decided = counts["wins"] + counts["losses"] + counts["ties"]
        votes = decided + counts["both_bad"]
        entries.append(
            Entry(
                model=name,
                strength=float(fit.strengths[i]),
                score=centre + POINTS_PER_LOG_ODDS * float(fit.strengths[i]),
                lower=centre + POINTS_PER_LOG_ODDS * float(spread.lower[i]),
                upper=centre + POINTS_PER_LOG_ODDS * float(spread.upper[i]),
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


def _pair_tables(
    comparisons: Comparisons, order: list[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[float | None, ...], ...]]:
    counts = comparisons.outcome_counts
    halves = 0.5 * (counts[TIE] + counts[TIE].T)
    wins = (counts[MODEL_A] + counts[MODEL_B].T + halves)[np.ix_(order, order)]
    decided = wins + wins.T
    both = counts.sum(axis=0)
    battles = (both + both.T)[np.ix_(order, order)]
    rates = np.full(wins.shape, np.nan)
    np.divide(wins, decided, out=rates, where=decided > 0)
    return (
        tuple(tuple(row) for row in battles.tolist()),
        tuple(tuple(None if r != r else r for r in row) for row in rates.tolist()),
    )


def _diagnose(
    comparisons: Comparisons,
    fit: BradleyTerryFit,
    spread: Intervals,
) -> dict[str, Any]:
    by_outcome = np.bincount(comparisons.outcome, weights=comparisons.count, minlength=4)
    votes = comparisons.votes
    decisive = by_outcome[MODEL_A] + by_outcome[MODEL_B]
    met = comparisons.outcome_counts.sum(axis=0)
    per_pair = (met + met.T)[np.triu_indices(len(fit.models), 1)]
    names = np.array(fit.models, dtype=object)
    return {
        "votes": votes,
        "models": len(fit.models),
        "islands": int(fit.components.weak.max()) + 1,
        "strong_components": int(fit.components.strong.max()) + 1,
        "provisional": names[fit.components.provisional].tolist(),
        "widened": names[spread.widened].tolist(),
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
