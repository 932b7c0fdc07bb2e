"""How each voter votes: when, how soon after the answers, on which prompts."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from arena.rules.battles import Outcome
from arena.rules.suspicion import CastVote
from arena.store.conditions import joined_votes, votes_that_count
from arena.store.tables import battles, responses, turns, votes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Engine

_ROWS_AT_ONCE = 5_000


class VoterHabits:
    """The votes that count, by voter.

    Args:
        engine: of the record.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self) -> Iterator[tuple[str, list[CastVote]]]:
        """Each voter with all votes of theirs that count, in the order of voters' ids."""
        ended = (
            select(func.max(responses.c.created_at))
            .where(responses.c.battle_id == battles.c.id)
            .scalar_subquery()
        )
        query = (
            select(
                votes.c.voter_id,
                battles.c.model_a,
                battles.c.model_b,
                votes.c.created_at,
                votes.c.outcome,
                ended,
                turns.c.prompt,
            )
            .select_from(
                joined_votes().join(
                    turns, (turns.c.battle_id == battles.c.id) & (turns.c.turn == 0)
                )
            )
            .where(votes_that_count())
            .order_by(votes.c.voter_id, votes.c.id)
        )
        with self._engine.connect() as connection:
            rows = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)
            for voter, group in groupby(rows, key=itemgetter(0)):
                yield (
                    voter,
                    [
                        CastVote(
                            model_a=a,
                            model_b=b,
                            at=at,
                            outcome=Outcome(outcome),
                            read_seconds=None if end is None else (at - end).total_seconds(),
                            prompt=prompt,
                        )
                        for _, a, b, at, outcome, end, prompt in group
                    ],
                )
