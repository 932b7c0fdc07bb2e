"""The ranking as an accessible table of plain HTML, and what is said around it."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, NamedTuple

from arena.web.templating import render

if TYPE_CHECKING:
    from datetime import datetime

    from arena.leaderboards.published import PublishedBoard
    from arena.leaderboards.views import BoardLine, BoardView
    from arena.web.texts import Texts
    from ranking import Entry

MISSING = "–"
# From so many models on, a search finds one sooner than an eye.
FILTERED_FROM = 12


class Column(NamedTuple):
    """A column of the table: its text's key, and how a first click sorts it."""

    key: str
    is_number: bool
    descends_first: bool


COLUMNS = (
    Column("rank", is_number=True, descends_first=False),
    Column("model", is_number=False, descends_first=False),
    Column("score", is_number=True, descends_first=True),
    Column("interval", is_number=True, descends_first=True),
    Column("votes", is_number=True, descends_first=True),
    Column("win_rate", is_number=True, descends_first=True),
    Column("both_bad_rate", is_number=True, descends_first=False),
    Column("organisation", is_number=False, descends_first=False),
    Column("license", is_number=False, descends_first=False),
)


def percent(share: float | None) -> str:
    """A share as people read it, such as 57%."""
    return MISSING if share is None else f"{share:.0%}"


def level_of(board: PublishedBoard) -> str:
    """The confidence level of a board's intervals, such as 95%."""
    return f"{100 * board.leaderboard.options.level:.4g}%"


def render_empty(
    view: BoardView, texts: Texts, *, arena_path: str, is_counting: bool = False
) -> str:
    """What is shown before the first vote: how many are needed, and the way to cast one."""
    return render(
        "leaderboard/empty.html",
        words=texts["leaderboard"],
        view=view,
        arena_path=arena_path,
        is_counting=is_counting,
    )


def render_facts(board: PublishedBoard, texts: Texts) -> str:
    """When the board was computed, from how many votes and how; downloads."""
    words = texts["leaderboard"]
    options = board.leaderboard.options
    if not options.is_resampled:
        intervals = words["fact_intervals_sandwich"].format(level=level_of(board))
    else:
        intervals = words["fact_intervals_value"].format(
            level=level_of(board), replicates=f"{options.replicates:,}"
        )
    facts = (
        (words["fact_votes"], f"{board.votes:,}"),
        (words["fact_computed"], _time(board.computed_at)),
        (words["fact_intervals"], intervals),
    )
    return render("leaderboard/facts.html", words=words, facts=facts)


def render_progress(view: BoardView, texts: Texts) -> str:
    """How far the ranking is from being more than provisional; nothing once it is."""
    if not view.votes_to_settle:
        return ""
    return render("leaderboard/progress.html", words=texts["leaderboard"], view=view)


def render_table(view: BoardView, board: PublishedBoard, texts: Texts) -> str:
    """The ranking in a box that scrolls sideways on narrow screens."""
    models = [*(line.model for line in view.lines), *view.unranked]
    organisations = None
    if len(models) >= FILTERED_FROM:
        organisations = sorted({model.organisation for model in models} - {""}, key=str.casefold)
    return render(
        "leaderboard/table.html",
        words=texts["leaderboard"],
        level=level_of(board),
        columns=COLUMNS,
        organisations=organisations,
        rows=[_row(line, board, texts) for line in view.lines],
        unranked=view.unranked,
    )


def render_explanations(view: BoardView, board: PublishedBoard, texts: Texts) -> str:
    """How to read the table, with the numbers that this board was made with."""
    words = texts["leaderboard"]
    level = level_of(board)
    keys = ["how_score", "how_interval", "how_rank", "how_rates", "how_method"]
    if any(line.is_provisional for line in view.lines):
        keys.append("how_provisional")
    if any(line.is_retired for line in view.lines):
        keys.append("how_retired")
    if board.leaderboard.has_islands:
        keys.append("how_groups")
    items = [
        (words[f"{key}_term"], words[key].format(level=level, min_votes=view.min_votes))
        for key in keys
    ]
    return render("leaderboard/explanations.html", words=words, items=items)


def _time(moment: datetime) -> str:
    """A time that the page's script rewrites in the visitor's own zone."""
    utc = moment.astimezone(UTC)
    return render(
        "leaderboard/time.html",
        exact=f"{utc:%Y-%m-%dT%H:%M:%SZ}",
        told=f"{utc:%Y-%m-%d %H:%M} UTC",
    )


def _row(line: BoardLine, board: PublishedBoard, texts: Texts) -> dict[str, object]:
    """A ranked model."""
    entry = line.entry
    best, worst = entry.rank_lower, entry.rank_upper
    ranks = f"{best}" if best == worst else f"{best}–{worst}"
    return {
        "entry": entry,
        "model": line.model,
        "place": _place(entry, board, texts),
        "ranks": ranks,
        "rank_title": texts["leaderboard"]["rank_range"].format(level=level_of(board), ranks=ranks),
        "chips": _chips(line, texts, with_group=board.leaderboard.has_islands),
        "rates": [(rate, percent(rate)) for rate in (entry.win_rate, entry.both_bad_rate)],
    }


def _place(entry: Entry, board: PublishedBoard, texts: Texts) -> str:
    """The rank, and among how many where there are groups."""
    if not board.leaderboard.has_islands:
        return str(entry.rank)
    return texts["leaderboard"]["rank_of"].format(rank=entry.rank, models=entry.island_size)


def _chips(line: BoardLine, texts: Texts, *, with_group: bool) -> list[str]:
    words = texts["leaderboard"]
    chips = []
    if line.is_provisional:
        chips.append(words["provisional"])
    if line.is_retired:
        chips.append(words["retired"])
    if with_group:
        chips.append(words["group"].format(label=line.entry.island_label))
    return chips
