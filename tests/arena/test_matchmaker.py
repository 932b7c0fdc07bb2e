"""Draws: as likely as they say they are, and fair about the sides."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from scipy.stats import binomtest, chisquare

from arena.matchmaker import POLICY_VERSION, Matchmaker
from ranking.design import POLICIES

NAMES = ("Amber", "Birch", "Cedar", "Dune", "Elm")
STRENGTHS = {"Amber": 1.2, "Birch": 0.4, "Cedar": 0.0, "Dune": -1.6}  # Elm is new
DRAWS = 100_000


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_pairs_come_as_often_as_their_logged_probability_says(policy: str) -> None:
    matchmaker = Matchmaker(NAMES, policy=policy, exploration=0.1, seed=20_261_129)
    matchmaker.learn(STRENGTHS)
    drawn: Counter[frozenset[str]] = Counter()
    left: Counter[frozenset[str]] = Counter()
    logged: dict[frozenset[str], set[float]] = {}
    for _ in range(DRAWS):
        pairing = matchmaker.draw()
        pair = frozenset((pairing.model_a, pairing.model_b))
        drawn[pair] += 1
        left[pair] += pairing.model_a == min(pair)
        logged.setdefault(pair, set()).add(pairing.probability)
    pairs = [frozenset(pair) for pair in combinations(NAMES, 2)]
    assert set(drawn) == set(pairs)
    assert [len(logged[pair]) for pair in pairs] == [1] * len(pairs)
    probabilities = [min(logged[pair]) for pair in pairs]
    assert sum(probabilities) == pytest.approx(1)
    test = chisquare(
        [drawn[p] for p in pairs], [probability * DRAWS for probability in probabilities]
    )
    assert test.pvalue > 0.001
    # Ten pairs: the smallest of ten fair p-values is below 0.0001 once in a thousand times.
    assert min(binomtest(left[pair], drawn[pair]).pvalue for pair in pairs) > 0.0001


def test_a_draw_says_how_it_was_made() -> None:
    matchmaker = Matchmaker(NAMES, policy="closest", exploration=0.5, seed=1)
    pairing = matchmaker.draw()
    assert (pairing.policy, pairing.policy_version) == ("closest", POLICY_VERSION)
    assert pairing.candidates == len(NAMES)
    assert pairing.probability == pytest.approx(0.1)  # nothing learned yet: ten even pairs


def test_what_is_learned_changes_the_draw_and_a_stranger_counts_as_average() -> None:
    matchmaker = Matchmaker(NAMES[:3], policy="closest", exploration=0.01, seed=1)
    matchmaker.learn({"Amber": 3.0, "Gone": 9.0})
    drawn = Counter(
        frozenset((p.model_a, p.model_b)) for p in (matchmaker.draw() for _ in range(500))
    )
    assert drawn[frozenset(("Birch", "Cedar"))] > 450
    matchmaker.learn({})
    assert matchmaker.draw().probability == pytest.approx(1 / 3)


def test_a_seed_repeats_the_draws() -> None:
    one, two = (Matchmaker(NAMES, policy="uniform", exploration=1.0, seed=3) for _ in range(2))
    assert [one.draw() for _ in range(20)] == [two.draw() for _ in range(20)]


@pytest.mark.parametrize(
    ("names", "policy", "exploration", "words"),
    [
        (NAMES[:1], "uniform", 0.1, "two or more"),
        (NAMES, "nearest", 0.1, "'nearest' is none of closest, "),
        (NAMES, "uniform", 0.0, "exploration: 0.0"),
        (NAMES, "uniform", 1.1, "exploration: 1.1"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(
    names: tuple[str, ...], policy: str, exploration: float, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Matchmaker(names, policy=policy, exploration=exploration)
