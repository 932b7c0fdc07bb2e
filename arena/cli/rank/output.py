"""What `arena rank` writes: a table, JSON, CSV, Markdown or a page of its own."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from html import escape
from math import exp
from typing import TYPE_CHECKING, Any, Literal

import arena
from arena.cli.terminal import render_text, text_table
from arena.writing import format_csv, format_markdown
from ranking import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from arena.cli.rank.votes import Source
    from ranking import BoardPart, Leaderboard

__all__ = ["PICTURES", "SUFFIXES", "Format", "Ranking", "find_doubts", "render"]

Format = Literal["table", "json", "csv", "md", "html", "png", "svg", "pdf"]

SUFFIXES: dict[str, Format] = {
    ".txt": "table", ".json": "json", ".csv": "csv", ".md": "md", ".html": "html", ".htm": "html",
    ".png": "png", ".svg": "svg", ".pdf": "pdf",
}  # fmt: skip
PICTURES = ("png", "svg", "pdf")
_LEFT_ALIGNED = ("Model", "Notes")
_TIE_MODELS = {
    "half": "Bradley–Terry, ties as halves",
    "davidson": "Davidson",
    "rao-kupper": "Rao–Kupper",
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse}caption{text-align:left;color:#555;padding-bottom:.5rem}"
    "th,td{padding:.3rem .8rem;border-bottom:1px solid #ddd;text-align:right}"
    "th:nth-child(2),td:nth-child(2){text-align:left}"
    "ul{color:#555}"
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A leaderboard, those of its parts, and what they were made from.

    Attributes:
        board: of all votes.
        parts: of each label of each group that was asked for.
        source: the votes.
        min_votes: below which a part has no board.
        by: the groups that were asked for.
    """

    board: Leaderboard
    parts: tuple[BoardPart, ...]
    source: Source
    min_votes: int
    by: tuple[str, ...]

    def sections(self) -> Iterator[tuple[str, Leaderboard]]:
        """The boards with their titles, the whole first."""
        yield "Leaderboard", self.board
        for part in self.parts:
            if part.board is not None:
                yield f"{part.group}: {part.label}", part.board


def render(ranking: Ranking, form: Format, *, width: int | None) -> str:
    """The whole output, ending in a newline.

    Args:
        ranking: what to write.
        form: how.
        width: characters a line of the terminal has, `None` in a file.
    """
    if form == "json":
        return json.dumps(_describe(ranking), ensure_ascii=False, indent=2) + "\n"
    if form == "csv":
        return _render_csv(ranking)
    if form == "md":
        told = "".join(f"- {line}\n" for line in ranking.source.told)
        parts = [_render_markdown(t, b, ranking.source) for t, b in ranking.sections()]
        return "\n".join(parts) + told
    if form == "html":
        return _render_html(ranking)
    return _render_table(ranking, width)


def _describe(ranking: Ranking) -> dict[str, Any]:
    """The board as `ranking` writes it, with the votes it was made from beside it."""
    source, board = ranking.source, ranking.board.to_dict()
    board |= {"input": source.described, "code_version": arena.__version__}
    if source.voters is not None:
        ignored = bool(find_doubts(ranking.board, source))
        board["input"] |= {"voters": source.voters, "voters_ignored": ignored}
    if ranking.by:
        board["min_votes"] = ranking.min_votes
        board["boards"] = [part.to_dict() for part in ranking.parts]
    return board


def _render_csv(ranking: Ranking) -> str:
    """A line a model; parts are told apart by two columns in front."""
    front = ["group", "label"] if ranking.by else []
    boards = [("overall", "", ranking.board)]
    boards += [(p.group, p.label, p.board) for p in ranking.parts if p.board is not None]
    lines: list[dict[str, Any]] = []
    for group, label, board in boards:
        places = {"group": group, "label": label} if front else {}
        lines += [{**places, **asdict(entry)} for entry in board.entries]
    return format_csv([*front, *(column.name for column in fields(Entry))], lines)


