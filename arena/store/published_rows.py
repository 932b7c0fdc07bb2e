"""The record read table by table, as it is published: streamed, in a fixed order, up to a cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, collate, func, literal, null, or_, select, union, union_all

from arena.rules.battles import VoterKind
from arena.rules.judgements import CallStatus
from arena.store.expert_tables import (
    assignment_items,
    assignment_tasks,
    assignments,
    experts,
    judgements,
)
from arena.store.judge_tables import judge_calls, judges
from arena.store.tables import battles, exclusions, models, responses, turns, voters, votes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.engine import Engine, Row

    Plain = Callable[[ColumnElement[Any]], ColumnElement[Any]]

_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Which part of the record is meant.

    Attributes:
        cut: what came at this time or later is as if it had not happened.
        since: no battle before this time.
        until: no battle at this time or after it.
        categories: only battles of these, of any if empty.
        languages: only battles in these, in any if empty.
        kinds: whose verdicts: `crowd`, `expert`, `judge`.
        imported: also battles that came from elsewhere.
    """

    cut: datetime
    since: datetime | None = None
    until: datetime | None = None
    categories: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = (VoterKind.CROWD, VoterKind.EXPERT, VoterKind.JUDGE)
    imported: bool = False

    def among_battles(self) -> ColumnElement[bool]:
        """The condition on battles."""
        where: list[ColumnElement[bool]] = [battles.c.created_at < self.cut]
        if self.since is not None:
            where.append(battles.c.created_at >= self.since)
        if self.until is not None:
            where.append(battles.c.created_at < self.until)
        if self.categories:
            where.append(battles.c.category.in_(self.categories))
        if self.languages:
            where.append(battles.c.language.in_(self.languages))
        if not self.imported:
            where.append(battles.c.source.is_(None))
        return and_(*where)


class PublishedRows:
    """Reads every table that is published.

    Each query gives the columns of its table in order; those with texts, the language last.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._collation = "C" if engine.dialect.name == "postgresql" else "BINARY"

    def _plain(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Texts by their code points: languages sort names each in their own way."""
        return collate(text, self._collation)

    def stream(self, table: str, extent: Extent) -> Generator[Sequence[Row[Any]]]:
        """The rows of a table in pieces of at most 8,192.

        Args:
            table: a name in `TABLES`.
            extent: which rows.
        """
        query = TABLES[table](extent, self._plain)
        with self._engine.connect() as connection:
            options = {"stream_results": True, "yield_per": _ROWS_AT_ONCE}
            with connection.execute(query, execution_options=options) as result:
                yield from result.partitions()

    def count(self, table: str, extent: Extent) -> int:
        """How many rows a table has, for a bar that fills."""
        rows = TABLES[table](extent, self._plain).order_by(None).subquery()
        with self._engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(rows)) or 0

    def count_voters(self, extent: Extent) -> int:
        """How many people cast a vote."""
        query = (
            select(func.count(votes.c.voter_id.distinct()))
            .select_from(votes.join(battles, battles.c.id == votes.c.battle_id))
            .where(_among_votes(extent))
        )
        with self._engine.connect() as connection:
            return connection.scalar(query) or 0

    def count_forgotten(self) -> int:
        """How many voters asked to be forgotten; what was written before one did is stale."""
        query = select(func.count()).where(voters.c.forgotten_at.is_not(None))
        with self._engine.connect() as connection:
            return connection.scalar(query) or 0


def _battles(extent: Extent, plain: Plain) -> Select[Any]:
    names = (
        "id", "voter_id", "model_a", "model_b", "policy", "policy_version", "probability",
        "candidates", "category", "language", "source", "status", "created_at",
    )  # fmt: skip
    return (
        select(*(battles.c[name] for name in names))
        .where(extent.among_battles())
        .order_by(battles.c.created_at, plain(battles.c.id))
    )


def _turns(extent: Extent, plain: Plain) -> Select[Any]:
    return (
        select(
            turns.c.battle_id,
            turns.c.turn,
            turns.c.prompt,
            turns.c.reference,
            turns.c.created_at,
            battles.c.language,
        )
        .select_from(turns.join(battles, battles.c.id == turns.c.battle_id))
        .where(extent.among_battles(), turns.c.created_at < extent.cut)
        .order_by(battles.c.created_at, plain(battles.c.id), turns.c.turn)
    )


