"""The tables of 0.1.0."""

import sqlalchemy as sa
from alembic import op

# Plain numbers are the stamps of the time before 0.1.0, see `arena.store.engine`.
revision = "r1"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    "judgements",
    "responses",
    "judge_calls",
    "exclusions",
    "assignment_tasks",
    "votes",
    "turns",
    "assignment_items",
    "judges",
    "experts",
    "battles",
    "workers",
    "voters",
    "snapshots",
    "models",
    "assignments",
)


def upgrade() -> None:
    """Applies the change."""
    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("name", name=op.f("uq_assignments_name")),
    )
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
        sa.CheckConstraint(
            "kind IN ('crowd', 'expert', 'judge', 'program')", name=op.f("ck_voters_kind")
        ),
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
        sa.Column("category", sa.String(length=32), nullable=True),
        sa.Column("language", sa.String(length=16), nullable=True),
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
    op.create_index(
        op.f("ix_battles_status_worker_id"), "battles", ["status", "worker_id"], unique=False
    )
    op.create_index(
        op.f("ix_battles_voter_id_created_at"), "battles", ["voter_id", "created_at"], unique=False
    )
    op.create_table(
        "experts",
        sa.Column("voter_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("link_id", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["voter_id"], ["voters.id"], name=op.f("fk_experts_voter_id_voters")
        ),
        sa.PrimaryKeyConstraint("voter_id", name=op.f("pk_experts")),
        sa.UniqueConstraint("name", name=op.f("uq_experts_name")),
    )
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
        "assignment_items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("battle_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignments.id"],
            name=op.f("fk_assignment_items_assignment_id_assignments"),
        ),
        sa.ForeignKeyConstraint(
            ["battle_id"], ["battles.id"], name=op.f("fk_assignment_items_battle_id_battles")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment_items")),
        sa.UniqueConstraint(
            "assignment_id", "battle_id", name=op.f("uq_assignment_items_assignment_id_battle_id")
        ),
        sa.UniqueConstraint(
            "assignment_id", "position", name=op.f("uq_assignment_items_assignment_id_position")
        ),
    )
    op.create_index(
        op.f("ix_assignment_items_battle_id"), "assignment_items", ["battle_id"], unique=False
    )
    op.create_table(
        "turns",
        sa.Column("battle_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
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
    op.create_index(
        op.f("ix_votes_retracted_at"),
        "votes",
        ["retracted_at"],
        unique=False,
        sqlite_where=sa.text("retracted_at IS NOT NULL"),
        postgresql_where=sa.text("retracted_at IS NOT NULL"),
    )
    op.create_index(op.f("ix_votes_voter_id"), "votes", ["voter_id"], unique=False)
    op.create_table(
        "assignment_tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("voter_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("swapped", sa.Boolean(), nullable=False),
        sa.Column("arm", sa.String(length=16), nullable=False),
        sa.Column("shown_outcome", sa.String(length=16), nullable=True),
        sa.Column("first_shown_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "(arm = 'blind') = (shown_outcome IS NULL)", name=op.f("ck_assignment_tasks_shown")
        ),
        sa.CheckConstraint(
            "arm IN ('blind', 'shown', 'planted')", name=op.f("ck_assignment_tasks_arm")
        ),
        sa.CheckConstraint(
            "shown_outcome IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')",
            name=op.f("ck_assignment_tasks_shown_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["assignment_items.id"],
            name=op.f("fk_assignment_tasks_item_id_assignment_items"),
        ),
        sa.ForeignKeyConstraint(
            ["voter_id"], ["experts.voter_id"], name=op.f("fk_assignment_tasks_voter_id_experts")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment_tasks")),
        sa.UniqueConstraint(
            "item_id", "voter_id", name=op.f("uq_assignment_tasks_item_id_voter_id")
        ),
    )
    op.create_index(
        op.f("ix_assignment_tasks_voter_id"), "assignment_tasks", ["voter_id"], unique=False
    )
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
            "reading IN ('structured', 'fallback', 'unparsable')",
            name=op.f("ck_judge_calls_reading"),
        ),
        sa.CheckConstraint(
            "status IN ('asked', 'answered', 'failed')", name=op.f("ck_judge_calls_status")
        ),
        sa.CheckConstraint(
            "verdict IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')",
            name=op.f("ck_judge_calls_verdict"),
        ),
        sa.ForeignKeyConstraint(
            ["battle_id", "turn"],
            ["turns.battle_id", "turns.turn"],
            name=op.f("fk_judge_calls_battle_id_turn_turns"),
        ),
        sa.ForeignKeyConstraint(
            ["voter_id"], ["judges.voter_id"], name=op.f("fk_judge_calls_voter_id_judges")
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"], ["workers.id"], name=op.f("fk_judge_calls_worker_id_workers")
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
    op.create_index(op.f("ix_judge_calls_battle_id"), "judge_calls", ["battle_id"], unique=False)
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
    op.create_index(op.f("ix_responses_created_at"), "responses", ["created_at"], unique=False)
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("cannot_judge", sa.String(length=16), nullable=True),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("retracted_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "cannot_judge IN ('subject', 'language', 'display', 'content', 'other')",
            name=op.f("ck_judgements_cannot_judge"),
        ),
        sa.CheckConstraint(
            "outcome IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')",
            name=op.f("ck_judgements_outcome"),
        ),
        sa.CheckConstraint(
            "(outcome IS NULL) <> (cannot_judge IS NULL)", name=op.f("ck_judgements_said")
        ),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["assignment_tasks.id"],
            name=op.f("fk_judgements_task_id_assignment_tasks"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgements")),
    )
    op.create_index(
        op.f("ix_judgements_task_id"),
        "judgements",
        ["task_id"],
        unique=True,
        sqlite_where=sa.text("retracted_at IS NULL"),
        postgresql_where=sa.text("retracted_at IS NULL"),
    )


def downgrade() -> None:
    """Takes the change back."""
    for table in _TABLES:
        op.drop_table(table)
