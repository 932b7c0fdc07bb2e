"""The recipe of a leaderboard: checked, short to read, the same again from JSON."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking import Comparisons, Options, RankingError, compute_boards, compute_leaderboard
from ranking.boards.options import OptionKeywords, Prior
from ranking.pairing.simulate import draw_strengths, simulate_votes

VOTES = simulate_votes(draw_strengths(4, seed=1), 300, seed=2, tie=0.4)

recipes = st.builds(
    Options,
    tie_model=st.sampled_from(["half", "davidson", "rao-kupper"]),
    interval=st.sampled_from(["bootstrap", "pivot", "sandwich"]),
    replicates=st.integers(2, 10_000),
    level=st.floats(0.01, 0.99),
    prior=st.one_of(st.none(), st.just("fitted"), st.floats(0.01, 100)),
    both_bad=st.sampled_from(["tie", "keep", "drop"]),
    cluster=st.booleans(),
    adjust=st.booleans(),
    weights=st.sampled_from(["given", "uniform", "design"]),
    seed=st.integers(0, 2**40),
    anchor=st.one_of(st.none(), st.tuples(st.text(min_size=1), st.floats(-1e6, 1e6))),
)


def test_keywords_are_the_fields() -> None:
    assert list(OptionKeywords.__annotations__) == [field.name for field in fields(Options)]


@given(recipes)
def test_json_gives_the_same_options_back(options: Options) -> None:
    assert Options.from_dict(json.loads(json.dumps(options.to_dict()))) == options


@given(recipes)
def test_its_text_makes_it_again(options: Options) -> None:
    assert eval(repr(options), {"Options": Options}) == options  # noqa: S307 # our own text


def test_it_reads_short_and_does_not_change() -> None:
    assert repr(Options()) == "Options()"
    options = Options(prior=3, seed=np.int64(7), anchor=["a", 1000])  # type: ignore[arg-type]
    assert repr(options) == "Options(prior=3.0, seed=7, anchor=('a', 1000.0))"
    with pytest.raises(FrozenInstanceError):
        options.seed = 8  # type: ignore[misc]
    assert hash(options) == hash(options.change())


def test_options_and_keywords_say_the_same() -> None:
    options = Options(interval="sandwich", level=0.9, prior=2.0)
    board = compute_leaderboard(VOTES, options)
    assert board == compute_leaderboard(VOTES, interval="sandwich", level=0.9, prior=2.0)
    assert board.options == options
    changed = compute_leaderboard(VOTES, options, level=0.8)
    assert changed.options == options.change(level=0.8)
    (whole,) = compute_boards(VOTES, options, level=0.8)
    assert whole.board == changed


@pytest.mark.parametrize("prior", ["fitted", 1.5, None])
def test_a_board_says_how_to_make_it_again(prior: Prior) -> None:
    board = compute_leaderboard(VOTES, replicates=60, seed=9, prior=prior, anchor=("model-01", 900))
    told = json.loads(json.dumps(board.to_dict()))["method"]
    known = {field.name: told[field.name] for field in fields(Options)}
    assert compute_leaderboard(VOTES, Options.from_dict(known)) == board


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"interval": "percentile"}, "interval must be one of 'bootstrap', 'pivot', 'sandwich'"),
        ({"prior": 0}, "prior must be a standard deviation > 0"),
        ({"prior": -1}, "'fitted', or None for no prior, not -1"),
        ({"prior": True}, "prior must be"),
        ({"prior": "3"}, "not '3'"),
        ({"level": "0.9"}, "level must be between 0 and 1, such as 0.95, not '0.9'"),
        ({"replicates": True}, "replicates must be a whole number of at least 2, not True"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, not 1.5"),
        ({"adjust": 2}, "adjust must be True or False, not 2"),
        ({"anchor": ("a", float("nan"))}, "anchor must be a model's name and its score"),
        ({"both_bad": "ties"}, "both_bad must be one of 'tie', 'keep', 'drop', not 'ties'"),
        ({"seeds": 1}, "there is no option 'seeds'; did you mean seed?"),
    ],
)
def test_what_is_wrong_is_named_with_what_it_may_be(given: dict[str, Any], words: str) -> None:
    for make in (Options().change, lambda **told: Options.from_dict(told)):
        with pytest.raises(RankingError) as refused:
            make(**given)
        assert words in str(refused.value)


def test_other_things_are_not_taken_for_options() -> None:
    counts = Comparisons.from_counts(["a"], ["b"], ["tie"])
    for other in ({"seed": 1}, 0.95):
        with pytest.raises(RankingError, match=r"must be ranking\.Options, not .*from_dict"):
            compute_leaderboard(counts, other)  # type: ignore[arg-type]
