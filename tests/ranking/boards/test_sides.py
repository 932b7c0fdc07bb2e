"""Whether the left answer wins more than it should."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import pytest

from ranking import Comparisons, NoMaximum, compute_leaderboard, measure_side_bias
from ranking.pairing.simulate import draw_strengths, simulate_votes

STRENGTHS = draw_strengths(6, seed=2)


def won_by(outcome: str, votes: int = 1000) -> Comparisons:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 5, votes)
    b = (a + rng.integers(1, 5, votes)) % 5
    return Comparisons.from_counts(a, b, [outcome] * votes, models=list("pqrst"))


@pytest.mark.parametrize(("outcome", "sign"), [("model_b", -1), ("model_a", 1)])
@pytest.mark.parametrize("votes", [3, 40, 1000])
def test_a_side_that_won_everything_has_a_finite_advantage(
    outcome: str, sign: int, votes: int
) -> None:
    """The diagnostic did not converge there, and the board looked like any other."""
    found = measure_side_bias(won_by(outcome, votes))
    assert found.is_one_sided
    assert sign * found.effect > 1
    assert np.isfinite([found.lower, found.upper]).all()
    assert found.lower < found.effect < found.upper
    assert found.is_clear == (votes == 1000) or votes == 40
    board = compute_leaderboard(won_by(outcome, votes), interval="sandwich", prior=3.0)
    assert board.diagnostics["side_bias"]["is_one_sided"]
    assert json.loads(json.dumps(board.to_dict(), allow_nan=False))


def test_a_board_says_that_one_side_wins_more() -> None:
    votes = simulate_votes(STRENGTHS, 6_000, seed=3, home=0.3, tie=0.3)
    board = compute_leaderboard(votes, interval="sandwich", prior=3.0)
    told = board.diagnostics["side_bias"]
    assert told == pytest.approx(asdict(measure_side_bias(votes)), abs=1e-8)
    assert told["is_clear"]
    assert not told["is_one_sided"]
    fair = compute_leaderboard(
        simulate_votes(STRENGTHS, 6_000, seed=4), interval="sandwich"
    ).diagnostics["side_bias"]
    assert not fair["is_clear"]
    assert fair["lower"] < 0 < fair["upper"]


@pytest.mark.parametrize("interval", ["sandwich", "bootstrap", "pivot"])
@pytest.mark.parametrize("options", [{}, {"cluster": True}, {"tie_model": "davidson"}])
def test_strengths_are_adjusted_for_the_side(
    options: dict[str, Any], interval: Literal["sandwich", "bootstrap", "pivot"]
) -> None:
    """One model is on the left nine times of ten, and the left is favoured."""
    votes = simulate_votes(
        np.zeros(4), 4_000, seed=5, home=0.8, voters=50, tie=0.2, names=["p", "q", "r", "s"]
    )
    keep = (votes.model_a == 0) | ((votes.model_b != 0) | (np.arange(len(votes)) % 9 == 0))
    kept = votes.select(keep)
    naive = compute_leaderboard(kept, interval="sandwich", **options)
    fair = compute_leaderboard(kept, interval=interval, replicates=20, adjust_side=True, **options)
    assert naive["p"].lower > 1000
    assert fair["p"].lower - 15 < 1000 < fair["p"].upper + 15
    (side,) = [c for c in fair.coefficients if c.name == "left side"]
    assert 0.5 < side.lower < side.estimate < side.upper < 1.1
    assert fair.options.adjust_side


def test_counts_can_be_adjusted_for_the_side() -> None:
    votes = simulate_votes(STRENGTHS, 3_000, seed=7, home=0.4)
    single = compute_leaderboard(votes, interval="sandwich", adjust_side=True)
    counted = compute_leaderboard(votes.count(), interval="sandwich", adjust_side=True)
    for entry in single.entries:
        assert counted[entry.model].score == pytest.approx(entry.score)
        assert counted[entry.model].lower == pytest.approx(entry.lower)


@pytest.mark.parametrize(("outcome", "side"), [("model_b", "right"), ("model_a", "left")])
def test_an_advantage_without_a_size_is_refused_and_the_remedy_works(
    outcome: str, side: str
) -> None:
    with pytest.raises(NoMaximum, match=f"the {side} side won every .* do not adjust for it"):
        compute_leaderboard(won_by(outcome), adjust_side=True)
    assert compute_leaderboard(won_by(outcome), interval="sandwich").entries


@pytest.mark.parametrize("outcome", ["tie", "tie (bothbad)"])
def test_votes_without_a_winner_tell_nothing_of_sides(outcome: str) -> None:
    found = measure_side_bias(won_by(outcome, 30))
    assert (found.effect, found.is_clear, found.is_one_sided) == (0.0, False, False)
    assert found.lower < 0 < found.upper
