"""Judges on record: what they were asked and what they said. Every method is one transaction.

A question is claimed before it is asked: the committed row names the worker that asks it,
so no two workers ask the same, and a question whose worker died is found.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from arena.rules.battles import VoterKind, storable
from arena.rules.judgements import CallKey, CallStatus, Judge, JudgeMode
from arena.store.judge_tables import judge_calls, judges
from arena.store.tables import voters, workers
from arena.store.transactions import begin_write
from arena.store.workers import is_gone, read_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, RowMapping
    from sqlalchemy.engine import Connection, Engine

    from arena.rules.judgements import Verdict
    from serving import Completion, ServingError


class KnownJudge(NamedTuple):
    """A judge on record.

    Attributes:
        name: shown; unique.
        judge: what makes it distinct.
        created_at: when it was first registered.
    """

    name: str
    judge: Judge
    created_at: datetime


class Claim(Enum):
    """What came of claiming a question."""

    MINE = "mine"  # it is on record as asked by the caller, who must ask it now
    DONE = "done"  # it has ended
    ELSEWHERE = "elsewhere"  # a live worker is asking it


class Judgings:
    """The record of judges, the questions to them and their answers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self, judge: Judge) -> KnownJudge:
        """Enters a judge, unless it is there, and returns it with its name."""
        try:
            with begin_write(self._engine) as connection:
                if _find(connection, judges.c.voter_id == judge.voter_id) is None:
                    _add_judge(connection, judge)
        except IntegrityError:  # another process was first
            pass
        found = self.find(judge)
        if found is None:
            raise LookupError(judge.voter_id)
        return found

    def withdraw(self, judge: Judge) -> bool:
        """Takes a judge off the record that has never answered and is not being asked.

        Returns:
            Whether it is gone: one that has answered stays.
        """
        calls = judge_calls.c.voter_id == judge.voter_id
        kept = select(func.count()).where(calls, judge_calls.c.status != CallStatus.FAILED)
        with begin_write(self._engine) as connection:
            if connection.scalar(kept):
                return False
            connection.execute(delete(judge_calls).where(calls))
            connection.execute(delete(judges).where(judges.c.voter_id == judge.voter_id))
            connection.execute(delete(voters).where(voters.c.id == judge.voter_id))
        return True

    def find(self, judge: Judge) -> KnownJudge | None:
        """A judge with its name, `None` where it was never registered."""
        with self._engine.connect() as connection:
            return _find(connection, judges.c.voter_id == judge.voter_id)

    def judges(self) -> list[KnownJudge]:
        """All judges that were ever registered, by name."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(judges).order_by(judges.c.name)).mappings()
            return [_judge(row) for row in rows]

    def statuses(self, voter_id: str) -> dict[CallKey, CallStatus]:
        """Where each question to a judge stands; one that is missing was never asked."""
        columns = (judge_calls.c.battle_id, judge_calls.c.turn, judge_calls.c.swapped)
        query = select(judge_calls.c.status, *columns).where(judge_calls.c.voter_id == voter_id)
        with self._engine.connect() as connection:
            return {CallKey(*key): CallStatus(s) for s, *key in connection.execute(query)}

    def claim(
        self,
        voter_id: str,
        key: CallKey,
        *,
        request: Sequence[dict[str, str]],
        worker_id: str,
        retry_failed: bool = False,
    ) -> Claim:
        """Enters a question as asked by a worker, unless it has ended or is being asked.

        Args:
            voter_id: the judge.
            key: which question.
            request: the messages.
            worker_id: who is going to ask.
            retry_failed: ask again where it failed.
        """
        asked = {
            "status": CallStatus.ASKED,
            "request": list(request),
            "worker_id": worker_id,
            "asked_at": datetime.now(UTC),
        }
        try:
            with begin_write(self._engine) as connection:
                row = _lock_call(connection, voter_id, key)
                if row is None:
                    _add_call(connection, voter_id, key, asked)
                    return Claim.MINE
                if row["status"] == CallStatus.ASKED:
                    if not _is_lost(connection, row["worker_id"]):
                        return Claim.ELSEWHERE
                    asked["lost"] = row["lost"] + 1
                elif row["status"] == CallStatus.ANSWERED or not retry_failed:
                    return Claim.DONE
                asked["attempts"] = row["attempts"] + 1
                _change_call(connection, row["id"], {**_UNANSWERED, **asked})
                return Claim.MINE
        except IntegrityError:
            return Claim.ELSEWHERE  # another worker was first

    def answer(
        self,
        voter_id: str,
        key: CallKey,
        *,
        worker_id: str,
        completion: Completion,
        verdict: Verdict,
        cost: float | None,
    ) -> None:
        """Records what a judge answered to a question that the worker has claimed.

        Args:
            voter_id: the judge.
            key: which question.
            worker_id: who asked.
            completion: the answer.
            verdict: what was read from it.
            cost: US dollars, `None` where it is not known.
        """
        values = {
            "status": CallStatus.ANSWERED,
            "verdict": verdict.outcome,
            "reading": verdict.reading,
            "output": storable(completion.text),
            "reasoning": storable(completion.reasoning),
            "finish_reason": completion.finish_reason,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "duration": completion.duration,
            "cost": cost,
        }
        self._end(voter_id, key, worker_id, values)

    def fail(self, voter_id: str, key: CallKey, *, worker_id: str, error: ServingError) -> None:
        """Records why a question that the worker has claimed got no answer."""
        values = {
            "status": CallStatus.FAILED,
            "failure_kind": type(error).__name__,
            "failure_message": storable(str(error)),
        }
        self._end(voter_id, key, worker_id, values)

    def _end(self, voter_id: str, key: CallKey, worker_id: str, values: dict[str, Any]) -> None:
        with begin_write(self._engine) as connection:
            row = _lock_call(connection, voter_id, key)
            # One that was taken for dead must not overwrite what its successor found.
            if row is not None and row["worker_id"] == worker_id:
                ended = {**values, "worker_id": None, "answered_at": datetime.now(UTC)}
                _change_call(connection, row["id"], ended)


_UNANSWERED: dict[str, Any] = {
    "verdict": None,
    "reading": None,
    "failure_kind": None,
    "failure_message": None,
    "output": "",
    "reasoning": "",
    "finish_reason": None,
    "prompt_tokens": None,
    "completion_tokens": None,
    "cost": None,
    "duration": None,
    "answered_at": None,
}


def _judge(row: RowMapping) -> KnownJudge:
    judge = Judge(
        model=row["model"],
        mode=JudgeMode(row["mode"]),
        prompts_hash=row["prompts_hash"],
        sampling=row["sampling"],
    )
    return KnownJudge(row["name"], judge, row["created_at"])


def _find(connection: Connection, where: ColumnElement[bool]) -> KnownJudge | None:
    row = connection.execute(select(judges).where(where)).mappings().one_or_none()
    return None if row is None else _judge(row)


def _add_judge(connection: Connection, judge: Judge) -> None:
    now = datetime.now(UTC)
    connection.execute(
        insert(voters).values(id=judge.voter_id, kind=VoterKind.JUDGE, created_at=now)
    )
    # Asked by other prompts or drawn otherwise, a model is another judge of the same name.
    alike = select(func.count()).where(judges.c.model == judge.model, judges.c.mode == judge.mode)
    number = (connection.scalar(alike) or 0) + 1
    name = (
        f"{judge.model} ({judge.mode})"
        if number == 1
        else (f"{judge.model} ({judge.mode}, {number})")
    )
    connection.execute(
        insert(judges).values(
            voter_id=judge.voter_id,
            name=name,
            model=judge.model,
            mode=judge.mode,
            prompts_hash=judge.prompts_hash,
            sampling=judge.sampling,
            created_at=now,
        )
    )


def _lock_call(connection: Connection, voter_id: str, key: CallKey) -> RowMapping | None:
    query = select(judge_calls).where(
        judge_calls.c.voter_id == voter_id,
        judge_calls.c.battle_id == key.battle_id,
        judge_calls.c.turn == key.turn,
        judge_calls.c.swapped == key.swapped,
    )
    # SQLite has no row locks; its write lock is already held.
    return connection.execute(query.with_for_update()).mappings().one_or_none()


def _add_call(connection: Connection, voter_id: str, key: CallKey, asked: dict[str, Any]) -> None:
    values = {"attempts": 1, "lost": 0, **_UNANSWERED, **asked, **key._asdict()}
    connection.execute(insert(judge_calls).values(voter_id=voter_id, **values))


def _change_call(connection: Connection, call_id: int, values: dict[str, Any]) -> None:
    connection.execute(update(judge_calls).where(judge_calls.c.id == call_id).values(values))


def _is_lost(connection: Connection, worker_id: str | None) -> bool:
    """Whether nobody is left who could record the end of what this worker asked."""
    query = select(workers).where(workers.c.id == worker_id)
    row = connection.execute(query).mappings().one_or_none()
    return row is None or is_gone(row, now=read_clock(connection))
