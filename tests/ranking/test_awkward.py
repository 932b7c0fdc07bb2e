"""Input that other ranking programs crash on, or answer with confident nonsense."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import pytest

from ranking import (
    Comparisons,
    InvalidVote,
    NoMaximum,
    Options,
    RankingError,
    Votes,
    compute_leaderboard,
    fit_bradley_terry,
    fit_paired,
)
from ranking.fits.bradley_terry import DEFAULT_PRIOR
from ranking.intervals.intervals import IntervalKind
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.votes.encoding import BOTH_BAD, BothBad

if TYPE_CHECKING:
    from typing import Unpack

    from ranking import Leaderboard
    from ranking.boards.options import OptionKeywords, Prior
    from ranking.fits.likelihoods import TieModel

Table = list[tuple[str, str, str, int]]


def count(table: Table) -> Comparisons:
    return Comparisons.from_counts(*(list(column) for column in zip(*table, strict=True)))


RING: Table = [
    ("p", "q", "model_a", 30), ("q", "r", "model_a", 30), ("r", "p", "model_a", 20),
    ("p", "q", "model_b", 10), ("q", "r", "tie", 10), ("r", "p", "model_b", 25),
]  # fmt: skip

AWKWARD: dict[str, Table] = {
    "one battle": [("x", "y", "model_a", 1)],
    "one tie": [("x", "y", "tie", 1)],
    "one both-bad vote": [("x", "y", "tie (bothbad)", 1)],
    "twenty to nothing": [("x", "y", "model_a", 20)],
    "a model that won all": [*RING, ("x", "p", "model_a", 8), ("x", "q", "model_a", 8)],
    "a model that lost all": [*RING, ("p", "x", "model_a", 8), ("q", "x", "model_a", 8)],
    "two islands": [*RING, ("x", "y", "model_a", 9), ("x", "y", "model_b", 4)],
    "three islands of one battle": [
        ("a", "b", "model_a", 1), ("c", "d", "tie", 1), ("e", "f", "model_b", 1),
    ],
    "all ties": [("x", "y", "tie", 40), ("y", "z", "tie", 30), ("x", "z", "tie", 20)],
    "all both bad": [("x", "y", "tie (bothbad)", 40), ("y", "z", "tie (bothbad)", 30)],
    "a chain of wins": [(f"m{i}", f"m{i + 1}", "model_a", 3) for i in range(8)],
    "300 models with one vote each": [
        (f"m{i:03d}", f"m{i + 1:03d}", "model_a", 1) for i in range(0, 300, 2)
    ],
    "a thousand million votes": [
        ("x", "y", "model_a", 600_000_000), ("x", "y", "model_b", 399_999_999),
        ("y", "z", "tie", 1),
    ],
    "a thousand million to nothing": [("x", "y", "model_a", 1_000_000_000)],
    "counts of zero among others": [*RING, ("p", "never met", "tie", 0)],
    "names that need care": [
        ("=1+1", "<b>bold</b>", "model_a", 3), ("<b>bold</b>", "模型 🦙", "model_a", 2),
        ("模型 🦙", "=1+1", "model_b", 1),
    ],
}  # fmt: skip


def check(board: Leaderboard) -> None:
    text = json.dumps(board.to_dict(), allow_nan=False)
    assert json.loads(text)["models"]
    for entry in board.entries:
        assert np.isfinite([entry.score, entry.lower, entry.upper]).all()
        assert entry.lower <= entry.score <= entry.upper
        assert 1 <= entry.rank_lower <= entry.rank <= entry.rank_upper <= entry.island_size
        assert entry.upper - entry.lower > 0
    islands = [entry.island for entry in board.entries]
    assert islands == sorted(islands)
    for entry in board.entries:
        assert entry.island_size == islands.count(entry.island)


@pytest.mark.parametrize("both_bad", get_args(BothBad))
@pytest.mark.parametrize("interval", get_args(IntervalKind))
@pytest.mark.parametrize("prior", [3.0, "fitted"])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_votes_give_a_finite_board(
    name: str, prior: Prior, interval: IntervalKind, both_bad: BothBad
) -> None:
    options = Options(replicates=30, both_bad=both_bad, interval=interval, prior=prior)
    votes = count(AWKWARD[name])
    if both_bad == "drop" and (votes.outcome == BOTH_BAD).all():
        with pytest.raises(RankingError, match="every vote is both-bad"):
            compute_leaderboard(votes, options)
    else:
        check(compute_leaderboard(votes, options))


@pytest.mark.parametrize("kind", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("name", AWKWARD)
def test_tie_models_give_a_finite_board_or_say_why_not(name: str, kind: TieModel) -> None:
    votes = count(AWKWARD[name])
    if (votes.outcome >= 2).all():
        with pytest.raises(NoMaximum, match="every vote is a tie"):
            compute_leaderboard(votes, tie_model=kind, interval="sandwich")
    else:
        check(compute_leaderboard(votes, tie_model=kind, interval="sandwich"))


def board_of(name: str, **options: Unpack[OptionKeywords]) -> Leaderboard:
    options.setdefault("replicates", 200)
    options.setdefault("prior", DEFAULT_PRIOR)
    return compute_leaderboard(count(AWKWARD[name]), **options)


def test_one_battle_says_almost_nothing() -> None:
    board = board_of("one battle")
    winner, loser = board.entries
    assert winner.score == pytest.approx(1178, abs=1)
    assert winner.lower < loser.score < winner.score < loser.upper
    assert winner.rank_upper == 2
    assert board.diagnostics["provisional"] == ["x", "y"]


def test_twenty_to_nothing_is_finite_and_provisional() -> None:
    board = board_of("twenty to nothing")
    assert board["x"].score == pytest.approx(1382, abs=1)
    assert board["y"].provisional


def test_a_model_that_won_all_is_provisional_and_the_others_are_not() -> None:
    board = board_of("a model that won all")
    assert board.diagnostics["provisional"] == ["x"]
    x = board["x"]
    assert x.rank == 1
    assert x.upper - x.lower > 2 * (board["p"].upper - board["p"].lower)


def test_all_ties_are_equal_ranks_with_intervals_of_some_width() -> None:
    board = board_of("all ties")
    assert {entry.rank for entry in board.entries} == {1}
    assert {entry.rank_upper for entry in board.entries} == {3}
    assert all(entry.upper - entry.lower > 50 for entry in board.entries)


def test_islands_are_reported_and_not_ordered() -> None:
    board = board_of("two islands")
    assert board.diagnostics["islands"] == 2
    assert not any(entry.provisional for entry in board.entries)
    assert [board.describe_rank(board[name]) for name in ("x", "y")] == [
        "1 of 2 (group B)",
        "2 of 2 (group B)",
    ]
    for name in ("x", "y"):
        assert (board[name].rank_lower, board[name].rank_upper) == (1, 2)
    assert all(not {"p", "x"} <= set(g) for g in board.diagnostics["indistinct_groups"])


def test_huge_counts_fit_to_the_last_digit() -> None:
    board = board_of("a thousand million votes", interval="sandwich")
    x, y = board["x"], board["y"]
    assert x.strength - y.strength == pytest.approx(np.log(6 / 3.99999999), abs=1e-7)


def test_weights_of_zero_are_votes_that_do_not_count() -> None:
    votes = simulate_votes(draw_strengths(4, seed=0), 400, seed=1)
    weight = np.ones(400)
    weight[::2] = 0
    half = replace(votes, weight=weight)
    kept = votes.select(weight > 0)
    assert fit_paired(half.to_rows()).strengths == pytest.approx(
        fit_paired(kept.to_rows()).strengths, abs=1e-9
    )
    check(compute_leaderboard(half, interval="sandwich"))
    check(compute_leaderboard(half, replicates=40))
    with pytest.raises(RankingError, match="positive weight"):
        compute_leaderboard(replace(votes, weight=np.zeros(400)), interval="sandwich")


def test_a_covariate_that_cannot_be_told_is_a_named_error() -> None:
    votes = simulate_votes(draw_strengths(4, seed=0), 400, seed=1)
    zero = replace(votes, covariates=np.zeros((400, 1)), covariate_names=("length",))
    with pytest.raises(NoMaximum, match="'length' is 0 in every row"):
        compute_leaderboard(zero, adjust=True)
    z = np.random.default_rng(0).normal(size=(400, 1))
    twice = replace(votes, covariates=np.hstack([z, 2 * z]), covariate_names=("a", "b"))
    with pytest.raises(NoMaximum, match="repeats another"):
        compute_leaderboard(twice, adjust=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": [1.0, -1.0]}, "row 1: weight -1.0"),
        ({"weight": [np.nan, 1.0]}, "row 0: weight nan"),
        ({"voter": ["v", None]}, "row 1: the voter is missing"),
        ({"covariates": {"length": [0.0, np.inf]}}, "row 1: length inf"),
        ({"time": [np.inf, 0.0]}, "row 0: time inf"),
        ({"weight": [1.0]}, "different lengths"),
    ],
)
def test_unusable_columns_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidVote, match=message):
        Votes.from_columns(["x", "y"], ["y", "x"], ["tie", "tie"], **changes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "guess"}, "interval must be"),
        ({"tie_model": "elo"}, "tie_model must be one of 'half', 'davidson', 'rao-kupper'"),
        ({"level": 95}, "level must be between 0 and 1, such as 0.95, not 95"),
        ({"prior": 0}, "prior must be a standard deviation > 0 .*, 'fitted', or None .* not 0"),
        ({"prior": float("nan")}, "prior must be"),
        ({"prior": "wide"}, "'fitted', or None for no prior, not 'wide'"),
        ({"replicates": 1}, "replicates must be a whole number of at least 2, not 1"),
        ({"replicates": 10.5}, "replicates must be"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"cluster": "voter"}, "cluster must be True or False, not 'voter'"),
        ({"anchor": "p"}, "anchor must be a model's name and its score"),
        ({"bootstrap": "pivot"}, "no option 'bootstrap'; did you mean interval='pivot' or repl"),
        ({"model": "davidson"}, "no option 'model'; did you mean tie_model?"),
        ({"covariates": True}, "no option 'covariates'; did you mean adjust?"),
        ({"replicas": 5}, "no option 'replicas'; did you mean replicates?"),
        ({"zzz": 5}, "no option 'zzz'; there are tie_model, interval"),
        ({"cluster": True}, "pass Votes instead"),
    ],
)
def test_unusable_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RankingError, match=message):
        compute_leaderboard(count(RING), **options)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("fitted", "compute_leaderboard finds the fitted one"),
        ("3", "standard deviation > 0"),
        (0, "or None for no prior, not 0"),
        (float("inf"), "standard deviation > 0"),
    ],
)
def test_a_prior_that_a_single_fit_cannot_take_is_refused_with_the_remedy(
    prior: object, words: str
) -> None:
    for fit in (fit_bradley_terry, fit_paired):
        with pytest.raises(RankingError, match=words):
            fit(count(RING), prior=cast("float", prior))


def test_without_a_prior_a_resample_that_falls_apart_is_a_named_error() -> None:
    table: Table = [("x", "y", "model_a", 30), ("x", "y", "model_b", 1)]
    with pytest.raises(NoMaximum, match="use a prior or the sandwich"):
        compute_leaderboard(count(table), prior=None, replicates=100)
    check(compute_leaderboard(count(table), prior=None, interval="sandwich"))
