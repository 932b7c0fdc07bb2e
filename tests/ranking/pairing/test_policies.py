"""Which pair next: distributions over pairs, by hand and by property."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.pairing.policies import (
    CLOSENESS,
    MOST_DUE,
    POLICIES,
    TEMPER,
    WELCOMING,
    closest_weights,
    find_games_due,
    pair_distribution,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    even, six, seven = (
        closest_weights(
            np.array([math.log(win / (1 - win)), 0.0]),
            np.eye(2),
            np.zeros((2, 2)),
            np.zeros(2, dtype=np.bool_),
        )[0]
        for win in (0.5, 0.6, 0.7)
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


@pytest.mark.parametrize("policy", ["variance", "information", "uncertainty"])
def test_weights_are_as_the_formulas_say(policy: str) -> None:
    strengths = np.array([0.4, -0.1, -0.3, 1.5])
    root = np.array([[0.5, 0.1, -0.6, 0], [0.2, -0.3, 0.1, 0], [0.05, 0, 0.05, -0.1]])
    covariance = root.T @ root
    covariance[3, 3] = 1.8  # between 2 and 2.8 times the median standard error
    games = np.array([[0.0, 4, 9, 1], [4, 0, 0, 2], [9, 0, 0, 3], [1, 2, 3, 0]])
    own = [0.2925, 0.1, 0.3725, 1.8]
    assert covariance.diagonal() == pytest.approx(own)
    ill_known = [max(0.0, v / (4 * (0.2925 + 0.3725) / 2) - 1) for v in own]
    expected = []
    for i, j in combinations(range(4), 2):
        d = strengths[i] - strengths[j]
        p = 1 / (1 + math.exp(-d))
        v = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        n = games[i, j] + 1
        z = max(abs(d) / math.sqrt(v) - 1.3, 0)
        interest = max(math.exp(-(z**2) / (2 * 0.4**2)), ill_known[i], ill_known[j])
        expected.append(
            {
                "variance": math.sqrt(p * (1 - p) / n) - math.sqrt(p * (1 - p) / (n + 1)),
                "information": math.log(1 + p * (1 - p) * v),
                "uncertainty": interest * math.log(1 + p * (1 - p) * v),
            }[policy]
        )
    found = pair_distribution(strengths, covariance, games, policy=policy, exploration=0.2)
    assert found.probability == pytest.approx(0.2 / 6 + 0.8 * np.array(expected) / sum(expected))


def test_tempered_is_a_mixture_of_uncertainty_and_information() -> None:
    strengths, covariance = np.array([0.4, -0.1, -0.3, 1.5]), np.diag([0.02, 0.01, 0.03, 0.02])
    own, order, scores = (
        pair_distribution(strengths, covariance, policy=policy, exploration=1e-9).probability
        for policy in ("tempered", "uncertainty", "information")
    )
    assert own == pytest.approx((1 - TEMPER) * order + TEMPER * scores, rel=1e-5)


def test_a_model_far_from_all_others_is_not_left_behind() -> None:
    """Its order is beyond doubt; only how little is known of it makes it interesting."""
    strengths = np.array([0.0, 0.05, -0.05, 0.1, 4.0])
    shares = []
    for error in (0.1, 0.3):
        covariance = np.diag([0.01, 0.01, 0.01, 0.01, error**2])
        found = pair_distribution(strengths, covariance, policy="uncertainty", exploration=0.001)
        shares.append(found.probability[(found.first == 4) | (found.second == 4)].sum())
    assert shares[0] < 0.001
    assert shares[1] > 0.1


@pytest.mark.parametrize("policy", ["uncertainty", "tempered"])
def test_two_thirds_of_the_draws_are_a_newcomers(policy: str) -> None:
    strengths, covariance = np.array([0.0, 0.1, -0.1, 1.0]), np.diag([0.01, 0.01, 0.01, 9.0])
    late = np.array([False, False, False, True])

    def draw(policy: str, newcomers: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        return pair_distribution(
            strengths, covariance, policy=policy, exploration=0.2, newcomers=newcomers
        ).probability

    before, after = draw(policy, None), draw(policy, late)
    theirs = np.array([2, 4, 5])  # (0, 3), (1, 3), (2, 3)
    others = np.array([0, 1, 3])
    apart = [math.log(1 + math.exp(-d) / (1 + math.exp(-d)) ** 2 * 9.01) for d in (1, 0.9, 1.1)]
    expected = np.full(6, 0.2 / 6)
    expected[theirs] += 0.8 * 2 / 3 * np.array(apart) / sum(apart)
    left = before[others] - 0.2 / 6
    expected[others] += 0.8 / 3 * left / left.sum()
    assert after == pytest.approx(expected)
    # Of whom so little is known it would else be in every battle.
    assert before[theirs].sum() > 0.8 > after[theirs].sum()
    assert set(POLICIES) > WELCOMING == {"uncertainty", "tempered"}
    for other in set(POLICIES) - WELCOMING:
        assert draw(other, late) == pytest.approx(draw(other, None))


@given(st.lists(st.booleans(), min_size=4, max_size=9).filter(any), EXPLORATION)
def test_newcomers_have_their_share_and_every_pair_its_floor(
    late: list[bool], exploration: float
) -> None:
    newcomers = np.array(late)
    found = pair_distribution(
        np.linspace(0.0, 1.0, len(late)),
        policy="uncertainty",
        exploration=exploration,
        newcomers=newcomers,
    )
    theirs = newcomers[found.first] | newcomers[found.second]
    share = 2 / 3 if not theirs.all() else 1.0
    expected = exploration * theirs.mean() + (1 - exploration) * share
    assert found.probability[theirs].sum() == pytest.approx(expected)
    assert np.all(found.probability >= exploration / len(theirs) * (1 - 1e-9))


def test_where_all_others_are_gone_newcomers_meet_each_other() -> None:
    late = np.array([True, True, False])
    drawn = pair_distribution(
        np.zeros(3), policy="uncertainty", exploration=0.1, newcomers=late
    ).probability
    assert drawn == pytest.approx([1 / 3] * 3)


def test_nothing_overflows_with_newcomers_of_whom_a_game_tells_nothing() -> None:
    strengths = np.array([1e6, -1e6, 0.0])
    drawn = pair_distribution(
        strengths,
        np.zeros((3, 3)),
        policy="uncertainty",
        exploration=0.1,
        newcomers=np.array([True, False, False]),
    )
    assert drawn.probability.sum() == pytest.approx(1)
    assert (drawn.probability >= 0.1 / 3 * (1 - 1e-9)).all()


def test_a_model_is_to_catch_up_with_what_the_others_had_when_it_came() -> None:
    # Three came with the first votes; at 90 they had 60 games each, and at 200 four had 100.
    assert find_games_due(np.array([200.0, 0, 0, 1, 90])).tolist() == [100, 0, 0, 0, 60]
    # Two that came together are not each other's yardstick.
    assert find_games_due(np.array([0.0, 0, 90, 90])).tolist() == [0, 0, 90, 90]
    # Of an arena in which the others hardly had games nobody is late, nor alone in one.
    assert find_games_due(np.array([0.0, 0, 1, 20, 25])).tolist() == [0] * 5
    assert find_games_due(np.array([5_000.0, 0])).tolist() == [0, 0]
    assert find_games_due(np.array([0.0, 0, 1e6])).tolist() == [0, 0, MOST_DUE]
    assert find_games_due(np.array([40.0, 40, 40])).tolist() == [0, 0, 0]


def test_a_matrix_of_another_size_or_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"counts: shape \(2, 2\) does not fit 3 strengths"):
        pair_distribution(np.zeros(3), counts=np.zeros((2, 2)), policy="variance", exploration=0.1)
    with pytest.raises(ValueError, match="not every value is finite"):
        pair_distribution(
            np.zeros(2), np.full((2, 2), math.nan), policy="information", exploration=0.1
        )
    with pytest.raises(ValueError, match=r"newcomers: shape \(2,\) does not fit 3 strengths"):
        pair_distribution(
            np.zeros(3), policy="uncertainty", exploration=0.1, newcomers=np.array([True, False])
        )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("variance", [0.0, 1e-12, 9.0, 1e12])
@pytest.mark.parametrize("strengths", [(1e6, -1e6, 0.0), (45.0, -44.0, 0.0), (1e-12, 0.0, 0.0)])
def test_nothing_overflows_however_far_apart_models_are(
    strengths: tuple[float, ...], variance: float, policy: str
) -> None:
    drawn = pair_distribution(
        np.array(strengths), variance * np.eye(3), policy=policy, exploration=0.1
    )
    assert (drawn.probability >= 0.1 / 3 * (1 - 1e-9)).all()
    assert drawn.probability.sum() == pytest.approx(1)


def test_where_no_order_is_open_pairs_are_drawn_by_what_they_tell() -> None:
    """The weights of orders were too small for single precision to divide by."""
    found = pair_distribution(
        np.array([0.0, 26.0, 52.0]), covariance=1e-3 * np.eye(3), policy="tempered", exploration=0.1
    )
    assert np.isfinite(found.probability).all()
    assert found.probability.sum() == pytest.approx(1.0)
