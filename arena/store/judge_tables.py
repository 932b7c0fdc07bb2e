"""The tables of the judges that are models, apart from the votes that count.

A verdict of a judge is never a row of `votes`, so it cannot reach the leaderboard.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from arena.rules.battles import Outcome
from arena.rules.judgements import CallStatus, JudgeMode, Reading
from arena.store.tables import UtcDateTime, metadata, one_of

judges = Table(
    "judges",
    metadata,
    # A digest of model, mode, prompts and sampling: all that makes a judge another judge.
    Column("voter_id", ForeignKey("voters.id"), primary_key=True),
    Column("name", String(300), nullable=False),
    Column("model", String(200), nullable=False),
    Column("mode", String(16), nullable=False),
    Column("prompts_hash", String(64), nullable=False),
    Column("sampling", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("name"),
    one_of("mode", JudgeMode),
)

judge_calls = Table(
    "judge_calls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("voter_id", ForeignKey("judges.voter_id"), nullable=False),
    Column("battle_id", String(64), nullable=False),
    Column("turn", Integer, nullable=False),
    # Whether the answer of the battle's side B was shown first.
    Column("swapped", Boolean, nullable=False),
    Column("status", String(16), nullable=False),
    # In the battle's own orientation, whatever the order was.
    Column("verdict", String(16)),
    Column("reading", String(16)),
    Column("failure_kind", String(64)),
    Column("failure_message", Text),
    Column("request", JSON, nullable=False),
    Column("output", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("finish_reason", String(32)),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("cost", Float),
    Column("duration", Float),
    Column("attempts", Integer, nullable=False),
    # Of these, those whose end nobody recorded: perhaps paid for in vain.
    Column("lost", Integer, nullable=False),
    Column("worker_id", ForeignKey("workers.id")),
    Column("asked_at", UtcDateTime, nullable=False),
    Column("answered_at", UtcDateTime),
    ForeignKeyConstraint(["battle_id", "turn"], ["turns.battle_id", "turns.turn"]),
    UniqueConstraint("voter_id", "battle_id", "turn", "swapped"),
    Index(None, "battle_id"),
    one_of("status", CallStatus),
    one_of("verdict", Outcome),
    one_of("reading", Reading),
)
