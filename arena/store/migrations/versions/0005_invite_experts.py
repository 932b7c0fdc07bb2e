"""Invite experts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_OUTCOMES = "('model_a', 'model_b', 'tie', 'tie (bothbad)')"


def upgrade() -> None:
    """Applies the change."""
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
        "assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("name", name=op.f("uq_assignments_name")),
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
            "assignment_id",
            "battle_id",
            name=op.f("uq_assignment_items_assignment_id_battle_id"),
        ),
        sa.UniqueConstraint(
            "assignment_id", "position", name=op.f("uq_assignment_items_assignment_id_position")
        ),
    )
    op.create_index(op.f("ix_assignment_items_battle_id"), "assignment_items", ["battle_id"])
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
            "arm IN ('blind', 'shown', 'planted')", name=op.f("ck_assignment_tasks_arm")
        ),
        sa.CheckConstraint(
            f"shown_outcome IN {_OUTCOMES}", name=op.f("ck_assignment_tasks_shown_outcome")
        ),
        sa.CheckConstraint(
            "(arm = 'blind') = (shown_outcome IS NULL)", name=op.f("ck_assignment_tasks_shown")
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
    op.create_index(op.f("ix_assignment_tasks_voter_id"), "assignment_tasks", ["voter_id"])
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
        sa.CheckConstraint(f"outcome IN {_OUTCOMES}", name=op.f("ck_judgements_outcome")),
        sa.CheckConstraint(
            "cannot_judge IN ('subject', 'language', 'display', 'content', 'other')",
            name=op.f("ck_judgements_cannot_judge"),
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
    standing = sa.text("retracted_at IS NULL")
    op.create_index(
        op.f("ix_judgements_task_id"),
        "judgements",
        ["task_id"],
        unique=True,
        sqlite_where=standing,
        postgresql_where=standing,
    )


def downgrade() -> None:
    """Takes the change back."""
    for table in (
        "judgements", "assignment_tasks", "assignment_items", "assignments", "experts"
    ):  # fmt: skip
        op.drop_table(table)
