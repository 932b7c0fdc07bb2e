"""Judges that are models, what they were asked and what they said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003  dataclass fields are inspected at run time
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from arena.store.judge_tables import JudgeMode, judges

if TYPE_CHECKING:
    from sqlalchemy import RowMapping
    from sqlalchemy.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model as a judge: asked otherwise, it would be another one.

    Attributes:
        voter_id: a digest of all that makes it distinct.
        name: shown; unique.
        model: its name in the settings.
        mode: how it is asked.
        prompts_hash: of the texts it is asked with.
        sampling: how its answers are drawn.
        created_at: when it was first asked.
    """

    voter_id: str
    name: str
    model: str
    mode: JudgeMode
    prompts_hash: str
    sampling: dict[str, Any]
    created_at: datetime


class Judgings:
    """The record of judges and their verdicts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def judges(self) -> list[Judge]:
        """All judges that were ever asked, by name."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(judges).order_by(judges.c.name)).mappings()
            return [_judge(row) for row in rows]


def _judge(row: RowMapping) -> Judge:
    return Judge(**{**row, "mode": JudgeMode(row["mode"])})
