import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from ranking import (
    Comparisons,
    Entry,
    Group,
    InvalidVote,
    Leaderboard,
    NoMaximum,
    RankingError,
    UnknownModel,
    compute_leaderboard,
    compute_rank_ranges,
    compute_ranks,
    fit_bradley_terry,
)
from ranking.boards.ranks import find_indistinct_groups
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.plots import plot_battle_counts, plot_intervals, plot_win_rates


@pytest.fixture(scope="module")
def arena() -> Comparisons:
    rng = np.random.default_rng(5)
    strengths = rng.normal(0, 0.6, 8)
    a = rng.integers(0, 8, 4_000)
    b = (a + rng.integers(1, 8, 4_000)) % 8
    won = rng.random(4_000) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
    kind = np.where(won, "model_a", "model_b").astype(object)
    kind[rng.random(4_000) < 0.2] = "tie"
    kind[rng.random(4_000) < 0.05] = "tie (bothbad)"
    return Comparisons.from_counts(a, b, kind, models=[f"m{i}" for i in range(8)])


def test_ranks_of_the_published_example() -> None:
    assert compute_ranks(np.array([2.0, 1.8, 1.8, 1.2])).tolist() == [1, 2, 2, 4]


def test_rank_ranges_count_only_models_told_apart() -> None:
    lower, upper = np.array([3.0, 1.0, 0.0]), np.array([4.0, 2.0, 1.5])
    best, worst = compute_rank_ranges(lower, upper)
    assert best.tolist() == [1, 2, 2]
    assert worst.tolist() == [1, 3, 3]


def test_a_leaderboard_survives_json(arena: Comparisons) -> None:
    board = compute_leaderboard(arena, replicates=50)
    assert Leaderboard.from_dict(json.loads(json.dumps(board.to_dict()))) == board


def test_the_seed_decides_and_the_threads_do_not(arena: Comparisons) -> None:
    one = compute_leaderboard(arena, replicates=100, seed=3, threads=1)
    assert one == compute_leaderboard(arena, replicates=100, seed=3, threads=3)
    assert one != compute_leaderboard(arena, replicates=100, seed=4)


def test_counts_add_up(arena: Comparisons) -> None:
    board = compute_leaderboard(arena, interval="sandwich")
    assert sum(e.votes for e in board.entries) == 2 * arena.votes
    assert sum(e.wins for e in board.entries) == sum(e.losses for e in board.entries)
    assert np.sum(board.battles) == 2 * arena.votes
    for entry, row in zip(board.entries, board.battles, strict=True):
        assert entry.votes == entry.wins + entry.losses + entry.ties + entry.both_bad == sum(row)
        assert entry.lower < entry.score < entry.upper
        assert entry.rank_lower <= entry.rank <= entry.rank_upper


def test_bootstrap_and_sandwich_agree(arena: Comparisons) -> None:
    bootstrap = compute_leaderboard(arena, replicates=2_000)
    sandwich = compute_leaderboard(arena, interval="sandwich")
    for left, right in zip(bootstrap.entries, sandwich.entries, strict=True):
        assert left.model == right.model
        assert left.standard_error == pytest.approx(right.standard_error, rel=0.08)
        assert left.lower == pytest.approx(right.lower, abs=3)
        assert left.upper == pytest.approx(right.upper, abs=3)


def test_an_anchor_shifts_the_scores_and_no_interval(arena: Comparisons) -> None:
    plain = compute_leaderboard(arena, interval="sandwich")
    moved = compute_leaderboard(arena, interval="sandwich", anchor=("m3", 1200.0))
    assert moved["m3"].score == pytest.approx(1200)
    for left, right in zip(plain.entries, moved.entries, strict=True):
        assert left.upper - left.lower == pytest.approx(right.upper - right.lower)
        assert left.strength == right.strength
    with pytest.raises(RankingError, match="'m9' is not among"):
        compute_leaderboard(arena, interval="sandwich", anchor=("m9", 1.0))


def test_islands_are_never_ordered() -> None:
    votes = Comparisons.from_counts(["x", "p"], ["y", "q"], ["a", "tie"], [20, 6])
    board = compute_leaderboard(votes, replicates=50)
    assert board.diagnostics["islands"] == 2
    assert {e.island for e in board.entries} == {0, 1}
    assert board["y"].rank_upper == 2
    assert board["p"].rank_lower == 1
    assert board["p"].rank == board["q"].rank == 1


def test_without_a_prior_separable_votes_have_no_maximum() -> None:
    votes = Comparisons.from_counts(["x", "y"], ["y", "z"], ["a", "a"])
    with pytest.raises(NoMaximum, match="won or lost every game"):
        fit_bradley_terry(votes, prior=None)
    islands = Comparisons.from_counts(["x", "p"], ["y", "q"], ["tie", "tie"])
    with pytest.raises(NoMaximum, match="2 islands that never met"):
        fit_bradley_terry(islands, prior=None)


