"""A board as a small HTML table, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ranking.boards.entries import describe_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranking.boards.entries import Entry

__all__ = ["draw_html"]

_MOST_LINES = 60


def draw_html(entries: Sequence[Entry]) -> str:
    """A line a model with rank, score, interval, rank range and votes; at most sixty."""
    heads = ("rank", "model", "score", "interval", "ranks", "votes")
    head = "".join(f"<th>{name}</th>" for name in heads)
    lines = "".join(_draw_line(entry, entries) for entry in entries[:_MOST_LINES])
    left_out = len(entries) - _MOST_LINES
    more = f"<p>and {left_out} more</p>" if left_out > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


def _draw_line(entry: Entry, entries: Sequence[Entry]) -> str:
    cells = (
        describe_rank(entry, entries),
        escape(entry.model) + (" (provisional)" if entry.provisional else ""),
        f"{entry.score:.0f}",
        f"{entry.lower:.0f} – {entry.upper:.0f}",
        f"{entry.rank_lower}–{entry.rank_upper}",
        f"{entry.votes:,}",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
