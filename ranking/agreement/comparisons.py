"""What is measured of one comparison, as functions of sums over items and over judges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.confusions import (
    ac1_from_confusion,
    alpha_from_confusion,
    decided_rate_from_confusion,
    fleiss_from_confusions,
    rate_from_confusion,
    sideless_from_confusion,
    symmetric_sideless_from_confusion,
)
from ranking.agreement.intervals import (
    ClusteredResampling,
    Statistic,
    item_terms,
    ratio,
)
from ranking.agreement.kappas import (
    ac1_from_sums,
    ac1_terms,
    alpha_from_sums,
    alpha_terms,
    cohen_from_sums,
    fleiss_from_sums,
    fleiss_terms,
)
from ranking.votes.encoding import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from ranking.agreement.pairs import Pairs

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

__all__ = ["Comparison", "resample_judges"]


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
    def judges(self) -> Codes:
        """The individuals of both sides of each pair, shape (2 · pairs,)."""
        return np.concatenate([self.pairs.judge, self.pairs.judge_too])

    @property
    def same(self) -> NDArray[np.bool_]:
        """Whether each pair agrees."""
        return np.asarray(self.pairs.one == self.pairs.other)

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether each pair is of two decisive verdicts."""
        return (self.pairs.one < TIE) & (self.pairs.other < TIE)

    @cached_property
    def cells(self) -> csr_array:
        """The two verdicts of each pair, flattened, shape (categories², pairs)."""
        from scipy.sparse import csr_array

        size = self.categories
        cell = self.pairs.one.astype(np.intp) * size + self.pairs.other
        place = np.arange(len(cell))
        return csr_array((np.ones(len(cell)), (cell, place)), shape=(size**2, len(cell)))

    @cached_property
    def of_item(self) -> csr_array:
        """The item of each pair, shape (pairs, items)."""
        from scipy.sparse import csr_array

        place = np.arange(len(self.pairs))
        shape = (len(place), self.items)
        return csr_array((np.ones(len(place)), (place, self.pairs.item)), shape=shape)

    def statistics(self) -> dict[str, Statistic]:
        """Everything that is a function of sums over items, by field of `Agreement`."""
        cells = self.cells @ self.of_item
        found = {
            "with_ties": Statistic(cells, rate_from_confusion),
            "without_ties": Statistic(cells, decided_rate_from_confusion),
        }
        for name in tuple(found):
            found[f"{name}_per_question"] = _per_question(found[name])
        if not self.chance:
            return found
        if not self.symmetric:
            found["cohen"] = Statistic(cells, cohen_from_sums)
        found["sideless"] = Statistic(
            cells,
            symmetric_sideless_from_confusion if self.symmetric else sideless_from_confusion,
        )
        if self.counts is None or self.battle_item is None:
            found["alpha"] = Statistic(cells, alpha_from_confusion)
            found["ac1"] = Statistic(cells, ac1_from_confusion)
            return found
        for name, terms_of, finish in (
            ("fleiss", fleiss_terms, fleiss_from_sums),
            ("alpha", alpha_terms, alpha_from_sums),
            ("ac1", ac1_terms, ac1_from_sums),
        ):
            terms = item_terms(self.battle_item, terms_of(self.counts), self.items)
            found[name] = Statistic(terms, finish)
        return found

    def confusion(self) -> NDArray[np.int64]:
        """Pairs by the two verdicts, shape (categories, categories)."""
        table = self.cells.sum(axis=1).reshape(self.categories, self.categories).astype(np.int64)
        return np.asarray(table + table.T if self.symmetric else table)


def resample_judges(comparison: Comparison, resampling: ClusteredResampling) -> dict[str, Floats]:
    """Replicates over judges by field of `Agreement`; empty where all judges are few.

    Every figure is a function of pairs by their two verdicts, weighted: rates and Cohen's κ
    take each pair alike, α each rating alike (1/(n − 1) for a battle with n raters), AC1
    each battle alike (2/(n(n − 1))), and Fleiss' κ has its agreement from the last and its
    categories from the other.
    """
    pairs = comparison.pairs
    if not (comparison.resample_judges and len(pairs)):
        return {}
    if not resampling.are_many[comparison.judges[comparison.judges >= 0]].any():
        return {}
    cells = comparison.cells
    # Items without a pair would be columns of nothing.
    of_item = comparison.of_item[:, np.unique(pairs.item)]
    agree, decided = comparison.same, comparison.decided
    asked = [np.ones(len(pairs)), agree, decided, agree & decided]
    by_item = [(of_item.multiply(x[:, None]).T).tocsr() for x in asked]
    raters = _count_raters(pairs)
    by_rating = cells.multiply(1 / (raters - 1)).tocsr()
    by_battle = cells.multiply(2 / (raters * (raters - 1))).tocsr()
    sums = resampling.over_judges(pairs, [cells, by_rating, by_battle, *by_item])
    whole, rating, battle, *items = sums
    found = {
        "with_ties": rate_from_confusion(whole),
        "without_ties": decided_rate_from_confusion(whole),
        "with_ties_per_question": _mean_ratio(items[1], items[0]),
        "without_ties_per_question": _mean_ratio(items[3], items[2]),
    }
    if not comparison.chance:
        return found
    found["cohen"] = cohen_from_sums(whole)
    if comparison.counts is None:
        return found | {
            "sideless": sideless_from_confusion(whole),
            "alpha": alpha_from_confusion(whole),
            "ac1": ac1_from_confusion(whole),
        }
    return found | {
        "sideless": symmetric_sideless_from_confusion(whole),
        "alpha": alpha_from_confusion(rating),
        "ac1": ac1_from_confusion(battle),
        "fleiss": fleiss_from_confusions(battle, rating),
    }


def _count_raters(pairs: Pairs) -> Floats:
    """How many raters the battle of each pair has, shape (pairs,), from n(n − 1)/2 pairs."""
    number = np.bincount(pairs.battle)[pairs.battle]
    return np.asarray((1 + np.sqrt(1 + 8 * number)) / 2)


def _mean_ratio(above: Floats, below: Floats) -> Floats:
    """Mean over items of a ratio, of those where it is defined, shape (replicates,)."""
    share = ratio(np.stack([above, below], axis=-1))
    answered = np.isfinite(share)
    total = np.stack([np.where(answered, share, 0.0), answered], axis=-1).sum(axis=1)
    return ratio(total)


def _per_question(pooled: Statistic) -> Statistic:
    """The mean over items of a rate of the whole."""
    share = pooled.finish(pooled.terms.toarray().T)
    answered = np.isfinite(share)
    terms = np.column_stack([np.where(answered, share, 0.0), answered])
    return Statistic(item_terms(np.arange(len(share)), terms, len(share)), ratio)
