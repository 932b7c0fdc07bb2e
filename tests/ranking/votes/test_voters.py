"""Anomalous voters: the p-values in plain loops, and how often whom the test flags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, kstest

from ranking import Group, InvalidVote, RankingError, Votes
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.votes.voters import check_voters, compute_vote_p_values

LABELS = ("model_a", "model_b", "tie", "tie (bothbad)")

rows_of_votes = st.lists(
    st.tuples(
        st.sampled_from(["xy", "yx", "xz", "zy"]), st.sampled_from(LABELS),
        st.sampled_from("abc"),
    ),
    min_size=1, max_size=30,
)  # fmt: skip


def naive_p_value(rows: list[tuple[str, str, str]], i: int) -> float:
    sides, _, voter = rows[i]
    pair = "".join(sorted(sides))

    def won(row: tuple[str, str, str]) -> float:
        """What the first model by name won."""
        share = {"model_a": 1.0, "model_b": 0.0}.get(row[1], 0.5)
        return share if row[0] == pair else 1 - share

    history = [won(r) for r in rows if "".join(sorted(r[0])) == pair and r[2] != voter]
    turned = history.count(1.0) > history.count(0.0)
    history = [1 - h for h in history] if turned else history
    x = 1 - won(rows[i]) if turned else won(rows[i])
    return (1 + sum(h >= x for h in history)) / (1 + len(history))


@given(rows_of_votes)
def test_p_values_are_what_the_definition_says(rows: list[tuple[str, str, str]]) -> None:
    sides, outcomes, voters = zip(*rows, strict=True)
    votes = Votes.from_columns(
        [s[0] for s in sides], [s[1] for s in sides], outcomes, voter=list(voters)
    )
    expected = [naive_p_value(rows, i) for i in range(len(rows))]
    np.testing.assert_allclose(compute_vote_p_values(votes), expected)


def simulate(odd: int, kind: str) -> Votes:
    """Two hundred voters with a hundred votes each, the first of them odd."""
    votes = simulate_votes(draw_strengths(8, seed=1, spread=1.2), 20_000, seed=2, tie=0.3)
    voter = Group(np.arange(20_000) % 200, tuple(f"v{i:03d}" for i in range(200)))
    rng = np.random.default_rng(3)
    guess = rng.integers(0, 3, 20_000)
    turned = np.array([1, 0, 2, 3])[votes.outcome]
    other = {"random": guess, "contrary": turned}.get(kind, votes.outcome)
    outcome = np.where(voter.codes < odd, other, votes.outcome).astype(np.int8)
    return replace(votes, voter=voter, outcome=outcome)


@pytest.mark.parametrize("smoothed", [False, True])
def test_honest_voters_are_rarely_flagged(smoothed: bool) -> None:
    found = check_voters(simulate(0, "honest"), alpha=0.1, smoothed=smoothed)
    assert sum(test.flagged for test in found) <= 20 + 3 * np.sqrt(200 * 0.1 * 0.9)


@pytest.mark.parametrize(("kind", "least"), [("random", 0.5), ("contrary", 0.95)])
def test_odd_voters_are_flagged(kind: str, least: float) -> None:
    found = check_voters(simulate(20, kind), alpha=0.1, smoothed=True)
    odd, honest = found[:20], found[20:]
    assert np.mean([test.flagged for test in odd]) >= least
    assert np.mean([test.flagged for test in honest]) <= 0.1


def test_smoothed_p_values_of_honest_votes_are_uniform() -> None:
    votes = simulate(0, "honest")
    tie = 1 - np.random.default_rng(1).random(len(votes))
    p = compute_vote_p_values(votes, tie=tie)
    assert kstest(p, "uniform").pvalue > 0.001
    assert (p <= compute_vote_p_values(votes)).all()


def test_published_p_values_flag_who_is_wrong_about_lopsided_pairs() -> None:
    votes = simulate_votes(np.array([3.0, -3.0]), 4_000, seed=1)
    voter = Group(np.arange(4_000) % 40, tuple(f"v{i:02d}" for i in range(40)))
    turned = np.array([1, 0, 2, 3])[votes.outcome]
    outcome = np.where(voter.codes == 0, turned, votes.outcome).astype(np.int8)
    found = check_voters(replace(votes, voter=voter, outcome=outcome))
    assert [test.voter for test in found if test.flagged] == ["v00"]


def test_looks_are_those_of_the_voter_whoever_else_votes() -> None:
    votes = simulate(20, "random")
    whole = {test.voter: test for test in check_voters(votes, seed=7)}
    assert votes.voter is not None
    some = check_voters(votes.select(votes.voter.codes < 50), seed=7)
    for test in some[:50]:
        assert [look.votes for look in test.looks] == [x.votes for x in whole[test.voter].looks]
    look = whole["v000"].looks[-1]
    assert look.threshold == pytest.approx(chi2.ppf(1 - 0.1 / 5, 2 * look.votes))
    p = compute_vote_p_values(votes)[::200][: look.votes]
    assert look.statistic == pytest.approx(-2 * np.log(p).sum())


def test_a_voter_of_few_votes_is_looked_at_seldom() -> None:
    votes = simulate(0, "honest").select(np.arange(20_000) < 2_000)
    for test in check_voters(votes):
        assert test.votes == 10
        assert all(look.votes <= 10 for look in test.looks)


def test_the_order_of_time_counts() -> None:
    votes = simulate(20, "random")
    shuffled = np.random.default_rng(0).permutation(len(votes))
    timed = replace(votes, time=np.arange(len(votes), dtype=float)).select(shuffled)
    assert check_voters(timed, smoothed=True) == check_voters(votes, smoothed=True)


def test_what_cannot_be_tested_is_refused() -> None:
    votes = simulate(0, "honest")
    with pytest.raises(InvalidVote, match="no voters to test"):
        check_voters(replace(votes, voter=None))
    with pytest.raises(RankingError, match="alpha must be between 0 and 1, not 10"):
        check_voters(votes, alpha=10)
    with pytest.raises(RankingError, match="9 looks at 5 votes are not possible"):
        check_voters(votes, looks=9, first=5)
