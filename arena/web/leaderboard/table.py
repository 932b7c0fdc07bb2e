"""The ranking as an accessible table of plain HTML, and what is said around it.

Every text goes through `say` and every name through `escape`, so that what a model is called
can never become markup.
"""

from __future__ import annotations

from datetime import UTC
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from arena.leaderboards.published import PublishedBoard
    from arena.leaderboards.views import BoardLine, BoardModel, BoardView
    from arena.web.texts import Texts
    from ranking import Entry

MISSING = "–"


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


def say(template: str, **values: object) -> str:
    """A text with its values, safe inside an element and inside a quoted attribute."""
    return escape(template).format(**{key: escape(str(value)) for key, value in values.items()})


def percent(share: float | None) -> str:
    """A share as people read it, such as 57%."""
    return MISSING if share is None else f"{share:.0%}"


def level_of(board: PublishedBoard) -> str:
    """The confidence level of a board's intervals, such as 95%."""
    return f"{100 * board.leaderboard.options.level:.4g}%"


def render_empty(view: BoardView, texts: Texts, *, arena_path: str) -> str:
    """What is shown before the first vote: how many are needed, and the way to cast one."""
    words = texts["leaderboard"]
    names = "".join(
        say("{name}", name=model.name).join(("<li>", "</li>")) for model in view.unranked
    )
    needed = say(
        words["empty_needed"],
        models=len(view.unranked),
        min_votes=view.min_votes,
        votes=f"{view.votes_to_settle:,}",
    )
    return (
        f'<div class="board-empty"><h2>{say(words["empty_title"])}</h2>'
        f"<p>{say(words['empty_first'])}</p>"
        + (f"<p>{needed}</p>" if view.votes_to_settle else "")
        + f'<p><a class="board-action" href="{escape(arena_path)}">'
        f"{say(words['empty_action'])}</a></p>"
        f"<p>{say(words['empty_models'])}</p><ul>{names}</ul></div>"
    )


def render_facts(board: PublishedBoard, texts: Texts) -> str:
    """When the board was computed, from how many votes and how; downloads."""
    words = texts["leaderboard"]
    options = board.leaderboard.options
    if not options.is_resampled:
        intervals = say(words["fact_intervals_sandwich"], level=level_of(board))
    else:
        intervals = say(
            words["fact_intervals_value"],
            level=level_of(board),
            replicates=f"{options.replicates:,}",
        )
    facts = (
        (words["fact_votes"], f"{board.votes:,}"),
        (words["fact_computed"], _time(board.computed_at)),
        (words["fact_intervals"], intervals),
    )
    items = "".join(f"<div><dt>{say(name)}</dt><dd>{value}</dd></div>" for name, value in facts)
    links = "".join(
        f'<a href="/leaderboard.{kind}" download'
        f' aria-label="{say(words["download_label"], kind=kind.upper())}">{kind.upper()}</a>'
        for kind in ("csv", "json")
    )
    return (
        f'<div class="board-facts"><dl>{items}</dl>'
        f'<p class="board-downloads"><span>{say(words["download"])}</span>{links}</p></div>'
    )


def render_progress(view: BoardView, texts: Texts) -> str:
    """How far the ranking is from being more than provisional; nothing once it is."""
    if not view.votes_to_settle:
        return ""
    done = view.votes_to_settle_from_none - view.votes_to_settle
    sentence = say(
        texts["leaderboard"]["settle"],
        votes=f"{view.votes_to_settle:,}",
        min_votes=view.min_votes,
    )
    return (
        f'<div class="board-progress"><label for="board-settled">{sentence}</label>'
        f'<progress id="board-settled" max="{view.votes_to_settle_from_none}" value="{done}">'
        "</progress></div>"
    )


def render_table(view: BoardView, board: PublishedBoard, texts: Texts) -> str:
    """The ranking in a box that scrolls sideways on narrow screens."""
    words = texts["leaderboard"]
    heads = "".join(_head(column, board, texts) for column in COLUMNS)
    rows = "".join(_row(line, place, board, texts) for place, line in enumerate(view.lines))
    unranked = "".join(_unranked_row(model, texts) for model in view.unranked)
    return (
        f'<div class="board-scroll" data-keep="table" role="region" tabindex="0"'
        f' aria-label="{say(words["title"])}"><table class="board-table">'
        f"<caption>{say(words['caption'])}</caption><thead><tr>{heads}</tr></thead>"
        f'<tbody data-sortable>{rows}</tbody>'
        + (f'<tbody class="board-unranked">{unranked}</tbody>' if unranked else "")
        + "</table></div>"
    )  # fmt: skip


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
    items = "".join(
        f"<div><dt>{say(words[f'{key}_term'])}</dt>"
        f"<dd>{say(words[key], level=level, min_votes=view.min_votes)}</dd></div>"
        for key in keys
    )
    return (
        f'<section><h2>{say(words["how_title"])}</h2><dl class="board-how">{items}</dl></section>'
    )


