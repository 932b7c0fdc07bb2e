"""Tiny votes under every recipe: a board, or an error whose remedy leads to one."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest

from ranking import NotConverged, RankingError, Votes, compute_leaderboard
from ranking.fits.likelihoods import TieModel
from ranking.intervals.intervals import IntervalKind
from ranking.votes.encoding import BothBad
from ranking.votes.weights import Weighting

if TYPE_CHECKING:
    from ranking import Leaderboard

Battle = tuple[str, str, str]

RING: list[Battle] = [
    ("p", "q", "model_a"), ("q", "r", "model_a"), ("r", "p", "model_a"), ("q", "p", "model_a"),
]  # fmt: skip
TINY: dict[str, list[Battle]] = {
    "one vote": [("x", "y", "model_a")],
    "one tie": [("x", "y", "tie")],
    "one both-bad vote": [("x", "y", "both_bad")],
    "two models": [("x", "y", "model_a"), ("x", "y", "model_b")],
    "four votes": [
        ("a", "b", "model_a"), ("b", "c", "tie"), ("c", "a", "model_b"), ("a", "c", "model_a"),
    ],
    "four votes without a tie": RING,
    "all ties": [("x", "y", "tie")] * 6 + [("y", "z", "tie")] * 4,
    "all both bad": [("x", "y", "both_bad")] * 3 + [("y", "z", "both_bad")] * 3,
    "separated": [("a", "b", "model_a")] * 5 + [("b", "c", "model_a")] * 5,
    "one undefeated": RING * 3 + [("x", "p", "model_a")] * 3,
    "tiers": RING * 2 + [("s", "t", "tie"), ("t", "s", "model_a")] * 3 + [("p", "s", "model_a")],
    "groups": RING * 2 + [("s", "t", "model_a"), ("t", "s", "model_a")] * 3,
    "the right won all": [(b, a, "model_b") for a, b, _ in RING] * 3,
    "one decisive": [("x", "y", "tie")] * 8 + [("x", "y", "model_a")],
    "one that is not bad": [("x", "y", "both_bad")] * 8 + [("x", "y", "model_a")],
}  # fmt: skip
COVARIATES = {
    "none": None,
    "varied": lambda i: float((i * 7) % 5 - 2),
    "constant": lambda _: 1.0,
    "zero": lambda _: 0.0,
}
# What an error may advise, and the option that follows it.
REMEDIES: dict[str, dict[str, Any]] = {
    "use a prior": {"prior": 3.0},
    "use the sandwich": {"interval": "sandwich"},
    "do without clusters": {"cluster": False},
    "do not adjust for it": {"adjust": False, "adjust_side": False},
    "leave it out": {"adjust": False, "adjust_side": False},
    "tie_model='half'": {"tie_model": "half"},
    "count them as ties": {"both_bad": "tie"},
    "count both-bad votes as ties": {"both_bad": "tie"},
}


def cast(name: str, covariate: str) -> Votes:
    battles = TINY[name]
    a, b, outcome = (list(column) for column in zip(*battles, strict=True))
    numbers = range(len(battles))
    value = COVARIATES[covariate]
    return Votes.from_columns(
        a, b, outcome,
        voter=[f"v{i % 3}" for i in numbers],
        weight=[1.0 + i % 2 for i in numbers],
        draw_probability=[0.1 + 0.2 * (i % 3) for i in numbers],
        covariates=None if value is None else {"length": [value(i) for i in numbers]},
    )  # fmt: skip


def list_recipes() -> list[dict[str, Any]]:
    columns = {
        "tie_model": get_args(TieModel),
        "interval": get_args(IntervalKind),
        "cluster": (False, True),
        "weights": get_args(Weighting),
        "both_bad": get_args(BothBad),
        "prior": (3.0, "fitted", None),
        "adjust_side": (False, True),
    }
    return [dict(zip(columns, row, strict=True)) for row in product(*columns.values())]


def rank_by_advice(votes: Votes, recipe: dict[str, Any]) -> Leaderboard:
    for _ in range(len(REMEDIES)):
        try:
            return compute_leaderboard(votes, **recipe, replicates=8, threads=1)
        except RankingError as error:
            recipe = follow(str(error), recipe)
    raise AssertionError(f"advice went in circles: {recipe}")


def follow(said: str, recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe changed as an error advises."""
    advised = {**recipe}
    for text, change in REMEDIES.items():
        if text in said:
            advised |= change
    assert advised != recipe, f"no remedy for {recipe} in: {said}"
    return advised


@pytest.mark.parametrize("covariate", COVARIATES)
@pytest.mark.parametrize("name", TINY)
def test_every_recipe_has_a_board_or_advice_that_leads_to_one(name: str, covariate: str) -> None:
    votes = cast(name, covariate)
    chosen = random.Random(f"{name} {covariate}").sample(list_recipes(), 12)
    for recipe in chosen:
        board = rank_by_advice(votes, {**recipe, "adjust": covariate != "none"})
        for entry in board:
            assert np.isfinite([entry.simultaneous_lower, entry.simultaneous_upper]).all()
            assert entry.lower <= entry.score <= entry.upper
            assert entry.upper - entry.lower > 1
            assert 1 <= entry.rank_lower <= entry.rank <= entry.rank_upper <= entry.island_size


def test_davidsons_model_on_four_votes_is_resampled_or_advised() -> None:
    votes = cast("four votes", "none").count()
    with pytest.raises(RankingError, match="use the sandwich interval"):
        compute_leaderboard(votes, tie_model="davidson", replicates=200)
    board = compute_leaderboard(votes, tie_model="davidson", interval="sandwich")
    assert len(board) == 3


def test_a_covariate_that_tells_every_outcome_is_named() -> None:
    rng = np.random.default_rng(0)
    names = np.array(list("pqrs"), dtype=object)
    a = rng.integers(0, 4, 60)
    b = (a + rng.integers(1, 4, 60)) % 4
    won = rng.random(60) < 0.5
    votes = Votes.from_columns(
        names[a], names[b], np.where(won, "model_a", "model_b"),
        covariates={"length": np.where(won, 1.0, -1.0)},
    )  # fmt: skip
    with pytest.raises(
        NotConverged, match=r"'length' may tell every outcome.*do not adjust for it"
    ):
        compute_leaderboard(votes, adjust=True, interval="sandwich")
    assert len(compute_leaderboard(votes, interval="sandwich")) == 4
