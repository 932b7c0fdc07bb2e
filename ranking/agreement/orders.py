"""Judges that saw every battle in both orders: what counts, and how the place mattered.

After Zheng et al. (2023): a verdict counts only if both orders agree, else it is a tie
marked inconsistent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import InvalidVote
from ranking.votes.encoding import MODEL_A, MODEL_B, TIE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.intp]
    Verdicts = NDArray[np.int8]

__all__ = ["UNPARSABLE", "CombinedOrders", "OrderAudit", "audit_orders", "combine_orders"]

UNPARSABLE = -1
"""The code of a verdict that could not be read."""


@dataclass(frozen=True)
class OrderAudit:
    """How a judge's verdicts change when the two answers change places.

    Attributes:
        judge: Name.
        battles: Battles with a verdict (or a failure to give one) in both orders.
        consistent: Share of the battles where the places did not matter.
        first_biased: Share where the place shown first gained by the change: it won in both
            orders, or won in one and tied in the other.
        second_biased: The same for the place shown second.
        unparsable: Share where either verdict could not be read.
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
    one, other = np.asarray(straight), np.asarray(swapped)
    unread = (one == UNPARSABLE) | (other == UNPARSABLE)
    # What the place shown first gained: won minus lost, over both orders.
    gain = _margin(one) - _margin(other)
    # A tie in one order and both-bad in the other: no place gained, so that is consistent.
    shares = [~unread & (gain == 0), ~unread & (gain > 0), ~unread & (gain < 0), unread]
    consistent, first, second, unparsable = (
        float(share.mean()) if len(one) else float("nan") for share in shares
    )
    return OrderAudit(judge, len(one), consistent, first, second, unparsable, single)


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
    read = (straight != UNPARSABLE) & (reverse != UNPARSABLE)
    return CombinedOrders(
        kept=rows[one[read]],
        verdict=np.where(straight == reverse, straight, TIE)[read].astype(np.int8),
        inconsistent=(_margin(straight) != _margin(reverse))[read],
        audits=audits,
    )


def _margin(verdict: NDArray[Any]) -> NDArray[np.int64]:
    """+1 the first model, −1 the second, 0 neither."""
    return np.asarray((verdict == MODEL_A).astype(np.int64) - (verdict == MODEL_B))
