"""The long table of judgements: what the crowd, experts and judges said of the same battles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, literal, or_, select

from arena.rules.battles import Outcome, Side, VoterKind, turn_round
from arena.rules.judgements import CallStatus
from arena.store.conditions import answers_that_count, joined_votes, votes_that_count
from arena.store.expert_tables import (
    assignment_items,
    assignment_tasks,
    assignments,
    experts,
    judgements,
)
from arena.store.judge_tables import judge_calls, judges
from arena.store.tables import battles, responses, turns, votes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, RowMapping, Select
    from sqlalchemy.engine import Connection, Engine

# What stands for a judge's output in which no verdict could be read.
UNPARSABLE = "unparsable"
_TOLD_AS_IT_IS = (
    "item", "judge", "kind", "turn", "category", "language", "seconds", "arm", "shown", "comment"
)  # fmt: skip


class JudgementRow(NamedTuple):
    """What one individual said about the answers to one prompt.

    Attributes:
        item: the battle.
        judge: voter id of a crowd voter, name of an expert or of a judge.
        kind: `crowd`, `expert` or `judge`.
        model_a: on the left as this row's judge saw it, on the battle's own left for people.
        model_b: on the right.
        winner: in that orientation.
        turn: which prompt, from 1; people judge a battle as a whole, after its last.
        category: of the first prompt, `None` where it is not known.
        language: of the first prompt, likewise.
        length_a: characters of the answer on the left, `None` where there is none.
        length_b: characters of the answer on the right.
        seconds: that an expert spent on it.
        arm: of an expert's task: `blind`, `shown` or `planted`.
        shown: the verdict that was shown, or would have been, in this row's orientation.
        comment: in the expert's words.
        reasons: what decided it for the expert, with blanks between.
        swapped: whether the left here is the battle's right.
    """

    item: str
    judge: str
    kind: str
    model_a: str
    model_b: str
    winner: str
    turn: int
    category: str | None
    language: str | None
    length_a: int | None
    length_b: int | None
    seconds: float | None = None
    arm: str | None = None
    shown: str | None = None
    comment: str = ""
    reasons: str = ""
    swapped: bool = False


class JudgementRows:
    """Reads judgements of all kinds in one form."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self, assignment: str | None = None) -> list[JudgementRow]:
        """All judgements of battles that experts or judges were given, in a fixed order.

        Judges have a row for each of the two orders, with the sides as they saw them.

        Args:
            assignment: only battles of this one.
        """
        item = (
            select(assignment_items.c.battle_id)
            .select_from(assignment_items.join(assignments))
            .where(assignments.c.name == assignment)
        )
        judged = select(judge_calls.c.battle_id).where(judge_calls.c.status == CallStatus.ANSWERED)
        among: ColumnElement[bool] = battles.c.id.in_(item)
        if assignment is None:
            among = or_(
                battles.c.id.in_(select(assignment_items.c.battle_id)), battles.c.id.in_(judged)
            )
        with self._engine.connect() as connection:
            lengths = _read_lengths(connection, among)
            rows = [
                *_place(connection, _crowd().where(among), lengths),
                *_place(connection, _experts(assignment).where(among), lengths),
                *_place(connection, _judges().where(among), lengths),
            ]
        rows.sort(key=lambda row: (row.item, row.turn, row.kind, row.judge, row.model_a))
        return rows

    def version(self) -> tuple[int, ...]:
        """What moves whenever the table may have changed; cheap to ask."""
        queries = (
            select(func.count(), func.max(votes.c.id)),
            select(func.count(), func.count(judgements.c.retracted_at)).select_from(judgements),
            select(func.count()).where(judge_calls.c.status == CallStatus.ANSWERED),
            select(func.count()).select_from(assignment_items),
        )
        with self._engine.connect() as connection:
            return tuple(
                int(value or 0) for query in queries for value in connection.execute(query).one()
            )


_LAST_TURN = (
    select(func.count())
    .select_from(turns)
    .where(turns.c.battle_id == battles.c.id)
    .correlate(battles)
    .scalar_subquery()
)
_ABOUT = (battles.c.model_a, battles.c.model_b, battles.c.category, battles.c.language)


def _crowd() -> Select[Any]:
    return (
        select(
            *_ABOUT,
            battles.c.id.label("item"),
            votes.c.voter_id.label("judge"),
            votes.c.outcome.label("winner"),
            _LAST_TURN.label("turn"),
            literal(VoterKind.CROWD.value).label("kind"),
        )
        .select_from(joined_votes())
        .where(votes_that_count())
    )


def _experts(assignment: str | None) -> Select[Any]:
    query = (
        select(
            *_ABOUT,
            battles.c.id.label("item"),
            experts.c.name.label("judge"),
            judgements.c.outcome.label("winner"),
            _LAST_TURN.label("turn"),
            judgements.c.seconds,
            judgements.c.comment,
            judgements.c.reasons,
            assignment_tasks.c.arm,
            assignment_tasks.c.shown_outcome.label("shown"),
            literal(VoterKind.EXPERT.value).label("kind"),
        )
        .select_from(
            judgements.join(assignment_tasks)
            .join(assignment_items)
            .join(assignments)
            .join(experts, experts.c.voter_id == assignment_tasks.c.voter_id)
            .join(battles, battles.c.id == assignment_items.c.battle_id)
        )
        .where(judgements.c.retracted_at.is_(None), judgements.c.outcome.is_not(None))
    )
    return query if assignment is None else query.where(assignments.c.name == assignment)


def _judges() -> Select[Any]:
    return (
        select(
            *_ABOUT,
            battles.c.id.label("item"),
            judges.c.name.label("judge"),
            judge_calls.c.verdict.label("winner"),
            (judge_calls.c.turn + 1).label("turn"),
            judge_calls.c.swapped,
            literal(VoterKind.JUDGE.value).label("kind"),
        )
        .select_from(
            judge_calls.join(judges).join(battles, battles.c.id == judge_calls.c.battle_id)
        )
        .where(judge_calls.c.status == CallStatus.ANSWERED)
    )


def _read_lengths(
    connection: Connection, among: ColumnElement[bool]
) -> dict[tuple[str, int, str], int]:
    """Characters of the answers that count, by battle, turn (from 1) and side."""
    query = (
        select(
            responses.c.battle_id, responses.c.turn, responses.c.side,
            func.length(responses.c.text),
        )
        .select_from(responses.join(battles, battles.c.id == responses.c.battle_id))
        .where(among, answers_that_count())
    )  # fmt: skip
    return {
        (item, turn + 1, side): length for item, turn, side, length in connection.execute(query)
    }


def _place(
    connection: Connection, query: Select[Any], lengths: Mapping[tuple[str, int, str], int]
) -> list[JudgementRow]:
    return [_row(row, lengths) for row in connection.execute(query).mappings()]


def _row(row: RowMapping, lengths: Mapping[tuple[str, int, str], int]) -> JudgementRow:
    a, b = Side
    swapped = bool(row.get("swapped"))
    winner = UNPARSABLE
    if row["winner"]:
        winner = turn_round(Outcome(row["winner"]), swapped=swapped).value
    if swapped:
        a, b = b, a
    models = {Side.A: row["model_a"], Side.B: row["model_b"]}
    place = row["item"], row["turn"]
    told = {name: row[name] for name in _TOLD_AS_IT_IS if name in row}
    return JudgementRow(
        model_a=models[a],
        model_b=models[b],
        winner=winner,
        length_a=lengths.get((*place, a)),
        length_b=lengths.get((*place, b)),
        reasons=" ".join(row.get("reasons") or ()),
        swapped=swapped,
        **told,
    )
