"""Say what prompts are about: category and language, where they are known."""

import sqlalchemy as sa
from alembic import op

from arena.settings.shipped import read_prompts

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_battles = sa.table("battles", sa.column("id"), sa.column("category"), sa.column("language"))
_turns = sa.table("turns", sa.column("battle_id"), sa.column("turn"), sa.column("prompt"))


def upgrade() -> None:
    """Applies the change, and labels the battles that began with a shipped prompt."""
    op.add_column("battles", sa.Column("category", sa.String(length=32), nullable=True))
    op.add_column("battles", sa.Column("language", sa.String(length=16), nullable=True))
    prompts = read_prompts()
    first = sa.and_(_turns.c.turn == 0, _turns.c.prompt.in_(list(prompts)))
    connection = op.get_bind()
    known = connection.execute(sa.select(_turns.c.battle_id, _turns.c.prompt).where(first)).all()
    if known:
        connection.execute(
            sa.update(_battles)
            .where(_battles.c.id == sa.bindparam("battle_id"))
            .values(category=sa.bindparam("about"), language=sa.bindparam("code")),
            [
                {"battle_id": battle_id, "about": about, "code": code}
                for battle_id, text in known
                for about, code in [prompts[text]]
            ],
        )


def downgrade() -> None:
    """Takes the change back."""
    op.drop_column("battles", "language")
    op.drop_column("battles", "category")
