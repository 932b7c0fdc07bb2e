"""The battles that can be judged, and their texts as a judge is shown them."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from sqlalchemy import and_, func, or_, select

from arena.rules.battles import BattleStatus, ResponseStatus, Side
from arena.rules.judgements import AnsweredBattle, AnsweredTurn
from arena.store.conditions import answering_model, answers_that_count
from arena.store.expert_tables import assignment_items, assignments
from arena.store.tables import battles, responses, turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Engine

PROMPT_SET_POLICY = "prompt-set"
# An IN list that every database takes.
_BATTLES_AT_ONCE = 200
_ANSWERS_MEASURED = 200


class JudgedBattles:
    """Finds and reads battles for judges."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(
        self,
        *,
        assignment: str | None = None,
        pair: tuple[str, str] | None = None,
        category: str | None = None,
    ) -> list[str]:
        """The ids of battles whose answers cannot change any more, oldest first.

        These are the battles that were voted on and those of prompt sets.

        Args:
            assignment: only those that experts were given under this name.
            pair: only between these two models, on whichever sides.
            category: only of this category.
        """
        where: list[ColumnElement[bool]] = [
            or_(
                battles.c.status == BattleStatus.VOTED,
                and_(battles.c.status == BattleStatus.READY, battles.c.policy == PROMPT_SET_POLICY),
            )
        ]
        if pair is not None:
            where += [battles.c.model_a.in_(pair), battles.c.model_b.in_(pair)]
        if assignment is not None:
            given = (
                select(assignment_items.c.battle_id)
                .join(assignments, assignments.c.id == assignment_items.c.assignment_id)
                .where(assignments.c.name == assignment)
            )
            where.append(battles.c.id.in_(given))
        if category is not None:
            where.append(battles.c.category == category)
        query = select(battles.c.id).where(*where).order_by(battles.c.created_at, battles.c.id)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def read(self, battle_ids: Sequence[str]) -> Iterator[AnsweredBattle]:
        """These battles in this order, a few in memory at once; unknown ids are left out."""
        for start in range(0, len(battle_ids), _BATTLES_AT_ONCE):
            chunk = battle_ids[start : start + _BATTLES_AT_ONCE]
            found = self._read_some(chunk)
            yield from (found[battle_id] for battle_id in chunk if battle_id in found)

    def tokens_a_second_asked(self, model: str) -> float | None:
        """Tokens of a contender's latest answers for each second that these took.

        The wait for the first token is in it, unlike in a generation speed. `None` where it
        has written none.
        """
        latest = (
            select(responses.c.completion_tokens, responses.c.duration)
            .join(battles, battles.c.id == responses.c.battle_id)
            .where(
                answering_model() == model,
                responses.c.completion_tokens > 0,
                responses.c.duration > 0,
            )
            .order_by(responses.c.id.desc())
            .limit(_ANSWERS_MEASURED)
            .subquery()
        )
        query = select(func.sum(latest.c.completion_tokens), func.sum(latest.c.duration))
        with self._engine.connect() as connection:
            tokens, seconds = connection.execute(query).one()
        return tokens / seconds if tokens else None

    def _read_some(self, battle_ids: Sequence[str]) -> dict[str, AnsweredBattle]:
        answered = and_(
            responses.c.battle_id == turns.c.battle_id, responses.c.turn == turns.c.turn
        )
        query = (
            select(
                turns.c.battle_id, turns.c.turn, turns.c.prompt, turns.c.reference,
                responses.c.side, responses.c.text,
            )
            .select_from(turns.join(responses, answered))
            .where(
                turns.c.battle_id.in_(battle_ids),
                answers_that_count(),
                responses.c.status == ResponseStatus.COMPLETE,
            )
            .order_by(turns.c.battle_id, turns.c.turn)
        )  # fmt: skip
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return {
            battle_id: AnsweredBattle(id=battle_id, turns=_read_turns(lines))
            for battle_id, lines in groupby(rows, key=itemgetter(0))
        }


def _read_turns(lines: Iterator[Sequence[object]]) -> tuple[AnsweredTurn, ...]:
    """The turns up to the first that lacks an answer: what follows has no context."""
    found: list[AnsweredTurn] = []
    for turn, group in groupby(lines, key=itemgetter(1)):
        rows = list(group)
        texts = {Side(str(row[4])): str(row[5]) for row in rows}
        if turn != len(found) or len(texts) < len(Side):
            break
        _, _, prompt, reference, _, _ = rows[0]
        found.append(
            AnsweredTurn(
                prompt=str(prompt),
                answer_a=texts[Side.A],
                answer_b=texts[Side.B],
                reference=None if reference is None else str(reference),
            )
        )
    return tuple(found)
