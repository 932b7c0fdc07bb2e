"""How often two judges say the same of the same battle, and how sure that is.

Agreement of two kinds of judges is the probability that two randomly drawn, different
individuals, one of each kind, agree on a randomly drawn question (Zheng et al. 2023).
*With ties* there are three categories (an order-inconsistent verdict is a tie) and chance
is 1/3; *without ties* both verdicts are decisive and chance is 1/2. *Pooled* weighs every
pair of judgements alike; *per question* takes the share of each item first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement_intervals import (
    ClusteredResampling,
    Estimate,
    Statistic,
    exact_bounds,
    item_terms,
    ratio,
    ratio_statistic,
    widest,
)
from ranking.kappas import (
    ac1_from_sums,
    ac1_terms,
    alpha_from_sums,
    alpha_terms,
    cohen_from_sums,
    fleiss_from_sums,
    fleiss_terms,
    sideless_kappa,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ranking.judgement_pairs import Pairs

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

__all__ = ["Agreement", "Comparison", "measure_agreements", "measure_differences"]

_TIE = 2
RATES = (
    "with_ties",
    "without_ties",
    "with_ties_per_question",
    "without_ties_per_question",
)


@dataclass(frozen=True)
class Agreement:
    """How two judges, or kinds of judges, agree.

    Attributes:
        first: A kind, or an individual.
        second: What it is compared with; the same kind for agreement among its individuals.
        items: Items with a pair of judgements.
        items_without_ties: Items with a pair of decisive ones.
        pairs: Pairs of judgements.
        pairs_without_ties: Pairs of decisive ones.
        share_without_ties: Share of the items left without ties.
        with_ties: Share of pairs that agree.
        without_ties: Share of decisive pairs that agree.
        with_ties_per_question: Mean over items of the share of the item's pairs.
        without_ties_per_question: The same of decisive pairs.
        cohen: Cohen's κ; of two kinds that of their pooled pairs, None among three and more
            individuals of one kind.
        fleiss: Fleiss' κ, among the individuals of a kind.
        alpha: Krippendorff's α, nominal; of two kinds that of their pooled pairs.
        ac1: Gwet's AC1; of two kinds that of their pooled pairs.
        sideless: κ with WMT's chance agreement, whichever model is called the first.
        confusion: Pairs by verdict of the first (rows) and of the second (columns), in the
            order of `CATEGORIES`; among individuals of one kind each pair stands both ways.
        group: What the items were selected by, None for all.
        label: The selection.
    """

    first: str
    second: str
    items: int
    items_without_ties: int
    pairs: int
    pairs_without_ties: int
    share_without_ties: float | None
    with_ties: Estimate
    without_ties: Estimate
    with_ties_per_question: Estimate
    without_ties_per_question: Estimate
    cohen: Estimate | None = None
    fleiss: Estimate | None = None
    alpha: Estimate | None = None
    ac1: Estimate | None = None
    sideless: Estimate | None = None
    confusion: tuple[tuple[int, ...], ...] = ()
    group: str | None = None
    label: str | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is to be measured.

    Attributes:
        first: Name of the one.
        second: Name of the other.
        pairs: Their pairs of judgements.
        items: Number of items in the whole table.
        categories: 3, or 4 with both-bad verdicts apart.
        chance: Whether to measure agreement beyond chance as well.
        counts: Judges by battle and category, for coefficients of many raters, or None for
            those of pairs, shape (battles, categories).
        battle_item: Item of each battle, shape (battles,).
        symmetric: Who of the two is the first says nothing: any two of several of one kind.
        resample_judges: Whether to look at intervals over judges as well as over items.
        group: What the items were selected by.
        label: The selection.
    """

    first: str
    second: str
    pairs: Pairs
    items: int
    categories: int = 3
    chance: bool = True
    counts: Floats | None = None
    battle_item: Codes | None = None
    symmetric: bool = False
    resample_judges: bool = True
    group: str | None = None
    label: str | None = None

    @property
    def same(self) -> NDArray[np.bool_]:
        """Whether each pair agrees."""
        return np.asarray(self.pairs.one == self.pairs.other)

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether each pair is of two decisive verdicts."""
        return (self.pairs.one < _TIE) & (self.pairs.other < _TIE)

    def statistics(self) -> dict[str, Statistic]:
        """Everything that is a function of sums over items, by field of `Agreement`."""
        item, same, decided = self.pairs.item, self.same, self.decided
        found = {
            "with_ties": ratio_statistic(item, same, np.ones_like(same), self.items),
            "without_ties": ratio_statistic(item, same & decided, decided, self.items),
        }
        for name in tuple(found):
            found[f"{name}_per_question"] = _per_question(found[name])
        return {**found, **(self._chance_statistics() if self.chance else {})}

    def confusion(self) -> NDArray[np.int64]:
        """Pairs by the two verdicts, shape (categories, categories)."""
        size = self.categories
        cell = self.pairs.one.astype(np.intp) * size + self.pairs.other
        table = np.bincount(cell, minlength=size**2).reshape(size, size)
        return np.asarray(table + table.T if self.symmetric else table)

    def _chance_statistics(self) -> dict[str, Statistic]:
        item, pairs, size = self.pairs.item, self.pairs, self.categories
        one, other = (np.eye(size)[verdict] for verdict in (pairs.one, pairs.other))
        found = {"sideless": self._sideless()}
        if not self.symmetric:
            cells = (one[:, :, None] * other[:, None, :]).reshape(len(pairs), -1)
            found["cohen"] = Statistic(item_terms(item, cells, self.items), cohen_from_sums)
        counts, where = one + other, item
        if self.counts is not None and self.battle_item is not None:
            counts, where = self.counts, self.battle_item
            terms = item_terms(where, fleiss_terms(counts), self.items)
            found["fleiss"] = Statistic(terms, fleiss_from_sums)
        for name, terms_of, finish in (
            ("alpha", alpha_terms, alpha_from_sums),
            ("ac1", ac1_terms, ac1_from_sums),
        ):
            found[name] = Statistic(item_terms(where, terms_of(counts), self.items), finish)
        return found

    def _sideless(self) -> Statistic:
        one, other = self.pairs.one, self.pairs.other
        terms = np.column_stack([self.same, np.ones(len(one)), one >= _TIE, other >= _TIE])
        if self.symmetric:
            terms = terms.astype(float)
            terms[:, 2:] = terms[:, 2:].mean(axis=1, keepdims=True)
        return Statistic(
            item_terms(self.pairs.item, terms.astype(float), self.items), _sideless_from_sums
        )


def measure_agreements(
    comparisons: Sequence[Comparison], resampling: ClusteredResampling
) -> list[Agreement]:
    """Agreement of each comparison; all share the same replicates over items.

    Rates get the wider of the intervals over items and over judges (where a kind has enough
    of them), coefficients beyond chance that over items.
    """
    statistics = [comparison.statistics() for comparison in comparisons]
    flat = [statistic for found in statistics for statistic in found.values()]
    replicates = iter(resampling.over_items(flat))
    results: list[Agreement] = []
    for comparison, found in zip(comparisons, statistics, strict=True):
        over_items = {name: next(replicates) for name in found}
        over_judges = resample_judges(comparison, resampling)
        estimates = {
            name: _estimate(name, statistic, over_items[name], over_judges.get(name), resampling)
            for name, statistic in found.items()
        }
        results.append(_describe(comparison, estimates))
    return results


def measure_differences(
    comparison: Comparison, baseline: Comparison, resampling: ClusteredResampling
) -> dict[str, Estimate]:
    """Agreement of one comparison minus that of another, item by item the same replicates.

    Returns:
        The difference of each of the four rates.
    """
    pair = [comparison.statistics(), baseline.statistics()]
    flat = [found[name] for found in pair for name in RATES]
    over_items = resampling.over_items(flat)
    over_judges = [resample_judges(c, resampling) for c in (comparison, baseline)]
    fixed = [{name: found[name].value for name in RATES} for found in pair]
    differences: dict[str, Estimate] = {}
    for i, name in enumerate(RATES):
        here, there = fixed[0][name], fixed[1][name]
        value = None if here is None or there is None else here - there
        spread = over_items[i] - over_items[i + len(RATES)]
        estimates = [resampling.estimate(value, spread, "item")]
        if value is not None and any(over_judges):
            one, other = (
                drawn.get(name, np.full(resampling.replicates, rate))
                for drawn, rate in zip(over_judges, (here, there), strict=True)
            )
            estimates.append(resampling.estimate(value, one - other, "judge"))
        differences[name] = widest(estimates)
    return differences


def resample_judges(comparison: Comparison, resampling: ClusteredResampling) -> dict[str, Floats]:
    """Replicates of the four rates over judges; empty where all judges are few."""
    pairs = comparison.pairs
    if not (comparison.resample_judges and len(pairs)):
        return {}
    involved = np.concatenate([pairs.judge, pairs.judge_too])
    if not resampling.are_many[involved[involved >= 0]].any():
        return {}
    same, decided = comparison.same, comparison.decided
    found = dict(
        zip(
            ("with_ties", "with_ties_per_question"),
            resampling.over_judges(pairs, same.astype(float), np.ones(len(pairs))),
            strict=True,
        )
    )
    if decided.any():
        kept, agree = pairs.select(decided), same[decided].astype(float)
        names = ("without_ties", "without_ties_per_question")
        found |= dict(
            zip(names, resampling.over_judges(kept, agree, np.ones(len(kept))), strict=True)
        )
    return found


def _per_question(pooled: Statistic) -> Statistic:
    """The mean over items of a ratio whose terms are given."""
    agree, count = pooled.terms.toarray()
    share = np.divide(agree, count, out=np.zeros_like(count), where=count > 0)
    item = np.arange(len(count))
    return Statistic(item_terms(item, np.column_stack([share, count > 0]), len(count)), ratio)


def _sideless_from_sums(sums: Floats) -> Floats:
    pairs = sums[..., 1]
    share = np.divide(sums, pairs[..., None], out=np.full(sums.shape, np.nan),
                      where=pairs[..., None] > 0)  # fmt: skip
    return np.asarray(sideless_kappa(share[..., 0], share[..., 2], share[..., 3]))


def _estimate(
    name: str,
    statistic: Statistic,
    over_items: Floats,
    over_judges: Floats | None,
    resampling: ClusteredResampling,
) -> Estimate:
    value = statistic.value
    if name in RATES and value is not None and value in (0.0, 1.0):
        n = int(statistic.terms[[1], :].count_nonzero())
        return Estimate(value, *exact_bounds(value, n, resampling.level), "item")
    estimates = [resampling.estimate(value, over_items, "item")]
    if over_judges is not None:
        estimates.append(resampling.estimate(value, over_judges, "judge"))
    return widest(estimates)


def _describe(comparison: Comparison, estimates: Mapping[str, Estimate]) -> Agreement:
    decided = comparison.decided
    items = len(np.unique(comparison.pairs.item))
    left = len(np.unique(comparison.pairs.item[decided]))
    return Agreement(
        first=comparison.first,
        second=comparison.second,
        items=items,
        items_without_ties=left,
        pairs=len(comparison.pairs),
        pairs_without_ties=int(decided.sum()),
        share_without_ties=left / items if items else None,
        confusion=tuple(tuple(row) for row in comparison.confusion().tolist()),
        group=comparison.group,
        label=comparison.label,
        with_ties=estimates["with_ties"],
        without_ties=estimates["without_ties"],
        with_ties_per_question=estimates["with_ties_per_question"],
        without_ties_per_question=estimates["without_ties_per_question"],
        cohen=estimates.get("cohen"),
        fleiss=estimates.get("fleiss"),
        alpha=estimates.get("alpha"),
        ac1=estimates.get("ac1"),
        sideless=estimates.get("sideless"),
    )
