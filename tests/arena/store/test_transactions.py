"""Who waits for whom, for how long at most, and what a database that cannot be used is called."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
from battle_steps import VOTER, make_ready
from sqlalchemy import create_engine, text

from arena.rules.battles import Outcome
from arena.store import DatabaseBusy, DatabaseDamaged, Store, open_store
from arena.store import transactions as transactions_module
from arena.store.errors import WAIT_SECONDS
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def held_by_another(url: str) -> Iterator[None]:
    """Somebody else has begun to write and does not come to an end."""
    other = create_engine(url, isolation_level="AUTOCOMMIT")
    with other.connect() as connection:
        if other.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("LOCK TABLE battles, votes IN SHARE MODE")
        yield
        connection.exec_driver_sql("ROLLBACK")
    other.dispose()


def test_reading_and_opening_wait_for_no_writer(store: Store, database_url: str) -> None:
    battle = make_ready(store)
    with held_by_another(database_url):
        started = time.monotonic()
        again = open_store(database_url)
        assert again.battles.get(battle.id, voter_id=VOTER) == battle
        assert again.votes.tally().votes == 0
        again.close()
        assert time.monotonic() - started < WAIT_SECONDS


def test_a_vote_waits_as_long_as_is_documented_and_works_afterwards(
    store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store.engine.dialect.name == "sqlite":
        monkeypatch.setattr(transactions_module, "WAIT_SECONDS", 0.5)
    else:
        with store.engine.connect() as connection:
            wait = connection.execute(text("SHOW lock_timeout")).scalar_one()
        assert wait == f"{WAIT_SECONDS:g}s"
    battle = make_ready(store)
    with held_by_another(database_url), pytest.raises(DatabaseBusy, match="another writer"):
        store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    assert store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE).vote is not None


def test_those_who_queue_behind_each_other_do_not_wait_one_after_the_other(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(sqlite_database)
    monkeypatch.setattr(transactions_module, "WAIT_SECONDS", 1.0)
    ready = threading.Barrier(8)

    def write(_: int) -> float:
        ready.wait()
        started = time.monotonic()
        with pytest.raises(DatabaseBusy), begin_write(store.engine):
            pass
        return time.monotonic() - started

    with held_by_another(sqlite_database), ThreadPoolExecutor(8) as pool:
        waited = list(pool.map(write, range(8)))
    store.close()
    assert max(waited) < 4  # one after the other they would have needed eight


def read_all(url: str) -> None:
    opened = open_store(url)
    try:
        opened.battles.cards()
        opened.battles.votes_of(VOTER)
        opened.votes.tally()
    finally:
        opened.close()


def damage(path: Path, *, start: int) -> None:
    """Writes over what is in the file from some place on."""
    content = bytearray(path.read_bytes())
    assert len(content) > start
    content[start:] = b"\x5a" * (len(content) - start)
    path.write_bytes(content)


def test_a_damaged_database_is_called_damaged_with_the_way_back(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    url = f"sqlite:///{path}"
    store = open_store(url)
    for _ in range(20):
        make_ready(store)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'alembic_version'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    damage(path, start=max(root, 3) * size)
    with pytest.raises(DatabaseDamaged) as said:  # at the latest when it is read
        read_all(url)
    for words in (url, "is damaged", "arena db check", "arena db restore FOLDER --replace"):
        assert words in str(said.value)


def test_a_database_with_a_broken_beginning_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    open_store(f"sqlite:///{path}").close()
    damage(path, start=0)
    with pytest.raises(DatabaseDamaged, match=r"arena db restore FOLDER --replace"):
        open_store(f"sqlite:///{path}")
