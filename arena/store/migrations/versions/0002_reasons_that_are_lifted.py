"""Reasons not to count a vote may be lifted, and stay on record; more of them, and of voters."""

import sqlalchemy as sa
from alembic import op

revision = "r2"
down_revision = "r1"
branch_labels = None
depends_on = None

_IN_FORCE = sa.text("lifted_at IS NULL")
_LIFTED = sa.text("lifted_at IS NOT NULL")


_REASONS = "('identity_revealed', 'automated', 'interested', 'trial', 'maintainer')"


def upgrade() -> None:
    """Adds them."""
    # SQLite would have to make the table anew to check it, which others refer to.
    op.add_column("voters", sa.Column("excluded_reason", sa.String(length=32), nullable=True))
    op.add_column("voters", sa.Column("excluded_note", sa.Text(), nullable=True))
    with op.batch_alter_table("exclusions") as table:
        table.add_column(sa.Column("lifted_at", sa.DateTime(), nullable=True))
        table.add_column(sa.Column("lifted_note", sa.Text(), nullable=True))
        table.drop_constraint(op.f("uq_exclusions_vote_id_reason"), type_="unique")
        table.drop_constraint(op.f("ck_exclusions_reason"), type_="check")
        table.create_check_constraint(op.f("ck_exclusions_reason"), f"reason IN {_REASONS}")
    op.create_index(
        op.f("ix_exclusions_vote_id_reason"), "exclusions", ["vote_id", "reason"],
        unique=True, sqlite_where=_IN_FORCE, postgresql_where=_IN_FORCE,
    )  # fmt: skip
    op.create_index(
        op.f("ix_exclusions_lifted_at"), "exclusions", ["lifted_at"],
        sqlite_where=_LIFTED, postgresql_where=_LIFTED,
    )  # fmt: skip


def downgrade() -> None:
    """Takes them away again."""
    # What the older tables cannot say is said by the reason that takes a note.
    op.execute("DELETE FROM exclusions WHERE lifted_at IS NOT NULL")
    op.execute(
        "UPDATE exclusions SET note = reason || ': ' || note, reason = 'maintainer' "
        "WHERE reason IN ('automated', 'interested', 'trial') AND NOT EXISTS ("
        "SELECT 1 FROM exclusions AS other WHERE other.vote_id = exclusions.vote_id "
        "AND other.id <> exclusions.id AND other.reason NOT IN ('identity_revealed'))"
    )
    op.execute("DELETE FROM exclusions WHERE reason IN ('automated', 'interested', 'trial')")
    op.drop_index(op.f("ix_exclusions_lifted_at"), "exclusions")
    op.drop_index(op.f("ix_exclusions_vote_id_reason"), "exclusions")
    with op.batch_alter_table("exclusions") as table:
        table.drop_constraint(op.f("ck_exclusions_reason"), type_="check")
        table.create_check_constraint(
            op.f("ck_exclusions_reason"), "reason IN ('identity_revealed', 'maintainer')"
        )
        table.drop_column("lifted_note")
        table.drop_column("lifted_at")
        table.create_unique_constraint(op.f("uq_exclusions_vote_id_reason"), ["vote_id", "reason"])
    op.drop_column("voters", "excluded_note")
    op.drop_column("voters", "excluded_reason")
