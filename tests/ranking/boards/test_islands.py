"""Models in groups that never met, or of which one won every game against the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ranking import Comparisons, Group, Leaderboard, NoMaximum, Votes, compute_leaderboard
from ranking.boards.entries import label_island
from ranking.fits.components import find_components
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.plots import plot_intervals, plot_rank_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZES = (5, 3)
KINDS: dict[str, Mapping[str, Any]] = {
    "sandwich": {"interval": "sandwich"},
    "percentile": {"replicates": 60},
    "pivot": {"interval": "pivot", "replicates": 60},
    "by voter": {"interval": "sandwich", "cluster": True},
    "by voter, resampled": {"replicates": 60, "cluster": True},
    "style": {"interval": "sandwich", "adjust": True},
    "style, resampled": {"replicates": 20, "adjust": True, "interval": "pivot"},
    "davidson": {"interval": "sandwich", "tie_model": "davidson"},
    "fitted prior": {"interval": "sandwich", "prior": "fitted"},
}


def cast(names: str, votes: int, seed: int) -> Votes:
    return simulate_votes(
        draw_strengths(len(names), seed=seed),
        votes,
        seed=seed + 1,
        tie=0.4,
        voters=40,
        style={"length": 0.3},
        names=list(names),
    )


def join(parts: list[Votes], games: str = "") -> Votes:
    """Votes of several groups, and games of two letters each that the first one won."""
    models = tuple(name for part in parts for name in part.models)
    offsets = np.cumsum([0, *(len(part.models) for part in parts)])[:-1]
    pairs = [(models.index(a), models.index(b)) for a, b in map(tuple, games.split())]
    extra = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    own = list(zip(parts, offsets, strict=True))
    people = [part.voter.codes for part in parts if part.voter is not None]
    styles = [part.covariates for part in parts if part.covariates is not None]
    return Votes(
        models=models,
        model_a=np.concatenate([*(p.model_a + o for p, o in own), extra[:, 0]]).astype(np.int32),
        model_b=np.concatenate([*(p.model_b + o for p, o in own), extra[:, 1]]).astype(np.int32),
        outcome=np.concatenate([*(p.outcome for p in parts), np.zeros(len(extra), np.int8)]),
        voter=Group(
            np.concatenate([*people, np.zeros(len(extra), np.intp)]),
            tuple(f"v{i}" for i in range(40)),
        ),
        covariates=np.concatenate([*styles, np.zeros((len(extra), 1))]),
        covariate_names=("length",),
    )


LARGE, SMALL = cast("ABCDE", 400, 1), cast("xyz", 250, 5)


@pytest.mark.parametrize("kind", ["sandwich", "fitted prior"])
def test_a_group_is_as_if_the_others_were_not_there(kind: str) -> None:
    """The sandwich's intervals of the larger group once held in 0 to 69 %."""
    options = {**KINDS[kind], "prior": 3.0}
    both = compute_leaderboard(join([LARGE, SMALL]), **options)
    for part in (LARGE, SMALL):
        alone = compute_leaderboard(part, **options)
        for entry in alone.entries:
            beside = both[entry.model]
            assert beside.score == pytest.approx(entry.score, abs=1e-6)
            assert (beside.lower, beside.upper) == pytest.approx((entry.lower, entry.upper))
            assert (beside.rank, beside.island_size) == (entry.rank, len(part.models))


@pytest.mark.parametrize("games", ["", "Ax", "Ax By Cz Ax", "Ax Ex " * 20])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_ranks_are_those_within_the_group(kind: str, games: str) -> None:
    board = compute_leaderboard(join([LARGE, SMALL], games), **KINDS[kind])
    assert [entry.island_label for entry in board.entries] == ["A"] * 5 + ["B"] * 3
    for label, size in zip("AB", SIZES, strict=True):
        group = [entry for entry in board.entries if entry.island_label == label]
        assert np.mean([entry.score for entry in group]) == pytest.approx(1000)
        for entry in group:
            assert not entry.provisional
            assert entry.island_size == size
            assert 1 <= entry.rank_lower <= entry.rank <= entry.rank_upper <= size
            assert entry.lower < entry.score < entry.upper
            assert entry.upper - entry.lower < 350
    won = [{"winner": "A", "loser": "B", "games": len(games.split())}] if games else []
    assert board.diagnostics["one_sided"] == won
    assert Leaderboard.from_dict(json.loads(json.dumps(board.to_dict()))) == board


@pytest.mark.parametrize("kind", KINDS)
def test_games_that_one_group_won_all_move_no_score(kind: str) -> None:
    apart = compute_leaderboard(join([LARGE, SMALL]), **KINDS[kind])
    tiers = compute_leaderboard(join([LARGE, SMALL], "Ax Ay Bz " * 9), **KINDS[kind])
    for entry in apart.entries:
        assert tiers[entry.model].score == pytest.approx(entry.score, abs=1e-6)


def test_one_upset_joins_two_tiers() -> None:
    board = compute_leaderboard(join([LARGE, SMALL], "Ax Ay xB"), interval="sandwich")
    assert not board.has_islands
    assert board.diagnostics["one_sided"] == []
    assert board["z"].island_size == 8
    assert board.describe_rank(board["z"]) == str(board["z"].rank)


