"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the change."""
    op.create_table(
        "models",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("organisation", sa.String(length=200), nullable=False),
        sa.Column("license", sa.String(length=200), nullable=False),
        sa.Column("price_input", sa.Float(), nullable=True),
        sa.Column("price_output", sa.Float(), nullable=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_models")),
    )
    op.create_table(
        "snapshots",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.Column("last_vote_id", sa.Integer(), nullable=False),
        sa.Column("code_version", sa.String(length=32), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("board", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshots")),
    )
    op.create_table(
        "voters",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint("kind IN ('crowd', 'expert', 'judge')", name=op.f("ck_voters_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_voters")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(), nullable=False),
        sa.Column("stopped_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "battles",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("voter_id", sa.String(length=64), nullable=False),
        sa.Column("model_a", sa.String(length=200), nullable=False),
        sa.Column("model_b", sa.String(length=200), nullable=False),
        sa.Column("policy", sa.String(length=32), nullable=False),
        sa.Column("policy_version", sa.Integer(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("candidates", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("worker_id", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint(
            "status IN ('answering', 'ready', 'failed', 'abandoned', 'voted')",
            name=op.f("ck_battles_status"),
        ),
        sa.CheckConstraint("model_a <> model_b", name=op.f("ck_battles_two_models")),
        sa.CheckConstraint(
            "probability > 0 AND probability <= 1", name=op.f("ck_battles_probability")
        ),
        sa.ForeignKeyConstraint(
            ["model_a"], ["models.name"], name=op.f("fk_battles_model_a_models")
        ),
        sa.ForeignKeyConstraint(
            ["model_b"], ["models.name"], name=op.f("fk_battles_model_b_models")
        ),
        sa.ForeignKeyConstraint(
            ["voter_id"], ["voters.id"], name=op.f("fk_battles_voter_id_voters")
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"], ["workers.id"], name=op.f("fk_battles_worker_id_workers")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_battles")),
    )
    with op.batch_alter_table("battles", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_battles_status_worker_id"), ["status", "worker_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_battles_voter_id_created_at"), ["voter_id", "created_at"], unique=False
        )

    op.create_table(
        "turns",
        sa.Column("battle_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["battle_id"], ["battles.id"], name=op.f("fk_turns_battle_id_battles")
        ),
        sa.PrimaryKeyConstraint("battle_id", "turn", name=op.f("pk_turns")),
    )
    op.create_table(
        "votes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("battle_id", sa.String(length=64), nullable=False),
        sa.Column("voter_id", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("retracted_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "outcome IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')",
            name=op.f("ck_votes_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["battle_id"], ["battles.id"], name=op.f("fk_votes_battle_id_battles")
        ),
        sa.ForeignKeyConstraint(["voter_id"], ["voters.id"], name=op.f("fk_votes_voter_id_voters")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_votes")),
        sa.UniqueConstraint("battle_id", "voter_id", name=op.f("uq_votes_battle_id_voter_id")),
    )
    with op.batch_alter_table("votes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_votes_voter_id"), ["voter_id"], unique=False)

    op.create_table(
        "exclusions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("vote_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint(
            "reason IN ('identity_revealed', 'maintainer')", name=op.f("ck_exclusions_reason")
        ),
        sa.ForeignKeyConstraint(
            ["vote_id"], ["votes.id"], name=op.f("fk_exclusions_vote_id_votes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exclusions")),
        sa.UniqueConstraint("vote_id", "reason", name=op.f("uq_exclusions_vote_id_reason")),
    )
    op.create_table(
        "responses",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("battle_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("side", sa.String(length=1), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("finish_reason", sa.String(length=32), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("time_to_first_token", sa.Float(), nullable=True),
        sa.Column("duration", sa.Float(), nullable=True),
        sa.Column("model_id", sa.String(length=300), nullable=True),
        sa.Column("error_kind", sa.String(length=64), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint("side IN ('a', 'b')", name=op.f("ck_responses_side")),
        sa.CheckConstraint(
            "status IN ('complete', 'failed', 'cancelled')", name=op.f("ck_responses_status")
        ),
        sa.ForeignKeyConstraint(
            ["battle_id", "turn"],
            ["turns.battle_id", "turns.turn"],
            name=op.f("fk_responses_battle_id_turn_turns"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_responses")),
        sa.UniqueConstraint(
            "battle_id",
            "turn",
            "side",
            "attempt",
            name=op.f("uq_responses_battle_id_turn_side_attempt"),
        ),
    )


def downgrade() -> None:
    """Takes the change back."""
    op.drop_table("responses")
    op.drop_table("exclusions")
    with op.batch_alter_table("votes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_votes_voter_id"))

    op.drop_table("votes")
    op.drop_table("turns")
    with op.batch_alter_table("battles", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_battles_voter_id_created_at"))
        batch_op.drop_index(batch_op.f("ix_battles_status_worker_id"))

    op.drop_table("battles")
    op.drop_table("workers")
    op.drop_table("voters")
    op.drop_table("snapshots")
    op.drop_table("models")
