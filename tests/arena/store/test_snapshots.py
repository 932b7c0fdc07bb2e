"""The history of leaderboards: the newest always, older ones thinner the older they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from arena.store import Store, open_store
from arena.store.snapshots import find_superseded
from arena.store.tables import snapshots

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 12, 34, tzinfo=UTC)


def thin(published: list[datetime], now: datetime) -> list[datetime]:
    numbered = list(enumerate(published))
    gone = set(find_superseded(numbered, now))
    return [at for number, at in numbered if number not in gone]


def test_a_history_keeps_an_hour_whole_a_week_by_hours_and_the_rest_by_days() -> None:
    every_minute = [NOW - timedelta(minutes=age) for age in range(20 * 24 * 60, -1, -1)]
    kept = thin(every_minute, NOW)
    ages = [NOW - at for at in kept]
    assert sum(age < timedelta(hours=1) for age in ages) == 60
    assert 165 <= sum(timedelta(hours=1) <= age < timedelta(days=7) for age in ages) <= 169
    assert 13 <= sum(age >= timedelta(days=7) for age in ages) <= 15
    # The last of its hour, the last of its day.
    assert all(at.minute == 59 for at in kept if timedelta(hours=2) < NOW - at < timedelta(days=6))
    assert all(at.hour == 23 for at in kept if NOW - at > timedelta(days=9))


def test_thinning_as_it_goes_ends_where_thinning_at_once_does() -> None:
    published: list[datetime] = []
    everything: list[datetime] = []
    now = NOW
    for _ in range(12 * 24 * 6):
        now += timedelta(minutes=10)
        published = [*thin(published, now), now]
        everything.append(now)
    # But for the day that is becoming a week old, of which hours are left.
    assert len(set(published) ^ set(thin(everything, now))) <= 2


def test_publishing_takes_out_what_is_superseded_and_never_the_newest(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/arena.db")
    told = {"votes": 1, "last_vote_id": 1, "code_version": "1", "settings": {}, "board": {}}
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=5)
    with store.engine.begin() as connection:
        for minute in (10, 20, 50):
            row = {**told, "created_at": hour + timedelta(minutes=minute)}
            connection.execute(insert(snapshots).values(row))
    publish(store, votes=2)
    publish(store, votes=3)
    with store.engine.connect() as connection:
        ids = connection.scalars(select(snapshots.c.id).order_by(snapshots.c.id)).all()
    assert ids == [3, 4, 5]
    latest = store.snapshots.latest()
    assert latest is not None
    assert latest.votes == 3
    store.close()


def test_a_long_past_goes_a_few_hundred_at_a_time(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/arena.db")
    told = {"votes": 1, "last_vote_id": 1, "code_version": "1", "settings": {}, "board": {}}
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=5)
    rows = [{**told, "created_at": hour + timedelta(seconds=second)} for second in range(1_200)]
    with store.engine.begin() as connection:
        connection.execute(insert(snapshots), rows)
    left = []
    for _ in range(3):
        publish(store, votes=2)
        with store.engine.connect() as connection:
            left.append(len(connection.scalars(select(snapshots.c.id)).all()))
    assert left == [701, 202, 4]  # the last of its hour, and the three new ones
    store.close()


def publish(store: Store, *, votes: int) -> None:
    store.snapshots.add(votes=votes, last_vote_id=1, code_version="1", settings={}, board={})
