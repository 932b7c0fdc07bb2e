"""Tokens that models have read and written, added up inside the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import case, func, select

from arena.rules.battles import Side
from arena.store.tables import battles, responses

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Engine


class Tokens(NamedTuple):
    """What a model read and wrote, as its provider counted."""

    prompt: int
    completion: int


class TokenCounts:
    """Sums over the answers of battles, however they ended."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def since(self, start: datetime) -> dict[str, Tokens]:
        """The tokens of every model that ended an answer at this time or later, by name."""
        model = case((responses.c.side == Side.A, battles.c.model_a), else_=battles.c.model_b)
        sums = (func.sum(responses.c.prompt_tokens), func.sum(responses.c.completion_tokens))
        query = (
            select(model, *sums)
            .select_from(responses.join(battles, responses.c.battle_id == battles.c.id))
            .where(responses.c.created_at >= start)
            .group_by(model)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return {name: Tokens(prompt or 0, completion or 0) for name, prompt, completion in rows}