def _responses(extent: Extent, plain: Plain) -> Select[Any]:
    names = (
        "battle_id", "turn", "side", "attempt", "status", "text", "reasoning", "finish_reason",
        "prompt_tokens", "completion_tokens", "time_to_first_token", "duration", "error_kind",
        "model_id", "created_at",
    )  # fmt: skip
    return (
        select(*(responses.c[name] for name in names), battles.c.language)
        .select_from(responses.join(battles, battles.c.id == responses.c.battle_id))
        .where(extent.among_battles(), responses.c.created_at < extent.cut)
        .order_by(
            battles.c.created_at, plain(battles.c.id), responses.c.turn, plain(responses.c.side),
            responses.c.attempt,
        )
    )  # fmt: skip


def _among_votes(extent: Extent) -> ColumnElement[bool]:
    where = [extent.among_battles(), votes.c.created_at < extent.cut]
    if VoterKind.CROWD not in extent.kinds:
        where.append(literal(value=False))
    return and_(*where)


def _votes(extent: Extent, plain: Plain) -> Select[Any]:
    retracted = case((votes.c.retracted_at < extent.cut, votes.c.retracted_at), else_=null())
    lifted = exclusions.c.lifted_at
    excluded = (
        select(literal(1))
        .where(
            exclusions.c.vote_id == votes.c.id,
            exclusions.c.created_at < extent.cut,
            or_(lifted.is_(None), lifted >= extent.cut),
        )
        .exists()
    )
    counts = and_(
        voters.c.kind == VoterKind.CROWD,
        or_(votes.c.retracted_at.is_(None), votes.c.retracted_at >= extent.cut),
        ~excluded,
    )
    return (
        select(
            votes.c.battle_id, votes.c.voter_id, battles.c.model_a, battles.c.model_b,
            votes.c.outcome, battles.c.category, battles.c.language, battles.c.probability,
            battles.c.source, votes.c.created_at,
            retracted.label("retracted_at"), counts.label("counts"),
        )
        .select_from(
            votes.join(battles, battles.c.id == votes.c.battle_id).join(
                voters, voters.c.id == votes.c.voter_id
            )
        )
        .where(_among_votes(extent))
        .order_by(votes.c.created_at, plain(votes.c.battle_id), plain(votes.c.voter_id))
    )  # fmt: skip


def _exclusions(extent: Extent, plain: Plain) -> Select[Any]:
    lifted = exclusions.c.lifted_at
    return (
        select(
            votes.c.battle_id, votes.c.voter_id, battles.c.source,
            exclusions.c.reason, exclusions.c.note, exclusions.c.created_at,
            case((lifted < extent.cut, lifted), else_=null()).label("lifted_at"),
            battles.c.language,
        )
        .select_from(
            exclusions.join(votes, votes.c.id == exclusions.c.vote_id).join(
                battles, battles.c.id == votes.c.battle_id
            )
        )
        .where(_among_votes(extent), exclusions.c.created_at < extent.cut)
        .order_by(
            exclusions.c.created_at, plain(votes.c.battle_id), plain(votes.c.voter_id),
            plain(exclusions.c.reason),
        )
    )  # fmt: skip


def _voters(extent: Extent, plain: Plain) -> Select[Any]:
    own = select(battles.c.voter_id).where(extent.among_battles())
    cast = (
        select(votes.c.voter_id)
        .select_from(votes.join(battles, battles.c.id == votes.c.battle_id))
        .where(_among_votes(extent))
    )
    names = (
        "id", "kind", "created_at", "excluded_reason", "consent_version", "consented_at", "bucket",
    )  # fmt: skip
    return (
        select(*(voters.c[name] for name in names))
        .where(voters.c.id.in_(union(own, cast).scalar_subquery()))
        .order_by(voters.c.created_at, plain(voters.c.id))
    )


def _models(extent: Extent, plain: Plain) -> Select[Any]:
    sides = union_all(
        *(
            select(column.label("name"), battles.c.created_at.label("at")).where(
                extent.among_battles()
            )
            for column in (battles.c.model_a, battles.c.model_b)
        )
    ).subquery()
    drawn = (
        select(
            sides.c.name,
            func.count().label("battles"),
            func.min(sides.c.at).label("first"),
            func.max(sides.c.at).label("last"),
        )
        .group_by(sides.c.name)
        .subquery()
    )
    return (
        select(
            models.c.name, models.c.organisation, models.c.license, models.c.price_input,
            models.c.price_output, models.c.description, drawn.c.battles, drawn.c.first,
            drawn.c.last,
        )
        .select_from(models.join(drawn, drawn.c.name == models.c.name))
        .order_by(plain(models.c.name))
    )  # fmt: skip


