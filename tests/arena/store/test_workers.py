"""Battles that nobody is answering any more, and those that somebody is."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Self

import pytest
from battle_steps import TERMS, VOTER, finish, make_ready, start
from sqlalchemy import select, update

from arena.rules.actions import Action
from arena.rules.battles import BattleStatus, Outcome
from arena.store import Heartbeat, open_store
from arena.store import workers as workers_module
from arena.store.tables import battles, workers
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from datetime import tzinfo

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
    describe(store, worker_id, heartbeat_at=datetime.now(UTC) - timedelta(seconds=3.2))
    assert store.workers.abandon_orphans(me) == 1
    assert status_of(store, battle.id) is BattleStatus.ABANDONED


def test_a_process_of_this_host_that_is_held_up_is_not_taken_for_dead(store: Store) -> None:
    silent = other_worker(store, heartbeat_at=datetime.now(UTC) - timedelta(seconds=20))
    start(store, worker_id=silent)
    assert store.workers.abandon_orphans(store.workers.register()) == 0


@pytest.mark.postgres
@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
def test_hosts_whose_clocks_differ_agree_on_who_is_alive(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    store = open_store(postgres_database)

    class OtherClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + ahead

    here = store.workers.register()
    monkeypatch.setattr(workers_module, "datetime", OtherClock)
    there = other_worker(store, host="elsewhere")
    store.workers.beat(there)
    start(store, worker_id=there)
    assert store.workers.abandon_orphans(here) == 0
    monkeypatch.undo()
    assert store.workers.abandon_orphans(here) == 0
    store.close()


def test_looking_for_the_dead_waits_for_no_writer(store: Store) -> None:
    me = store.workers.register()
    with begin_write(store.engine), ThreadPoolExecutor(1) as pool:
        assert pool.submit(store.workers.abandon_orphans, me).result(timeout=5) == 0


def test_a_busy_process_goes_on_beating(store: Store) -> None:
    heartbeat = Heartbeat(store.workers)
    long_ago = datetime.now(UTC) - timedelta(minutes=5)
    describe(store, heartbeat.worker_id, pid=a_live_process(), heartbeat_at=long_ago)
    deadline = time.monotonic() + 30
    while not store.workers.list_alive():  # nothing here yields to an event loop
        assert time.monotonic() < deadline
    heartbeat.sign_off()
    assert store.workers.list_alive() == ()


def test_beats_that_cannot_be_stored_are_said_once_and_made_good(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "HEARTBEAT_SECONDS", 0.01)
    failed = Event()
    beats: list[str] = []

    def refuse(worker_id: str) -> None:
        beats.append(worker_id)
        if len(beats) > 3:
            failed.set()
        raise OSError("the database is away")

    known = store.workers.beat
    monkeypatch.setattr(store.workers, "beat", refuse)
    heartbeat = Heartbeat(store.workers)
    assert failed.wait(30)
    long_ago = datetime.now(UTC) - timedelta(minutes=5)
    describe(store, heartbeat.worker_id, pid=a_live_process(), heartbeat_at=long_ago)
    monkeypatch.setattr(store.workers, "beat", known)
    deadline = time.monotonic() + 30
    while not store.workers.list_alive():
        assert time.monotonic() < deadline
    heartbeat.stop()
    assert [record.getMessage() for record in caplog.records] == ["the heartbeat cannot be stored"]


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
    long_ago = datetime.now(UTC) - timedelta(seconds=6)
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
