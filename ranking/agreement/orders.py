"""Judges that saw every battle in both orders: what counts, and how the place mattered.

After Zheng et al. (2023): a verdict counts only if both orders agree, else it is a tie
marked inconsistent. As there, the shares of consistent, first-biased, second-biased and
unreadable battles sum to one: a winner in one order and a tie in the other is a gain for
the place that the winner had.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ranking.checks import take_numbers
from ranking.errors import InvalidVote
from ranking.votes.both_orders import UNPARSABLE, combine_codes
from ranking.votes.encoding import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.intp]
    Verdicts = NDArray[np.int8]

__all__ = [
    "UNPARSABLE",
    "CombinedOrders",
    "CombinedVerdict",
    "Consistency",
    "OrderAudit",
    "audit_orders",
    "combine_orders",
    "combine_verdicts",
]


class Consistency(StrEnum):
    """How a judge's two verdicts on the same answers go together."""

    CONSISTENT = "consistent"
    """The places did not matter."""
    FIRST_BIASED = "first-biased"
    """The place shown first gained by the change: it won in both orders, or won in one and
    tied in the other."""
    SECOND_BIASED = "second-biased"
    """The same for the place shown second."""
    UNPARSABLE = "unparsable"
    """No verdict could be read in at least one order; then there is none at all."""


class CombinedVerdict(NamedTuple):
    """What a judge's verdicts in both orders come to.

    Attributes:
        verdict: One of `OUTCOMES`, None where there is none.
        consistency: How the two go together.
    """

    verdict: str | None
    consistency: Consistency


@dataclass(frozen=True)
class OrderAudit:
    """How a judge's verdicts change when the two answers change places.

    Attributes:
        judge: Name.
        battles: Battles with a verdict (or a failure to give one) in both orders.
        consistent: Share of the battles that are `Consistency.CONSISTENT`.
        first_biased: Share of those that are `Consistency.FIRST_BIASED`.
        second_biased: Share of those that are `Consistency.SECOND_BIASED`.
        unparsable: Share of those that are `Consistency.UNPARSABLE`.
        single: Battles seen in one order only; they count nowhere.
    """

    judge: str
    battles: int
    consistent: float
    first_biased: float
    second_biased: float
    unparsable: float
    single: int = 0


@dataclass(frozen=True, eq=False)
class CombinedOrders:
    """One verdict a judge and battle.

    Attributes:
        kept: Row that now stands for both orders, shape (battles with a verdict,).
        verdict: Its verdict.
        inconsistent: Whether the orders disagreed.
        audits: One a judge, by index.
    """

    kept: Codes
    verdict: Verdicts
    inconsistent: NDArray[np.bool_]
    audits: tuple[OrderAudit, ...]


def audit_orders(
    straight: ArrayLike, swapped: ArrayLike, *, judge: str = "", single: int = 0
) -> OrderAudit:
    """Shares of consistent, first-biased, second-biased and unparsable battles; they sum to 1.

    Args:
        straight: Verdicts with the first model shown first: 0 the first model, 1 the second,
            2 a tie, 3 both bad, `UNPARSABLE`; shape (battles,).
        swapped: Verdicts on the same battles, still about the same models, with the second
            model shown first.
        judge: Name.
        single: Battles seen in one order only.
    """
    codes = [
        take_numbers(said, "verdicts", "(battles,), such as 0 for the first model").astype(int)
        for said in (straight, swapped)
    ]
    _, how = combine_codes(*codes)
    consistent, first, second, unparsable = (
        float((how == code).mean()) if len(how) else float("nan")
        for code in range(len(Consistency))
    )
    return OrderAudit(judge, len(how), consistent, first, second, unparsable, single)


def combine_verdicts(straight: str | None, swapped: str | None) -> CombinedVerdict:
    """One verdict from those in both orders.

    Args:
        straight: One of `OUTCOMES`, with the first model shown first; None where none could
            be read.
        swapped: On the same battle, still about the same models, with the second model shown
            first.

    Raises:
        InvalidVote: Neither None nor one of `OUTCOMES`.
    """
    for said in (straight, swapped):
        if said is not None and not (isinstance(said, str) and said in OUTCOMES):
            name = said if isinstance(said, str) else type(said).__name__
            raise InvalidVote(
                f"unknown verdict {name!r}; expected one of {', '.join(OUTCOMES)}, or None",
                value=said,
            )
    codes = [UNPARSABLE if said is None else OUTCOMES.index(said) for said in (straight, swapped)]
    verdict, how = combine_codes(*codes)
    read = int(verdict)
    return CombinedVerdict(
        None if read == UNPARSABLE else OUTCOMES[read], list(Consistency)[int(how)]
    )


def combine_orders(
    *,
    judge: Codes,
    battle: Codes,
    swapped: NDArray[np.bool_],
    verdict: Verdicts,
    rows: Codes,
    names: tuple[str, ...],
) -> CombinedOrders:
    """Merge the two orders of each judge and battle.

    Args:
        judge: Index into `names`, shape (verdicts,).
        battle: Number of the battle.
        swapped: Whether the second model was shown first.
        verdict: About the models, as in `audit_orders`.
        rows: Row of each verdict in its table, for messages and `kept`.
        names: Of the judges.

    Raises:
        InvalidVote: A judge has two verdicts in the same order.
    """
    order = np.lexsort((swapped, battle, judge))
    key = np.stack([judge, battle], axis=1)[order]
    same = (key[1:] == key[:-1]).all(axis=1)
    flipped = swapped[order]
    again = np.flatnonzero(same & (flipped[1:] == flipped[:-1]))
    if again.size:
        row = int(rows[order[again + 1]].min())
        name = names[judge[rows == row][0]]
        raise InvalidVote(
            f"judge {name!r} has two verdicts in the same order on this battle",
            row=row,
            value=name,
        )
    start = np.flatnonzero(same)
    one, other = order[start], order[start + 1]
    straight, reverse = verdict[one], verdict[other]
    lonely = np.ones(len(order), dtype=bool)
    lonely[start] = lonely[start + 1] = False
    alone = np.bincount(judge[order[lonely]], minlength=len(names))
    audits = tuple(
        audit_orders(
            straight[judge[one] == code],
            reverse[judge[one] == code],
            judge=names[code],
            single=int(alone[code]),
        )
        for code in np.unique(judge)
    )
    combined, how = combine_codes(straight, reverse)
    read = combined != UNPARSABLE
    return CombinedOrders(
        kept=rows[one[read]],
        verdict=combined[read],
        inconsistent=how[read] != 0,
        audits=audits,
    )
