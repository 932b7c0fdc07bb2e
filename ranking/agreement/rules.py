"""Verdicts that follow from a rule, to stand beside those of judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.votes.encoding import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.agreement.judgements import Judgements

    Codes = NDArray[np.intp]
    Verdicts = NDArray[np.int8]
    Counts = NDArray[np.int64]

__all__ = ["count_verdicts", "follow_majority", "follow_others"]


def count_verdicts(code: Codes, verdict: Verdicts, *, size: int, categories: int) -> Counts:
    """Verdicts by code and category, shape (size, categories)."""
    cell = code * categories + verdict
    return np.bincount(cell, minlength=size * categories).reshape(size, categories)


def follow_majority(table: Judgements, *, categories: int = 3) -> Verdicts:
    """The verdict these judges gave most often on the row's pair of models, on other items.

    What somebody would say who knows the two models and has read neither answer. A tie
    where two verdicts are equally frequent; −1 where the pair is on no other item.

    Returns:
        Shape (rows,).
    """
    pair = table.pairs_of_models().codes
    _, here = np.unique(table.item * (int(pair.max(initial=0)) + 1) + pair, return_inverse=True)
    everywhere = count_verdicts(pair, table.verdict, size=len(pair), categories=categories)
    on_item = count_verdicts(here, table.verdict, size=len(pair), categories=categories)
    return _choose(everywhere[pair] - on_item[here])


def follow_others(
    table: Judgements, judge: int, members: NDArray[np.bool_], *, categories: int = 3
) -> Verdicts:
    """The verdict most of some other judges gave on the row's own battle.

    A tie where two verdicts are equally frequent; −1 where no other judged the battle.

    Args:
        table: The judgements.
        judge: Whose own verdicts do not count.
        members: Whether each individual is one of the others, shape (judges,).
        categories: 3, or 4 with both-bad apart.

    Returns:
        Shape (rows,).
    """
    counted = members[table.judge] & (table.judge != judge)
    counts = count_verdicts(
        table.battle[counted],
        table.verdict[counted],
        size=int(table.battle.max(initial=0)) + 1,
        categories=categories,
    )
    return _choose(counts)[table.battle]


def _choose(counts: Counts) -> Verdicts:
    most = counts.max(axis=1)
    leaders = (counts == most[:, None]).sum(axis=1)
    chosen = np.where(leaders > 1, TIE, counts.argmax(axis=1))
    return np.where(most == 0, -1, chosen).astype(np.int8)
