"""How AI judges rank the models, beside what people prefer."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from arena.web.leaderboard.table import MISSING, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.leaderboards.judges import JudgeBoard
    from arena.leaderboards.published import PublishedBoard
    from arena.web.texts import Texts
    from ranking import Entry

_COLUMNS = ("rank", "model", "score", "interval", "verdicts", "people")


def render_judges(boards: Sequence[JudgeBoard], people: PublishedBoard | None, texts: Texts) -> str:
    """A table a judge, with people's rank in its last column; nothing where there are none.

    Args:
        boards: of the judges.
        people: the board of the crowd, `None` before its first vote.
        texts: of the language.
    """
    if not boards:
        return ""
    words = texts["leaderboard"]
    ranks = {}
    if people is not None:
        ranks = {entry.model: entry.rank for entry in people.leaderboard.entries}
    tables = "".join(_table(board, ranks, texts) for board in boards)
    return (
        f'<section class="board-judges"><h2>{say(words["judges_title"])}</h2>'
        f'<p class="board-note">{say(words["judges_note"])}</p>'
        f'<div class="board-maps">{tables}</div></section>'
    )


def _table(board: JudgeBoard, ranks: Mapping[str, int], texts: Texts) -> str:
    words = texts["leaderboard"]
    caption = say(words["judges_caption"], judge=board.judge, verdicts=f"{board.verdicts:,}")
    head = "".join(f'<th scope="col">{say(words[f"judges_{column}"])}</th>' for column in _COLUMNS)
    rows = "".join(_row(entry, ranks.get(entry.model)) for entry in board.leaderboard.entries)
    return (
        f'<section><div class="board-scroll"><table class="board-judge"><caption dir="auto">'
        f"{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        "</section>"
    )


def _row(entry: Entry, people: int | None) -> str:
    return (
        f'<tr><td>{entry.rank}</td><th scope="row" dir="auto">{escape(entry.model)}</th>'
        f"<td>{entry.score:.0f}</td><td>{entry.lower:.0f} – {entry.upper:.0f}</td>"
        f"<td>{entry.votes:,}</td><td>{MISSING if people is None else people}</td></tr>"
    )
