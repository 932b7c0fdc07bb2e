"""A bar on a terminal for work whose steps are counted."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["showing_count"]


@contextmanager
def showing_count(text: str, *, total: int) -> Iterator[Callable[[int, str], None]]:
    """Shows a bar on a terminal's stderr, and nothing elsewhere.

    Args:
        text: what is being done at first.
        total: steps.

    Yields:
        A function that takes how many steps are done and what is being done now.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _text: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done, now: progress.update(task, completed=done, description=now)
