"""Tokens that models have read and written, added up inside the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, case, func, or_, select

from arena.store.conditions import answering_model
from arena.store.tables import battles, responses

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Engine


class Tokens(NamedTuple):
    """What a model read and wrote, as its provider counted.

    Attributes:
        prompt: read.
        completion: written.
        uncounted: answers with some text of which not both numbers are known.
    """

    prompt: int
    completion: int
    uncounted: int = 0


class TokenCounts:
    """Sums over the answers of battles, however they ended."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def since(self, start: datetime) -> dict[str, Tokens]:
        """The tokens of every model that ended an answer at this time or later, by name."""
        model = answering_model()
        prompt, completion = responses.c.prompt_tokens, responses.c.completion_tokens
        is_uncounted = and_(or_(prompt.is_(None), completion.is_(None)), responses.c.text != "")
        sums = (
            func.sum(prompt), func.sum(completion), func.sum(case((is_uncounted, 1), else_=0))
        )  # fmt: skip
        query = (
            select(model, *sums)
            .select_from(responses.join(battles, responses.c.battle_id == battles.c.id))
            .where(responses.c.created_at >= start)
            .group_by(model)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return {name: Tokens(read or 0, wrote or 0, unknown) for name, read, wrote, unknown in rows}
