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

from ranking.agreement.comparisons import Comparison, resample_judges
from ranking.agreement.intervals import (
    ClusteredResampling,
    Estimate,
    Statistic,
    exact_bounds,
    widest,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["RATES", "Agreement", "measure_agreements", "measure_differences"]

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


def measure_agreements(
    comparisons: Sequence[Comparison], resampling: ClusteredResampling
) -> list[Agreement]:
    """Agreement of each comparison; all share the same replicates over items.

    Each figure gets the wider of its intervals over items and over judges, where a kind has
    enough of them to resample.
    """
    statistics = [comparison.statistics() for comparison in comparisons]
    flat = [statistic for found in statistics for statistic in found.values()]
    replicates = iter(resampling.over_items(flat))
    results: list[Agreement] = []
    for comparison, found in zip(comparisons, statistics, strict=True):
        over_items = {name: next(replicates) for name in found}
        over_judges = resample_judges(comparison, resampling)
        estimates = {
            name: _estimate(
                name, statistic, (over_items[name], over_judges.get(name)), comparison, resampling
            )
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
        items = min(_count_items(name, found[name]) for found in pair)
        estimates = [resampling.estimate(value, spread, "item", items)]
        if value is not None and any(over_judges):
            one, other = (
                drawn.get(name, np.full(resampling.replicates, rate))
                for drawn, rate in zip(over_judges, (here, there), strict=True)
            )
            judges = resampling.count_judges(comparison.judges)
            estimates.append(resampling.estimate(value, one - other, "judge", judges))
        differences[name] = widest(estimates)
    return differences


def _estimate(
    name: str,
    statistic: Statistic,
    drawn: tuple[Floats, Floats | None],
    comparison: Comparison,
    resampling: ClusteredResampling,
) -> Estimate:
    value, items = statistic.value, _count_items(name, statistic)
    if name in RATES and value in (0.0, 1.0):
        return Estimate(value, *exact_bounds(value, items, resampling.level), "item")
    over_items, over_judges = drawn
    estimates = [resampling.estimate(value, over_items, "item", items)]
    if over_judges is not None:
        judges = resampling.count_judges(comparison.judges)
        estimates.append(resampling.estimate(value, over_judges, "judge", judges))
    return widest(estimates)


def _count_items(name: str, statistic: Statistic) -> int:
    """Items that say anything about a figure."""
    if name in RATES:
        return int(np.isfinite(statistic.finish(statistic.terms.toarray().T)).sum())
    return len(np.unique(statistic.terms.indices))


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
