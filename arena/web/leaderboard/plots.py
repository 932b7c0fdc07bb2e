"""Pictures of a leaderboard as HTML and CSS: no script, no library, any colour scheme.

The interval plot places bars by percentages of its width. The heat maps are tables, so that
a screen reader reads them too; their cells carry a share in `--share`, of which the style
sheet makes a colour.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from arena.web.leaderboard.table import level_of, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.leaderboards.published import PublishedBoard
    from arena.leaderboards.views import BoardLine, BoardView
    from arena.web.texts import Texts

# A table of 50 × 50 cells is the most that can be looked at, and 200 kB of HTML.
MOST_MODELS = 50
_MOST_TICKS = 7

# Row, column → its share in [0, 1], its text, and its title; `None` where there is nothing.
Cell = tuple[float, str, str]


def render_intervals(view: BoardView, board: PublishedBoard, texts: Texts) -> str:
    """A bar from lower to upper with a dot at the score, a line a model."""
    words = texts["leaderboard"]
    ticks = choose_ticks(
        min(line.entry.lower for line in view.lines), max(line.entry.upper for line in view.lines)
    )
    low, high = ticks[0], ticks[-1]
    rows = "".join(_interval_row(line, low, high, texts) for line in view.lines)
    marks = "".join(
        f'<span style="left:{_position(tick, low, high)}%">{tick:g}</span>' for tick in ticks
    )
    grid = "".join(f'<i style="left:{_position(tick, low, high)}%"></i>' for tick in ticks)
    return (
        f"<section><h2>{say(words['intervals_title'], level=level_of(board))}</h2>"
        f'<p class="board-note">{say(words["intervals_note"])}</p>'
        f'<div class="board-plot" role="img"'
        f' aria-label="{say(words["intervals_label"], level=level_of(board))}">'
        f'<div class="board-plot-row board-grid"><span></span><span>{grid}</span></div>{rows}'
        f'<div class="board-plot-row board-axis"><span></span><span>{marks}</span></div>'
        "</div></section>"
    )


def render_heat_maps(board: PublishedBoard, texts: Texts, *, beside: str = "") -> str:
    """Win rates and battle counts of each pair, side by side where there is room.

    Args:
        board: whose.
        texts: of the language.
        beside: HTML that stands beside the battle counts.
    """
    words = texts["leaderboard"]
    names = board.leaderboard.models[:MOST_MODELS]
    note = ""
    if len(names) < len(board.leaderboard.models):
        total = len(board.leaderboard.models)
        note = say(words["first_models"], shown=len(names), models=total).join(("<p>", "</p>"))
    rates, counts = board.leaderboard.win_rates, board.leaderboard.battles
    most = max(max(row) for row in counts) or 1

    def win_rate(i: int, j: int) -> Cell | None:
        rate = rates[i][j]
        if rate is None:
            return None
        share = f"{100 * rate:.0f}"
        told = {"row": names[i], "column": names[j], "rate": share, "battles": f"{counts[i][j]:,}"}
        return rate, share, say(words["win_rate_cell"], **told)

    def battles(i: int, j: int) -> Cell | None:
        if not counts[i][j]:
            return None
        number = f"{counts[i][j]:,}"
        told = {"row": names[i], "column": names[j], "battles": number}
        # The square root keeps pairs apart that are rare beside a very frequent one.
        return math.sqrt(counts[i][j] / most), number, say(words["battles_cell"], **told)

    return (
        f'<div class="board-maps">{_heat_map("win_rates", names, win_rate, texts)}'
        f"{_heat_map('battles', names, battles, texts)}{beside}</div>{note}"
    )


def choose_ticks(low: float, high: float) -> list[float]:
    """Round numbers at equal steps of 1, 2 or 5 times a power of ten that enclose a range.

    Args:
        low: smallest value shown.
        high: greatest value shown.
    """
    span = max(high - low, 1.0)
    power = 10.0 ** math.floor(math.log10(span / _MOST_TICKS))
    step = next(
        power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= _MOST_TICKS - 1
    )
    first, last = math.floor(low / step), math.ceil(high / step)
    # A number too small to divide is rounded to 0, past the end that it is.
    first -= step * first > low
    last = max(last + (step * last < high), first + 1)
    return [step * index for index in range(first, last + 1)]


def _position(value: float, low: float, high: float) -> str:
    return f"{100 * (value - low) / (high - low):.2f}"


def _interval_row(line: BoardLine, low: float, high: float, texts: Texts) -> str:
    entry = line.entry
    title = say(
        texts["leaderboard"]["interval_row"],
        model=line.model.name,
        score=f"{entry.score:.0f}",
        lower=f"{entry.lower:.0f}",
        upper=f"{entry.upper:.0f}",
        votes=f"{entry.votes:,}",
    )
    left, dot, right = (_position(v, low, high) for v in (entry.lower, entry.score, entry.upper))
    hollow = " board-hollow" if line.is_provisional else ""
    return (
        f'<div class="board-plot-row{hollow}" title="{title}">'
        f'<span class="board-plot-name" dir="auto">{escape(line.model.name)}</span>'
        f'<span class="board-track"><b style="left:{left}%;right:calc(100% - {right}%)"></b>'
        f'<i style="left:{dot}%"></i></span></div>'
    )


def _heat_map(
    kind: str, names: Sequence[str], cell: Callable[[int, int], Cell | None], texts: Texts
) -> str:
    """A table of pairs.

    Args:
        kind: `win_rates` or `battles`: the texts, the class and the kept scroll position.
        names: the models, best first.
        cell: row and column index → what stands there.
        texts: of the language.
    """
    words = texts["leaderboard"]
    labels = [f'<span dir="auto" title="{escape(name)}">{escape(name)}</span>' for name in names]
    heads = "".join(f'<th scope="col">{label}</th>' for label in labels)
    rows = ""
    for i, label in enumerate(labels):
        cells = [_heat_cell(cell(i, j)) for j in range(len(names))]
        cells[i] = '<td class="board-self"></td>'
        rows += f'<tr><th scope="row">{label}</th>{"".join(cells)}</tr>'
    title = say(words[f"{kind}_title"])
    return (
        f'<section><h2>{title}</h2><div class="board-scroll" data-keep="{kind}" role="region"'
        f' tabindex="0" aria-label="{title}"><table class="board-heat board-heat-{kind}"'
        f' aria-label="{title}">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="board-note">{say(words[f"{kind}_note"])}</p></section>'
    )


def _heat_cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    share, text, title = cell
    return f'<td style="--share:{share:.3f}" title="{title}">{text}</td>'