def test_both_bad_votes_are_ties_or_an_outcome_of_their_own_or_not_cast(
    arena: Comparisons,
) -> None:
    tied = compute_leaderboard(arena, interval="sandwich")
    kept = compute_leaderboard(arena, interval="sandwich", both_bad="keep")
    dropped = compute_leaderboard(arena, interval="sandwich", both_bad="drop")
    without = compute_leaderboard(arena.select(arena.outcome != 3), interval="sandwich")
    bad = int(arena.count[arena.outcome == 3].sum())
    assert kept.models == dropped.models == without.models
    for counted, left, right in zip(kept.entries, dropped.entries, without.entries, strict=True):
        assert counted.strength == left.strength == right.strength
        assert counted.lower == left.lower == right.lower
        same = tied[counted.model]
        assert counted.strength != same.strength
        assert (counted.votes, counted.both_bad) == (same.votes, same.both_bad)
        assert counted.both_bad_rate == same.both_bad_rate
        assert left.votes == counted.votes - counted.both_bad
        assert left.both_bad == 0
        assert left.both_bad_rate is None
    assert kept.battles == tied.battles
    assert dropped.battles == without.battles
    assert kept.diagnostics["votes"] == kept.diagnostics["effective_votes"] + bad
    assert kept.diagnostics["both_bad_rate"] == tied.diagnostics["both_bad_rate"]
    assert dropped.diagnostics["votes"] == dropped.diagnostics["effective_votes"]
    assert dropped.diagnostics["both_bad_dropped"] == bad
    assert dropped.diagnostics["both_bad_rate"] is None


def test_an_arena_of_nothing_but_bad_answers() -> None:
    votes = Comparisons.from_counts(["x"], ["y"], ["both_bad"], [5])
    kept = compute_leaderboard(votes, both_bad="keep", replicates=20)
    assert [entry.both_bad_rate for entry in kept.entries] == [1.0, 1.0]
    assert all(entry.provisional for entry in kept.entries)
    pivot = compute_leaderboard(votes, both_bad="keep", replicates=20, interval="pivot")
    assert pivot.entries == kept.entries
    with pytest.raises(RankingError, match="every vote is both-bad"):
        compute_leaderboard(votes, both_bad="drop")


def test_an_unknown_way_to_take_both_bad_votes(arena: Comparisons) -> None:
    options: dict[str, Any] = {"both_bad": "half"}
    with pytest.raises(RankingError, match=r"both_bad must be one of .* not 'half'"):
        compute_leaderboard(arena, **options)


def test_ignored_voters_are_told() -> None:
    votes = simulate_votes(draw_strengths(4, seed=1), 200, seed=2, voters=10)
    ignored = compute_leaderboard(votes, interval="sandwich").diagnostics
    assert (ignored["voters"], ignored["voters_ignored"]) == (10, True)
    heeded = compute_leaderboard(votes, interval="sandwich", cluster=True).diagnostics
    assert (heeded["voters"], heeded["voters_ignored"]) == (10, False)
    one_each = replace(votes, voter=Group.from_column([f"v{i}" for i in range(200)]))
    alone = compute_leaderboard(one_each, interval="sandwich").diagnostics
    assert (alone["voters"], alone["voters_ignored"]) == (200, False)
    assert "voters" not in compute_leaderboard(votes.count(), interval="sandwich").diagnostics


def test_pictures_show_every_model(arena: Comparisons) -> None:
    board = compute_leaderboard(arena, interval="sandwich")
    names = set(board.models)
    for plot in (plot_intervals, plot_win_rates, plot_battle_counts):
        figure = plot(board)
        assert set(figure.data[0].y) == names
        assert figure.to_json()


def test_groups_that_are_not_told_apart() -> None:
    lower = np.array([5.0, 3.0, 2.5, 0.0])
    upper = np.array([6.0, 5.5, 4.0, 1.0])
    assert find_indistinct_groups(lower, upper) == [(0, 1), (1, 2), (3,)]
    islands = np.array([0, 0, 1, 0])
    assert find_indistinct_groups(lower, upper, islands=islands) == [(0, 1), (2,), (3,)]


def test_one_model_is_no_ranking() -> None:
    with pytest.raises(InvalidVote, match="two models"):
        Comparisons.from_counts(["x"], ["x"], ["tie"])


def test_a_board_is_used_as_a_table(arena: Comparisons) -> None:
    board = compute_leaderboard(arena, interval="sandwich")
    assert len(board) == len(list(board)) == len(board.models)
    assert [entry.model for entry in board] == list(board.models)
    assert board[board.models[1]] is board.entries[1]
    assert board.models[0] in board
    assert "nobody" not in board
    table = board.to_frame()
    assert list(table.columns) == [column.name for column in fields(Entry)]
    assert table["score"].tolist() == [entry.score for entry in board]
    first = board.entries[0]
    assert repr(board).startswith(f"<Leaderboard of {len(board)} models: 1 {first.model} ")
    assert len(repr(board)) < 120


def test_a_model_that_is_not_on_the_board_is_named_with_those_that_may_be_meant() -> None:
    names = ("gpt-4", "gpt-4-turbo", "<llama & co>")
    pairs = Comparisons.from_counts(
        [names[0], names[1], names[2]], [names[1], names[2], names[0]], ["tie"] * 3, [9, 9, 9]
    )
    board = compute_leaderboard(pairs, interval="sandwich")
    with pytest.raises(
        UnknownModel, match="no model 'gpt4' among the 3 on the board; did you mean"
    ):
        board["gpt4"]
    with pytest.raises(KeyError):
        board["gpt4"]
    with pytest.raises(RankingError, match=r"see board\.models$"):
        board["xyz"]
    page = board._repr_html_()
    assert page.count("<tr>") == 4
    assert "&lt;llama &amp; co&gt;" in page
    assert "<llama" not in page
