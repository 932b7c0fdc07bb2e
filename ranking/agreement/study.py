"""What can be compared in a table of judgements: kinds, individuals, parts, rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranking.agreement.comparisons import Comparison
from ranking.agreement.pairs import Pairs, pair_judgements, pair_with
from ranking.agreement.rates import Agreement, measure_agreements, measure_differences
from ranking.agreement.rules import count_verdicts, follow_majority, follow_others
from ranking.votes.encoding import BOTH_BAD, TIE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ranking.agreement.intervals import ClusteredResampling, Estimate
    from ranking.agreement.judgements import Judgements

__all__ = ["BothBadVerdicts", "Ceiling", "KindSummary", "Study", "summarise_kinds"]

BothBadVerdicts = Literal["tie", "keep"]


@dataclass(frozen=True)
class KindSummary:
    """What one kind of judges did.

    Attributes:
        kind: Name.
        judges: Individuals.
        judgements: All of theirs that are compared.
        items: Items they judged.
        ties: Share of ties, both-bad and inconsistent ones included.
        both_bad: Share of both-bad verdicts.
        inconsistent: Share of ties that stand for two opposite verdicts.
        seconds: Median time of a judgement, None where unknown.
    """

    kind: str
    judges: int
    judgements: int
    items: int
    ties: float
    both_bad: float
    inconsistent: float
    seconds: float | None


@dataclass(frozen=True)
class Ceiling:
    """Agreement with a kind beside the agreement within it, on the same items.

    Attributes:
        kind: Whose inner agreement is the ceiling.
        other: A kind compared with it.
        items: Items with both sorts of pairs.
        agreement: Between the kinds, on these items.
        ceiling: Among individuals of `kind`, on these items.
        differences: `agreement` minus `ceiling`, item by item paired, by rate.
    """

    kind: str
    other: str
    items: int
    agreement: Agreement
    ceiling: Agreement
    differences: dict[str, Estimate]


@dataclass(frozen=True, eq=False)
class Study:
    """A table and what can be compared in it.

    Attributes:
        table: The judgements.
        both_bad: "tie" (the table is collapsed) or "keep".
        min_pairs: Fewer pairs get no line of their own.
        pairs: All pairs of judgements of one battle.
    """

    table: Judgements
    both_bad: BothBadVerdicts
    min_pairs: int
    pairs: Pairs = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", pair_judgements(self.table))

    @property
    def categories(self) -> int:
        """3, or 4 with both-bad verdicts apart."""
        return 4 if self.both_bad == "keep" else 3

    def members(self, kind: int) -> NDArray[np.bool_]:
        """Whether each individual is of a kind, shape (judges,)."""
        return np.asarray(self.table.judge_kind == kind)

    def compare(
        self,
        one: int,
        other: int,
        pairs: Pairs,
        *,
        chance: bool = True,
        group: str | None = None,
        label: str | None = None,
    ) -> Comparison | None:
        """Two kinds, or one within itself; None where they have nothing in common."""
        within = one == other
        found = (
            pairs.within(self.members(one))
            if within
            else pairs.between(self.members(one), self.members(other))
        )
        if not len(found):
            return None
        counts, battle_item = self.count_raters(one) if within and chance else (None, None)
        return Comparison(
            self.table.kinds[one], self.table.kinds[other], found, len(self.table.items),
            categories=self.categories, chance=chance, counts=counts, battle_item=battle_item,
            symmetric=within and int(self.members(one).sum()) > 2, group=group, label=label,
        )  # fmt: skip

    def count_raters(self, kind: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Individuals by battle and category, the first judgement of each, and the items."""
        rows = np.flatnonzero(self.table.kind == kind)
        key = self.table.battle[rows].astype(np.int64) * len(self.table.judges)
        _, first = np.unique(key + self.table.judge[rows], return_index=True)
        rows = rows[first]
        battles, start, code = np.unique(
            self.table.battle[rows], return_index=True, return_inverse=True
        )
        counts = count_verdicts(
            code, self.table.verdict[rows], size=len(battles), categories=self.categories
        )
        return counts.astype(float), self.table.item[rows[start]]

    def compare_kinds(self) -> list[Comparison]:
        """Each two kinds, and each within itself."""
        found = (self.compare(a, b, self.pairs) for a, b in self._kind_pairs())
        return [comparison for comparison in found if comparison is not None]

    def compare_parts(self, group: str) -> list[Comparison]:
        """The same for each label of a group."""
        found: list[Comparison] = []
        for label, rows in self.table.split(group):
            # Both judgements of a pair are of one battle, so the label of one is enough.
            pairs = self.pairs.select(rows[self.pairs.row])
            for one, other in self._kind_pairs():
                part = self.compare(one, other, pairs, chance=False, group=group, label=label)
                if part is not None and len(part.pairs) >= self.min_pairs:
                    found.append(part)
        return found

    def compare_repeats(self) -> list[Comparison]:
        """Individuals who judged a battle again, with themselves."""
        found: list[Comparison] = []
        for kind, name in enumerate(self.table.kinds):
            pairs = self.pairs.within(self.members(kind), individuals="same")
            if len(pairs):
                found.append(self._compare_pairs(name, name, pairs, symmetric=True))
        return found

    def compare_judges(self) -> list[Comparison]:
        """Each individual with each kind and with its majority, itself left out."""
        found: list[Comparison] = []
        size = len(self.table.judges)
        shared = sum(
            np.bincount(x, minlength=size) for x in (self.pairs.judge, self.pairs.judge_too)
        )
        for judge in np.flatnonzero(shared >= self.min_pairs).tolist():
            name = self.table.judges[judge]
            alone = np.arange(len(self.table.judges)) == judge
            for kind, against in enumerate(self.table.kinds):
                others = self.members(kind) & ~alone
                pairs = self.pairs.between(alone, others)
                if len(pairs) < self.min_pairs:
                    continue
                found.append(self._compare_individual(name, against, pairs))
                if others.sum() > 1:
                    said = follow_others(self.table, judge, others, categories=self.categories)
                    mine = np.where(self.table.judge == judge, said, -1).astype(np.int8)
                    title = f"majority of {against}"
                    pairs = pair_with(self.table, mine)
                    found.append(self._compare_individual(name, title, pairs))
        return found

    def compare_baselines(self) -> list[Comparison]:
        """Each kind with the rules "majority" and, where lengths are known, "longer answer"."""
        found: list[Comparison] = []
        for kind, name in enumerate(self.table.kinds):
            mine = self.table.select(self.table.kind == kind)
            rules = {"majority": follow_majority(mine, categories=self.categories)}
            if mine.longer is not None:
                rules["longer answer"] = mine.longer
            for rule, verdict in rules.items():
                pairs = pair_with(mine, verdict)
                if len(pairs):
                    found.append(self._compare_pairs(name, rule, pairs))
        return found

    def measure_ceilings(self, resampling: ClusteredResampling) -> Iterator[Ceiling]:
        """Each kind with each other that has several individuals on the same items."""
        for kind in range(len(self.table.kinds)):
            inner = self.pairs.within(self.members(kind))
            for other in range(len(self.table.kinds)):
                outer = self.pairs.between(self.members(other), self.members(kind))
                shared = np.intersect1d(inner.item, outer.item)
                if other == kind or not shared.size:
                    continue
                same_items = self.pairs.select(np.isin(self.pairs.item, shared))
                here = self.compare(other, kind, same_items, chance=False)
                there = self.compare(kind, kind, same_items, chance=False)
                if here is None or there is None:
                    continue
                agreement, ceiling = measure_agreements([here, there], resampling)
                yield Ceiling(
                    kind=self.table.kinds[kind],
                    other=self.table.kinds[other],
                    items=len(shared),
                    agreement=agreement,
                    ceiling=ceiling,
                    differences=measure_differences(here, there, resampling),
                )

    def _compare_pairs(
        self, first: str, second: str, pairs: Pairs, *, symmetric: bool = False
    ) -> Comparison:
        return Comparison(
            first, second, pairs, len(self.table.items),
            categories=self.categories, symmetric=symmetric,
        )  # fmt: skip

    def _compare_individual(self, first: str, second: str, pairs: Pairs) -> Comparison:
        # One interval over items for each of what may be thousands of people.
        return Comparison(
            first, second, pairs, len(self.table.items),
            categories=self.categories, chance=False, resample_judges=False,
        )  # fmt: skip

    def _kind_pairs(self) -> Iterator[tuple[int, int]]:
        return combinations_with_replacement(range(len(self.table.kinds)), 2)


def summarise_kinds(table: Judgements) -> Iterator[KindSummary]:
    """What each kind with judgements did."""
    for code, kind in enumerate(table.kinds):
        rows = table.kind == code
        if not rows.any():
            continue
        seconds = None if table.seconds is None else table.seconds[rows]
        timed = seconds is not None and bool(np.isfinite(seconds).any())
        yield KindSummary(
            kind=kind,
            judges=len(np.unique(table.judge[rows])),
            judgements=int(rows.sum()),
            items=len(np.unique(table.item[rows])),
            ties=float((table.verdict[rows] >= TIE).mean()),
            both_bad=float((table.verdict[rows] == BOTH_BAD).mean()),
            inconsistent=float(table.inconsistent[rows].mean()),
            seconds=float(np.nanmedian(seconds)) if timed and seconds is not None else None,
        )
