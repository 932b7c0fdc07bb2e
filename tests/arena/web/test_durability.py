"""`kill -9` in the middle of a run of votes: what was acknowledged is on record, once."""

from __future__ import annotations

import json
import multiprocessing
import random
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx2
import pytest
from page_client import PageClient
from serving_arena import recorded_model, serve
from sqlalchemy import create_engine, select, text

from arena.leaderboards.published import PublishedBoard
from arena.rules.battles import BattleStatus, Outcome, ResponseStatus
from arena.store import Snapshot
from arena.store.tables import battles, responses, snapshots, votes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

    from sqlalchemy.engine import Engine

pytestmark = pytest.mark.slow

BUTTONS = {f"vote-{number}": outcome for number, outcome in enumerate(Outcome, start=1)}
CLIENTS = 6
SEED = 20_261_129
START_SECONDS = 240
# Every server is a fresh process of the real program; only its imports are shared.
SERVERS = multiprocessing.get_context("forkserver")
SERVERS.set_forkserver_preload(["arena.web.server", "serving.recorded"])


@dataclass
class Ledger:
    """What the clients said, and what they were told.

    Attributes:
        pressed: battle → the button pressed first, sent whether or not it was answered.
        acknowledged: battles whose reveal arrived.
        asked: battles that were shown.
    """

    pressed: dict[str, Outcome] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)


def vote_until_the_server_dies(client: PageClient, ledger: Ledger, chance: random.Random) -> None:
    try:
        while True:
            client.battle_id = ""
            heard = client.ask("Why?")
            ledger.asked.add(heard.battle_id)
            if heard.status != "ready":
                continue
            button = chance.choice(sorted(BUTTONS))
            ledger.pressed[heard.battle_id] = BUTTONS[button]
            if client.press(button).names:
                ledger.acknowledged.add(heard.battle_id)
            if chance.random() < 0.3:  # a second click, on another button
                client.press(chance.choice(sorted(BUTTONS)))
    except httpx2.TransportError:
        return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


@contextmanager
def serving(described: Path, port: int) -> Iterator[ForkServerProcess]:
    """An arena that is killed when the block ends, however far it is with anything."""
    process = SERVERS.Process(target=serve, args=(described,))
    process.start()
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_up(port):
            assert process.is_alive()
            assert time.monotonic() < deadline, "the arena did not start"
            time.sleep(0.05)
        yield process
    finally:
        process.kill()  # SIGKILL
        process.join()


def is_up(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


def describe_arena(folder: Path, *, port: int, url: str) -> Path:
    row = {"answer": "Words of an answer. " * 4, "tokens": 20, "tokens_per_second": 30}
    names = ("One", "Two", "Three")
    settings = {
        "data_dir": str(folder / "data"),
        "server": {"port": port},
        "database": {"url": url},
        "leaderboard": {"refresh_seconds": 0.1, "replicates": 100},
        "models": [recorded_model(name, folder, answers={"*": row}) for name in names],
    }
    (folder / "data").mkdir()
    described = folder / "settings.json"
    described.write_text(json.dumps(settings), encoding="utf-8")
    return described


@pytest.mark.parametrize(
    ("engine_name", "rounds"),
    [("sqlite", 8), pytest.param("postgres", 3, marks=pytest.mark.postgres)],
)
def test_every_acknowledged_vote_survives_a_kill_and_is_counted_once(
    engine_name: str, rounds: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance, ledger, port = random.Random(SEED), Ledger(), free_port()
    url = f"sqlite:///{tmp_path}/data/arena.db"
    if engine_name == "postgres":
        url = request.getfixturevalue("postgres_database")
    engine = create_engine(url)
    described = describe_arena(tmp_path, port=port, url=url)
    clients = [PageClient(f"http://127.0.0.1:{port}") for _ in range(CLIENTS)]
    unfinished: set[str] = set()
    for number in range(rounds):
        with serving(described, port):
            assert ids_by_status(engine, BattleStatus.ANSWERING) == set()
            assert unfinished <= ids_by_status(engine, BattleStatus.ABANDONED)
            if number == 0:
                for client in clients:
                    client.open()
            threads = [
                threading.Thread(
                    target=vote_until_the_server_dies,
                    args=(client, ledger, random.Random(chance.random())),
                )
                for client in clients
            ]
            for thread in threads:
                thread.start()
            threads[0].join(chance.uniform(1.0, 3.5))
        for thread in threads:
            thread.join()
        unfinished |= ids_by_status(engine, BattleStatus.ANSWERING)
    with serving(described, port):
        check_record(engine, ledger, unfinished)
    check_snapshots(engine)
    for client in clients:
        client.http.close()
    engine.dispose()


def ids_by_status(engine: Engine, status: BattleStatus) -> set[str]:
    with engine.connect() as connection:
        if not engine.dialect.has_table(connection, "battles"):
            return set()
        return set(connection.scalars(select(battles.c.id).where(battles.c.status == status)))


def check_record(engine: Engine, ledger: Ledger, unfinished: set[str]) -> None:
    with engine.connect() as connection:
        cast = connection.execute(select(votes.c.battle_id, votes.c.outcome)).all()
        found = connection.execute(select(battles.c.id, battles.c.status))
        states = {row.id: row.status for row in found}
        complete = Counter(
            connection.scalars(
                select(responses.c.battle_id).where(responses.c.status == ResponseStatus.COMPLETE)
            )
        )
    # The kills came in the middle of things, and votes were cast.
    assert unfinished
    assert len(ledger.acknowledged) >= CLIENTS
    # Every acknowledged vote is there with the outcome said first; no battle has two.
    on_record = {battle_id: Outcome(outcome) for battle_id, outcome in cast}
    assert len(on_record) == len(cast)
    assert ledger.acknowledged <= set(on_record)
    assert all(on_record[battle] is ledger.pressed[battle] for battle in on_record)
    # Battles are what their votes and answers say; the unfinished are marked.
    by_status = {status: {i for i, s in states.items() if s == status} for status in BattleStatus}
    assert by_status[BattleStatus.VOTED] == set(on_record)
    assert unfinished <= by_status[BattleStatus.ABANDONED]
    assert by_status[BattleStatus.ANSWERING] == set()
    finished = by_status[BattleStatus.VOTED] | by_status[BattleStatus.READY]
    assert {battle: complete[battle] for battle in finished} == dict.fromkeys(finished, 2)
    assert ledger.asked - {""} <= set(states)


def check_snapshots(engine: Engine) -> None:
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            assert connection.scalar(text("PRAGMA integrity_check")) == "ok"
        published = [
            Snapshot(**row)
            for row in connection.execute(select(snapshots).order_by(snapshots.c.id)).mappings()
        ]
        counted = connection.scalar(text("SELECT count(*) FROM votes"))
    boards = [PublishedBoard.from_snapshot(snapshot) for snapshot in published]
    assert boards
    assert [board.votes for board in boards] == sorted(board.votes for board in boards)
    assert boards[-1].votes <= (counted or 0)
