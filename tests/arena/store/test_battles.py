"""Battles on record: each step is kept, refused where the rules say so, and done once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from battle_steps import PAIRING, TERMS, VOTER, answer, finish, make_ready, start
from board_votes import register
from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from arena.rules.actions import Action
from arena.rules.battles import (
    BattleBusy,
    BattleClosed,
    BattleStatus,
    ExclusionReason,
    Outcome,
    ResponseStatus,
    Side,
    UnknownBattle,
    VoteNotOpen,
)
from arena.store.tables import battles, exclusions, models, responses, turns, voters, votes

if TYPE_CHECKING:
    from sqlalchemy import Table

    from arena.store import Store


def count(store: Store, table: Table) -> int:
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def test_a_new_battle_is_on_record_with_its_draw_and_prompt(store: Store) -> None:
    before = datetime.now(UTC)
    battle = start(store, prompt="Why is the sky blue? 天为什么是蓝的?")
    assert store.battles.get(battle.id, voter_id=VOTER) == battle
    assert battle.pairing == PAIRING
    assert battle.status is BattleStatus.ANSWERING
    assert battle.prompts == ("Why is the sky blue? 天为什么是蓝的?",)
    assert battle.responses == ()
    assert battle.vote is None
    assert before <= battle.created_at <= datetime.now(UTC)


def test_times_come_back_aware_and_in_utc(store: Store) -> None:
    battle = make_ready(store)
    voted = store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    assert voted.vote is not None
    times = [voted.created_at, voted.vote.created_at, *(r.created_at for r in voted.responses)]
    assert [time.utcoffset() for time in times] == [timedelta(0)] * 4
    assert all(abs(time - datetime.now(UTC)) < timedelta(minutes=1) for time in times)


def test_a_response_comes_back_as_it_was_stored(store: Store) -> None:
    worker_id = store.workers.register()
    battle = start(store, worker_id=worker_id)
    full = replace(
        answer(Side.A),
        text="So $x$ 🙂",
        reasoning="Hm.",
        finish_reason="length",
        prompt_tokens=3,
        completion_tokens=9,
        time_to_first_token=0.25,
        duration=2.25,
        model_id="it-2",
    )
    broken = replace(
        answer(Side.B, status=ResponseStatus.FAILED, text="Half"),
        error_kind="TimedOut",
        error_message="the limit ran out",
    )
    assert finish(store, battle, full, broken, worker_id=worker_id).responses == (full, broken)


def test_one_side_has_one_answer_an_attempt(store: Store) -> None:
    battle = start(store)
    store.battles.add_response(battle.id, answer(Side.A))
    with pytest.raises(IntegrityError):
        store.battles.add_response(battle.id, answer(Side.A, text="Another."))
    assert count(store, responses) == 1


@pytest.mark.parametrize("step", ["get", "vote", "reopen", "add_turn"])
def test_somebody_elses_battle_is_as_unknown_as_none(store: Store, step: str) -> None:
    battle = make_ready(store)
    more: dict[str, dict[str, object]] = {
        "get": {},
        "vote": {"outcome": Outcome.TIE},
        "reopen": {"action": Action.RETRY, "worker_id": "w", "terms": TERMS},
        "add_turn": {"prompt": "x", "worker_id": "w", "terms": TERMS},
    }
    for battle_id in (battle.id, "no-such-battle"):
        with pytest.raises(UnknownBattle, match=battle_id):
            getattr(store.battles, step)(battle_id, voter_id="voter-2", **more[step])
    assert count(store, votes) == 0
    assert store.battles.get(battle.id, voter_id=VOTER) == battle


def test_nothing_is_accepted_while_answers_are_being_written(store: Store) -> None:
    worker_id = store.workers.register()
    battle = start(store, worker_id=worker_id)
    with pytest.raises(BattleBusy):
        store.battles.reopen(
            battle.id, Action.RETRY, voter_id=VOTER, worker_id=worker_id, terms=TERMS
        )
    with pytest.raises(BattleBusy):
        store.battles.add_turn(
            battle.id, voter_id=VOTER, prompt="And?", worker_id=worker_id, terms=TERMS
        )
    with pytest.raises(VoteNotOpen):
        store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    assert count(store, turns) == 1
    assert count(store, votes) == 0


def test_nothing_is_accepted_after_the_vote(store: Store) -> None:
    worker_id = store.workers.register()
    battle = finish(store, start(store, worker_id=worker_id), worker_id=worker_id)
    store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    with pytest.raises(BattleClosed):
        store.battles.reopen(
            battle.id, Action.RETRY, voter_id=VOTER, worker_id=worker_id, terms=TERMS
        )
    with pytest.raises(BattleClosed):
        store.battles.add_turn(
            battle.id, voter_id=VOTER, prompt="And?", worker_id=worker_id, terms=TERMS
        )
    assert count(store, turns) == 1


@pytest.mark.parametrize("status", [BattleStatus.FAILED, BattleStatus.ABANDONED])
def test_a_battle_that_ended_badly_cannot_be_voted_on(store: Store, status: BattleStatus) -> None:
    worker_id = store.workers.register()
    battle = start(store, worker_id=worker_id)
    # Even where both answers of the record are complete, as after a kill in a regeneration.
    for side in Side:
        store.battles.add_response(battle.id, answer(side))
    store.battles.settle(battle.id, status, worker_id=worker_id)
    with pytest.raises(VoteNotOpen):
        store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)


def test_a_follow_up_needs_new_answers_before_the_vote(store: Store) -> None:
    worker_id = store.workers.register()
    battle = finish(store, start(store, worker_id=worker_id), worker_id=worker_id)
    followed = store.battles.add_turn(
        battle.id, voter_id=VOTER, prompt="And why?", worker_id=worker_id, terms=TERMS
    )
    assert followed.prompts == ("Why?", "And why?")
    assert followed.status is BattleStatus.ANSWERING
    store.battles.add_response(battle.id, answer(Side.A, turn=1))
    store.battles.settle(battle.id, BattleStatus.READY, worker_id=worker_id)
    with pytest.raises(VoteNotOpen):  # the status alone opens no vote
        store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)


def test_a_second_vote_gets_the_first_ones_answer(store: Store) -> None:
    battle = make_ready(store)
    first = store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.MODEL_A)
    second = store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.MODEL_B)
    assert second == first
    assert first.vote is not None
    assert first.vote.outcome is Outcome.MODEL_A
    assert first.status is BattleStatus.VOTED
    assert count(store, votes) == 1


def test_twenty_votes_at_once_are_one(store: Store) -> None:
    battle = make_ready(store)
    ready = threading.Barrier(20)

    def vote(number: int) -> object:
        ready.wait()
        outcome = tuple(Outcome)[number % 4]
        return store.battles.vote(battle.id, voter_id=VOTER, outcome=outcome).vote

    with ThreadPoolExecutor(20) as pool:
        seen = set(pool.map(vote, range(20)))
    assert len(seen) == 1
    assert seen == {store.battles.get(battle.id, voter_id=VOTER).vote}
    assert count(store, votes) == 1


def test_the_database_itself_refuses_a_second_vote(store: Store) -> None:
    battle = make_ready(store)
    row = {
        "battle_id": battle.id,
        "voter_id": VOTER,
        "outcome": Outcome.TIE,
        "created_at": datetime.now(UTC),
    }
    with store.engine.begin() as connection:
        connection.execute(insert(votes).values(row))
    with pytest.raises(IntegrityError), store.engine.begin() as connection:
        connection.execute(insert(votes).values(row))


def test_the_database_itself_refuses_what_refers_to_nothing(store: Store) -> None:
    battle = make_ready(store)
    now = datetime.now(UTC)
    strays: list[tuple[Table, dict[str, object]]] = [
        (votes, {"battle_id": "none", "voter_id": VOTER, "outcome": Outcome.TIE}),
        (votes, {"battle_id": battle.id, "voter_id": "none", "outcome": Outcome.TIE}),
        (votes, {"battle_id": battle.id, "voter_id": VOTER, "outcome": "a draw"}),
        (exclusions, {"vote_id": 12, "reason": ExclusionReason.MAINTAINER, "note": ""}),
        (responses, {"battle_id": battle.id, **asdict(answer(Side.A, turn=7))}),
        (voters, {"id": "voter-9", "kind": "robot"}),
    ]
    for table, row in strays:
        with pytest.raises(IntegrityError), store.engine.begin() as connection:
            connection.execute(insert(table).values({"created_at": now, **row}))
    with pytest.raises(IntegrityError), store.engine.begin() as connection:
        connection.execute(update(battles).values(model_a="Nobody"))
    with pytest.raises(IntegrityError), store.engine.begin() as connection:
        connection.execute(update(battles).values(model_a=battles.c.model_b))
    with pytest.raises(IntegrityError), store.engine.begin() as connection:
        connection.execute(update(battles).values(probability=0))


def test_tabs_of_a_new_voter_that_start_at_once_all_get_a_battle(store: Store) -> None:
    register(store, (PAIRING.model_a, PAIRING.model_b))
    worker_id = store.workers.register()
    for round_number in range(5):
        ready = threading.Barrier(4)
        voter_id = f"new-{round_number}"

        def begin(number: int, voter_id: str = voter_id, ready: threading.Barrier = ready) -> str:
            ready.wait()
            return store.battles.start(
                voter_id=voter_id, pairing=PAIRING, prompt=f"{number}", worker_id=worker_id
            ).id

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(begin, range(4)))) == 4
    assert count(store, voters) == 5


def test_processes_that_register_the_same_models_at_once_all_succeed(store: Store) -> None:
    for round_number in range(5):
        ready = threading.Barrier(3)
        names = [f"Model {round_number}.{number}" for number in range(6)]

        def enter(_: int, names: list[str] = names, ready: threading.Barrier = ready) -> None:
            ready.wait()
            register(store, names)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(enter, range(3)))
    assert count(store, models) == 30


def test_a_card_is_updated_and_never_lost(store: Store) -> None:
    register(store, ("Amber", "Birch"))
    register(store, ("Amber",), license_name="MIT")
    cards = store.battles.cards()
    assert {name: card["license"] for name, card in cards.items()} == {
        "Amber": "MIT",
        "Birch": "Apache-2.0",
    }


def test_a_worker_taken_for_dead_cannot_reopen_what_was_voted_on(store: Store) -> None:
    late = store.workers.register()
    successor = store.workers.register()
    battle = start(store, worker_id=late)
    store.battles.settle(battle.id, BattleStatus.ABANDONED, worker_id=late)  # as a sweep does
    store.battles.reopen(battle.id, Action.RETRY, voter_id=VOTER, worker_id=successor, terms=TERMS)
    store.battles.settle(battle.id, BattleStatus.FAILED, worker_id=late)
    assert store.battles.get(battle.id, voter_id=VOTER).status is BattleStatus.ANSWERING
    finish(store, battle, worker_id=successor)
    store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    for worker_id in (late, successor):
        store.battles.settle(battle.id, BattleStatus.READY, worker_id=worker_id)
    assert store.battles.get(battle.id, voter_id=VOTER).status is BattleStatus.VOTED


def test_the_last_answer_settles_the_battle_but_not_for_a_worker_taken_for_dead(
    store: Store,
) -> None:
    late, successor = store.workers.register(), store.workers.register()
    battle = start(store, worker_id=late)
    store.battles.add_response(battle.id, answer(Side.A))
    store.battles.settle(battle.id, BattleStatus.ABANDONED, worker_id=late)  # as a sweep does
    last = answer(Side.B)
    ready = BattleStatus.READY
    assert not store.battles.add_last_response(battle.id, last, ready, worker_id=late)
    found = store.battles.get(battle.id, voter_id=VOTER)
    assert found.status is BattleStatus.ABANDONED
    assert [response.side for response in found.responses] == [Side.A, Side.B]
    store.battles.reopen(battle.id, Action.RETRY, voter_id=VOTER, worker_id=successor, terms=TERMS)
    again = replace(last, attempt=1)
    assert store.battles.add_last_response(battle.id, again, ready, worker_id=successor)
    found = store.battles.get(battle.id, voter_id=VOTER)
    assert (found.status, found.edition) == (ready, 3)


def test_a_last_answer_that_cannot_be_stored_settles_nothing(store: Store) -> None:
    worker_id = store.workers.register()
    battle = start(store, worker_id=worker_id)
    store.battles.add_response(battle.id, answer(Side.A))
    with pytest.raises(IntegrityError):
        store.battles.add_last_response(
            battle.id, answer(Side.A), BattleStatus.READY, worker_id=worker_id
        )
    found = store.battles.get(battle.id, voter_id=VOTER)
    assert (found.status, len(found.responses)) == (BattleStatus.ANSWERING, 1)


def test_a_vote_after_a_name_was_read_is_recorded_but_excluded(store: Store) -> None:
    worker_id = store.workers.register()
    battle = start(store, worker_id=worker_id)
    told = answer(Side.A, text="As Amber, I say yes.")
    finish(store, battle, told, answer(Side.B), worker_id=worker_id)
    voted = store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.MODEL_A)
    assert voted.vote is not None
    with store.engine.connect() as connection:
        (row,) = connection.execute(select(exclusions)).mappings().all()
    assert row["reason"] == ExclusionReason.IDENTITY_REVEALED
    assert store.votes.tally().votes == 0
    assert count(store, votes) == 1
    assert store.battles.votes_of(VOTER)[Outcome.MODEL_A] == 1


def test_a_voters_own_counts_are_of_all_four_buttons(store: Store) -> None:
    for outcome in (Outcome.TIE, Outcome.TIE, Outcome.BOTH_BAD):
        store.battles.vote(make_ready(store).id, voter_id=VOTER, outcome=outcome)
    other = make_ready(store, voter_id="voter-2")
    store.battles.vote(other.id, voter_id="voter-2", outcome=Outcome.MODEL_A)
    assert store.battles.votes_of(VOTER) == {
        Outcome.MODEL_A: 0,
        Outcome.MODEL_B: 0,
        Outcome.TIE: 2,
        Outcome.BOTH_BAD: 1,
    }
    with store.engine.begin() as connection:
        connection.execute(update(votes).values(retracted_at=datetime.now(UTC)))
    assert sum(store.battles.votes_of(VOTER).values()) == 0
