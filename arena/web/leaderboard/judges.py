"""How AI judges rank the models, beside what people prefer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.web.templating import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.leaderboards.judges import JudgeBoard
    from arena.leaderboards.published import PublishedBoard
    from arena.web.texts import Texts

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
    told = [
        {
            "caption": words["judges_caption"].format(
                judge=board.judge, verdicts=f"{board.verdicts:,}"
            ),
            "entries": board.leaderboard.entries,
        }
        for board in boards
    ]
    return render(
        "leaderboard/judges.html", words=words, columns=_COLUMNS, boards=told, ranks=ranks
    )
