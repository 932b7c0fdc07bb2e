"""The answers that were voted on, read one battle after another."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select, union

from arena.rules.battles import Outcome, Side
from arena.store.conditions import (
    answers_that_count,
    cast_between,
    joined_votes,
    votes_that_count,
)
from arena.store.tables import battles, exclusions, responses, votes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy.engine import Engine

_ROWS_AT_ONCE = 1_000


class VotedAnswer(NamedTuple):
    """What a voter read on one side in one turn.

    Attributes:
        side: where.
        text: as shown.
        tokens: as the model's server counted them, `None` if it did not.
    """

    side: Side
    text: str
    tokens: int | None


class VotedBattle(NamedTuple):
    """A vote that counts, with all that was answered.

    Attributes:
        model_a: on the left.
        model_b: on the right.
        outcome: how it ended.
        voter_id: who voted.
        probability: that the matchmaker gave this pair.
        created_at: when the vote was cast.
        category: of the first prompt, `None` where it is not known.
        language: of the first prompt, `None` where it is not known.
        answers: of both sides, turn after turn.
        vote_id: number of the vote.
    """

    model_a: str
    model_b: str
    outcome: Outcome
    voter_id: str
    probability: float
    created_at: datetime
    category: str | None
    language: str | None
    answers: tuple[VotedAnswer, ...]
    vote_id: int


class VotedAnswers:
    """Reads votes with the texts they are about."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        after: int | None = None,
        through: int | None = None,
    ) -> Iterator[VotedBattle]:
        """Every vote that counts, in the order of their numbers; few are in memory at once.

        Args:
            since: no vote before this time.
            until: no vote at this time or after it.
            after: no vote up to this number.
            through: no vote above this number.
        """
        query = (
            select(
                votes.c.id, battles.c.model_a, battles.c.model_b, votes.c.outcome,
                votes.c.voter_id, battles.c.probability, votes.c.created_at,
                battles.c.category, battles.c.language,
                responses.c.side, responses.c.text, responses.c.completion_tokens,
            )
            .select_from(joined_votes().join(responses, responses.c.battle_id == battles.c.id))
            .where(votes_that_count(), cast_between(since, until), answers_that_count())
            .order_by(votes.c.id, responses.c.turn, responses.c.side)
        )  # fmt: skip
        if after is not None:
            query = query.where(votes.c.id > after)
        if through is not None:
            query = query.where(votes.c.id <= through)
        with self._engine.connect() as connection:
            rows = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)
            for vote_id, group in groupby(rows, key=itemgetter(0)):
                lines = list(group)
                a, b, outcome, voter, probability, cast_at, category, language = lines[0][1:9]
                yield VotedBattle(
                    model_a=a,
                    model_b=b,
                    outcome=Outcome(outcome),
                    voter_id=voter,
                    probability=probability,
                    created_at=cast_at,
                    category=category,
                    language=language,
                    answers=tuple(VotedAnswer(Side(row[9]), row[10], row[11]) for row in lines),
                    vote_id=vote_id,
                )

    def taken_out(self) -> set[int]:
        """Numbers of the votes that were excluded or retracted."""
        query = union(
            select(exclusions.c.vote_id).where(exclusions.c.lifted_at.is_(None)),
            select(votes.c.id).where(votes.c.retracted_at.is_not(None)),
        )
        with self._engine.connect() as connection:
            return set(connection.scalars(query))
