"""Habits of judges: longer answers, and the answers of their own family.

After Zheng et al. (2023). How the place of an answer matters is in `orders`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.intervals import (
    FEW_JUDGES,
    ClusteredResampling,
    Estimate,
    difference,
    ratio,
)
from ranking.votes.encoding import TIE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ranking.agreement.judgements import Judgements

    Floats = NDArray[np.float64]

__all__ = ["SelfPreference", "Verbosity", "audit_lengths", "audit_self_preference"]

_FIRST_SHARE = np.array([1.0, 0.0, 0.5, 0.5])


@dataclass(frozen=True)
class Verbosity:
    """How often the longer answer was chosen.

    Attributes:
        judge: A kind, or an individual of a kind with few.
        kind: Its kind.
        judgements: Decisive verdicts on answers of known, different length.
        longer_chosen: Share of them that chose the longer answer.
    """

    judge: str
    kind: str
    judgements: int
    longer_chosen: Estimate


@dataclass(frozen=True)
class SelfPreference:
    """How a judge treats models of its own family.

    Attributes:
        judge: Name.
        kind: Its kind.
        family: The family it shares with models.
        reference: The kind it is compared with, on the same battles.
        battles: Battles of a model of the family against another that both judged.
        own: Share the family won with this judge, ties as half a win.
        others: The share it won with the reference.
        difference: `own` minus `others`.
    """

    judge: str
    kind: str
    family: str
    reference: str
    battles: int
    own: float
    others: float
    difference: Estimate


def audit_lengths(table: Judgements, resampling: ClusteredResampling) -> tuple[Verbosity, ...]:
    """Share of longer answers chosen, by kind and by each judge of kinds with few.

    Empty where the table knows no lengths.
    """
    if table.longer is None:
        return ()
    usable = (table.verdict < TIE) & (table.longer >= 0) & (table.longer < TIE)
    chosen = table.verdict == table.longer
    found: list[Verbosity] = []
    for judge, kind, members in _list_judges(table):
        rows = np.flatnonzero(usable & members[table.judge])
        if not rows.size:
            continue
        terms = np.column_stack([chosen[rows], np.ones(len(rows))])
        share = resampling.estimate_rows(table.item[rows], table.judge[rows], terms, ratio)
        found.append(Verbosity(judge, kind, len(rows), share))
    return tuple(found)


def audit_self_preference(
    table: Judgements,
    resampling: ClusteredResampling,
    *,
    families: Mapping[str, str] | None = None,
) -> tuple[SelfPreference, ...]:
    """Win rates of each judge's own family beside those the other kinds give it.

    Args:
        table: The judgements.
        resampling: How to find intervals.
        families: Family of models and of judges by name; who is not named is a family of its
            own, so that a model that judges is compared with itself.
    """
    named = families or {}
    family_of = np.array([named.get(name, name) for name in table.models], dtype=object)
    found: list[SelfPreference] = []
    for judge, name in enumerate(table.judges):
        family = named.get(name, name)
        own = family_of == family
        if not own.any():
            continue
        # Battles within the family say nothing about it.
        contested = own[table.first] != own[table.second]
        mine = contested & (table.judge == judge)
        for reference in range(len(table.kinds)):
            theirs = contested & (table.kind == reference) & (table.judge != judge)
            both = np.intersect1d(table.battle[mine], table.battle[theirs])
            rows = np.flatnonzero((mine | theirs) & np.isin(table.battle, both))
            if reference == table.judge_kind[judge] or not rows.size:
                continue
            first = _FIRST_SHARE[table.verdict[rows]]
            won = np.where(own[table.first[rows]], first, 1 - first)
            terms = _contrast(won, mine[rows])
            estimate = resampling.estimate_rows(
                table.item[rows], table.judge[rows], terms, difference
            )
            sums = terms.sum(axis=0)
            found.append(
                SelfPreference(
                    judge=name,
                    kind=table.kinds[table.judge_kind[judge]],
                    family=family,
                    reference=table.kinds[reference],
                    battles=len(both),
                    own=float(ratio(sums[:2])),
                    others=float(ratio(sums[2:])),
                    difference=estimate,
                )
            )
    return tuple(found)


def _contrast(value: Floats, here: NDArray[np.bool_]) -> Floats:
    """Terms of the mean over some rows minus the mean over the others, shape (rows, 4)."""
    there = ~here
    return np.column_stack([value * here, here, value * there, there]).astype(float)


def _list_judges(table: Judgements) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Name, kind and members of each kind, then of each individual of kinds with few."""
    for code, kind in enumerate(table.kinds):
        yield kind, kind, table.judge_kind == code
    sizes = np.bincount(table.judge_kind, minlength=len(table.kinds))
    for judge, name in enumerate(table.judges):
        code = table.judge_kind[judge]
        if 1 < sizes[code] < FEW_JUDGES:
            yield name, table.kinds[code], np.arange(len(table.judges)) == judge
