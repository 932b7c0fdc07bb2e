"""Where a command writes what it was asked for: the terminal, a pipe, or a whole file."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import typer

from arena.cli.preflight import explain
from arena.cli.rank_output import write_whole
from arena.cli.refusals import Refusal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["find_width", "write_text"]


def find_width(output: Path | None) -> int:
    """Characters a table may be wide."""
    # A pipe or a file has no width of its own; 80 columns would fold every name.
    if output is None and sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return 160


def write_text(text: str, output: Path | None) -> None:
    """Writes to the terminal, or to a file, whole or not at all.

    Raises:
        Refusal: the file cannot be written.
    """
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        write_whole(output, text)
    except OSError as error:
        raise Refusal(
            f"{output} cannot be written ({explain(error)}). Name another with --output."
        ) from None
    typer.echo(f"Wrote {output}.")
