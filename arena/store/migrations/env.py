"""Alembic's entry: migrates over the connection that `arena.store.upgrading` hands in.

Without one, the statements are written down for the database that is named.
"""

from alembic import context

from arena.store.tables import metadata

context.configure(
    connection=context.config.attributes.get("connection"),
    dialect_name=context.config.attributes.get("dialect"),
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
