"""What maintainers decide about draws: kept exactly, and nothing else changed."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.stats import chisquare

from ranking.pairing.constraints import PairConstraints, constrain, model_shares
from ranking.pairing.policies import PairDistribution, pair_distribution, pair_indices
from ranking.pairing.posterior import Posterior

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("Amber", "Birch", "Cedar", "Dune", "Elm")


def distribute(models: int, seed: int) -> PairDistribution:
    first, second, _ = pair_indices(models)
    weight = np.random.default_rng(seed).gamma(0.5, size=len(first)) + 0.02
    return PairDistribution(first, second, weight / weight.sum())


def position(i: int, j: int) -> int:
    return list(combinations(range(len(NAMES)), 2)).index((min(i, j), max(i, j)))


def test_without_constraints_nothing_changes() -> None:
    wanted = distribute(5, seed=1)
    used = constrain(wanted, PairConstraints(names=NAMES))
    assert used.probability == pytest.approx(wanted.probability)


def test_bounds_that_are_not_reached_change_nothing() -> None:
    wanted = distribute(5, seed=1)
    shares = model_shares(wanted, 5)
    assert shares.sum() == pytest.approx(2)
    loose = PairConstraints(
        names=NAMES,
        largest={i: min(float(s) * 1.01, 1.0) for i, s in enumerate(shares)},
        least={i: float(s) * 0.99 for i, s in enumerate(shares)},
    )
    assert constrain(wanted, loose).probability == pytest.approx(wanted.probability)


def test_who_is_not_enabled_or_kept_apart_is_not_drawn() -> None:
    enabled = np.array([True, True, True, False, True])
    constraints = PairConstraints(
        names=NAMES, enabled=enabled, apart=frozenset({(1, 0)}), pinned={(3, 4): 0.5}
    )
    wanted = distribute(5, seed=2)
    used = constrain(wanted, constraints)
    for p, (i, j) in zip(used.probability, combinations(range(5), 2), strict=True):
        assert (p > 0) == (3 not in (i, j) and {i, j} != {0, 1})
    # What remains keeps its proportions; the pin of a model that rests rests with it.
    left = used.probability > 0
    ratio = used.probability[left] / wanted.probability[left]
    assert ratio == pytest.approx(np.full(left.sum(), ratio[0]))


def test_pinned_pairs_have_exactly_their_share() -> None:
    used = constrain(
        distribute(5, seed=3), PairConstraints(names=NAMES, pinned={(4, 2): 0.3, (0, 1): 0.05})
    )
    assert used.probability[position(2, 4)] == pytest.approx(0.3)
    assert used.probability[position(0, 1)] == pytest.approx(0.05)
    assert used.probability.sum() == pytest.approx(1)


SHARES = st.dictionaries(st.integers(0, 4), st.floats(0.15, 1.0), max_size=5)


def is_possible(
    largest: Mapping[int, float], least: Mapping[int, float], apart: frozenset[tuple[int, int]]
) -> float:
    """The largest probability that every allowed pair can have at least, by linear programming."""
    pairs = [p for p in combinations(range(5), 2) if p not in apart]
    touches = np.array([[i in pair for pair in pairs] for i in range(5)], dtype=float)
    rows, bounds = [], []
    for i in range(5):
        rows += [np.append(touches[i], 0), np.append(-touches[i], 0)]
        bounds += [largest.get(i, 1.0), -least.get(i, 0.0)]
    for k in range(len(pairs)):
        row = np.zeros(len(pairs) + 1)
        row[k], row[-1] = -1, 1
        rows.append(row)
        bounds.append(0.0)
    goal = np.append(np.zeros(len(pairs)), -1.0)
    whole = np.append(np.ones(len(pairs)), 0.0)[None]
    found = linprog(goal, A_ub=np.array(rows), b_ub=bounds, A_eq=whole, b_eq=[1.0])
    return float(-found.fun) if found.success else -1.0


@given(SHARES, SHARES, st.sampled_from([(), ((0, 1),), ((0, 1), (2, 3))]), st.integers(0, 9))
@settings(max_examples=80)
def test_bounds_are_kept_where_they_can_be_and_refused_where_not(
    largest: dict[int, float],
    least: dict[int, float],
    apart: tuple[tuple[int, int], ...],
    seed: int,
) -> None:
    least = {i: 0.6 * s for i, s in least.items() if 0.6 * s <= largest.get(i, 1.0)}
    room = is_possible(largest, least, frozenset(apart))
    constraints = PairConstraints(names=NAMES, largest=largest, least=least, apart=frozenset(apart))
    if room < 1e-6:  # impossible, or possible only without some pair that is allowed
        if room < 0:
            with pytest.raises(ValueError, match=r"raise|lower"):
                constrain(distribute(5, seed), constraints)
        return
    if room < 1e-2:  # hardly possible: either answer is right
        return
    used = constrain(distribute(5, seed), constraints)
    shares = model_shares(used, 5)
    assert all(shares[i] <= cap + 1e-8 for i, cap in largest.items())
    assert all(shares[i] >= low - 1e-8 for i, low in least.items())
    allowed = [pair not in apart for pair in combinations(range(5), 2)]
    assert np.all((used.probability > 0) == allowed)
    assert used.probability.sum() == pytest.approx(1)


def test_the_distribution_used_is_the_closest_that_keeps_the_bounds() -> None:
    """Beside a general optimiser of the Kullback–Leibler divergence."""
    wanted = distribute(5, seed=4)
    touches = np.array([[i in pair for pair in combinations(range(5), 2)] for i in range(5)])
    largest, least = {0: 0.25, 3: 0.4}, {1: 0.5, 4: 0.45}
    bounds = [
        *({"type": "ineq", "fun": lambda q, i=i: largest[i] - touches[i] @ q} for i in largest),
        *({"type": "ineq", "fun": lambda q, i=i: touches[i] @ q - least[i]} for i in least),
        {"type": "eq", "fun": lambda q: q.sum() - 1},
    ]
    found = minimize(
        lambda q: float((q * np.log(q / wanted.probability)).sum()),
        np.full(10, 0.1),
        bounds=[(1e-9, 1)] * 10,
        constraints=bounds,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert found.success
    used = constrain(wanted, PairConstraints(names=NAMES, largest=largest, least=least))
    assert used.probability == pytest.approx(found.x, abs=1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"largest": {1: 0.0}}, "largest share 0.0 of Birch: not in (0, 1]"),
        ({"least": {2: 1.0}}, "least share 1.0 of Cedar: not in [0, 1)"),
        (
            {"least": {2: 0.5}, "largest": {2: 0.4}},
            "least share 0.5 of Cedar is above its largest, 0.4: lower the one or raise the other",
        ),
        ({"pinned": {(0, 0): 0.5}}, "pinned share 0.5 of Amber – Amber: need two models"),
        ({"pinned": {(0, 1): 1.5}}, "pinned share 1.5 of Amber – Birch"),
        (
            {"pinned": {(0, 1): 0.5}, "apart": frozenset({(1, 0)})},
            "Amber – Birch is pinned and kept apart: leave out one of the two",
        ),
        (
            {"enabled": np.array([True, False, False, False, False])},
            "no pair is left to draw: 1 models are enabled",
        ),
        (
            {"pinned": {(0, 1): 0.6, (2, 3): 0.4}},
            "pinned shares add up to 1: with other pairs to draw they must stay below 1",
        ),
        (
            {"pinned": {(0, 1): 0.6}, "largest": {0: 0.5}},
            "the pinned pairs of Amber need 0.6 of the draws, and its largest share is 0.5",
        ),
        (
            {"largest": dict.fromkeys(range(5), 0.3)},
            "the largest shares leave room for 1.5 of 2 (each draw shows two models): raise some",
        ),
        (
            {"least": dict.fromkeys(range(5), 0.5)},
            "the least shares need 2.5 of 2 (each draw shows two models): lower some",
        ),
        (
            # Two models are left: each is in every draw.
            {"enabled": np.array([True, True, False, False, False]), "largest": {0: 0.6}},
            "the largest shares leave room for 1.6 of 2",
        ),
        (
            # Every pair that is left has Amber in it.
            {
                "enabled": np.array([True, True, True, False, False]),
                "apart": frozenset({(1, 2)}),
                "largest": {0: 0.5},
            },
            "the largest share 0.5 of Amber cannot be kept beside the other constraints: raise it",
        ),
        (
            # Birch may meet Amber only, and Amber is rarely drawn.
            {
                "apart": frozenset({(1, 2), (1, 3), (1, 4)}),
                "largest": {0: 0.1},
                "least": {1: 0.4},
            },
            "the least share 0.4 of Birch cannot be kept beside the other constraints: lower it",
        ),
    ],
)
def test_impossible_constraints_name_the_value_and_the_remedy(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        constrain(distribute(5, seed=5), PairConstraints(names=NAMES, **given))


def test_a_distribution_of_other_models_is_refused() -> None:
    with pytest.raises(ValueError, match="6 pairs do not fit 5 models"):
        constrain(distribute(4, seed=1), PairConstraints(names=NAMES))


def test_what_is_drawn_comes_as_often_as_is_logged() -> None:
    """200,000 draws of a policy under every kind of constraint at once."""
    posterior = Posterior.prior(5)
    for i, j, share in [(0, 1, 1.0), (1, 2, 1.0), (3, 4, 0.5), (0, 4, 1.0), (0, 3, 1.0)] * 8:
        posterior = posterior.update(i, j, share)
    wanted = pair_distribution(
        posterior.strengths,
        posterior.covariance,
        posterior.counts,
        policy="uncertainty",
        exploration=0.05,
    )
    constraints = PairConstraints(
        names=NAMES,
        largest={4: 0.2},
        least={0: 0.45},
        pinned={(1, 2): 0.08},
        apart=frozenset({(0, 4)}),
    )
    used = constrain(wanted, constraints)
    assert np.abs(used.probability - wanted.probability).max() > 0.05
    drawn = np.bincount(used.draw(np.random.default_rng(7), 200_000), minlength=10)
    assert drawn[position(0, 4)] == 0
    possible = used.probability > 0
    expected = used.probability[possible] * 200_000
    assert chisquare(drawn[possible], expected).pvalue > 0.001
    appears = np.array([[i in p for p in combinations(range(5), 2)] for i in range(5)]) @ drawn
    assert appears[4] / 200_000 == pytest.approx(0.2, abs=0.004)
    assert appears[0] / 200_000 == pytest.approx(0.45, abs=0.004)