def _cells(entry: Entry, board: Leaderboard) -> dict[str, str]:
    """An entry as a person reads it, by column title."""
    ranks = f"{entry.rank_lower}–{entry.rank_upper}"
    notes = ["provisional"] if entry.provisional else []
    return {
        "Rank": board.describe_rank(entry),
        "Model": entry.model,
        "Score": f"{entry.score:.1f}",
        f"{_level(board)} interval": f"{entry.lower:.1f} – {entry.upper:.1f}",
        "Ranks": str(entry.rank_lower) if entry.rank_lower == entry.rank_upper else ranks,
        "Votes": f"{entry.votes:,}",
        "Win rate": _percent(entry.win_rate),
        "Both bad": _percent(entry.both_bad_rate),
        "Notes": ", ".join(notes),
    }


def _table(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Titles and lines; the column of notes only where there is one."""
    lines = [_cells(entry, board) for entry in board.entries]
    titles = [title for title in lines[0] if title != "Notes" or any(c["Notes"] for c in lines)]
    return titles, [[cells[title] for title in titles] for cells in lines]


def _caption(board: Leaderboard) -> str:
    """How the board was made, in one line."""
    method, found = board.method, board.diagnostics
    parts = [
        f"{found['votes']:,} votes",
        f"{found['models']} models",
        _TIE_MODELS[method["tie_model"]],
    ]
    over = "voters" if method["cluster"] else "battles"
    if method["interval"] != "sandwich":
        kind = "pivot " if method["interval"] == "pivot" else ""
        parts.append(
            f"{_level(board)} {kind}intervals from {method['replicates']:,} resamples of {over}"
        )
    else:
        parts.append(f"{_level(board)} sandwich intervals over {over}")
    fitted = " fitted" if method["prior"] == "fitted" else ""
    width = method["prior_sd"]
    parts.append("no prior" if width is None else f"prior SD {width:.3g}{fitted}")
    if method["weights"] == "design":
        parts.append(f"design weights, worth {found['effective_votes']:,.0f} votes")
    if method["both_bad"] == "keep":
        parts.append("both-bad votes have no say in the scores")
    elif method["both_bad"] == "drop":
        parts.append(f"{found['both_bad_dropped']:,} both-bad votes left out")
    if method["anchor"]:
        parts.append("{} at {:g}".format(*method["anchor"]))
    return "; ".join(parts)


def _remarks(board: Leaderboard, source: Source) -> list[str]:
    """What a reader should know before believing the ranks."""
    found = board.diagnostics
    remarks = [f"Ranks: where each model may stand, all at once with {_level(board)} confidence."]
    if found["provisional"]:
        remarks.append("Provisional: only the prior keeps the score finite.")
    remarks += _tell_groups(board)
    remarks += _tell_sides(board)
    remarks += find_doubts(board, source)
    remarks += _say_fragility(board)
    remarks += [
        f"{c.name}: {c.estimate:+.3f} log-odds, {_level(board)} interval "
        f"{c.lower:+.3f} to {c.upper:+.3f}."
        for c in board.coefficients
    ]
    return remarks


def _tell_sides(board: Leaderboard) -> list[str]:
    """That one side wins more than it should, where that is clear."""
    found = board.diagnostics.get("side_bias")
    if not found or not found["is_clear"]:
        return []
    side = "left" if found["effect"] > 0 else "right"
    if found["is_one_sided"]:
        what = "the votes tell sides, not models. Look at how they were written down."
        return [f"The {side} answer won every decisive battle: {what}"]
    sign = 1 if found["effect"] > 0 else -1
    ends = sorted(sign * found[name] for name in ("lower", "effect", "upper"))
    low, rate, high = (f"{1 / (1 + exp(-end)):.1%}" for end in ends)
    told = "This is adjusted for." if board.options.adjust_side else "See --adjust-side."
    spread = f"{_level(board)} interval {low} to {high}"
    return [f"The {side} answer wins {rate} of battles between equals ({spread}). {told}"]


def _tell_groups(board: Leaderboard) -> list[str]:
    """Why there are several groups, if there are."""
    if not board.has_islands:
        return []
    why = (
        "Models of different groups have not met, not even through others, or one group won "
        "every game against the other: scores, intervals and ranks are within the group, whose "
        "mean is 1000."
    )
    return [why] + [
        f"Group {met['winner']} won all {met['games']:,} games against group {met['loser']}, "
        "which do not tell by how much it is stronger."
        for met in board.diagnostics.get("one_sided", [])
    ]


def _say_fragility(board: Leaderboard) -> list[str]:
    """At most how many votes would put another model first."""
    found = board.fragility
    if found is None:
        return []
    told = {
        "left out": found.drop, "turned round": found.flip, "added": found.add,
        "in battles of pairs that nobody chooses": found.battles,
    }  # fmt: skip
    ways = [
        f"{way.votes:,} {words} ({way.share:.2%}, {way.challenger})"
        for words, way in told.items()
        if way is not None
    ]
    return (
        [f"Rank 1: at most so many votes put another model above {found.model}: {'; '.join(ways)}."]
        if ways
        else []
    )


def find_doubts(board: Leaderboard, source: Source) -> list[str]:
    """Why its intervals may promise too much."""
    found = board.diagnostics
    voters = found.get("voters")
    if voters is None and found["votes"] == source.votes_in_all:
        voters = source.voters  # counts do not say who voted
    if voters is None or board.options.cluster or voters >= found["votes"]:
        return []
    doubt = (
        f"The intervals take the votes of one person for independent ({voters:,} "
        "voters), so they may be too short: see --cluster voter."
    )
    return [doubt]


def _level(board: Leaderboard) -> str:
    return f"{100 * board.method['level']:g}%"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _render_table(ranking: Ranking, width: int | None) -> str:
    parts: list[Table | str] = []
    for title, board in ranking.sections():
        titles, lines = _table(board)
        right = [name for name in titles if name not in _LEFT_ALIGNED]
        heading = title if ranking.parts else None
        parts.append(text_table(titles, lines, title=heading, right=right))
        parts += [_caption(board), *_remarks(board, ranking.source)]
    parts += ranking.source.told
    return render_text(parts, width=width)


def _render_markdown(title: str, board: Leaderboard, source: Source) -> str:
    titles, lines = _table(board)
    rows = format_markdown(titles, lines, left=_LEFT_ALIGNED)
    remarks = [f"- {line}" for line in _remarks(board, source)]
    return "\n".join([f"## {title}", "", f"{_caption(board)}.", "", *rows, "", *remarks, ""])


def _render_html(ranking: Ranking) -> str:
    body = ""
    for title, board in ranking.sections():
        titles, lines = _table(board)
        heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in titles)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>\n"
            for line in lines
        )
        remarks = "".join(f"<li>{escape(line)}</li>" for line in _remarks(board, ranking.source))
        body += (
            f"<h1>{escape(title)}</h1>\n<table><caption>{escape(_caption(board))}</caption>\n"
            f"<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>\n"
            f"<ul>{remarks}</ul>\n{_draw_figures(board, is_first=board is ranking.board)}"
        )
    if ranking.source.told:
        body += "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in ranking.source.told) + "</ul>\n"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Leaderboard</title><style>{_STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _draw_figures(board: Leaderboard, *, is_first: bool) -> str:
    """The plots of a board; the first has plotly's script with it, so that the file is enough."""
    from ranking.plots import draw_page_figures

    figures = draw_page_figures(board)
    return "".join(
        figure.to_html(full_html=False, include_plotlyjs=is_first and i == 0)
        for i, figure in enumerate(figures)
    )
