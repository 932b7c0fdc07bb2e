"""`arena export` and `arena verify`: the record for others, and every number once more."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, choose_recipe, opened_arena

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.publishing.files import Manifest
    from arena.store import Extent

EXPORT_EXAMPLES = (
    "Examples:\n\narena export published\n\n"
    "arena export published --with-text --jsonl --since 2026-01-01"
)
VERIFY_EXAMPLES = "Example: arena verify published"
_KINDS = ("crowd", "expert", "judge")

FolderArgument = Annotated[
    Path | None,
    typer.Argument(help="A new folder; one in the data directory that is named for the day."),
]
ExportArgument = Annotated[
    Path, typer.Argument(help="What `arena export` wrote.", show_default="the folder here")
]
TextOption = Annotated[
    bool,
    typer.Option(
        "--with-text",
        help="Also prompts, answers and comments; what could lead to a person is masked, but for "
        "names.",
    ),
]
JsonlOption = Annotated[bool, typer.Option("--jsonl", help="Also as JSON Lines.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", help="No battle before this time (ISO 8601, UTC).")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", help="No battle at this time or later (ISO 8601, UTC).")
]
CategoryOption = Annotated[
    list[str] | None, typer.Option("--category", help="Only of this category; repeat for more.")
]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", help="Only in this language; repeat for more.")
]
KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only verdicts of crowd, expert or judge; repeat for more."),
]
LayoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--layout",
        help="Also the votes that count as arena-140k, arena-33k or arena-55k; repeat for more.",
    ),
]
ImportedOption = Annotated[
    bool, typer.Option("--imported", help="Also battles from elsewhere, counted with our own.")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="Of the bootstrap; all cores by default.")
]


def export(
    folder: FolderArgument = None,
    *,
    with_text: TextOption = False,
    jsonl: JsonlOption = False,
    since: SinceOption = None,
    until: UntilOption = None,
    category: CategoryOption = None,
    language: LanguageOption = None,
    kind: KindOption = None,
    layout: LayoutOption = None,
    imported: ImportedOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write the record as files that anybody can read and recompute."""
    from arena.cli.refusals import refusing
    from arena.cli.terminal import show_progress
    from arena.publishing.exports import Request, export_record
    from arena.settings import read_bucket_key

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        place = folder or settings.data_dir / "exports" / f"{datetime.now(UTC):%Y-%m-%d}"
        request = Request(
            extent=_read_extent(since, until, category, language, kind, imported=imported),
            recipe=choose_recipe(config, data_dir, settings, store),
            bucket_key=read_bucket_key(settings).encode(),
            texts=with_text,
            jsonl=jsonl,
            layouts=_read_layouts(layout),
        )
        with _explaining(place), show_progress("Writing", total=1) as bar:
            manifest = export_record(
                store, request, place, lambda name, done, total: bar.fill(done, total, name)
            )
        for line in tell_export(place, manifest):
            typer.echo(line)


def verify(folder: ExportArgument = Path(), *, threads: ThreadsOption = None) -> None:
    """Recompute every published number from an export; status 1 if anything differs."""
    from arena.cli.refusals import refusing
    from arena.publishing.verification import verify_export

    with refusing(), _explaining(folder):
        differences = verify_export(folder, threads=threads)
    if not differences:
        typer.echo(f"{folder}: every file and every number is equal.")
        return
    for line in differences:
        typer.echo(f"arena: {line}", err=True)
    raise typer.Exit(1)


def tell_export(folder: Path, manifest: Manifest) -> Iterator[str]:
    """What was written, in lines."""
    counted = manifest.counted
    told = ", ".join(f"{counted[name]:,} {name}" for name in ("battles", "votes", "voters"))
    yield f"Wrote {folder}: {told}."
    for kind, number in sorted(manifest.masked.items()):
        yield f"Masked {number:,} of kind {kind}."
    yield from manifest.notes


@contextmanager
def _explaining(folder: Path) -> Iterator[None]:
    """Turns what can be put right into a refusal."""
    from arena.cli.preflight import explain
    from arena.cli.refusals import Refusal
    from arena.publishing.files import ExportError

    try:
        yield
    except ExportError as error:
        raise Refusal(f"{error}.") from None
    except OSError as error:
        raise Refusal(f"{folder} cannot be written ({explain(error)}). Name another.") from None


def _read_layouts(names: list[str] | None) -> tuple[str, ...]:
    from arena.cli.refusals import Refusal
    from arena.publishing.public_files import LAYOUT_NAMES

    for name in names or ():
        if name not in LAYOUT_NAMES:
            raise Refusal(f'--layout "{name}" is none. There are: {", ".join(LAYOUT_NAMES)}.')
    return tuple(dict.fromkeys(names or ()))


def _read_extent(
    since: str | None,
    until: str | None,
    category: list[str] | None,
    language: list[str] | None,
    kind: list[str] | None,
    *,
    imported: bool,
) -> Extent:
    from arena.cli.rank.options import read_time
    from arena.cli.refusals import Refusal
    from arena.store import Extent

    for name in kind or ():
        if name not in _KINDS:
            raise Refusal(f'--kind "{name}" is none. There are: {", ".join(_KINDS)}.')
    return Extent(
        cut=datetime.now(UTC),
        since=read_time("--since", since),
        until=read_time("--until", until),
        categories=tuple(sorted(category or ())),
        languages=tuple(sorted(language or ())),
        kinds=tuple(sorted(kind or _KINDS)),
        imported=imported,
    )
