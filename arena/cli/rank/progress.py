"""What `arena rank` shows on a terminal while it works."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID

__all__ = ["Shown", "showing_progress"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A bar on a terminal, or nothing at all.

    Attributes:
        bar: the bar and its one task; `None` where nobody looks.
    """

    bar: tuple[Progress, TaskID] | None = None

    def say(self, text: str) -> None:
        """What is being done now, for as long as it takes."""
        if self.bar is not None:
            progress, task = self.bar
            progress.update(task, description=text, total=None)

    def fill(self, done: int, total: int) -> None:
        """How much of it is done."""
        if self.bar is not None:
            progress, task = self.bar
            progress.update(task, completed=done, total=total)


@contextmanager
def showing_progress() -> Iterator[Shown]:
    """A bar on a terminal's stderr while votes are read and ranked; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield Shown()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        yield Shown((progress, progress.add_task("", total=None)))
