"""Find retracted votes without reading the others."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the change."""
    retracted = sa.text("retracted_at IS NOT NULL")
    op.create_index(
        op.f("ix_votes_retracted_at"),
        "votes",
        ["retracted_at"],
        sqlite_where=retracted,
        postgresql_where=retracted,
    )


def downgrade() -> None:
    """Takes the change back."""
    op.drop_index(op.f("ix_votes_retracted_at"), table_name="votes")
