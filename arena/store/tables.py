"""The tables. Nothing is ever deleted from them; migrations in `migrations/` build them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from arena.rules.battles import (
    BattleStatus,
    ExclusionReason,
    Outcome,
    ResponseStatus,
    Side,
    VoterKind,
)

if TYPE_CHECKING:
    from enum import StrEnum

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMING)


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time: aware in Python, UTC in every database (SQLite knows no zones)."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Aware to naive UTC."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ANN401, ARG002
        """Naive UTC to aware."""
        return None if value is None else value.replace(tzinfo=UTC)


def one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    """A check instead of a database enum: adding a value is then a plain migration."""
    allowed = ", ".join(f"'{value.value}'" for value in values)
    return CheckConstraint(f"{column} IN ({allowed})", name=column)


models = Table(
    "models",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("organisation", String(200), nullable=False),
    Column("license", String(200), nullable=False),
    Column("price_input", Float),
    Column("price_output", Float),
    Column("description", Text, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

voters = Table(
    "voters",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # An `ExclusionReason`: each vote that comes gets it too.
    Column("excluded_reason", String(32)),
    Column("excluded_note", Text),
    # Which wording of the terms was shown before the first prompt.
    Column("consent_version", String(64)),
    Column("consented_at", UtcDateTime),
    Column("forgotten_at", UtcDateTime),
    # Of imported voters: the part of the counts to which they belonged where they came from.
    Column("bucket", Integer),
    one_of("kind", VoterKind),
)

workers = Table(
    "workers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("host", String(255), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("heartbeat_at", UtcDateTime, nullable=False),
    Column("stopped_at", UtcDateTime),
)

battles = Table(
    "battles",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("voter_id", ForeignKey("voters.id"), nullable=False),
    Column("model_a", ForeignKey("models.name"), nullable=False),
    Column("model_b", ForeignKey("models.name"), nullable=False),
    Column("policy", String(32), nullable=False),
    Column("policy_version", Integer, nullable=False),
    Column("probability", Float, nullable=False),
    Column("candidates", Integer, nullable=False),
    # Of the first prompt, where it is one that the program offers.
    Column("category", String(32)),
    Column("language", String(16)),
    # Where an imported battle came from; nothing for the arena's own.
    Column("source", String(100)),
    Column("status", String(16), nullable=False),
    Column("worker_id", ForeignKey("workers.id")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    one_of("status", BattleStatus),
    CheckConstraint("model_a <> model_b", name="two_models"),
    CheckConstraint("probability > 0 AND probability <= 1", name="probability"),
    Index(None, "voter_id", "created_at"),
    Index(None, "status", "worker_id"),
)

turns = Table(
    "turns",
    metadata,
    Column("battle_id", ForeignKey("battles.id"), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("prompt", Text, nullable=False),
    # A right answer, where a prompt set gives one; for judges alone.
    Column("reference", Text),
    Column("created_at", UtcDateTime, nullable=False),
)

responses = Table(
    "responses",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("battle_id", String(64), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("side", String(1), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("finish_reason", String(32)),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("time_to_first_token", Float),
    Column("duration", Float),
    Column("model_id", String(300)),
    Column("error_kind", String(64)),
    Column("error_message", Text),
    Column("created_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["battle_id", "turn"], ["turns.battle_id", "turns.turn"]),
    UniqueConstraint("battle_id", "turn", "side", "attempt"),
    one_of("side", Side),
    one_of("status", ResponseStatus),
    Index(None, "created_at"),
)

votes = Table(
    "votes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("battle_id", ForeignKey("battles.id"), nullable=False),
    Column("voter_id", ForeignKey("voters.id"), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("retracted_at", UtcDateTime),
    UniqueConstraint("battle_id", "voter_id"),
    one_of("outcome", Outcome),
    Index(None, "voter_id"),
)
# Few votes are ever retracted: whether one was since is asked before every refresh.
Index(
    None,
    votes.c.retracted_at,
    sqlite_where=votes.c.retracted_at.is_not(None),
    postgresql_where=votes.c.retracted_at.is_not(None),
)

exclusions = Table(
    "exclusions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("vote_id", ForeignKey("votes.id"), nullable=False),
    Column("reason", String(32), nullable=False),
    Column("note", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # A reason that is lifted stays on record; the same may come into force again.
    Column("lifted_at", UtcDateTime),
    Column("lifted_note", Text),
    one_of("reason", ExclusionReason),
)
Index(
    None,
    exclusions.c.vote_id,
    exclusions.c.reason,
    unique=True,
    sqlite_where=exclusions.c.lifted_at.is_(None),
    postgresql_where=exclusions.c.lifted_at.is_(None),
)
# As of retractions.
Index(
    None,
    exclusions.c.lifted_at,
    sqlite_where=exclusions.c.lifted_at.is_not(None),
    postgresql_where=exclusions.c.lifted_at.is_not(None),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("votes", Integer, nullable=False),
    Column("last_vote_id", Integer, nullable=False),
    Column("code_version", String(32), nullable=False),
    Column("settings", JSON, nullable=False),
    Column("board", JSON, nullable=False),
)
