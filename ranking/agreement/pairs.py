"""Every two judgements of one battle, the raw material of agreement."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.agreement.judgements import Judgements

    Codes = NDArray[np.intp]
    Verdicts = NDArray[np.int8]

__all__ = ["NOBODY", "Individuals", "Pairs", "pair_judgements", "pair_with"]

Individuals = Literal["different", "same", "any"]
"""Whose judgements are compared: of two people, of one person who judged again, or both."""

NOBODY = -1
"""The judge of a verdict that follows from a rule, such as the longer answer."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two verdicts on the same battle a row; every column has shape (pairs,).

    Attributes:
        item: Index of the item.
        battle: Number of the battle.
        row: Row of the one judgement in its table, for its labels.
        one: The one verdict.
        other: The other verdict.
        judge: Who gave the one.
        judge_too: Who gave the other, or `NOBODY`.
    """

    item: Codes
    battle: Codes
    row: Codes
    one: Verdicts
    other: Verdicts
    judge: Codes
    judge_too: Codes

    def __len__(self) -> int:
        return len(self.item)

    def select(self, keep: NDArray[np.bool_]) -> Pairs:
        """Some of the pairs."""
        return Pairs(*(getattr(self, column.name)[keep] for column in fields(self)))

    def between(self, is_one: NDArray[np.bool_], is_other: NDArray[np.bool_]) -> Pairs:
        """A judgement by each of two disjoint sets of judges, that of the first set first.

        Args:
            is_one: Whether each individual is in the first set, shape (judges,).
            is_other: Whether each is in the second.
        """
        as_is = is_one[self.judge] & is_other[self.judge_too]
        turned = is_other[self.judge] & is_one[self.judge_too]
        return self._orient(as_is, turned)

    def within(
        self, members: NDArray[np.bool_], *, individuals: Individuals = "different"
    ) -> Pairs:
        """Two judgements by one set of judges, in the order of the individuals.

        Args:
            members: Whether each individual is in the set, shape (judges,).
            individuals: Whose judgements are compared.
        """
        same = self.judge == self.judge_too
        fits = {"different": ~same, "same": same, "any": np.ones_like(same)}[individuals]
        inside = fits & members[self.judge] & members[self.judge_too]
        turned = self.judge > self.judge_too
        return self._orient(inside & ~turned, inside & turned)

    def _orient(self, as_is: NDArray[np.bool_], turned: NDArray[np.bool_]) -> Pairs:
        kept = as_is | turned
        swap = turned[kept]
        found = self.select(kept)
        return Pairs(
            item=found.item,
            battle=found.battle,
            row=found.row,
            one=np.where(swap, found.other, found.one),
            other=np.where(swap, found.one, found.other),
            judge=np.where(swap, found.judge_too, found.judge),
            judge_too=np.where(swap, found.judge, found.judge_too),
        )


def pair_judgements(table: Judgements) -> Pairs:
    """All pairs of judgements of the same battle, of whatever judges."""
    order = np.argsort(table.battle, kind="stable")
    battle = table.battle[order]
    following = np.searchsorted(battle, battle, side="right") - np.arange(len(order)) - 1
    place = np.repeat(np.arange(len(order)), following)
    # How far behind the one judgement the other stands in its battle.
    step = np.arange(len(place)) - np.repeat(np.cumsum(following) - following, following)
    one, other = order[place], order[place + 1 + step]
    return Pairs(
        item=table.item[one],
        battle=table.battle[one],
        row=one,
        one=table.verdict[one],
        other=table.verdict[other],
        judge=table.judge[one],
        judge_too=table.judge[other],
    )


def pair_with(table: Judgements, verdict: Verdicts) -> Pairs:
    """Each judgement with a verdict that follows from a rule; without one where it is < 0.

    Args:
        table: The judgements.
        verdict: What the rule says of each row's battle, shape (rows,).
    """
    row = np.flatnonzero(verdict >= 0)
    return Pairs(
        item=table.item[row],
        battle=table.battle[row],
        row=row,
        one=table.verdict[row],
        other=verdict[row],
        judge=table.judge[row],
        judge_too=np.full(len(row), NOBODY),
    )