def _variants(extent: Extent, plain: Plain) -> Select[Any]:
    named = case((responses.c.side == "a", battles.c.model_a), else_=battles.c.model_b)
    return (
        select(
            named.label("model"), responses.c.model_id, func.count(),
            func.min(responses.c.created_at), func.max(responses.c.created_at),
        )
        .select_from(responses.join(battles, battles.c.id == responses.c.battle_id))
        .where(extent.among_battles(), responses.c.created_at < extent.cut)
        .group_by(named, responses.c.model_id)
        .order_by(plain(named), plain(func.coalesce(responses.c.model_id, "")))
    )  # fmt: skip


def _draws(extent: Extent, plain: Plain) -> Select[Any]:
    keys = (
        battles.c.policy, battles.c.policy_version, battles.c.model_a, battles.c.model_b,
    )  # fmt: skip
    return (
        select(
            *keys, func.count(), func.min(battles.c.probability), func.max(battles.c.probability),
        )
        .where(extent.among_battles())
        .group_by(*keys)
        .order_by(
            plain(battles.c.policy), battles.c.policy_version,
            plain(battles.c.model_a), plain(battles.c.model_b),
        )
    )  # fmt: skip


def _expert_verdicts(extent: Extent, plain: Plain) -> Select[Any]:
    where = [
        extent.among_battles(),
        judgements.c.created_at < extent.cut,
        or_(judgements.c.retracted_at.is_(None), judgements.c.retracted_at >= extent.cut),
    ]
    if VoterKind.EXPERT not in extent.kinds:
        where.append(literal(value=False))
    return (
        select(
            assignment_items.c.battle_id, assignment_tasks.c.voter_id,
            assignments.c.name.label("assignment"), battles.c.model_a, battles.c.model_b,
            judgements.c.outcome, judgements.c.cannot_judge, assignment_tasks.c.arm,
            assignment_tasks.c.shown_outcome, assignment_tasks.c.swapped, judgements.c.reasons,
            judgements.c.comment, judgements.c.seconds, judgements.c.created_at,
            battles.c.language,
        )
        .select_from(
            judgements.join(assignment_tasks)
            .join(assignment_items)
            .join(assignments)
            .join(experts, experts.c.voter_id == assignment_tasks.c.voter_id)
            .join(battles, battles.c.id == assignment_items.c.battle_id)
        )
        .where(*where)
        .order_by(
            judgements.c.created_at, plain(assignment_items.c.battle_id),
            plain(assignment_tasks.c.voter_id),
        )
    )  # fmt: skip


def _judge_verdicts(extent: Extent, plain: Plain) -> Select[Any]:
    where = [
        extent.among_battles(),
        judge_calls.c.status == CallStatus.ANSWERED,
        judge_calls.c.answered_at < extent.cut,
    ]
    if VoterKind.JUDGE not in extent.kinds:
        where.append(literal(value=False))
    return (
        select(
            judge_calls.c.battle_id, judge_calls.c.turn, judge_calls.c.swapped,
            judges.c.name.label("judge"), judges.c.model.label("judge_model"), judges.c.mode,
            judges.c.prompts_hash, battles.c.model_a, battles.c.model_b, battles.c.category,
            judge_calls.c.verdict, judge_calls.c.reading, judge_calls.c.output,
            judge_calls.c.prompt_tokens, judge_calls.c.completion_tokens, judge_calls.c.cost,
            judge_calls.c.duration, judge_calls.c.answered_at, battles.c.language,
        )
        .select_from(
            judge_calls.join(judges).join(battles, battles.c.id == judge_calls.c.battle_id)
        )
        .where(*where)
        .order_by(
            plain(judges.c.name), battles.c.created_at, plain(judge_calls.c.battle_id),
            judge_calls.c.turn, judge_calls.c.swapped,
        )
    )  # fmt: skip


TABLES = {
    "models": _models,
    "variants": _variants,
    "draws": _draws,
    "voters": _voters,
    "battles": _battles,
    "turns": _turns,
    "responses": _responses,
    "votes": _votes,
    "exclusions": _exclusions,
    "expert_verdicts": _expert_verdicts,
    "judge_verdicts": _judge_verdicts,
}
"""What is published, and the query that reads it."""
