"""Bucketed counts say what single votes say, and add up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ranking import InvalidVote, Votes, compute_leaderboard, draw_strengths, simulate_votes
from ranking.boards.bucketed import compute_bucketed_leaderboard
from ranking.votes.buckets import BucketedCounts
from ranking.votes.comparisons import BOTH_BAD, TIE

if TYPE_CHECKING:
    from ranking.votes.encoding import BothBad


def bucket_votes(votes: Votes, buckets: int) -> BucketedCounts:
    assert votes.voter is not None
    cells = (votes.voter.codes % buckets, votes.model_a, votes.model_b, votes.outcome)
    return BucketedCounts.from_cells(votes.models, buckets, cells)


@pytest.fixture(scope="module")
def votes() -> Votes:
    votes = simulate_votes(draw_strengths(6, seed=1), 4_000, seed=2, tie=0.3, voters=64)
    tied = np.where(np.arange(4_000) % 3 == 0, BOTH_BAD, votes.outcome)
    return replace(votes, outcome=np.where(votes.outcome == TIE, tied, votes.outcome))


@pytest.mark.parametrize("both_bad", ["tie", "keep", "drop"])
def test_with_a_bucket_a_voter_the_board_is_that_of_the_voters(
    votes: Votes, both_bad: BothBad
) -> None:
    counts = bucket_votes(votes, 64)
    assert counts.votes == len(votes)
    told = compute_bucketed_leaderboard(counts, both_bad=both_bad)
    own = compute_leaderboard(votes, cluster=True, interval="sandwich", both_bad=both_bad)
    for entry, same in zip(told, own, strict=True):
        assert entry.model == same.model
        assert (entry.rank_lower, entry.rank_upper) == (same.rank_lower, same.rank_upper)
        assert (entry.score, entry.lower, entry.upper) == pytest.approx(
            (same.score, same.lower, same.upper), abs=1e-6
        )


def test_counts_of_one_arena_add_up_and_of_two_lie_side_by_side(votes: Votes) -> None:
    half = np.arange(len(votes)) < 1_500
    one, two = bucket_votes(votes.select(half), 16), bucket_votes(votes.select(~half), 16)
    whole = bucket_votes(votes, 16)
    assert (one.add(two).count == whole.count).all()
    both = one.merge(two)
    assert both.buckets == 32
    assert (both.fold(16).count == whole.count).all()
    assert (both.to_comparisons().outcome_counts == votes.count().outcome_counts).all()


def test_arenas_with_other_models_are_spread_over_those_of_either() -> None:
    one = BucketedCounts.from_cells(("a", "c"), 1, ([0], [0], [1], [0]))
    two = BucketedCounts.from_cells(("b", "c"), 1, ([0], [1], [0], [2]))
    both = one.add(two)
    assert both.models == ("a", "b", "c")
    assert both.count[0, 0, 2, 0] == both.count[0, 2, 1, 2] == 1
    assert both.votes == 2


def test_counts_that_cannot_be_are_refused(votes: Votes) -> None:
    counts = bucket_votes(votes, 16)
    with pytest.raises(InvalidVote, match="16 and 8 buckets"):
        counts.add(counts.fold(8))
    with pytest.raises(InvalidVote, match="cannot be folded into 5"):
        counts.fold(5)
    with pytest.raises(InvalidVote, match="below 0"):
        BucketedCounts(counts.models, -counts.count)
    with pytest.raises(InvalidVote, match="meets itself"):
        BucketedCounts.from_cells(("a", "b"), 1, ([0], [0], [0], [0]))
    with pytest.raises(InvalidVote, match="for 2 models"):
        BucketedCounts(("a", "b"), counts.count)
