"""What experts are given to judge, and how far they are with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, exists, func, insert, null, select
from sqlalchemy.exc import IntegrityError

from arena.rules.actions import names_itself
from arena.rules.battles import BattleStatus, Outcome
from arena.rules.sampling import Candidate
from arena.store.battle_rows import load_battle
from arena.store.conditions import joined_votes, votes_that_count
from arena.store.expert_records import standing_judgement
from arena.store.expert_tables import (
    assignment_items,
    assignment_tasks,
    assignments,
    experts,
    judgements,
)
from arena.store.judged_battles import PROMPT_SET_POLICY
from arena.store.tables import battles, turns, votes
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Join
    from sqlalchemy.engine import Engine

    from arena.rules.sampling import PlannedTask


class NameTaken(Exception):
    """There is an assignment of that name."""


class AssignmentBegun(Exception):
    """Somebody has judged a battle of the assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Battles given to experts.

    Attributes:
        id: its number.
        name: unique.
        plan: how it was drawn.
        created_at: when.
        battles: in it.
    """

    id: int
    name: str
    plan: dict[str, Any]
    created_at: datetime
    battles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One expert's part of an assignment.

    Attributes:
        assignment: its name.
        expert: the expert's name.
        tasks: battles to judge.
        judged: with an outcome.
        cannot_judge: without one.
        seconds: spent on the judgements whose time was measured.
    """

    assignment: str
    expert: str
    tasks: int
    judged: int
    cannot_judge: int
    seconds: float


class ExpertAssignments:
    """The record of assignments."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def candidates(self, *, pair: tuple[str, str] | None = None) -> list[Candidate]:
        """The battles that may be given to experts, in a fixed order.

        Both answers are complete and name no model of theirs, and the battle has a vote that
        counts or is one of a prompt set. A battle is given away once: who has seen it in one
        assignment would not come to it afresh in another.

        Args:
            pair: only battles of these two models, on whichever side.
        """
        where = [~battles.c.id.in_(select(assignment_items.c.battle_id))]
        if pair is not None:
            where += [battles.c.model_a.in_(pair), battles.c.model_b.in_(pair)]
        columns = (
            battles.c.id, battles.c.model_a, battles.c.model_b, battles.c.category, _TURNS
        )  # fmt: skip
        voted = (
            select(*columns, votes.c.outcome)
            .select_from(joined_votes())
            .where(votes_that_count(), battles.c.status == BattleStatus.VOTED, *where)
            .order_by(battles.c.id)
        )
        generated = (
            select(*columns, null())
            .where(
                battles.c.policy == PROMPT_SET_POLICY,
                battles.c.status == BattleStatus.READY,
                *where,
            )
            .order_by(battles.c.id)
        )
        with self._engine.connect() as connection:
            # A vote on a battle whose answers name their models does not count.
            found = [_candidate(*row) for row in connection.execute(voted)]
            unvoted = connection.execute(generated).all()
            found += [
                _candidate(*row)
                for row in unvoted
                if not names_itself(load_battle(connection, row[0]))
            ]
        return found

    def create(
        self,
        name: str,
        *,
        plan: dict[str, Any],
        items: Sequence[Candidate],
        tasks: Sequence[PlannedTask],
    ) -> None:
        """Freezes battles into an assignment.

        Args:
            name: unique.
            plan: how it was drawn, as JSON types.
            items: the battles.
            tasks: who judges which.

        Raises:
            NameTaken: there is an assignment of that name.
        """
        try:
            with begin_write(self._engine) as connection:
                values = {"name": name, "plan": plan, "created_at": datetime.now(UTC)}
                assignment_id = connection.scalar(
                    insert(assignments).values(values).returning(assignments.c.id)
                )
                ids = {}
                for position, item in enumerate(items):
                    values = {"battle_id": item.battle_id, "position": position}
                    ids[item.battle_id] = connection.scalar(
                        insert(assignment_items)
                        .values(assignment_id=assignment_id, **values)
                        .returning(assignment_items.c.id)
                    )
                connection.execute(insert(assignment_tasks), [_task(task, ids) for task in tasks])
        except IntegrityError:
            raise NameTaken(name) from None

    def withdraw(self, name: str) -> bool:
        """Takes an assignment back as if it had never been made: its battles are free again.

        Args:
            name: the assignment's.

        Returns:
            Whether there was one.

        Raises:
            AssignmentBegun: what somebody has said stays, even if they took it back.
        """
        try:
            return self._withdraw(name)
        except IntegrityError:  # judged while it was being taken back
            raise AssignmentBegun(name) from None

    def _withdraw(self, name: str) -> bool:
        with begin_write(self._engine) as connection:
            found = connection.scalar(select(assignments.c.id).where(assignments.c.name == name))
            if found is None:
                return False
            items = select(assignment_items.c.id).where(assignment_items.c.assignment_id == found)
            tasks = select(assignment_tasks.c.id).where(assignment_tasks.c.item_id.in_(items))
            said = exists().where(judgements.c.task_id.in_(tasks))
            if connection.scalar(select(said)):
                raise AssignmentBegun(name)
            connection.execute(
                delete(assignment_tasks).where(assignment_tasks.c.item_id.in_(items))
            )
            connection.execute(
                delete(assignment_items).where(assignment_items.c.assignment_id == found)
            )
            connection.execute(delete(assignments).where(assignments.c.id == found))
        return True

    def all(self) -> list[Assignment]:
        """Every assignment, the first one first."""
        query = (
            select(assignments, func.count(assignment_items.c.id).label("battles"))
            .outerjoin(assignment_items)
            .group_by(assignments.c.id)
            .order_by(assignments.c.id)
        )
        with self._engine.connect() as connection:
            return [Assignment(**row) for row in connection.execute(query).mappings()]

    def shares(self) -> list[Share]:
        """How far every expert is with each assignment they have a part in."""
        query = (
            select(
                assignments.c.name.label("assignment"),
                experts.c.name.label("expert"),
                func.count().label("tasks"),
                func.count(judgements.c.outcome).label("judged"),
                func.count(judgements.c.cannot_judge).label("cannot_judge"),
                func.coalesce(func.sum(judgements.c.seconds), 0.0).label("seconds"),
            )
            .select_from(_tasks().outerjoin(judgements, standing_judgement()))
            .group_by(assignments.c.id, experts.c.name)
            .order_by(assignments.c.id, experts.c.name)
        )
        with self._engine.connect() as connection:
            return [Share(**row) for row in connection.execute(query).mappings()]


_TURNS = (
    select(func.count())
    .select_from(turns)
    .where(turns.c.battle_id == battles.c.id)
    .correlate(battles)
    .scalar_subquery()
)


def _tasks() -> Join:
    return (
        assignment_tasks.join(assignment_items)
        .join(assignments)
        .join(experts, assignment_tasks.c.voter_id == experts.c.voter_id)
    )


def _candidate(
    battle_id: str,
    model_a: str,
    model_b: str,
    category: str | None,
    turns_asked: int,
    outcome: str | None,
) -> Candidate:
    return Candidate(
        battle_id=battle_id,
        model_a=model_a,
        model_b=model_b,
        category=category,
        turns=turns_asked,
        outcome=None if outcome is None else Outcome(outcome),
    )


def _task(task: PlannedTask, item_ids: Mapping[str, int]) -> dict[str, object]:
    values = asdict(task)
    return {"item_id": item_ids[values.pop("battle_id")], **values}
