"""Where a command writes what it was asked for: the terminal, a pipe, or a whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import typer

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from arena.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["choose_format", "write_text"]

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
