"""`arena db`: the record itself: tables, soundness, copies, the way back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, opened_arena, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.settings import Settings
    from arena.store.backups import Backup

app = typer.Typer(
    help="Look after the record: check it, copy it while it is in use, bring a copy back.",
    epilog="Example: arena db backup /var/backups/arena",
    context_settings={"help_option_names": ["-h", "--help"]},
)
NewFolderArgument = Annotated[
    Path | None,
    typer.Argument(help="A new folder; one in the data directory that is named for the time."),
]
BackupArgument = Annotated[Path, typer.Argument(help="What `arena db backup` wrote.")]
ReplaceOption = Annotated[
    bool,
    typer.Option(
        "--replace", help="Also if votes are there; a SQLite file is kept beside its place."
    ),
]


@app.callback(invoke_without_command=True)
def db(
    context: typer.Context, *, config: ConfigOption = None, data_dir: DataDirOption = None
) -> None:
    """Look after the record: check it, copy it while it is in use, bring a copy back."""
    if context.invoked_subcommand is not None:
        return
    from arena.cli.refusals import refusing
    from arena.store.backups import count_rows

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        typer.echo(f"{_name(settings)}: {_tell_rows(count_rows(store.engine))}.")


@app.command(epilog="Example: arena db upgrade --config arena.toml")
def upgrade(*, config: ConfigOption = None, data_dir: DataDirOption = None) -> None:
    """Bring the tables up to date, as every start of the arena does."""
    from arena.cli.refusals import refusing

    with refusing(), opened_arena(config, data_dir) as (settings, _):
        typer.echo(f"The tables of {_name(settings)} are up to date.")


@app.command(epilog="Example: arena db check --data-dir votes")
def check(*, config: ConfigOption = None, data_dir: DataDirOption = None) -> None:
    """Read every row, and say what is damaged and which way is back; status 1 if anything is."""
    from arena.cli.refusals import refusing
    from arena.store.backups import check_record, count_rows

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        problems = check_record(store.engine)
        if not problems:
            typer.echo(f"{_name(settings)} is sound: {_tell_rows(count_rows(store.engine))}.")
            return
        for problem in problems:
            typer.echo(f"arena: {problem}", err=True)
        typer.echo(
            f"arena: {_name(settings)} is damaged. Stop the arena, and bring back the newest "
            "backup: arena db restore FOLDER --replace",
            err=True,
        )
    raise typer.Exit(1)


@app.command(epilog="Examples:\n\narena db backup\n\narena db backup /var/backups/arena-2026-12-01")
def backup(
    folder: NewFolderArgument = None,
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Copy the whole record and the arena's keys, also while the arena runs."""
    from arena.cli.preflight import explain
    from arena.cli.refusals import Refusal, refusing
    from arena.store import StoreError
    from arena.store.backups import make_backup

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
        place = folder or settings.data_dir / "backups" / stamp
        try:
            made = make_backup(store.engine, settings.data_dir, place.absolute())
        except StoreError as error:
            raise Refusal(str(error)) from None
        except OSError as error:
            raise Refusal(f"{place} cannot be written ({explain(error)}). Name another.") from None
        typer.echo(f"Wrote {place}: {_tell_rows(made.rows)}.")
        if not made.secret.is_file():
            typer.echo("Without a signing secret: ARENA_SERVER__SECRET has it, or none was drawn.")


@app.command(epilog="Example: arena db restore /var/backups/arena-2026-12-01 --replace")
def restore(
    folder: BackupArgument,
    *,
    replace: ReplaceOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Bring a backup back, while no arena runs on it."""
    from arena.cli.preflight import explain
    from arena.cli.refusals import Refusal, refusing
    from arena.store import StoreError
    from arena.store.backups import read_backup, restore_backup

    with refusing():
        settings = read_settings(config, data_dir)
        try:
            found = read_backup(folder)
            _check_place(settings, found, replace=replace)
            aside = restore_backup(found, settings.database.url, settings.data_dir)
        except StoreError as error:
            raise Refusal(str(error)) from None
        except OSError as error:
            raise Refusal(f"{settings.data_dir} cannot be written ({explain(error)}).") from None
        with opened_arena(config, data_dir):
            pass  # an older backup's tables are brought up to date
        typer.echo(f"Restored {_name(settings)} of {found.created_at:%Y-%m-%d %H:%M} UTC: "
                   f"{_tell_rows(found.rows)}.")  # fmt: skip
        if aside is not None:
            typer.echo(f"What was there is kept as {aside}.")


def _check_place(settings: Settings, found: Backup, *, replace: bool) -> None:
    """Refuses where somebody uses the database, or votes would be lost unasked."""
    from arena.cli.refusals import Refusal
    from arena.store import StoreError, open_store

    try:
        store = open_store(settings.database.url)
    except StoreError as error:
        if replace:
            return  # damaged: that is what backups are for
        raise Refusal(f"{error}. To put the backup in its place: --replace") from None
    try:
        alive = store.workers.list_alive()
        votes = store.votes.last_id()
    finally:
        store.close()
    if alive:
        names = ", ".join(f"process {pid} on {host}" for host, pid in alive)
        raise Refusal(f"an arena runs on {_name(settings)} ({names}). Stop it first.")
    if votes and not replace:
        raise Refusal(
            f"{_name(settings)} has votes that {found.folder} may lack. Copy them first (arena db "
            "backup), then add --replace."
        )


def _name(settings: Settings) -> str:
    from sqlalchemy.engine import make_url

    return make_url(settings.database.url).render_as_string(hide_password=True)


def _tell_rows(rows: Mapping[str, int]) -> str:
    told = {"votes": "votes", "battles": "battles", "voters": "voters"}
    return ", ".join(f"{rows.get(table, 0):,} {word}" for table, word in told.items())