def _time(moment: datetime) -> str:
    """A time that the page's script rewrites in the visitor's own zone."""
    utc = moment.astimezone(UTC)
    return f'<time datetime="{utc:%Y-%m-%dT%H:%M:%SZ}">{utc:%Y-%m-%d %H:%M} UTC</time>'


def _head(column: Column, board: PublishedBoard, texts: Texts) -> str:
    label = say(texts["leaderboard"][f"column_{column.key}"], level=level_of(board))
    kind = "number" if column.is_number else "text"
    order = ' aria-sort="ascending"' if column.key == "rank" else ""
    descends = " data-descends" if column.descends_first else ""
    return (
        f'<th scope="col" class="board-{column.key}"{order}>'
        f'<button type="button" data-column="{column.key}" data-kind="{kind}"{descends}>'
        f"{label}</button></th>"
    )


def _row(line: BoardLine, place: int, board: PublishedBoard, texts: Texts) -> str:
    """A ranked model; `data-value` is what its column is sorted by."""
    entry = line.entry
    spread = f"{entry.lower:.0f} – {entry.upper:.0f}"
    best, worst = entry.rank_lower, entry.rank_upper
    ranks = f"{best}" if best == worst else f"{best}–{worst}"
    title = say(texts["leaderboard"]["rank_range"], level=level_of(board), ranks=ranks)
    return (
        "<tr>"
        f'<td class="board-rank" data-value="{place}">{_place(entry, board, texts)}'
        f'<small title="{title}">{ranks}</small></td>'
        f"{_name_cell(line, texts, with_group=board.leaderboard.has_islands)}"
        f'<td data-value="{entry.score}">{entry.score:.0f}</td>'
        f'<td data-value="{entry.lower}">{spread}</td>'
        f'<td data-value="{entry.votes}">{entry.votes:,}</td>'
        f"{_rate_cell(entry.win_rate)}{_rate_cell(entry.both_bad_rate)}{_card_cells(line.model)}"
        "</tr>"
    )


def _place(entry: Entry, board: PublishedBoard, texts: Texts) -> str:
    """The rank, and among how many where there are groups."""
    if not board.leaderboard.has_islands:
        return str(entry.rank)
    return say(texts["leaderboard"]["rank_of"], rank=entry.rank, models=entry.island_size)


def _name_cell(line: BoardLine, texts: Texts, *, with_group: bool) -> str:
    words = texts["leaderboard"]
    chips = []
    if line.is_provisional:
        chips.append(say(words["provisional"]))
    if line.is_retired:
        chips.append(say(words["retired"]))
    if with_group:
        chips.append(say(words["group"], label=line.entry.island_label))
    marks = "".join(f' <span class="board-chip">{chip}</span>' for chip in chips)
    name = escape(line.model.name)
    return (
        f'<th scope="row" class="board-model" data-value="{name}">'
        f'<span class="board-name" dir="auto">{name}</span>{marks}</th>'
    )


def _rate_cell(rate: float | None) -> str:
    return f'<td data-value="{"" if rate is None else rate}">{percent(rate)}</td>'


def _card_cells(model: BoardModel) -> str:
    return "".join(
        f'<td class="board-text" data-value="{escape(text)}" dir="auto">'
        f"{escape(text or MISSING)}</td>"
        for text in (model.organisation, model.license)
    )


def _unranked_row(model: BoardModel, texts: Texts) -> str:
    numbers = len(COLUMNS) - 4  # all but rank, model, organisation and licence
    name = escape(model.name)
    return (
        f'<tr><td class="board-rank">{MISSING}</td>'
        f'<th scope="row" class="board-model">'
        f'<span class="board-name" dir="auto">{name}</span></th>'
        f'<td class="board-none" colspan="{numbers}">{say(texts["leaderboard"]["unranked"])}</td>'
        f"{_card_cells(model)}</tr>"
    )
