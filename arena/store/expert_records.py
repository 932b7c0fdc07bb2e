"""Experts, their tasks and their judgements on record. Every change is one transaction."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import and_, case, func, insert, literal, select, update

from arena.rules.battles import Outcome, VoterKind, turn_round
from arena.rules.experts import (
    AlreadyJudged,
    Answer,
    Arm,
    AssignmentProgress,
    CannotJudge,
    Expert,
    Given,
    Judged,
    NothingToUndo,
    Reason,
    Task,
    UnknownTask,
    bound_seconds,
)
from arena.store.battle_rows import load_battle
from arena.store.expert_tables import assignment_items, assignment_tasks, experts, judgements
from arena.store.tables import turns, voters
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Join, RowMapping, Select
    from sqlalchemy.engine import Connection, Engine


class ExpertRecords:
    """The record of experts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def invite(self, name: str, *, expires_at: datetime) -> Expert:
        """Lets somebody in, or in again; an earlier link of theirs works no longer.

        Args:
            name: what the maintainer calls them.
            expires_at: until when the link works.
        """
        link_id = secrets.token_urlsafe(16)
        link = {"link_id": link_id, "expires_at": expires_at, "revoked_at": None}
        with begin_write(self._engine) as connection:
            where = experts.c.name == name
            if connection.execute(update(experts).where(where).values(link)).rowcount == 0:
                voter_id, now = secrets.token_urlsafe(16), _now()
                voter = {"id": voter_id, "kind": VoterKind.EXPERT, "created_at": now}
                connection.execute(insert(voters).values(voter))
                values = {"voter_id": voter_id, "name": name, "created_at": now, **link}
                connection.execute(insert(experts).values(values))
            return Expert(**connection.execute(select(experts).where(where)).mappings().one())

    def revoke(self, name: str) -> bool:
        """Takes an expert's link back; whether there is such an expert."""
        with begin_write(self._engine) as connection:
            revoked = update(experts).where(experts.c.name == name).values(revoked_at=_now())
            return connection.execute(revoked).rowcount == 1

    def find(self, voter_id: str) -> Expert | None:
        """The expert with this voter id."""
        query = select(experts).where(experts.c.voter_id == voter_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else Expert(**row)

    def all(self) -> list[Expert]:
        """Everybody who was ever invited, by name."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(experts).order_by(experts.c.name)).mappings()
            return [Expert(**row) for row in rows]

    def next_task(self, voter_id: str) -> Task | None:
        """The first task without a judgement, marked as shown; `None` after the last."""
        query = (
            _own_tasks(voter_id)
            .where(judgements.c.id.is_(None))
            .order_by(assignment_items.c.assignment_id, assignment_tasks.c.position)
            .limit(1)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
            if row is None:
                return None
            battle = load_battle(connection, row["battle_id"])
            edition = len(_answers_to(connection, row["id"], voter_id=voter_id))
        return Task(
            id=row["id"],
            edition=edition,
            assignment_id=row["assignment_id"],
            battle=battle,
            swapped=row["swapped"],
            arm=Arm(row["arm"]),
            shown_outcome=_outcome(row["shown_outcome"]),
            first_shown_at=row["first_shown_at"] or self._mark_shown(row["id"]),
        )

    def progress(self, voter_id: str) -> list[AssignmentProgress]:
        """How far an expert is with each of their assignments, the first one first."""
        query = (
            select(
                assignment_items.c.assignment_id,
                func.count(),
                func.count(judgements.c.id),
                func.max(case((assignment_tasks.c.arm != Arm.BLIND, 1), else_=0)),
            )
            .select_from(_tasks_with_judgements())
            .where(assignment_tasks.c.voter_id == voter_id)
            .group_by(assignment_items.c.assignment_id)
            .order_by(assignment_items.c.assignment_id)
        )
        with self._engine.connect() as connection:
            return [
                AssignmentProgress(
                    assignment_id=assignment_id, total=total, done=done, has_arms=bool(has_arms)
                )
                for assignment_id, total, done, has_arms in connection.execute(query)
            ]

    def judge(
        self, task_id: int, *, voter_id: str, answer: Answer, edition: int | None = None
    ) -> int:
        """Records a judgement, turned round to the battle's own orientation.

        Args:
            task_id: what is judged.
            voter_id: by whom.
            answer: with the sides as they were shown.
            edition: of the task as it was shown. The same answer to the same edition, sent
                again, is one judgement; `None` refuses any second one.

        Returns:
            The assignment that the task belongs to.

        Raises:
            UnknownTask: there is none of that id, it is another expert's, or was never shown.
            AlreadyJudged: another answer was first; it stays as it was.
        """
        query = select(assignment_tasks, assignment_items.c.assignment_id).where(
            assignment_tasks.c.id == task_id,
            assignment_tasks.c.voter_id == voter_id,
            assignment_tasks.c.item_id == assignment_items.c.id,
        )
        with begin_write(self._engine) as connection:
            _take_turn(connection, voter_id)
            task = connection.execute(query).mappings().one_or_none()
            if task is None or task["first_shown_at"] is None:
                raise UnknownTask(task_id)
            given = _answers_to(connection, task_id, voter_id=voter_id)
            if edition is not None and edition < len(given):
                if not _says(given[edition], answer):
                    raise AlreadyJudged(task_id)
            elif (given and given[-1]["retracted_at"] is None) or edition not in (None, len(given)):
                raise AlreadyJudged(task_id)
            else:
                connection.execute(insert(judgements).values(_judgement(task, answer)))
            return int(task["assignment_id"])

    def undo(self, voter_id: str, *, given: Given | None = None) -> Answer:
        """Takes an expert's last judgement back; its row stays.

        Args:
            voter_id: the expert.
            given: the judgement that is meant; once taken back it stays so however often it is
                asked for. `None` for whichever is the last.

        Returns:
            What it said, with the sides as they were shown.

        Raises:
            NothingToUndo: there is none, it is not the last one any more, or the expert was
                told about its assignment's arms.
        """
        progress = {one.assignment_id: one for one in self.progress(voter_id)}
        with begin_write(self._engine) as connection:
            _take_turn(connection, voter_id)
            if given is not None:
                answers = _answers_to(connection, given.task_id, voter_id=voter_id)
                meant = next(iter(answers[given.edition : given.edition + 1]), None)
                if meant is not None and meant["retracted_at"] is not None:
                    return _answer(meant)
            row = connection.execute(_last_judgement(voter_id)).mappings().one_or_none()
            if row is None or progress[row["assignment_id"]].is_told:
                raise NothingToUndo(voter_id)
            if given is not None and (meant is None or meant["id"] != row["id"]):
                raise NothingToUndo(voter_id)
            connection.execute(
                update(judgements).where(judgements.c.id == row["id"]).values(retracted_at=_now())
            )
        return _answer(row)

    def undoable(self, voter_id: str) -> Given | None:
        """The judgement that `undo` would take back."""
        told = [one.assignment_id for one in self.progress(voter_id) if one.is_told]
        with self._engine.connect() as connection:
            last = connection.execute(_last_judgement(voter_id)).mappings().one_or_none()
            if last is None or last["assignment_id"] in told:
                return None
            answers = _answers_to(connection, last["task_id"], voter_id=voter_id)
        return Given(task_id=last["task_id"], edition=len(answers) - 1)

    def judged(self, assignment_id: int, *, voter_id: str) -> list[Judged]:
        """An expert's judgements in an assignment, in the order they saw them."""
        first = and_(turns.c.battle_id == assignment_items.c.battle_id, turns.c.turn == literal(0))
        query = (
            select(
                turns.c.prompt, assignment_tasks.c.arm, assignment_tasks.c.shown_outcome,
                assignment_tasks.c.swapped, judgements,
            )
            .select_from(_tasks_with_judgements().join(turns, first))
            .where(
                assignment_tasks.c.voter_id == voter_id,
                assignment_items.c.assignment_id == assignment_id,
                judgements.c.id.is_not(None),
            )
            .order_by(assignment_tasks.c.position)
        )  # fmt: skip
        with self._engine.connect() as connection:
            return [_judged(row) for row in connection.execute(query).mappings()]

    def _mark_shown(self, task_id: int) -> datetime:
        now = _now()
        unseen = and_(assignment_tasks.c.id == task_id, assignment_tasks.c.first_shown_at.is_(None))
        with begin_write(self._engine) as connection:
            connection.execute(update(assignment_tasks).where(unseen).values(first_shown_at=now))
        return now


def standing_judgement() -> ColumnElement[bool]:
    """A task's judgement, unless it was taken back."""
    return and_(judgements.c.task_id == assignment_tasks.c.id, judgements.c.retracted_at.is_(None))


def _now() -> datetime:
    return datetime.now(UTC)


def _tasks_with_judgements() -> Join:
    """Tasks with their items, and the judgement that stands where there is one."""
    return assignment_tasks.join(
        assignment_items, assignment_tasks.c.item_id == assignment_items.c.id
    ).outerjoin(judgements, standing_judgement())


def _own_tasks(voter_id: str) -> Select[tuple[object, ...]]:
    return (
        select(assignment_tasks, assignment_items.c.assignment_id, assignment_items.c.battle_id)
        .select_from(_tasks_with_judgements())
        .where(assignment_tasks.c.voter_id == voter_id)
    )


def _take_turn(connection: Connection, voter_id: str) -> None:
    """Lets an expert's changes happen one after the other, whichever process they reach."""
    row = select(experts.c.voter_id).where(experts.c.voter_id == voter_id)
    connection.execute(row.with_for_update())  # SQLite has one writer anyway


def _last_judgement(voter_id: str) -> Select[tuple[object, ...]]:
    """An expert's latest judgement that stands."""
    return (
        _own_tasks(voter_id)
        .where(judgements.c.id.is_not(None))
        .with_only_columns(judgements, assignment_tasks.c.swapped)
        .add_columns(assignment_items.c.assignment_id)
        .order_by(judgements.c.id.desc())
        .limit(1)
    )


def _answers_to(connection: Connection, task_id: int, *, voter_id: str) -> Sequence[RowMapping]:
    """All judgements of a task, the one that stands last; none of another expert's."""
    query = (
        select(judgements, assignment_tasks.c.swapped)
        .join(assignment_tasks, assignment_tasks.c.id == judgements.c.task_id)
        .where(assignment_tasks.c.id == task_id, assignment_tasks.c.voter_id == voter_id)
        .order_by(judgements.c.id)
    )
    return connection.execute(query).mappings().all()


def _says(row: RowMapping, answer: Answer) -> bool:
    """Whether a judgement on record is this answer, sent before."""
    return replace(_answer(row), seconds=answer.seconds) == answer


def _judgement(task: RowMapping, answer: Answer) -> dict[str, object]:
    """The row of an answer."""
    now = _now()
    elapsed = (now - task["first_shown_at"]).total_seconds()
    outcome = answer.outcome and turn_round(answer.outcome, swapped=task["swapped"])
    return {
        "task_id": task["id"],
        "outcome": outcome,
        "cannot_judge": answer.cannot_judge,
        "reasons": list(answer.reasons),
        "comment": answer.comment,
        "seconds": bound_seconds(answer.seconds, elapsed=elapsed),
        "created_at": now,
    }


def _outcome(value: str | None) -> Outcome | None:
    return None if value is None else Outcome(value)


def _answer(row: RowMapping) -> Answer:
    """A judgement's row, with the sides as they were shown."""
    outcome, why = _outcome(row["outcome"]), row["cannot_judge"]
    return Answer(
        outcome=outcome and turn_round(outcome, swapped=row["swapped"]),
        cannot_judge=None if why is None else CannotJudge(why),
        reasons=tuple(Reason(reason) for reason in row["reasons"]),
        comment=row["comment"],
        seconds=row["seconds"],
    )


def _judged(row: RowMapping) -> Judged:
    shown = _outcome(row["shown_outcome"])
    return Judged(
        prompt=row["prompt"],
        arm=Arm(row["arm"]),
        shown_outcome=shown and turn_round(shown, swapped=row["swapped"]),
        answer=_answer(row),
    )
