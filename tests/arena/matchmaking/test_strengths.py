"""What is known of the models: every vote counts once, whoever stored it and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from board_votes import NOW, cast, cast_many, register
from sqlalchemy import update

from arena.matchmaking.strengths import Strengths
from arena.rules.battles import Outcome
from arena.store import Store
from arena.store import tally as census_module
from arena.store.tables import votes
from arena.store.tally import Census

if TYPE_CHECKING:
    from arena.rules.battles import Battle
    from arena.store import Tally

NAMES = ("Amber", "Birch", "Cedar", "Dune")


@pytest.fixture
def store(store: Store) -> Store:
    """With what these tests need, on both databases."""
    register(store, (*NAMES, "Gone"))
    return store


def make(store: Store, names: tuple[str, ...] = NAMES) -> Strengths:
    return Strengths(names, Census(store.votes))


def voted(store: Store, a: str, b: str, outcome: Outcome) -> Battle:
    return store.battles.get(cast(store, a, b, outcome), voter_id="voter-1")


def strengths(standing: Strengths, names: tuple[str, ...] = NAMES) -> list[float]:
    found = standing.of(names).strengths
    return [float(value) for value in found - found.mean()]


async def test_before_the_first_vote_all_are_alike(store: Store) -> None:
    standing = make(store)
    await standing.catch_up()
    known = standing.of(("Dune", "Amber"))
    assert known.strengths.tolist() == [0, 0]
    assert known.covariance[0, 0] == known.covariance[1, 1] > 1
    assert (standing.votes, known.counts.sum()) == (0, 0)


async def test_the_first_vote_on_a_model_that_was_withdrawn_is_taken(store: Store) -> None:
    standing = make(store)
    await standing.catch_up()
    standing.learn(voted(store, "Amber", "Gone", Outcome.MODEL_A))
    assert (standing.votes, strengths(standing)) == (1, [0, 0, 0, 0])
    await standing.catch_up()
    assert standing.votes_on(("Amber", "Gone")) == (1, 1)
    standing.learn(voted(store, "Amber", "Gone", Outcome.MODEL_A))
    assert standing.votes_on(("Amber", "Gone")) == (2, 2)


async def test_a_restart_knows_what_the_last_process_knew(store: Store) -> None:
    cast_many(store, NAMES, 500)
    first = make(store)
    await first.catch_up()
    for outcome in (Outcome.MODEL_A, Outcome.TIE, Outcome.BOTH_BAD):
        first.learn(voted(store, "Amber", "Dune", outcome))
    assert first.votes == 503
    await first.catch_up()
    restarted = make(store)
    await restarted.catch_up()
    assert restarted.votes == 503
    assert strengths(restarted) == pytest.approx(strengths(first), abs=1e-9)
    np.testing.assert_allclose(
        restarted.of(NAMES).covariance, first.of(NAMES).covariance, atol=1e-12
    )


async def test_one_vote_learned_at_once_is_nearly_what_a_fit_makes_of_it(store: Store) -> None:
    cast_many(store, NAMES, 500)
    standing = make(store)
    await standing.catch_up()
    before = strengths(standing)
    standing.learn(voted(store, "Dune", "Amber", Outcome.MODEL_A))
    at_once = strengths(standing)
    await standing.catch_up()
    assert strengths(standing) == pytest.approx(at_once, abs=0.01 * abs(at_once[0] - before[0]))


async def test_votes_of_other_processes_are_picked_up(store: Store) -> None:
    one, other = make(store), make(store)
    one.learn(voted(store, "Amber", "Birch", Outcome.MODEL_A))
    assert strengths(other) == [0, 0, 0, 0]
    version = other.version
    await other.catch_up()
    assert other.version > version
    assert other.votes == 1
    await one.catch_up()
    assert strengths(one) == pytest.approx(strengths(other), abs=1e-9)


async def test_what_is_committed_while_it_counts_is_neither_lost_nor_known_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = make(store)
    standing.learn(voted(store, "Amber", "Birch", Outcome.MODEL_A))
    count = type(store.votes).tally

    def count_while_people_vote(self: object, known: Tally | None) -> Tally:
        standing.learn(voted(store, "Amber", "Birch", Outcome.MODEL_A))  # the count has it
        counted = count(store.votes, known)
        standing.learn(voted(store, "Amber", "Birch", Outcome.MODEL_A))  # and not this one
        return counted

    monkeypatch.setattr(type(store.votes), "tally", count_while_people_vote)
    await standing.catch_up()
    assert standing.votes == 3
    assert standing.of(NAMES).counts[0, 1] == 3
    monkeypatch.undo()
    await standing.catch_up()
    assert standing.votes == 3
    assert standing.of(NAMES).counts[0, 1] == 3


async def test_a_vote_taken_out_is_forgotten(store: Store) -> None:
    standing = make(store)
    standing.learn(voted(store, "Amber", "Birch", Outcome.MODEL_A))
    await standing.catch_up()
    with store.engine.begin() as connection:
        connection.execute(update(votes).values(retracted_at=NOW))
    await standing.catch_up()
    assert standing.votes == 0
    assert strengths(standing) == [0, 0, 0, 0]


async def test_a_model_that_came_late_is_a_newcomer_until_it_has_caught_up(store: Store) -> None:
    names = (*NAMES, "Gone")
    cast_many(store, NAMES, 100)  # 50 on each of the four
    standing = make(store, names)
    assert not standing.newcomers(names).any()  # nothing is known of anybody
    await standing.catch_up()
    assert standing.votes_due(names) == (0, 0, 0, 0, 50)
    assert standing.newcomers(names).tolist() == [False] * 4 + [True]
    for number in range(49):
        cast(store, "Gone", "Amber", Outcome.TIE, voter_id=f"voter-{number}")
    await standing.catch_up()
    assert standing.newcomers(("Gone", "Amber")).tolist() == [True, False]
    standing.learn(voted(store, "Gone", "Birch", Outcome.MODEL_A))
    assert not standing.newcomers(names).any()  # at once, not at the next count
    restarted = make(store, names)
    await restarted.catch_up()
    assert restarted.votes_due(names) == standing.votes_due(names)
    assert not restarted.newcomers(names).any()


async def test_nothing_is_fitted_where_nothing_changed(store: Store) -> None:
    cast_many(store, NAMES, 50)
    standing = make(store)
    await standing.catch_up()
    version = standing.version
    await standing.catch_up()
    assert standing.version == version


async def test_a_retired_model_still_says_something_of_those_it_met(store: Store) -> None:
    for _ in range(20):
        cast(store, "Gone", "Amber", Outcome.MODEL_B)
        cast(store, "Gone", "Birch", Outcome.MODEL_A)
    standing = make(store)
    await standing.catch_up()
    amber, birch, *_ = strengths(standing)
    assert amber > birch + 1
    assert standing.votes_on(("Birch", "Dune")) == (20, 0)
    back = make(store, (*NAMES, "Gone"))  # and is served again
    await back.catch_up()
    assert strengths(back) == pytest.approx(strengths(standing), abs=1e-9)


async def test_a_recount_costs_no_knowledge(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census_module, "RECOUNT_SECONDS", 0.0)
    monkeypatch.setattr(census_module, "RECOUNT_REST_PER_SECOND", 0.0)
    cast_many(store, NAMES, 50)
    standing = make(store)
    await standing.catch_up()
    standing.learn(voted(store, "Amber", "Birch", Outcome.TIE))
    await standing.catch_up()
    assert standing.votes == 51
