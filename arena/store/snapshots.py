"""Leaderboard snapshots: what was published, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from arena.store.engine import begin_write
from arena.store.tables import snapshots

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


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
        """Publishes a leaderboard."""
        with begin_write(self._engine) as connection:
            connection.execute(
                insert(snapshots).values(
                    created_at=datetime.now(UTC),
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
