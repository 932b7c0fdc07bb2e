"""Draws: as likely as they say they are, fair about the sides, and only of who can answer."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from board_votes import cast, cast_many, register
from scipy.stats import binomtest, chisquare

from arena.matchmaking.constraints import read_rules
from arena.matchmaking.matchmaker import POLICY_VERSION, Matchmaker, TooFewModels
from arena.matchmaking.strengths import Strengths
from arena.rules.battles import ExclusionReason, Outcome
from arena.settings import MatchmakingSettings, ModelRule, PairRule
from arena.store.tally import Census
from ranking.pairing.policies import NEWCOMER_SHARE, POLICIES

if TYPE_CHECKING:
    from arena.store import Store

NAMES = ("Amber", "Birch", "Cedar", "Dune", "Elm")
RANKED = NAMES[:4]  # Elm is new
DRAWS = 100_000


@pytest.fixture
def store(store: Store) -> Store:
    """With what these tests need, on both databases."""
    register(store, NAMES)
    return store


@pytest.fixture
async def standing(store: Store) -> Strengths:
    """After 600 votes on all models but Elm."""
    cast_many(store, RANKED, 600)
    known = Strengths(NAMES, Census(store.votes))
    await known.catch_up()
    return known


def untaught(store: Store, names: tuple[str, ...] = NAMES) -> Strengths:
    return Strengths(names, Census(store.votes))


def chances(matchmaker: Matchmaker) -> dict[frozenset[str], float]:
    return {
        frozenset((pair.model_a, pair.model_b)): pair.probability
        for pair in matchmaker.outlook().prospects
    }


@pytest.mark.slow
@pytest.mark.parametrize("policy", sorted(POLICIES))
async def test_pairs_come_as_often_as_their_logged_probability_says(
    standing: Strengths, policy: str
) -> None:
    matchmaker = Matchmaker(NAMES, standing, policy=policy, exploration=0.1, seed=20_261_129)
    expected = chances(matchmaker)
    drawn: Counter[frozenset[str]] = Counter()
    left: Counter[frozenset[str]] = Counter()
    for _ in range(DRAWS):
        pairing = matchmaker.draw()
        pair = frozenset((pairing.model_a, pairing.model_b))
        assert pairing.probability == expected[pair]
        drawn[pair] += 1
        left[pair] += pairing.model_a == min(pair)
    pairs = [frozenset(pair) for pair in combinations(NAMES, 2)]
    assert set(drawn) == set(expected) == set(pairs)
    assert sum(expected.values()) == pytest.approx(1)
    test = chisquare([drawn[p] for p in pairs], [expected[p] * DRAWS for p in pairs])
    assert test.pvalue > 0.001
    # Ten pairs: the smallest of ten fair p-values is below 0.0001 once in a thousand times.
    assert min(binomtest(left[pair], drawn[pair]).pvalue for pair in pairs) > 0.0001


def test_a_draw_says_how_it_was_made(store: Store) -> None:
    matchmaker = Matchmaker(NAMES, untaught(store), policy="uncertainty", exploration=0.5, seed=1)
    pairing = matchmaker.draw()
    assert (pairing.policy, pairing.policy_version) == ("uncertainty", POLICY_VERSION)
    assert pairing.candidates == len(NAMES)
    assert pairing.probability == pytest.approx(0.1)  # nothing learned yet: ten even pairs


async def test_the_newcomer_and_close_pairs_are_drawn_most(standing: Strengths) -> None:
    matchmaker = Matchmaker(NAMES, standing, policy="uncertainty", exploration=0.01)
    drawn = chances(matchmaker)
    known = {pair: chance for pair, chance in drawn.items() if "Elm" not in pair}
    assert max(known.values()) > 5 * known[frozenset(("Amber", "Dune"))] == 5 * min(known.values())
    assert min(drawn[pair] for pair in drawn if "Elm" in pair) > 1 / len(drawn)


async def test_a_newcomer_has_its_share_of_the_battles_and_the_outlook_says_so(
    standing: Strengths,
) -> None:
    matchmaker = Matchmaker(NAMES, standing, policy="uncertainty", exploration=0.01)
    theirs = [pair for pair in matchmaker.outlook().prospects if pair.newcomer is not None]
    assert {(pair.newcomer, pair.votes_due) for pair in theirs} == {("Elm", 300)}
    assert len(theirs) == 4
    share = 0.01 * 4 / 10 + 0.99 * NEWCOMER_SHARE
    assert sum(pair.probability for pair in theirs) == pytest.approx(share)
    assert standing.newcomers(NAMES).tolist() == [False] * 4 + [True]
    deaf = Matchmaker(NAMES, standing, policy="closest", exploration=0.01)
    assert {pair.newcomer for pair in deaf.outlook().prospects} == {None}


async def test_an_outlook_says_what_is_known_of_a_pair(standing: Strengths) -> None:
    matchmaker = Matchmaker(NAMES, standing, policy="uncertainty", exploration=0.1)
    outlook = matchmaker.outlook().prospects
    assert [pair.probability for pair in outlook] == sorted(
        (pair.probability for pair in outlook), reverse=True
    )
    (far,) = [pair for pair in outlook if {pair.model_a, pair.model_b} == {"Amber", "Dune"}]
    assert (far.model_a, far.model_b) == ("Amber", "Dune")  # the stronger one first
    assert 0.6 < far.win_probability < 0.9
    assert far.stronger_probability > 0.999
    assert 10 < far.standard_error < 50
    assert sum(pair.battles for pair in outlook) == standing.votes == 600
    by_model = {pair.model_a: pair.votes_a for pair in outlook}
    by_model |= {pair.model_b: pair.votes_b for pair in outlook}
    assert by_model["Elm"] == 0
    assert sum(by_model.values()) == 1200


async def test_a_vote_is_learned_at_once_and_a_second_click_is_not_a_second_vote(
    store: Store,
) -> None:
    standing = untaught(store)
    matchmaker = Matchmaker(NAMES, standing, policy="uncertainty", exploration=0.1)
    before = chances(matchmaker)
    battle_id = cast(store, "Amber", "Birch", Outcome.MODEL_A)
    battle = store.battles.get(battle_id, voter_id="voter-1")
    standing.learn(battle)
    after = chances(matchmaker)
    pair = frozenset(("Amber", "Birch"))
    assert after[pair] < before[pair]
    assert standing.votes == 1
    standing.learn(battle)
    assert chances(matchmaker) == after
    await standing.catch_up()
    standing.learn(battle)
    assert standing.votes == 1


def test_a_vote_that_does_not_count_is_not_learned(store: Store) -> None:
    standing = untaught(store)
    reason = ExclusionReason.IDENTITY_REVEALED
    battle_id = cast(store, "Amber", "Birch", Outcome.MODEL_A, exclusion=reason)
    standing.learn(store.battles.get(battle_id, voter_id="voter-1"))
    assert standing.votes == 0


async def test_models_that_cannot_answer_are_not_drawn_and_come_back(standing: Strengths) -> None:
    absent = frozenset({"Amber", "Elm"})
    matchmaker = Matchmaker(
        NAMES, standing, policy="uncertainty", exploration=0.1, absent=lambda: absent, seed=1
    )
    drawn = [matchmaker.draw() for _ in range(300)]
    seen = {name for pairing in drawn for name in (pairing.model_a, pairing.model_b)}
    assert seen == {"Birch", "Cedar", "Dune"}
    assert {pairing.candidates for pairing in drawn} == {3}
    assert sum(chances(matchmaker).values()) == pytest.approx(1)
    absent = frozenset({"Amber", "Birch", "Cedar", "Dune"})
    with pytest.raises(TooFewModels, match="1 of 5"):
        matchmaker.draw()
    absent = frozenset()
    assert len(chances(matchmaker)) == 10


async def test_what_voters_see_does_not_tell_which_model_has_just_failed(
    standing: Strengths,
) -> None:
    absent: frozenset[str] = frozenset()
    matchmaker = Matchmaker(
        NAMES, standing, policy="uncertainty", exploration=0.1, absent=lambda: absent, seed=1
    )
    before = matchmaker.outlook(for_all=True)
    assert before == matchmaker.outlook()
    absent = frozenset(NAMES)
    assert matchmaker.outlook(for_all=True) == before
    absent = frozenset({"Amber"})
    assert matchmaker.outlook(for_all=True) == before
    assert len(matchmaker.outlook().prospects) < len(before.prospects)


async def test_rules_are_kept_and_what_is_logged_is_what_was_drawn(standing: Strengths) -> None:
    settings = MatchmakingSettings(
        models={"Elm": ModelRule(max_share=0.3), "Amber": ModelRule(min_share=0.6)},
        pairs=[
            PairRule(models=("Birch", "Dune"), share=0.25),
            PairRule(models=("Cedar", "Amber"), never=True),
            PairRule(models=("Cedar", "Gone"), never=True),  # of a model that rests
        ],
    )
    matchmaker = Matchmaker(
        NAMES,
        standing,
        policy="uncertainty",
        exploration=0.1,
        rules=read_rules(settings, NAMES),
        seed=20_261_129,
    )
    expected = chances(matchmaker)
    assert sum(expected.values()) == pytest.approx(1)
    assert frozenset(("Cedar", "Amber")) not in expected
    assert expected[frozenset(("Birch", "Dune"))] == pytest.approx(0.25)
    share = {name: sum(p for pair, p in expected.items() if name in pair) for name in NAMES}
    assert share["Elm"] == pytest.approx(0.3)
    assert share["Amber"] == pytest.approx(0.6)
    drawn = Counter(
        frozenset((p.model_a, p.model_b)) for p in (matchmaker.draw() for _ in range(DRAWS))
    )
    assert set(drawn) == set(expected)
    test = chisquare([drawn[p] for p in expected], [p * DRAWS for p in expected.values()])
    assert test.pvalue > 0.001


def test_rules_that_the_models_here_cannot_keep_are_left_aside(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    names = NAMES[:3]
    settings = MatchmakingSettings(
        models={"Amber": ModelRule(max_share=0.7)},
        pairs=[PairRule(models=("Birch", "Cedar"), never=True)],
    )
    with pytest.raises(ValueError, match=r"largest share.* 0.7 of Amber"):
        read_rules(settings, names)  # Amber is in every battle that is left
    rules = read_rules(MatchmakingSettings(models=settings.models), names)
    absent: frozenset[str] = frozenset()
    matchmaker = Matchmaker(
        names,
        untaught(store, names),
        policy="uniform",
        exploration=1.0,
        rules=rules,
        absent=lambda: absent,
    )
    amber = [pair for pair in chances(matchmaker) if "Amber" in pair]
    assert sum(chances(matchmaker)[pair] for pair in amber) == pytest.approx(2 / 3)
    absent = frozenset({"Birch"})
    assert chances(matchmaker) == {frozenset(("Amber", "Cedar")): pytest.approx(1)}
    assert "left aside" in caplog.text


def test_two_models_that_never_meet_are_no_pair(store: Store) -> None:
    names = NAMES[:3]
    settings = MatchmakingSettings(pairs=[PairRule(models=("Birch", "Cedar"), never=True)])
    absent: frozenset[str] = frozenset()
    matchmaker = Matchmaker(
        names,
        untaught(store, names),
        policy="uniform",
        exploration=1.0,
        rules=read_rules(settings, names),
        absent=lambda: absent,
    )
    assert len(chances(matchmaker)) == 2
    absent = frozenset({"Amber"})
    with pytest.raises(TooFewModels):
        matchmaker.draw()


async def test_two_models_leave_no_choice(store: Store) -> None:
    matchmaker = Matchmaker(
        NAMES[:2], untaught(store, NAMES[:2]), policy="uncertainty", exploration=0.1
    )
    assert matchmaker.draw().probability == pytest.approx(1)


def test_a_seed_repeats_the_draws(store: Store) -> None:
    one, two = (
        Matchmaker(NAMES, untaught(store), policy="uniform", exploration=1.0, seed=3)
        for _ in range(2)
    )
    assert [one.draw() for _ in range(20)] == [two.draw() for _ in range(20)]


@pytest.mark.parametrize(
    ("names", "policy", "exploration", "words"),
    [
        (NAMES, "nearest", 0.1, "'nearest' is none of closest, "),
        (NAMES, "uniform", 0.0, "exploration: 0.0"),
        (NAMES, "uniform", 1.1, "exploration: 1.1"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(
    store: Store, names: tuple[str, ...], policy: str, exploration: float, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Matchmaker(names, untaught(store), policy=policy, exploration=exploration)


def test_one_model_is_too_few(store: Store) -> None:
    with pytest.raises(TooFewModels, match="1 of 1"):
        Matchmaker(NAMES[:1], untaught(store), policy="uniform", exploration=0.1)
