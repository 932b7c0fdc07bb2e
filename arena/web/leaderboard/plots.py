"""Pictures of a leaderboard as HTML and CSS: no script, no library, any colour scheme.

The interval plot places bars by percentages of its width. The heat maps are tables, so that
a screen reader reads them too; their cells carry a share in `--share`, of which the style
sheet makes a colour.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from arena.web.leaderboard.table import level_of
from arena.web.templating import render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markupsafe import Markup

    from arena.leaderboards.published import PublishedBoard
    from arena.leaderboards.views import BoardLine, BoardView
    from arena.web.texts import Texts

# A table of 50 × 50 cells is the most that can be looked at, and 200 kB of HTML.
MOST_MODELS = 50
_MOST_TICKS = 7

# A rate of fewer battles says next to nothing, and is shown so.
THIN_BELOW = 5
_HALF_WEIGHT = 10


class Cell(NamedTuple):
    """What stands at a row and a column.

    Attributes:
        share: in [0, 1], of which the style sheet makes a colour.
        text: in the cell.
        title: when pointed at.
        weight: in [0, 1], how strong the colour is.
        is_thin: whether it rests on too few battles to say anything.
    """

    share: float
    text: str
    title: str
    weight: float = 1.0
    is_thin: bool = False


def render_intervals(view: BoardView, board: PublishedBoard, texts: Texts) -> str:
    """A bar from lower to upper with a dot at the score, a line a model."""
    words = texts["leaderboard"]
    ticks = choose_ticks(
        min(line.entry.lower for line in view.lines), max(line.entry.upper for line in view.lines)
    )
    low, high = ticks[0], ticks[-1]
    return render(
        "leaderboard/intervals.html",
        words=words,
        level=level_of(board),
        ticks=[(_position(tick, low, high), f"{tick:g}") for tick in ticks],
        rows=[_interval_row(line, low, high, texts) for line in view.lines],
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
        note = words["first_models"].format(shown=len(names), models=len(board.leaderboard.models))
    rates, counts = board.leaderboard.win_rates, board.leaderboard.battles
    most = max(max(row) for row in counts) or 1

    def win_rate(i: int, j: int) -> Cell | None:
        rate = rates[i][j]
        if rate is None:
            return None
        told = {"row": names[i], "column": names[j], "battles": f"{counts[i][j]:,}"}
        text = f"{100 * rate:.0f}"
        title = words["win_rate_cell"].format(rate=text, **told)
        # Half as strong at ten battles, pale at one.
        weight = counts[i][j] / (counts[i][j] + _HALF_WEIGHT)
        return Cell(rate, text, title, weight=weight, is_thin=counts[i][j] < THIN_BELOW)

    def battles(i: int, j: int) -> Cell | None:
        if not counts[i][j]:
            return None
        number = f"{counts[i][j]:,}"
        title = words["battles_cell"].format(row=names[i], column=names[j], battles=number)
        # The square root keeps pairs apart that are rare beside a very frequent one.
        return Cell(math.sqrt(counts[i][j] / most), number, title)

    thin = words["win_rates_note"].format(battles=THIN_BELOW)
    maps = [
        _heat_map("win_rates", names, win_rate, words["win_rates_title"], thin),
        _heat_map("battles", names, battles, words["battles_title"], words["battles_note"]),
    ]
    return render("leaderboard/heat_maps.html", maps=maps, beside=beside, note=note)


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


def _interval_row(line: BoardLine, low: float, high: float, texts: Texts) -> dict[str, object]:
    entry = line.entry
    title = texts["leaderboard"]["interval_row"].format(
        model=line.model.name,
        score=f"{entry.score:.0f}",
        lower=f"{entry.lower:.0f}",
        upper=f"{entry.upper:.0f}",
        votes=f"{entry.votes:,}",
    )
    left, dot, right = (_position(v, low, high) for v in (entry.lower, entry.score, entry.upper))
    return {
        "title": title,
        "name": line.model.name,
        "left": left,
        "dot": dot,
        "right": right,
        "is_provisional": line.is_provisional,
    }


def _heat_map(
    kind: str,
    names: Sequence[str],
    cell: Callable[[int, int], Cell | None],
    title: str,
    note: str,
) -> Markup:
    """A table of pairs.

    Args:
        kind: `win_rates` or `battles`: the class and the kept scroll position.
        names: the models, best first.
        cell: row and column index → what stands there.
        title: above it.
        note: below it.
    """
    places = range(len(names))
    rows = [[cell(i, j) for j in places] for i in places]
    return render(
        "leaderboard/heat_map.html", kind=kind, names=names, rows=rows, title=title, note=note
    )
