"""Which votes move the difference of two strengths, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranking.fits.bradley_terry import PairCounts, hessian, invert_centred, win_probabilities
from ranking.votes.comparisons import BOTH_BAD, MODEL_A, MODEL_B, TIE
from ranking.votes.encoding import BothBad, check_both_bad

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.votes.comparisons import Comparisons

    Floats = NDArray[np.float64]

__all__ = ["Change", "Curve", "Record", "Slopes", "Step"]

Change = Literal["drop", "flip", "add", "battles"]


@dataclass(frozen=True, eq=False)
class Record:
    """Votes as they may be changed.

    Attributes:
        wins: Decisive votes of the row over the column.
        ties: Of each pair, symmetric.
        elsewhere: Votes on other pairs.
    """

    wins: Floats
    ties: Floats
    elsewhere: float = 0.0

    @classmethod
    def from_counts(cls, counts: Comparisons, both_bad: BothBad) -> Record:
        """The votes of every pair, sides aside."""
        by_outcome = counts.outcome_counts.astype(float)
        ties = by_outcome[TIE]
        if check_both_bad(both_bad):
            ties = ties + by_outcome[BOTH_BAD]
        wins = by_outcome[MODEL_A] + by_outcome[MODEL_B].T
        return cls(wins, ties + ties.T)

    @property
    def total(self) -> float:
        """Votes in all."""
        return float(self.wins.sum() + self.ties.sum() / 2 + self.elsewhere)

    def restrict(self, models: list[int]) -> Record:
        """The votes among some of the models, in this order."""
        among = np.ix_(models, models)
        inside = Record(self.wins[among], self.ties[among])
        return replace(inside, elsewhere=self.total - inside.total)

    @property
    def games(self) -> Floats:
        """Votes of each pair, symmetric."""
        return np.asarray(self.wins + self.wins.T + self.ties)

    def to_pairs(self) -> PairCounts:
        """As a fit sees them."""
        return PairCounts(games=self.games, wins=self.wins + self.ties / 2)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Votes that are alike, those that move the difference most first.

    Attributes:
        effect: What one of them moves it by, below 0, ascending.
        limit: How many of them there are; infinite where they are added.
        first: The winner, or one of the tied models.
        second: The other.
        is_tie: Whether it is a tie.
    """

    effect: Floats
    limit: Floats
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    is_tie: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Step:
    """Some votes changed.

    Attributes:
        record: The votes as they are then.
        votes: How many were changed.
    """

    record: Record
    votes: int


@dataclass(frozen=True, eq=False)
class Curve:
    """The likelihood around its maximum.

    Attributes:
        p: Chance that the row beats the column, shape (models, models).
        covariance: Of the strengths, by the likelihood and the prior.
        h: Leverage of a vote on each pair.
    """

    p: Floats
    covariance: Floats
    h: Floats

    @classmethod
    def at(cls, record: Record, strengths: Floats, precision: float) -> Curve:
        """That of some votes at their fit, with the prior's precision."""
        p = win_probabilities(strengths)
        covariance = invert_centred(hessian(record.games, p, precision), precision=precision)
        spread = covariance.diagonal()
        variance = spread[:, None] + spread[None, :] - 2 * covariance
        return cls(p, covariance, p * p.T * variance)


