"""Which pair next: distributions over pairs, by hand and by property."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.design import CLOSENESS, POLICIES, pair_distribution

STRENGTHS = st.lists(st.floats(-50, 50), min_size=2, max_size=12)
EXPLORATION = st.floats(1e-6, 1.0)


@given(STRENGTHS, EXPLORATION, st.sampled_from(sorted(POLICIES)))
def test_every_pair_keeps_a_positive_probability(
    strengths: list[float], exploration: float, policy: str
) -> None:
    found = pair_distribution(np.array(strengths), policy=policy, exploration=exploration)
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert pairs == list(combinations(range(len(strengths)), 2))
    assert found.probability.sum() == pytest.approx(1)
    assert np.all(found.probability >= exploration / len(pairs) * (1 - 1e-9))


@given(STRENGTHS, EXPLORATION)
def test_uniform_looks_at_no_strength(strengths: list[float], exploration: float) -> None:
    found = pair_distribution(np.array(strengths), policy="uniform", exploration=exploration)
    assert found.probability == pytest.approx(np.full(len(found.first), 1 / len(found.first)))


@given(STRENGTHS, EXPLORATION, st.floats(-5, 5))
def test_closest_looks_at_differences_only(
    strengths: list[float], exploration: float, shift: float
) -> None:
    here, there = (
        pair_distribution(np.array(strengths) + by, policy="closest", exploration=exploration)
        for by in (0.0, shift)
    )
    assert here.probability == pytest.approx(there.probability, rel=1e-6, abs=1e-12)


def test_closest_weighs_as_the_formula_says() -> None:
    # By hand: p = 1/(1+e^-d) for d = 0.5, 2.0 and 1.5, weight exp(-((p - 1/2)/0.1)^2 / 2).
    found = pair_distribution(np.array([0.0, -0.5, -2.0]), policy="closest", exploration=0.2)
    wins = [1 / (1 + math.exp(-d)) for d in (0.5, 2.0, 1.5)]
    weights = [math.exp(-(((win - 0.5) / CLOSENESS) ** 2) / 2) for win in wins]
    expected = [0.2 / 3 + 0.8 * weight / sum(weights) for weight in weights]
    assert found.probability == pytest.approx(expected)


def test_the_share_that_closeness_leaves_is_as_documented() -> None:
    odds = [math.log(win / (1 - win)) for win in (0.5, 0.6, 0.7)]
    even, six, seven = (
        POLICIES["closest"](np.array([1 / (1 + math.exp(-value))]))[0] for value in odds
    )
    assert six / even == pytest.approx(0.61, abs=0.005)
    assert seven / even == pytest.approx(0.14, abs=0.005)


def test_strengths_however_far_apart_make_a_distribution() -> None:
    far = pair_distribution(np.array([0.0, 800.0, -800.0]), policy="closest", exploration=0.5)
    assert far.probability == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("strengths", [[], [0.0], [0.0, math.nan], [0.0, math.inf]])
def test_strengths_that_say_nothing_are_refused(strengths: list[float]) -> None:
    with pytest.raises(ValueError, match="two or more finite"):
        pair_distribution(np.array(strengths), policy="uniform", exploration=1.0)
