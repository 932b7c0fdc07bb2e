"""`arena publish`: an export as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = "Example: arena export exported && arena publish exported site"

ExportArgument = Annotated[
    Path, typer.Argument(help="What `arena export` wrote.", show_default="the folder here")
]
SiteArgument = Annotated[
    Path | None,
    typer.Argument(
        help="A new folder, or a site to add a snapshot to; by default `site` beside the export."
    ),
]


def publish(export: ExportArgument = Path(), site: SiteArgument = None) -> None:
    """Make a static site of an export: no server, no script, nothing from elsewhere."""
    from arena.cli.preflight import explain
    from arena.cli.refusals import Refusal, refusing
    from arena.publishing.files import ExportError
    from arena.publishing.site import publish_site

    place = site or export.absolute().parent / "site"
    with refusing():
        try:
            page = publish_site(export, place)
        except ExportError as error:
            raise Refusal(f"{error}.") from None
        except OSError as error:
            raise Refusal(f"{place} cannot be written ({explain(error)}). Name another.") from None
        typer.echo(f"Wrote {page}.")
