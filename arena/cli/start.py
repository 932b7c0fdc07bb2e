"""`arena init` and `arena version`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena import __version__

STARTER = Path(__file__).with_name("starter.toml")


def init(
    path: Annotated[
        Path, typer.Argument(help="The file to write, or a folder for it.", show_default=True)
    ] = Path("arena.toml"),
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a commented arena.toml to start from."""
    from arena.cli.preflight import explain
    from arena.cli.refusals import Refusal, refusing

    target = path / "arena.toml" if path.is_dir() else path
    with refusing():
        if target.exists() and not force:
            raise Refusal(f"{target} is already there. Use --force to replace it.")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(STARTER.read_text(encoding="utf-8"), encoding="utf-8")
        except OSError as error:
            raise Refusal(
                f"{target} cannot be written ({explain(error)}). Name another path."
            ) from None
    typer.echo(f"Wrote {target}. Remove the # before two models or more, then run:")
    typer.echo(f"  arena models check --config {target}")
    typer.echo(f"  arena up --config {target}")


def version() -> None:
    """Print the version."""
    typer.echo(f"preference-arena {__version__}")
