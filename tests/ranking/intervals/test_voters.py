"""Intervals of votes that few voters cast, or voters as unequal as real ones are."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import Literal

import numpy as np
import pytest
from scipy.special import ndtr, stdtr
from scipy.stats import t

from ranking import Group, RankingError, Votes, compute_boards, compute_leaderboard, fit_paired
from ranking.intervals.intervals import paired_intervals
from ranking.intervals.voters import VoterSpread
from ranking.pairing.simulate import draw_strengths, simulate_votes

MODELS = 6


def cast_by(votes_each: list[int], *, seed: int = 1) -> Votes:
    votes = simulate_votes(draw_strengths(MODELS, seed=seed), sum(votes_each), seed=seed + 1)
    names = [f"v{i}" for i, count in enumerate(votes_each) for _ in repeat(None, count)]
    return replace(votes, voter=Group.from_column(names))


def test_voters_are_worth_as_many_as_would_cast_equally_many_votes() -> None:
    even = cast_by([50] * 8).to_rows(cluster=True)
    assert VoterSpread.of(even).effective == pytest.approx(8)
    # (300 + 100)² / (300² + 100·1²)
    uneven = cast_by([300, *[1] * 100]).to_rows(cluster=True)
    assert VoterSpread.of(uneven).effective == pytest.approx(400**2 / (300**2 + 100))


@pytest.mark.parametrize("interval", ["sandwich", "bootstrap"])
def test_one_voter_who_cast_a_third_of_the_votes_widens_the_intervals(
    interval: Literal["sandwich", "bootstrap"],
) -> None:
    """With voters − 1 degrees of freedom 95 % intervals of such votes held in 87 to 92 %."""
    each = [400, *[8] * 100]
    rows = cast_by(each).to_rows(cluster=True)
    spread = paired_intervals(fit_paired(rows), interval=interval, replicates=300).strengths
    effective = sum(each) ** 2 / sum(n**2 for n in each)
    assert effective < 10
    half = (spread.upper - spread.lower) / 2
    expected = t.ppf(0.975, effective - 1) * spread.standard_error
    assert half == pytest.approx(expected, rel=1e-9 if interval == "sandwich" else 0.3)


def test_all_models_at_once_take_students_quantile_at_the_normal_tail() -> None:
    """Stretching the multiplier by t/z held for all of 20 models in 74 % with five voters."""
    rows = cast_by([200] * 5).to_rows(cluster=True)
    spread = paired_intervals(fit_paired(rows), interval="sandwich").strengths
    apart = fit_paired(replace(rows, cluster=None))
    alone = paired_intervals(apart, interval="sandwich").strengths
    assert stdtr(4, -spread.multiplier) <= ndtr(-alone.multiplier) * (1 + 1e-9)
    assert spread.multiplier > alone.multiplier * t.ppf(0.975, 4) / 1.96
    assert spread.simultaneous_upper - spread.simultaneous_lower == pytest.approx(
        2 * spread.multiplier * spread.standard_error
    )


@pytest.mark.parametrize("each", [[600], [600, 3, 2], [0, 600]])
def test_one_voter_who_cast_nearly_all_votes_is_no_spread_of_voters(each: list[int]) -> None:
    votes = cast_by(each)
    with pytest.raises(RankingError, match=r"one voter cast (all|nearly all) votes"):
        compute_leaderboard(votes, cluster=True, interval="sandwich")
    compute_leaderboard(votes, interval="sandwich")  # the remedy: without clusters


def test_a_part_that_one_voter_nearly_alone_cast_has_no_board_by_voters() -> None:
    votes = cast_by([300, 2, 2, 150, 150, 150])
    labels = Group.from_column(["one"] * 304 + ["many"] * 450)
    boards = compute_boards(
        replace(votes, groups={"category": labels}),
        by=["category"],
        cluster=True,
        interval="sandwich",
    )
    assert {board.label: board.board is None for board in boards if board.label} == {
        "one": True,
        "many": False,
    }


def test_two_voters_are_the_fewest_that_can_be_compared() -> None:
    board = compute_leaderboard(cast_by([300, 300]), cluster=True, interval="sandwich")
    assert all(np.isfinite([entry.lower, entry.upper]).all() for entry in board.entries)
