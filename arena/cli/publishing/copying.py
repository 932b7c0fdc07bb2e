"""`arena db copy`: the record into another database, such as from SQLite to PostgreSQL."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, opened_arena

EXAMPLES = "Example: arena db copy postgresql+psycopg://arena@localhost/arena"


def copy(
    url: Annotated[str, typer.Argument(help="Of an empty database: an SQLAlchemy URL.")],
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Copy the whole record into another database and compare every row."""
    from arena.cli.refusals import Refusal, refusing
    from arena.cli.terminal import show_progress
    from arena.store import StoreError, open_store
    from arena.store.copying import copy_record

    with refusing(), opened_arena(config, data_dir) as (_, store):
        if alive := store.workers.list_alive():
            raise Refusal(f"an arena runs on this record ({len(alive)} processes). Stop it first.")
        try:
            target = open_store(url)
        except StoreError as error:
            raise Refusal(str(error)) from None
        try:
            with show_progress("Copying") as bar:
                rows = copy_record(store.engine, target.engine, bar.say)
        except StoreError as error:
            raise Refusal(f"{error}.") from None
        finally:
            target.close()
        typer.echo(f"Copied {sum(rows.values()):,} rows, every one equal. Now set database.url.")
