"""How many votes it takes to put another model first: published figures, and a slower way."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ranking import (
    Comparisons,
    Fragility,
    Leaderboard,
    Options,
    RankingError,
    Votes,
    compute_leaderboard,
    fit_bradley_terry,
    measure_fragility,
    read_votes,
)
from ranking.fits.bradley_terry import PairCounts, maximise
from ranking.pairing.simulate import draw_strengths, simulate_votes

if TYPE_CHECKING:
    from pathlib import Path

    from ranking.votes.encoding import BothBad

PUBLIC = {
    "33k": "arena33k_en_single/battles.csv",
    "counts": "arena_counts_20240814/pairs.csv",
    "MT-Bench": "mtbench/human_votes_full_no_judge.csv",
}


@pytest.mark.parametrize(
    ("name", "both_bad", "expected"),
    [
        ("33k", "tie", (193, 92, 183)),
        ("33k", "drop", (130, 71, 141)),
        ("counts", "tie", (462, 198, 364)),
        ("counts", "drop", (502, 214, 377)),
        ("MT-Bench", "tie", (92, 46, 91)),
    ],
)
def test_the_figures_of_public_votes(
    shared_data: Path, name: str, both_bad: BothBad, expected: tuple[int, int, int]
) -> None:
    """With the weak prior; each lies at or below what a single step tells (235 of 25,938)."""
    votes = read_votes(shared_data / PUBLIC[name]).votes
    started = time.process_time()
    found = measure_fragility(votes, prior=3.0, both_bad=both_bad)
    took = time.process_time() - started
    assert found is not None
    ways = (found.drop, found.flip, found.add)
    assert tuple(way and way.votes for way in ways) == expected
    if name == "33k":
        assert took < 1.0  # seconds of processor time
        assert found.model == "gpt-4"
        # The cheapest to put first is the third, not the runner-up.
        assert found.drop is not None
        board = compute_leaderboard(votes, interval="sandwich", both_bad=both_bad)
        places = {"tie": 3, "drop": 5}
        assert board[found.drop.challenger].rank == places[both_bad]


def count(table: list[tuple[str, str, str, int]]) -> Comparisons:
    return Comparisons.from_counts(*(list(column) for column in zip(*table, strict=True)))


def test_two_models_are_a_matter_of_arithmetic() -> None:
    found = measure_fragility(count([("x", "y", "model_a", 30), ("x", "y", "model_b", 20)]))
    assert found is not None
    assert (found.rank, found.model) == (1, "x")
    ways = (found.drop, found.flip, found.add, found.battles)
    assert [way and (way.votes, way.challenger) for way in ways] == [
        (10, "y"), (5, "y"), (10, "y"), (10, "y"),
    ]  # fmt: skip
    assert found.drop is not None
    assert found.drop.share == pytest.approx(0.2)


def test_ties_are_turned_into_wins_where_no_win_is_left() -> None:
    found = measure_fragility(count([("x", "y", "tie", 10), ("x", "y", "model_a", 1)]))
    assert found is not None
    # Half a vote each: the win turned round, or two ties won by the other.
    assert found.flip is not None
    assert found.flip.votes == 1
    assert found.drop is not None
    assert found.drop.votes == 1


def move(wins: np.ndarray, change: str, i: int, j: int) -> np.ndarray:
    """The wins with one "i beat j" left out, turned round, or added."""
    moved = wins.copy()
    moved[i, j] += 1 if change == "add" else -1
    if change == "flip":
        moved[j, i] += 1
    return moved


def fit(wins: np.ndarray, start: np.ndarray) -> np.ndarray:
    strengths, _ = maximise(PairCounts(wins + wins.T, wins), precision=1 / 9, start=start)
    return strengths


def search_greedily(counts: Comparisons, change: str) -> int:
    """One vote after another, each the best of all that there are by a fit of its own."""
    start = fit_bradley_terry(counts)
    wins = start.pairs.wins
    best = np.inf
    top = int(start.strengths.argmax())
    for rival in range(len(wins)):
        if rival == top:
            continue
        now, strengths, votes = wins, start.strengths, 0
        while strengths[top] - strengths[rival] > 1e-9 and votes < best:
            tried = [
                (fitted[top] - fitted[rival], i, j, fitted)
                for i in range(len(wins))
                for j in range(len(wins))
                if i != j and (change == "add" or now[i, j] > 0)
                for fitted in [fit(move(now, change, i, j), strengths)]
            ]
            _, i, j, strengths = min(tried, key=lambda one: one[0])
            now, votes = move(now, change, i, j), votes + 1
        best = min(best, votes)
    return int(best)


@pytest.mark.parametrize("change", ["drop", "flip", "add"])
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_as_good_as_a_refit_after_every_vote(change: str, seed: int) -> None:
    votes = simulate_votes(draw_strengths(4, seed=seed, spread=0.4), 300, seed=seed)
    found = measure_fragility(votes, prior=3.0)
    assert found is not None
    way = getattr(found, change)
    greedy = search_greedily(votes.count(), change)
    assert 0 < way.votes <= greedy + 1


def test_nobody_who_stands_alone_is_overtaken_and_islands_are_not_compared() -> None:
    islands = count(
        [("a", "b", "model_a", 9), ("b", "a", "model_a", 4), ("c", "d", "model_a", 99),
         ("d", "c", "model_a", 3)]
    )  # fmt: skip
    found = measure_fragility(islands)
    assert found is not None
    assert found.drop is not None
    assert {found.model, found.drop.challenger} in ({"a", "b"}, {"c", "d"})
    assert measure_fragility(islands, rank=4) is None
    with pytest.raises(RankingError, match="no rank 5 among 4 models"):
        measure_fragility(islands, rank=5)


def test_a_lower_rank_has_its_own_figure_and_equals_need_no_vote() -> None:
    votes = simulate_votes(draw_strengths(6, seed=3), 900, seed=4)
    board = compute_leaderboard(votes, interval="sandwich")
    second = measure_fragility(votes, rank=2)
    assert second is not None
    assert second.model == board.models[1]
    even = measure_fragility(count([("x", "y", "model_a", 5), ("x", "y", "model_b", 5)]))
    assert even is not None
    assert even.drop is not None
    assert even.drop.votes == 0


def test_a_board_keeps_it_through_json_where_votes_are_alike() -> None:
    votes = simulate_votes(
        draw_strengths(4, seed=1), 400, seed=2, tie=0.4, voters=30, style={"length": 0.2}
    )
    board = compute_leaderboard(votes, interval="sandwich", fragility=True)
    assert board.fragility == measure_fragility(votes)
    assert Leaderboard.from_dict(json.loads(json.dumps(board.to_dict()))) == board
    assert compute_leaderboard(votes, interval="sandwich").fragility is None
    clustered = compute_leaderboard(votes, interval="sandwich", cluster=True, fragility=True)
    assert clustered.fragility == board.fragility
    for options in (Options(adjust=True), Options(tie_model="davidson")):
        told = options.change(interval="sandwich")
        assert compute_leaderboard(votes, told, fragility=True).fragility is None
        with pytest.raises(RankingError, match="without adjust, weights and tie_model"):
            measure_fragility(votes, options)


def test_weighted_votes_have_none() -> None:
    weighted = Votes.from_columns(
        ["a", "b", "a"], ["b", "a", "b"], ["model_a", "model_a", "tie"], weight=[1.0, 2.0, 1.0]
    )
    with pytest.raises(RankingError, match="these votes are not alike"):
        measure_fragility(weighted)
    assert isinstance(measure_fragility(weighted, weights="uniform"), Fragility)
