"""Alembic's entry: migrates over the connection that `arena.store.engine` hands in."""

from alembic import context

from arena.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