@dataclass(frozen=True, eq=False)
class Slopes:
    """How the difference of two strengths answers to a vote.

    Attributes:
        g: To a win of the row over the column that was sure to be lost, shape (models, models).
        p: Chance of that win.
        h: Leverage of a vote on the pair.
    """

    g: Floats
    p: Floats
    h: Floats

    @classmethod
    def of(cls, curve: Curve, top: int, rival: int) -> Slopes:
        """Of the strength of one model less that of another."""
        u = curve.covariance[:, top] - curve.covariance[:, rival]
        return cls(u[:, None] - u[None, :], curve.p, curve.h)

    def plan(self, change: Change, record: Record, gap: float, most: float) -> Step | None:
        """The front half of the votes that should close the gap.

        None where no votes do, or where even the strongest would take more than `most`.
        """
        if change == "battles":
            return self._plan_battles(record, gap)
        win, tie = self._weigh(change)
        strongest = -min(float(win.min()), float(tie.min()))
        if strongest <= 0 or gap / strongest > 2 * most:
            return None
        kinds = self._sort(change, record, win, tie)
        reach = -np.cumsum(kinds.effect * np.minimum(kinds.limit, 1e12))
        if not len(reach) or reach[-1] <= 0:
            return None
        last = min(int(np.searchsorted(reach, gap)), len(reach) - 1)
        before = reach[last - 1] if last else 0.0
        in_last = min(np.ceil((gap - before) / -kinds.effect[last]), kinds.limit[last])
        needed = float(kinds.limit[:last].sum() + in_last)
        take = max(1.0, np.ceil(needed / 2))
        ahead = np.concatenate([[0.0], np.cumsum(kinds.limit[: last + 1])[:-1]])
        taken = np.clip(take - ahead, 0.0, kinds.limit[: last + 1])
        return Step(_apply(change, record, kinds, taken), int(taken.sum()))

    def _sort(self, change: Change, record: Record, win: Floats, tie: Floats) -> Kinds:
        size = len(self.g)
        first, second = np.nonzero(~np.eye(size, dtype=bool))
        one, other = np.triu_indices(size, 1)
        # A tie is turned into a win of the second.
        turned = self.g[one, other] < 0
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        effect = np.concatenate([win[first, second], tie[one, other]])
        limit = np.concatenate([record.wins[first, second], record.ties[one, other]])
        if change == "add":
            limit = np.full(len(limit), np.inf)
        useful = np.flatnonzero((effect < 0) & (limit > 0))
        order = useful[np.argsort(effect[useful], kind="stable")]
        if change == "add":
            order = order[:1]  # as many of the best as are wanted
        return Kinds(
            effect=effect[order],
            limit=limit[order],
            first=np.concatenate([first, one])[order],
            second=np.concatenate([second, other])[order],
            is_tie=(np.arange(len(effect)) >= len(first))[order],
        )

    def _weigh(self, change: Change) -> tuple[Floats, Floats]:
        """What one vote of each kind moves the difference by: a win, a tie."""
        g, p, h = self.g, self.p, self.h
        if change == "drop":
            rest = np.maximum(1 - h, 1e-9)
            return -g * (1 - p) / rest, -g * (0.5 - p) / rest
        if change == "flip":
            return -g, -np.abs(g) / 2
        return g * (1 - p) / (1 + h), g * (0.5 - p) / (1 + h)

    def _plan_battles(self, record: Record, gap: float) -> Step | None:
        """Votes on pairs as they fell on record, each for whom it serves."""
        share = record.games / record.total
        moved = np.where(self.g < 0, self.g * (1 - self.p), 0.0)
        speed = -float((share * moved).sum())
        if speed <= 0:
            return None
        votes = max(1.0, np.ceil(gap / speed / 2))
        wins = record.wins + votes * share * (self.g < 0)
        elsewhere = record.elsewhere * (1 + votes / record.total)
        return Step(Record(wins, record.ties, elsewhere), int(votes))


def _apply(change: Change, record: Record, kinds: Kinds, taken: Floats) -> Record:
    """The record with some votes of each kind changed."""
    wins, ties = record.wins.copy(), record.ties.copy()
    some = np.flatnonzero(taken)
    i, j, is_tie = kinds.first[some], kinds.second[some], kinds.is_tie[some]
    count = taken[some] if change == "add" else -taken[some]
    wins[i[~is_tie], j[~is_tie]] += count[~is_tie]
    ties[i[is_tie], j[is_tie]] += count[is_tie]
    ties[j[is_tie], i[is_tie]] += count[is_tie]
    if change == "flip":
        np.add.at(wins, (j, i), -count)
    return Record(wins, ties, record.elsewhere)
