"""Find the answers of a day, to add up what they cost."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the change."""
    op.create_index(op.f("ix_responses_created_at"), "responses", ["created_at"])


def downgrade() -> None:
    """Takes the change back."""
    op.drop_index(op.f("ix_responses_created_at"), table_name="responses")
