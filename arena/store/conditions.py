"""What counts, in SQL: the joins and conditions that several queries share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, case, exists, true

from arena.rules.battles import Side, VoterKind
from arena.store.tables import battles, exclusions, responses, voters, votes

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Join


def joined_votes() -> Join:
    """Votes with their battles and voters."""
    return votes.join(battles, votes.c.battle_id == battles.c.id).join(
        voters, votes.c.voter_id == voters.c.id
    )


def votes_that_count() -> ColumnElement[bool]:
    """Cast by the crowd in this arena itself, not retracted, not excluded."""
    return and_(votes_that_may_count(), ~is_excluded())


def votes_that_may_count() -> ColumnElement[bool]:
    """The same whether excluded or not."""
    return and_(is_of_own_crowd(), votes.c.retracted_at.is_(None))


def is_of_own_crowd() -> ColumnElement[bool]:
    """Whether a vote was cast by the crowd in this arena itself."""
    return and_(voters.c.kind == VoterKind.CROWD, battles.c.source.is_(None))


def is_excluded() -> ColumnElement[bool]:
    """Whether a vote has a reason not to count that is in force."""
    return exists().where(exclusions.c.vote_id == votes.c.id, exclusions.c.lifted_at.is_(None))


def cast_between(since: datetime | None, until: datetime | None) -> ColumnElement[bool]:
    """From one time up to, but not at, another."""
    where: list[ColumnElement[bool]] = [true()]
    if since is not None:
        where.append(votes.c.created_at >= since)
    if until is not None:
        where.append(votes.c.created_at < until)
    return and_(*where)


def answers_that_count() -> ColumnElement[bool]:
    """Of each turn and side the latest attempt, however it ended; as `Battle.response` has it."""
    later = responses.alias("later")
    return ~exists().where(
        later.c.battle_id == responses.c.battle_id,
        later.c.turn == responses.c.turn,
        later.c.side == responses.c.side,
        later.c.attempt > responses.c.attempt,
    )


def answering_model() -> ColumnElement[str]:
    """The model that gave an answer, where responses are joined with their battles."""
    return case((responses.c.side == Side.A, battles.c.model_a), else_=battles.c.model_b)
