"""`arena import`: battles from elsewhere, into a record of our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, opened_arena

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.publishing.imports import ImportReport

IMPORT_EXAMPLES = (
    "Examples:\n\narena import votes.parquet\n\narena import published --source partner-arena"
)

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE…", help="Files in a public layout, or folders that `arena export` wrote."
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option(help="What their battles are marked with; the layout's name if not told."),
]
RowsOption = Annotated[
    bool, typer.Option("--rows", help="Name each rejected row with its reason (the first 1,000).")
]


def import_files(
    files: FilesArgument = None,
    *,
    source: SourceOption = None,
    rows: RowsOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Record battles from elsewhere, marked with their source and never counted with our own."""
    from arena.cli.refusals import Refusal, refusing
    from arena.cli.terminal import show_progress
    from arena.publishing.files import ExportError
    from arena.publishing.imports import import_file

    with refusing(), opened_arena(config, data_dir) as (_, store):
        if not files:
            raise Refusal("name files to import, for example: arena import votes.parquet")
        if source is not None and not 0 < len(source) <= 100:
            raise Refusal(f'--source "{source}" is empty or longer than 100 characters.')
        for path in files:
            if not path.exists():
                raise Refusal(f"{path} is not there. Name a file or the folder of an export.")
            with show_progress(f"Reading {path.name}") as bar:
                try:
                    report = import_file(
                        store, path, source=source,
                        progress=lambda row: bar.say(f"{row:,} rows") if row % 500 == 0 else None,
                    )  # fmt: skip
                except ExportError as error:
                    raise Refusal(f"{error}.") from None
            for line in _tell(path, report, rows=rows):
                typer.echo(line)


def _tell(path: Path, report: ImportReport, *, rows: bool) -> Iterator[str]:
    yield (
        f"{path} ({report.layout}): {report.added:,} battles are new, marked "
        f'"{report.source}"; {report.known:,} were there.'
    )
    for reason, number in report.rejected.most_common():
        yield f"{number:,} rejected: {reason}."
    if rows:
        yield from (f"row {number:,}: {reason}" for number, reason in report.rows)
