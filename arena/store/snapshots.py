"""Leaderboard snapshots: what was published, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from arena.store.tables import snapshots
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Engine

# A busy arena publishes every few seconds, up to 200 kB each time. Any of them can be computed
# again from the votes and the settings that it names; a history needs fewer.
_ALL_FOR = timedelta(hours=1)
_HOURLY_FOR = timedelta(days=7)
# Databases take only so many values in a statement; what is left goes with the next one.
_MOST_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A published leaderboard.

    Attributes:
        id: number, increasing.
        created_at: when it was computed.
        votes: how many votes it counts.
        last_vote_id: the newest vote that existed when it was computed.
        code_version: of this program.
        settings: everything that the computation was told, the seed included.
        board: the result, as `ranking` writes it; the boards of categories and those at
            equal style are below `boards`.
    """

    id: int
    created_at: datetime
    votes: int
    last_vote_id: int
    code_version: str
    settings: dict[str, Any]
    board: dict[str, Any]


class Snapshots:
    """The record of snapshots."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(
        self,
        *,
        votes: int,
        last_vote_id: int,
        code_version: str,
        settings: dict[str, Any],
        board: dict[str, Any],
    ) -> None:
        """Publishes a leaderboard.

        Of older ones the last of each hour stays, and after a week the last of each day.
        """
        now = datetime.now(UTC)
        older = select(snapshots.c.id, snapshots.c.created_at).order_by(snapshots.c.id)
        with begin_write(self._engine) as connection:
            superseded = find_superseded(map(tuple, connection.execute(older)), now)
            gone = snapshots.c.id.in_(superseded[:_MOST_AT_ONCE])
            connection.execute(delete(snapshots).where(gone))
            connection.execute(
                insert(snapshots).values(
                    created_at=now,
                    votes=votes,
                    last_vote_id=last_vote_id,
                    code_version=code_version,
                    settings=settings,
                    board=board,
                )
            )

    def latest(self, *, after: int = 0) -> Snapshot | None:
        """The newest leaderboard, `None` where none is newer than snapshot `after`."""
        query = (
            select(snapshots).where(snapshots.c.id > after).order_by(snapshots.c.id.desc()).limit(1)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else Snapshot(**row)


def find_superseded(published: Iterable[tuple[int, datetime]], now: datetime) -> list[int]:
    """The snapshots that a history can do without.

    Args:
        published: id and time of each, the oldest first.
        now: what their age counts from.
    """
    last: dict[datetime, int] = {}
    superseded = []
    for number, at in published:
        if now - at < _ALL_FOR:
            continue
        slot = at.replace(minute=0, second=0, microsecond=0)
        if now - at >= _HOURLY_FOR:
            slot = slot.replace(hour=0)
        if slot in last:
            superseded.append(last[slot])
        last[slot] = number
    return superseded
