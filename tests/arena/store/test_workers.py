"""Battles that nobody is answering any more, and those that somebody is."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from battle_steps import TERMS, VOTER, finish, make_ready, start
from sqlalchemy import select, update

from arena.rules.actions import Action
from arena.rules.battles import BattleStatus, Outcome
from arena.store.tables import battles, workers

if TYPE_CHECKING:
    from arena.store import Store


def describe(store: Store, worker_id: str, **values: object) -> None:
    with store.engine.begin() as connection:
        connection.execute(update(workers).where(workers.c.id == worker_id).values(values))


def a_live_process() -> int:
    """A process number that exists and is not ours."""
    return 1


def a_dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def other_worker(store: Store, **values: object) -> str:
    worker_id = store.workers.register()
    describe(store, worker_id, pid=a_live_process(), **values)
    return worker_id


def status_of(store: Store, battle_id: str) -> BattleStatus:
    return store.battles.get(battle_id, voter_id=VOTER).status


def test_a_live_workers_battle_is_left_alone(store: Store) -> None:
    battle = start(store, worker_id=other_worker(store))
    assert store.workers.abandon_orphans(store.workers.register()) == 0
    assert status_of(store, battle.id) is BattleStatus.ANSWERING


@pytest.mark.parametrize(
    "how",
    [
        "its process is gone",
        "its process number is ours",
        "its heartbeat is old",
        "it signed off",
    ],
)
def test_a_dead_workers_battle_is_abandoned(store: Store, how: str) -> None:
    worker_id = other_worker(store)
    ready = finish(store, start(store, worker_id=worker_id), worker_id=worker_id)
    battle = start(store, worker_id=worker_id)
    me = store.workers.register()
    match how:
        case "its process is gone":
            describe(store, worker_id, pid=a_dead_process())
        case "its process number is ours":
            with store.engine.connect() as connection:
                own = connection.scalar(select(workers.c.pid).where(workers.c.id == me))
            describe(store, worker_id, pid=own)
        case "its heartbeat is old":
            describe(store, worker_id, heartbeat_at=datetime.now(UTC) - timedelta(seconds=31))
        case _:
            store.workers.sign_off(worker_id)
    assert store.workers.abandon_orphans(me) == 1
    assert status_of(store, battle.id) is BattleStatus.ABANDONED
    assert status_of(store, ready.id) is BattleStatus.READY
    assert store.workers.abandon_orphans(me) == 0


def test_on_another_host_only_the_heartbeat_tells(store: Store) -> None:
    worker_id = other_worker(store, host="elsewhere", heartbeat_at=datetime.now(UTC))
    describe(store, worker_id, pid=a_dead_process())
    battle = start(store, worker_id=worker_id)
    me = store.workers.register()
    assert store.workers.abandon_orphans(me) == 0
    describe(store, worker_id, heartbeat_at=datetime.now(UTC) - timedelta(seconds=31))
    assert store.workers.abandon_orphans(me) == 1
    assert status_of(store, battle.id) is BattleStatus.ABANDONED


def test_a_beat_keeps_a_worker_alive(store: Store) -> None:
    worker_id = other_worker(
        store, host="elsewhere", heartbeat_at=datetime.now(UTC) - timedelta(minutes=5)
    )
    start(store, worker_id=worker_id)
    store.workers.beat(worker_id)
    assert store.workers.abandon_orphans(store.workers.register()) == 0


def test_own_battles_that_are_not_being_answered_are_found_after_a_while(store: Store) -> None:
    me = store.workers.register()
    forgotten, answered, fresh = (start(store, worker_id=me) for _ in range(3))
    long_ago = datetime.now(UTC) - timedelta(seconds=31)
    with store.engine.begin() as connection:
        old = battles.c.id.in_([forgotten.id, answered.id])
        connection.execute(update(battles).where(old).values(updated_at=long_ago))
    assert store.workers.abandon_orphans(me, live=(answered.id,)) == 1
    assert status_of(store, forgotten.id) is BattleStatus.ABANDONED
    assert status_of(store, answered.id) is BattleStatus.ANSWERING
    assert status_of(store, fresh.id) is BattleStatus.ANSWERING


def test_an_abandoned_battle_can_be_taken_up_again(store: Store) -> None:
    gone = other_worker(store)
    battle = start(store, worker_id=gone)
    store.workers.sign_off(gone)
    me = store.workers.register()
    store.workers.abandon_orphans(me)
    store.battles.reopen(battle.id, Action.RETRY, voter_id=VOTER, worker_id=me, terms=TERMS)
    assert finish(store, battle, worker_id=me).status is BattleStatus.READY


def test_voted_battles_stay_voted_whoever_dies(store: Store) -> None:
    battle = make_ready(store)
    store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    assert store.workers.abandon_orphans(store.workers.register()) == 0
    assert status_of(store, battle.id) is BattleStatus.VOTED
