"""The tables of the expert panel, apart from the votes that count.

A judgement of an expert is never a row of `votes`, so it cannot reach the leaderboard.
Outcomes are in the battle's own orientation, whichever way round the expert saw it.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from arena.rules.battles import Outcome
from arena.rules.experts import Arm, CannotJudge
from arena.store.tables import UtcDateTime, metadata, one_of

experts = Table(
    "experts",
    metadata,
    Column("voter_id", ForeignKey("voters.id"), primary_key=True),
    Column("name", String(200), nullable=False),
    # Part of the only link that lets the expert in: a new invitation replaces it.
    Column("link_id", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    UniqueConstraint("name"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    # How it was drawn: all that makes it again, and what was expected of it.
    Column("plan", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("name"),
)

assignment_items = Table(
    "assignment_items",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("assignment_id", ForeignKey("assignments.id"), nullable=False),
    Column("battle_id", ForeignKey("battles.id"), nullable=False),
    Column("position", Integer, nullable=False),
    UniqueConstraint("assignment_id", "battle_id"),
    UniqueConstraint("assignment_id", "position"),
    Index(None, "battle_id"),
)

assignment_tasks = Table(
    "assignment_tasks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey("assignment_items.id"), nullable=False),
    Column("voter_id", ForeignKey("experts.voter_id"), nullable=False),
    # In the expert's own order.
    Column("position", Integer, nullable=False),
    Column("swapped", Boolean, nullable=False),
    Column("arm", String(16), nullable=False),
    Column("shown_outcome", String(16)),
    Column("first_shown_at", UtcDateTime),
    UniqueConstraint("item_id", "voter_id"),
    Index(None, "voter_id"),
    one_of("arm", Arm),
    one_of("shown_outcome", Outcome),
    CheckConstraint("(arm = 'blind') = (shown_outcome IS NULL)", name="shown"),
)

judgements = Table(
    "judgements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("task_id", ForeignKey("assignment_tasks.id"), nullable=False),
    Column("outcome", String(16)),
    Column("cannot_judge", String(16)),
    Column("reasons", JSON, nullable=False),
    Column("comment", Text, nullable=False),
    Column("seconds", Float),
    Column("created_at", UtcDateTime, nullable=False),
    Column("retracted_at", UtcDateTime),
    one_of("outcome", Outcome),
    one_of("cannot_judge", CannotJudge),
    CheckConstraint("(outcome IS NULL) <> (cannot_judge IS NULL)", name="said"),
)
# One judgement a task, however often a button is pressed and in however many tabs.
Index(
    None,
    judgements.c.task_id,
    unique=True,
    sqlite_where=judgements.c.retracted_at.is_(None),
    postgresql_where=judgements.c.retracted_at.is_(None),
)
