"""A leaderboard as a picture: .png, .svg or .pdf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from arena.writing import draft_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ranking import Leaderboard

__all__ = ["check_picture", "write_picture"]


def check_picture(form: str, output: Path | None, *, by: Sequence[str]) -> Path:
    """The file to draw in, before the work instead of after it.

    Args:
        form: png, svg or pdf.
        output: the file asked for, `None` for the terminal.
        by: the groups that boards were asked for.

    Raises:
        Refusal: there is no file, it is not called so, or one picture cannot hold what is
            asked for.
    """
    if output is None:
        raise Refusal(f"a terminal shows no {form}. Name a file, such as --output board.{form}.")
    if output.suffix.lower() != f".{form}":
        raise Refusal(f"--output {output} is not called .{form}. Name it board.{form}.")
    if by:
        raise Refusal(
            "a picture holds one board. Leave out --by, or write a page: --output board.html."
        )
    return output


def write_picture(board: Leaderboard, output: Path) -> None:
    """Draws the scores with their intervals into a file, whole or not at all.

    Raises:
        Refusal: it cannot be drawn here, or not be written.
    """
    from ranking import RankingError
    from ranking.plots import plot_intervals, save_picture

    try:
        with draft_of(output) as draft:
            save_picture(plot_intervals(board), draft)
    except OSError as error:
        raise Refusal(
            f"{output} cannot be written ({explain(error)}). Name another with --output."
        ) from None
    except RankingError as error:
        raise Refusal(f"{output} cannot be drawn: {error}.") from None
    typer.echo(f"Wrote {output}.")
