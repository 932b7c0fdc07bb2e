"""What the matchmaker would draw next and why, in words for those who vote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.web.leaderboard.table import say

if TYPE_CHECKING:
    from arena.matchmaking.matchmaker import Outlook, Prospect
    from arena.web.texts import Texts

PAIRS_SHOWN = 6
# A model with fewer votes is called new.
NEW_BELOW = 30
# Below this, a page says that it is open which model is the stronger.
_OPEN_BELOW = 0.95
_NORMAL_95 = 1.96  # standard errors on either side


def render_next(outlook: Outlook | None, texts: Texts) -> str:
    """The likeliest pairs, each with its reason.

    Args:
        outlook: what may be drawn, `None` where fewer than two models can answer.
        texts: of the language.
    """
    words = texts["leaderboard"]
    if outlook is None:
        return _section(f"<p>{say(words['next_none'])}</p>", texts)
    shown = outlook.prospects[:PAIRS_SHOWN]
    lead = say(words["next_lead"])
    if outlook.is_even:
        lead = say(words["next_lead_even"], percent=_percent(shown[0].probability))
    lines = "".join(_line(pair, texts) for pair in shown)
    rest = outlook.pairs - len(shown)
    more = f"<p>{say(words['next_more'], pairs=f'{rest:,}')}</p>" if rest else ""
    return _section(f"<p>{lead}</p><ol>{lines}</ol>{more}", texts)


def _section(inner: str, texts: Texts) -> str:
    title = say(texts["leaderboard"]["next_title"])
    return f'<section class="board-next"><h2>{title}</h2>{inner}</section>'


def _line(pair: Prospect, texts: Texts) -> str:
    words = texts["leaderboard"]
    named = {"a": pair.model_a, "b": pair.model_b}
    return (
        f'<li><b dir="auto">{say(words["next_pair"], **named)}</b> '
        f"<span>{say(words['next_chance'], percent=_percent(pair.probability))}</span>"
        f"<p>{_reason(pair, texts)}</p></li>"
    )


def _reason(pair: Prospect, texts: Texts) -> str:
    """Why a vote on this pair would tell something."""
    words = texts["leaderboard"]
    if pair.newcomer is not None:
        late = pair.votes_a if pair.newcomer == pair.model_a else pair.votes_b
        due = f"{pair.votes_due:,}"
        return say(words["next_late"], model=pair.newcomer, votes=f"{late:,}", due=due)
    votes, youngest = min((pair.votes_a, pair.model_a), (pair.votes_b, pair.model_b))
    if votes < NEW_BELOW:
        return say(words["next_new"], model=youngest, votes=votes)
    told = {"a": pair.model_a, "percent": _percent(pair.stronger_probability)}
    if pair.stronger_probability >= _OPEN_BELOW:
        points = f"{_NORMAL_95 * pair.standard_error:.0f}"
        return say(words["next_known"], **told, points=points)
    if not pair.battles:
        return say(words["next_unmet"], **told)
    return say(words["next_open"], **told, votes=f"{pair.battles:,}")


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"
