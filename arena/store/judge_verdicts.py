"""What judges said, for those who count it: a verdict a turn, and a line a question."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  a NamedTuple's fields are inspected at run time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, func, select

from arena.rules.battles import Outcome
from arena.rules.judgements import CallKey, CallStatus, Reading
from arena.store.judge_tables import judge_calls, judges
from arena.store.tables import battles
from ranking import combine_verdicts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import RowMapping
    from sqlalchemy.engine import Engine

    from ranking import Consistency


class JudgeVerdict(NamedTuple):
    """A judge's verdict on the answers to one prompt, from both orders.

    Attributes:
        battle_id: which battle.
        turn: which prompt, from 0.
        judge: the judge's name.
        judge_model: the model that it is.
        model_a: on the battle's side A.
        model_b: on side B.
        verdict: in the battle's own orientation; a tie where the orders disagree, `None` where
            either could not be read.
        consistency: whether they did, and how.
        category: of the battle's first prompt, `None` where it is not known.
    """

    battle_id: str
    turn: int
    judge: str
    judge_model: str
    model_a: str
    model_b: str
    verdict: Outcome | None
    consistency: Consistency
    category: str | None


class CallRecord(NamedTuple):
    """How one question to a judge ended, without its texts.

    Attributes:
        key: which question.
        status: where it stands.
        verdict: in the battle's own orientation, `None` where there is none.
        reading: how it was read, `None` without an answer.
        failure_kind: name of the serving error.
        failure_message: its words.
        finish_reason: why the answer ended; `length` means that it was cut.
        prompt_tokens: as counted by the provider.
        completion_tokens: likewise.
        cost: US dollars, `None` where it is not known.
        duration: seconds.
        attempts: how often it was asked.
        lost: how many of these nobody recorded the end of.
        asked_at: the last time.
    """

    key: CallKey
    status: CallStatus
    verdict: Outcome | None
    reading: Reading | None
    failure_kind: str | None
    failure_message: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    duration: float | None
    attempts: int
    lost: int
    asked_at: datetime


class JudgeVerdicts:
    """Reads what judges said."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self, judge_names: Collection[str] | None = None) -> list[JudgeVerdict]:
        """The verdicts on all turns that were judged in both orders, in a fixed order.

        Args:
            judge_names: of these judges, of all if `None`.
        """
        one, two = judge_calls.alias("in_order"), judge_calls.alias("turned")
        same = and_(
            two.c.voter_id == one.c.voter_id,
            two.c.battle_id == one.c.battle_id,
            two.c.turn == one.c.turn,
            two.c.swapped.is_(True),
        )
        query = (
            select(
                one.c.battle_id, one.c.turn, judges.c.name, judges.c.model,
                battles.c.model_a, battles.c.model_b, one.c.verdict, two.c.verdict,
                battles.c.category,
            )
            .select_from(one.join(two, same))
            .join(judges, judges.c.voter_id == one.c.voter_id)
            .join(battles, battles.c.id == one.c.battle_id)
            .where(
                one.c.swapped.is_(False),
                one.c.status == CallStatus.ANSWERED,
                two.c.status == CallStatus.ANSWERED,
            )
            .order_by(judges.c.name, battles.c.created_at, one.c.battle_id, one.c.turn)
        )  # fmt: skip
        if judge_names is not None:
            query = query.where(judges.c.name.in_(judge_names))
        with self._engine.connect() as connection:
            return [_verdict(row) for row in connection.execute(query).all()]

    def count(self) -> int:
        """How many questions were answered; it moves whenever `read` may say something new."""
        query = select(func.count()).where(judge_calls.c.status == CallStatus.ANSWERED)
        with self._engine.connect() as connection:
            return connection.scalar(query) or 0

    def calls(self, voter_id: str) -> list[CallRecord]:
        """All questions to a judge, in the order of battles, turns and orders."""
        columns = [judge_calls.c[name] for name in CallRecord._fields if name != "key"]
        key = [judge_calls.c[name] for name in CallKey._fields]
        query = select(*key, *columns).where(judge_calls.c.voter_id == voter_id).order_by(*key)
        with self._engine.connect() as connection:
            return [_call(row) for row in connection.execute(query).mappings()]


def _verdict(row: Sequence[Any]) -> JudgeVerdict:
    battle_id, turn, judge, judge_model, model_a, model_b, in_order, turned, category = row
    verdict, consistency = combine_verdicts(in_order, turned)
    return JudgeVerdict(
        battle_id,
        turn,
        judge,
        judge_model,
        model_a,
        model_b,
        _outcome(verdict),
        consistency,
        category,
    )  # fmt: skip


def _outcome(value: str | None) -> Outcome | None:
    return None if value is None else Outcome(value)


def _call(row: RowMapping) -> CallRecord:
    values: dict[str, Any] = {**row, "key": CallKey(*(row[name] for name in CallKey._fields))}
    values["status"] = CallStatus(row["status"])
    values["verdict"] = _outcome(row["verdict"])
    values["reading"] = None if row["reading"] is None else Reading(row["reading"])
    return CallRecord(**{name: values[name] for name in CallRecord._fields})
