"""Where a command writes what it was asked for: the terminal, a pipe, or a whole file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["choose_format", "find_width", "write_text", "write_whole"]

_Form = TypeVar("_Form", bound=str)


def choose_format(
    form: _Form | None, output: Path | None, suffixes: Mapping[str, _Form], *, usual: _Form
) -> _Form:
    """The format asked for, else that of the file's suffix, else the usual one.

    Args:
        form: what was asked for.
        output: the file to write, `None` for the terminal.
        suffixes: the format of each known suffix.
        usual: without either.

    Raises:
        Refusal: no format is asked for, and the suffix is unknown.
    """
    if form is not None or output is None:
        return form or usual
    chosen = suffixes.get(output.suffix.lower())
    if chosen is None:
        raise Refusal(
            f'--output {output}: nothing is known of "{output.suffix}" files. Say which with '
            f"--format, or end the name in {', '.join(suffixes)}."
        )
    return chosen


def find_width(output: Path | None) -> int:
    """Characters a table may be wide."""
    # A pipe or a file has no width of its own; 80 columns would fold every name.
    if output is None and sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return 160


def write_text(text: str, output: Path | None, *, told: str = "") -> None:
    """Writes to the terminal, or to a file, whole or not at all.

    Args:
        text: what to write.
        output: the file, `None` for the terminal.
        told: what is said of it before the name of the file.

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
    typer.echo(f"Wrote {told}{output}.")


def write_whole(path: Path, text: str) -> None:
    """Writes a file beside its place and moves it there: readers see the old or the new one.

    Raises:
        OSError: the folder cannot be written.
    """
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp lets only the owner read; a board is as public as other new files.
        mask = os.umask(0)
        os.umask(mask)
        Path(draft).chmod(0o666 & ~mask)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
