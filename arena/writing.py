"""What is written for others to read: CSV, Markdown tables, files that are whole or not there."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

__all__ = ["draft_of", "format_csv", "format_markdown", "write_whole"]


def format_csv(columns: Sequence[str], lines: Iterable[Mapping[str, object]]) -> str:
    """Lines as RFC 4180 has them, under a head; what a line lacks is empty.

    Raises:
        ValueError: a line has a value for no column.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def format_markdown(
    columns: Sequence[str], lines: Iterable[Sequence[str]], *, left: Collection[str]
) -> list[str]:
    """The lines of a Markdown table.

    Args:
        columns: the titles.
        lines: cells, as many as titles.
        left: the columns that are aligned to the left; the others are to the right.
    """
    rules = [":--" if name in left else "--:" for name in columns]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return [f"| {' | '.join(cells)} |" for cells in (columns, rules, *escaped)]


def write_whole(path: Path, text: str) -> None:
    """Writes a file beside its place and moves it there: readers see the old or the new one.

    Raises:
        OSError: the folder cannot be written.
    """
    with draft_of(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A file beside this one, of the same suffix, that takes its place once it is written.

    It reaches the disk before it has the name, and is gone if writing it failed.

    Raises:
        OSError: the folder cannot be written.
    """
    descriptor, name = tempfile.mkstemp(path.suffix, f".{path.stem}-", dir=path.parent)
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        # mkstemp lets only the owner read; a board is as public as other new files.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
