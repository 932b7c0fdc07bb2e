"""Agreement beyond chance against the textbooks: printed examples, and definitions in loops."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from ranking import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha, sideless_kappa

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ratings = Sequence[Sequence[int | None]]

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: four
# observers, twelve units, missing data. Gwet (2014) uses the same ratings for AC1.
FOUR_OBSERVERS: Ratings = [
    [1, 1, None, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [None, 5, 5, 5], [None, None, 1, 1],
    [None, 3, None, None],
]  # fmt: skip

# Fleiss (1971) as reprinted in textbooks: ten subjects, fourteen raters, five categories.
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def count(ratings: Ratings, categories: Sequence[int]) -> list[list[int]]:
    return [[sum(rating == c for rating in unit) for c in categories] for unit in ratings]


def test_published_examples() -> None:
    counts = count(FOUR_OBSERVERS, [1, 2, 3, 4, 5])
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)
    assert gwet_ac1(counts) == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(FOURTEEN_RATERS) == pytest.approx(0.210, abs=5e-4)


def test_the_kappa_of_wmt_has_its_own_chance_agreement() -> None:
    # Bojar et al. (2016): p(A) .696 and 1,182 ties among 12,926 give p(E) .421, κ .475.
    assert sideless_kappa(0.696, 1182 / 12926) == pytest.approx(0.475, abs=5e-4)


def naive_fleiss(units: list[list[int]]) -> float:
    shares = [
        sum(a == b for a, b in permutations(unit, 2)) / (len(unit) * (len(unit) - 1))
        for unit in units
        if len(unit) > 1
    ]
    everything = [rating for unit in units for rating in unit]
    chance = sum((everything.count(c) / len(everything)) ** 2 for c in set(everything))
    observed = sum(shares) / len(shares)
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def naive_alpha(units: list[list[int]], categories: int) -> float:
    coincidence = np.zeros((categories, categories))
    for unit in units:
        for a, b in permutations(unit, 2):
            coincidence[a, b] += 1 / (len(unit) - 1)
    n_c = coincidence.sum(axis=1)
    n = n_c.sum()
    differ = 1 - np.eye(categories)
    expected = (differ * np.outer(n_c, n_c)).sum() / (n - 1)
    return float(1 - (differ * coincidence).sum() / expected) if expected else float("nan")


def naive_ac1(units: list[list[int]], categories: int) -> float:
    rated = [unit for unit in units if unit]
    paired = [unit for unit in units if len(unit) > 1]
    observed = sum(
        sum(a == b for a, b in permutations(unit, 2)) / (len(unit) * (len(unit) - 1))
        for unit in paired
    ) / len(paired)
    chance = 0.0
    for c in range(categories):
        share = sum(unit.count(c) / len(unit) for unit in rated) / len(rated)
        chance += share * (1 - share) / (categories - 1)
    return (observed - chance) / (1 - chance)


units_of_ratings = st.lists(
    st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=12
).filter(lambda units: any(len(unit) > 1 for unit in units))


@given(units_of_ratings)
def test_many_raters_against_the_definitions(units: list[list[int]]) -> None:
    counts = [[unit.count(c) for c in range(4)] for unit in units]
    assert fleiss_kappa(counts) == pytest.approx(naive_fleiss(units), abs=1e-9, nan_ok=True)
    assert krippendorff_alpha(counts) == pytest.approx(naive_alpha(units, 4), abs=1e-9, nan_ok=True)
    assert gwet_ac1(counts) == pytest.approx(naive_ac1(units, 4), abs=1e-9, nan_ok=True)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_cohens_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    one, other = zip(*pairs, strict=True)
    table = np.zeros((3, 3))
    np.add.at(table, (np.array(one), np.array(other)), 1)
    if len({*one, *other}) == 1:  # chance agreement is certain: scikit-learn warns
        assert np.isnan(cohen_kappa(table))
    else:
        assert cohen_kappa(table) == pytest.approx(cohen_kappa_score(one, other), abs=1e-9)


def test_nobody_to_agree_with_gives_no_number() -> None:
    assert np.isnan(krippendorff_alpha([[1, 0, 0], [0, 0, 1]]))
    assert np.isnan(fleiss_kappa([[1, 0, 0]]))
    assert np.isnan(gwet_ac1([[0, 0, 0]]))
    assert np.isnan(cohen_kappa(np.zeros((3, 3))))
