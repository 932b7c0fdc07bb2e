"""Votes counted inside the database, so that a million of them cost a few thousand rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, exists, func, select

from arena.battles import Outcome, VoterKind
from arena.store.tables import battles, exclusions, voters, votes

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Join
    from sqlalchemy.engine import Engine


class OutcomeCount(NamedTuple):
    """How often a pair, sides as shown, ended like this."""

    model_a: str
    model_b: str
    outcome: Outcome
    votes: int


class VoteCounts:
    """Counts of the votes that count: cast by the crowd, not retracted, not excluded."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_outcome(self) -> list[OutcomeCount]:
        """Counts per (model_a, model_b, outcome), in a fixed order."""
        keys = (battles.c.model_a, battles.c.model_b, votes.c.outcome)
        query = (
            select(*keys, func.count())
            .select_from(_joined())
            .where(_counts())
            .group_by(*keys)
            .order_by(*keys)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query)
            return [OutcomeCount(a, b, Outcome(outcome), count) for a, b, outcome, count in rows]

    def last_id(self) -> int:
        """The number of the newest vote of any kind, 0 where there is none."""
        with self._engine.connect() as connection:
            return connection.scalar(select(func.max(votes.c.id))) or 0

    def total(self) -> int:
        """How many votes count."""
        query = select(func.count()).select_from(_joined()).where(_counts())
        with self._engine.connect() as connection:
            return connection.scalar(query) or 0


def _joined() -> Join:
    return votes.join(battles, votes.c.battle_id == battles.c.id).join(
        voters, votes.c.voter_id == voters.c.id
    )


def _counts() -> ColumnElement[bool]:
    return and_(
        voters.c.kind == VoterKind.CROWD,
        votes.c.retracted_at.is_(None),
        ~exists().where(exclusions.c.vote_id == votes.c.id),
    )
