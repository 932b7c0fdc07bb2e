"""Let models judge, and let battles come from a prompt set."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_BEFORE = ("crowd", "expert", "judge")


def upgrade() -> None:
    """Applies the change."""
    _allow_kinds(*_BEFORE, "program")
    op.add_column("turns", sa.Column("reference", sa.Text(), nullable=True))
    op.create_table(
        "judges",
        sa.Column("voter_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("prompts_hash", sa.String(length=64), nullable=False),
        sa.Column("sampling", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint(
            "mode IN ('plain', 'answer-first', 'reference')", name=op.f("ck_judges_mode")
        ),
        sa.ForeignKeyConstraint(
            ["voter_id"], ["voters.id"], name=op.f("fk_judges_voter_id_voters")
        ),
        sa.PrimaryKeyConstraint("voter_id", name=op.f("pk_judges")),
        sa.UniqueConstraint("name", name=op.f("uq_judges_name")),
    )
    op.create_table(
        "judge_calls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("voter_id", sa.String(length=64), nullable=False),
        sa.Column("battle_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("swapped", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=True),
        sa.Column("reading", sa.String(length=16), nullable=True),
        sa.Column("failure_kind", sa.String(length=64), nullable=True),
        sa.Column("failure_message", sa.Text(), nullable=True),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("finish_reason", sa.String(length=32), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("duration", sa.Float(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lost", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.String(length=64), nullable=True),
        sa.Column("asked_at", sa.DateTime(), nullable=False),
        sa.Column("answered_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "status IN ('asked', 'answered', 'failed')", name=op.f("ck_judge_calls_status")
        ),
        sa.CheckConstraint(
            "verdict IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')",
            name=op.f("ck_judge_calls_verdict"),
        ),
        sa.CheckConstraint(
            "reading IN ('structured', 'fallback', 'unparsable')",
            name=op.f("ck_judge_calls_reading"),
        ),
        sa.ForeignKeyConstraint(
            ["voter_id"], ["judges.voter_id"], name=op.f("fk_judge_calls_voter_id_judges")
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"], ["workers.id"], name=op.f("fk_judge_calls_worker_id_workers")
        ),
        sa.ForeignKeyConstraint(
            ["battle_id", "turn"],
            ["turns.battle_id", "turns.turn"],
            name=op.f("fk_judge_calls_battle_id_turn_turns"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_calls")),
        sa.UniqueConstraint(
            "voter_id",
            "battle_id",
            "turn",
            "swapped",
            name=op.f("uq_judge_calls_voter_id_battle_id_turn_swapped"),
        ),
    )
    op.create_index(op.f("ix_judge_calls_battle_id"), "judge_calls", ["battle_id"])


def downgrade() -> None:
    """Takes the change back."""
    op.drop_index(op.f("ix_judge_calls_battle_id"), table_name="judge_calls")
    op.drop_table("judge_calls")
    op.drop_table("judges")
    op.drop_column("turns", "reference")
    op.execute("UPDATE voters SET kind = 'judge' WHERE kind = 'program'")
    _allow_kinds(*_BEFORE)


def _allow_kinds(*kinds: str) -> None:
    """Says anew which kinds of voters there may be."""
    allowed = "kind IN ({})".format(", ".join(f"'{kind}'" for kind in kinds))
    if op.get_bind().dialect.name != "sqlite":
        op.drop_constraint(op.f("ck_voters_kind"), "voters", type_="check")
        op.create_check_constraint(op.f("ck_voters_kind"), "voters", allowed)
        return
    # SQLite cannot alter a check, and other tables refer to this one. So its rows move out
    # and back in: with the references checked at the commit, each is missed, then found.
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TABLE moving_voters AS SELECT id, kind, created_at FROM voters")
    op.drop_table("voters")
    op.create_table(
        "voters",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint(allowed, name=op.f("ck_voters_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_voters")),
    )
    op.execute("INSERT INTO voters SELECT id, kind, created_at FROM moving_voters")
    op.drop_table("moving_voters")