@pytest.mark.parametrize("kind", KINDS)
def test_an_undefeated_model_moves_nobody_and_stands_beside_those_it_met(kind: str) -> None:
    """Where the prior keeps it, it would pull those it beat down: intervals held in 91 %."""
    w = Votes(
        ("w",), *(np.empty(0, np.int32),) * 2, np.empty(0, np.int8),
        voter=Group(np.empty(0, np.intp), ()), covariates=np.empty((0, 1)),
        covariate_names=("length",),
    )  # fmt: skip
    without = compute_leaderboard(join([LARGE, SMALL]), **KINDS[kind])
    board = compute_leaderboard(join([LARGE, SMALL, w], "wx wx wy wy wz"), **KINDS[kind])
    own = board["w"]
    assert (own.provisional, own.island_label, own.island_size) == (True, "B", 4)
    assert (own.rank, own.rank_lower, own.rank_upper) == (1, 1, own.rank_upper)
    assert own.score > board["x"].score
    assert own.standard_error > board["x"].standard_error
    for name in "ABCDExyz":
        now, then = board[name], without[name]
        assert now.score == pytest.approx(then.score, abs=0.01)
        assert now.standard_error == pytest.approx(then.standard_error, rel=0.6)
        assert now.provisional == then.provisional


def test_an_undefeated_model_may_be_far_above_what_is_fitted_to_the_others() -> None:
    """All intervals held in 81 % of arenas with one, where the prior was fitted."""
    votes = Comparisons.from_counts(
        ["p", "p", "q", "q", "r", "r", "x"],
        ["q", "q", "r", "r", "p", "p", "p"],
        ["model_a", "model_b"] * 3 + ["model_a"],
        [210, 190, 205, 195, 208, 192, 8],
    )
    board = compute_leaderboard(votes, interval="sandwich")
    assert board.method["prior_sd"] < 0.5
    assert board["x"].upper > 1200


def test_a_model_that_met_two_tiers_stands_with_the_one_it_met_more() -> None:
    between = "".join(f"A{name} " for name in "xyz") + "qx qy qz Aq "
    lone = Votes(
        ("q",), *(np.empty(0, np.int32),) * 2, np.empty(0, np.int8),
        voter=Group(np.empty(0, np.intp), ()), covariates=np.empty((0, 1)),
        covariate_names=("length",),
    )  # fmt: skip
    board = compute_leaderboard(join([LARGE, SMALL, lone], between), interval="sandwich")
    assert board["q"].island_label == "B"
    assert board["q"].provisional
    assert board.diagnostics["one_sided"] == [{"winner": "A", "loser": "B", "games": 4}]


def test_a_model_without_a_counted_vote_is_a_group_of_its_own() -> None:
    votes = Comparisons.from_counts(
        ["a", "a", "a"], ["b", "b", "c"], ["model_a", "model_b", "both_bad"], [9, 6, 4]
    )
    for options in ({"interval": "sandwich"}, {"replicates": 40}):
        board = compute_leaderboard(votes, both_bad="keep", prior=3.0, **options)
        c = board["c"]
        assert (c.score, c.rank, c.island_size, c.provisional) == (1000.0, 1, 1, True)
        # Nothing is known of it but the prior.
        assert c.upper - c.lower == pytest.approx(2 * 1.96 * 3 * 173.7, rel=0.01)


def test_a_chain_of_wins_hangs_on_the_group_at_its_end() -> None:
    wins = np.zeros((6, 6))
    wins[0, 1] = wins[1, 2] = wins[2, 0] = 3
    wins[3, 0] = wins[4, 3] = wins[5, 4] = 2
    found = find_components(wins)
    assert found.island.tolist() == [0] * 6
    assert found.provisional.tolist() == [False] * 3 + [True] * 3
    assert found.reference.tolist() == [True] * 3 + [False] * 3


def test_an_anchor_shifts_its_own_group() -> None:
    board = compute_leaderboard(join([LARGE, SMALL]), interval="sandwich", anchor=("x", 1200.0))
    assert board["x"].score == pytest.approx(1200)
    assert np.mean([board[name].score for name in "ABCDE"]) == pytest.approx(1000)


def test_without_a_prior_groups_are_refused_and_the_remedy_works() -> None:
    votes = join([LARGE, SMALL])
    with pytest.raises(NoMaximum, match=r"2 islands that never met .*'x'.*; use a prior"):
        compute_leaderboard(votes, prior=None, interval="sandwich")
    assert compute_leaderboard(votes, prior=3.0, interval="sandwich").has_islands


def test_groups_are_lettered() -> None:
    assert [label_island(n) for n in (0, 1, 25, 26, 51, 52, 701, 702)] == [
        "A", "B", "Z", "AA", "AZ", "BA", "ZZ", "AAA",
    ]  # fmt: skip


def test_boards_from_before_groups_had_letters_are_read() -> None:
    board = compute_leaderboard(join([LARGE, SMALL]), interval="sandwich")
    data = board.to_dict()
    for line in data["models"]:
        del line["island_label"], line["island_size"]
    assert Leaderboard.from_dict(data) == board


def test_pictures_keep_groups_apart() -> None:
    board = compute_leaderboard(join([LARGE, SMALL]), interval="sandwich")
    for plot in (plot_intervals, plot_rank_ranges):
        trace = plot(board).data[0]
        labels, names = trace.y
        assert dict(zip(names, labels, strict=True)) == {
            entry.model: f"group {entry.island_label}" for entry in board.entries
        }
        assert any("3 (group B)" in str(cell) for row in trace.customdata for cell in row)
