"""What the matchmaker would draw next and why, in words for those who vote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.web.templating import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

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
        return _section(texts, lead=words["next_none"])
    shown = outlook.prospects[:PAIRS_SHOWN]
    lead = words["next_lead"]
    if outlook.is_even:
        lead = words["next_lead_even"].format(percent=_percent(shown[0].probability))
    rest = outlook.pairs - len(shown)
    more = words["next_more"].format(pairs=f"{rest:,}") if rest else ""
    return _section(texts, lead=lead, pairs=[_line(pair, texts) for pair in shown], more=more)


def _section(
    texts: Texts, *, lead: str, pairs: Sequence[dict[str, str]] = (), more: str = ""
) -> Markup:
    words = texts["leaderboard"]
    return render("leaderboard/next.html", words=words, lead=lead, pairs=pairs, more=more)


def _line(pair: Prospect, texts: Texts) -> dict[str, str]:
    words = texts["leaderboard"]
    return {
        "names": words["next_pair"].format(a=pair.model_a, b=pair.model_b),
        "chance": words["next_chance"].format(percent=_percent(pair.probability)),
        "reason": _reason(pair, texts),
    }


def _reason(pair: Prospect, texts: Texts) -> str:
    """Why a vote on this pair would tell something."""
    words = texts["leaderboard"]
    if pair.newcomer is not None:
        late = pair.votes_a if pair.newcomer == pair.model_a else pair.votes_b
        due = f"{pair.votes_due:,}"
        return words["next_late"].format(model=pair.newcomer, votes=f"{late:,}", due=due)
    votes, youngest = min((pair.votes_a, pair.model_a), (pair.votes_b, pair.model_b))
    if votes < NEW_BELOW:
        return words["next_new"].format(model=youngest, votes=votes)
    told = {"a": pair.model_a, "percent": _percent(pair.stronger_probability)}
    if pair.stronger_probability >= _OPEN_BELOW:
        points = f"{_NORMAL_95 * pair.standard_error:.0f}"
        return words["next_known"].format(**told, points=points)
    if not pair.battles:
        return words["next_unmet"].format(**told)
    return words["next_open"].format(**told, votes=f"{pair.battles:,}")


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"
