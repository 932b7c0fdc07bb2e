"""What commands show on a terminal: tables as wide as fits, a bar for work that takes long."""

from __future__ import annotations

import io
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import typer

from arena.cli.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TaskID
    from rich.table import Table

__all__ = [
    "Bar",
    "ask_consent",
    "find_width",
    "open_console",
    "print_table",
    "render_text",
    "show_progress",
    "text_table",
]

# A pipe or a file has no width of its own: 80 columns would fold every name. Sentences are
# folded here, and tables are as wide as they need to be.
_WIDTH_OF_SENTENCES = 160
_WIDEST = 10_000


def find_width(output: Path | None = None) -> int | None:
    """Characters a line of the terminal has, `None` where nothing limits it, as in a file."""
    if output is None and sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


def open_console(stream: Literal["stdout", "stderr"] = "stdout") -> Console:
    """Where tables and bars go."""
    from rich.console import Console

    file = sys.stderr if stream == "stderr" else sys.stdout
    return Console(file=file, width=None if file.isatty() else _WIDTH_OF_SENTENCES)


def print_table(table: Table) -> None:
    """Prints a table on stdout."""
    console = open_console()
    _print(console, table, fits=console.is_terminal)


def text_table(
    columns: Sequence[str],
    lines: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    right: Collection[str] = (),
) -> Table:
    """A table of plain text: a name may hold square brackets, which are no markup.

    Args:
        columns: the titles.
        lines: cells, as many as titles.
        title: above it, on the left.
        right: the columns that are aligned to the right.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=None if title is None else Text(title), title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for cells in lines:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells))
    return table


def render_text(parts: Iterable[Table | str], *, width: int | None) -> str:
    """Tables and sentences of plain text as they are printed.

    Args:
        parts: from the top down.
        width: characters a line has, `None` where nothing limits it.
    """
    from rich.console import Console
    from rich.text import Text

    text = io.StringIO()
    console = Console(file=text, width=width or _WIDTH_OF_SENTENCES)
    for part in parts:
        if isinstance(part, str):
            console.print(Text(part))
        else:
            _print(console, part, fits=width is not None)
    return text.getvalue()


def _print(console: Console, table: Table, *, fits: bool) -> None:
    """Prints a table, folded only where it has to fit a terminal."""
    usual = console.width
    if not fits:
        console.width = _WIDEST
        console.width = max(usual, console.measure(table).maximum)
    console.print(table)
    console.width = usual


def ask_consent(question: str, *, yes: bool, remedy: str) -> None:
    """Asks on a terminal, unless the answer is given.

    Args:
        question: answered with yes or no.
        yes: the answer, given beforehand.
        remedy: what to do where nobody can be asked.

    Raises:
        Refusal: nobody can be asked.
        typer.Abort: the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refusal(f"nobody is there to confirm it. {remedy}")
    typer.confirm(question, abort=True, err=True)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar on a terminal, or nothing at all.

    Attributes:
        shown: the bar and its one task; `None` where nobody looks.
    """

    shown: tuple[Progress, TaskID] | None = None

    def say(self, text: str) -> None:
        """What is being done now, for as long as it takes."""
        if self.shown is not None:
            progress, task = self.shown
            progress.update(task, description=text, total=None)

    def fill(self, done: int, total: int, text: str | None = None) -> None:
        """How much of it is done.

        Args:
            done: steps.
            total: of so many.
            text: what is being done now, if that has changed.
        """
        if self.shown is not None:
            progress, task = self.shown
            progress.update(task, completed=done, total=total, description=text)


@contextmanager
def show_progress(text: str = "", *, total: int | None = None) -> Iterator[Bar]:
    """A bar on a terminal's stderr while something takes long; nothing elsewhere.

    Args:
        text: what is being done at first.
        total: steps, where they are counted; then the time left is told.
    """
    if not sys.stderr.isatty():
        yield Bar()
        return
    from rich.progress import Progress

    console = open_console("stderr")
    with Progress(*_columns(counted=total is not None), console=console, transient=True) as bar:
        yield Bar((bar, bar.add_task(text, total=total)))


def _columns(*, counted: bool) -> tuple[ProgressColumn, ...]:
    from rich import progress as parts

    begin = (parts.TextColumn("{task.description}"), parts.BarColumn())
    if not counted:
        return (*begin, parts.TaskProgressColumn(), parts.TimeElapsedColumn())
    return (
        *begin,
        parts.MofNCompleteColumn(),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left"),
        parts.TimeRemainingColumn(),
    )
