"""Which of the boards is shown: a selector of categories, a switch for style, what they mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from arena.leaderboards.published import Choice
from arena.web.templating import render
from ranking.scale import POINTS_PER_LOG_ODDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.leaderboards.published import PublishedBoard
    from arena.leaderboards.views import BoardView
    from arena.web.texts import Texts
    from ranking import Coefficient


def read_choice(asked: Mapping[str, object]) -> Choice:
    """What an address or an event asks for; anything unknown is as if it were not there."""
    return Choice(str(asked.get("category") or ""), str(asked.get("style")) == "1")


def read_shown(sent: str) -> dict[str, str]:
    """What a page says it shows; nothing where it shows nothing yet or did not write this."""
    try:
        found = json.loads(sent)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def render_choice(view: BoardView, texts: Texts) -> str:
    """The selector and the switch, each only where there is something to choose."""
    categories = [(name, name_category(name, texts)) for name in ("", *view.categories)]
    return render(
        "leaderboard/choice.html",
        words=texts["leaderboard"],
        view=view,
        categories=categories,
    )


def render_chosen(view: BoardView, board: PublishedBoard, texts: Texts) -> str:
    """What the chosen board is made of; nothing for the overall one."""
    words = texts["leaderboard"]
    parts = []
    whole = view.overall
    category = whole and whole.choose(Choice(view.choice.category))
    if view.choice.category and whole is not None and category is not None:
        told = {
            "category": name_category(view.choice.category, texts),
            "all": f"{whole.votes:,}",
            "votes": f"{category.votes:,}",
            "min_votes": whole.settings["categories"]["min_votes"],
        }
        parts.append(words["chosen_category"].format(**told))
    if view.choice.at_equal_style:
        parts.append(words["chosen_style"].format(votes=f"{board.votes:,}"))
        effects = ", ".join(_say_effect(c, texts) for c in board.leaderboard.coefficients)
        parts.append(words["chosen_style_effects"].format(effects=effects))
    return render("leaderboard/notes.html", notes=parts)


def name_category(name: str, texts: Texts) -> str:
    """A category as people of a language call it; "" are all."""
    if not name:
        return texts["leaderboard"]["choice_all"]
    return texts["categories"].get(name, name)


def _say_effect(effect: Coefficient, texts: Texts) -> str:
    words = texts["leaderboard"]
    points = (POINTS_PER_LOG_ODDS * x for x in (effect.estimate, effect.lower, effect.upper))
    estimate, lower, upper = (f"{value:+.0f}" for value in points)
    return words["chosen_style_effect"].format(
        feature=words.get(f"feature_{effect.name}", effect.name),
        points=estimate,
        lower=lower,
        upper=upper,
    )
