"""Battles from elsewhere, what voters agreed to, and voters who asked to be forgotten."""

import sqlalchemy as sa
from alembic import op

revision = "r3"
down_revision = "r2"
branch_labels = None
depends_on = None

_VOTERS = (
    ("consent_version", sa.String(length=64)),
    ("consented_at", sa.DateTime()),
    ("forgotten_at", sa.DateTime()),
    ("bucket", sa.Integer()),
)


def upgrade() -> None:
    """Applies the change."""
    op.add_column("battles", sa.Column("source", sa.String(length=100), nullable=True))
    for name, kind in _VOTERS:
        op.add_column("voters", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    """Takes the change back."""
    with op.batch_alter_table("voters") as table:
        for name, _ in _VOTERS:
            table.drop_column(name)
    with op.batch_alter_table("battles") as table:
        table.drop_column("source")
