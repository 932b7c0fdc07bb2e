"""Which of the boards is shown: a selector of categories, a switch for style, what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.leaderboards.published import Choice
from arena.web.leaderboard.table import say
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


def render_choice(view: BoardView, texts: Texts) -> str:
    """The selector and the switch, each only where there is something to choose."""
    words = texts["leaderboard"]
    parts = []
    if view.categories:
        options = "".join(
            f'<option value="{say("{name}", name=name)}"'
            f"{' selected' if name == view.choice.category else ''}>"
            f"{say('{name}', name=name_category(name, texts))}</option>"
            for name in ("", *view.categories)
        )
        parts.append(
            f"<label><span>{say(words['choice_category'])}</span>"
            f'<select data-choice="category">{options}</select></label>'
        )
    if view.can_adjust:
        checked = " checked" if view.choice.at_equal_style else ""
        parts.append(
            f'<label class="board-switch"><input type="checkbox" role="switch"'
            f' data-choice="style"{checked}><span>{say(words["choice_style"])}'
            f" <small>({say(words['choice_style_note'])})</small></span></label>"
        )
    if not parts:
        return ""
    label = say(words["choice_label"])
    return f'<div class="board-choice" role="group" aria-label="{label}">{"".join(parts)}</div>'


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
        parts.append(say(words["chosen_category"], **told))
    if view.choice.at_equal_style:
        parts.append(say(words["chosen_style"], votes=f"{board.votes:,}"))
        effects = ", ".join(_say_effect(c, texts) for c in board.leaderboard.coefficients)
        parts.append(words["chosen_style_effects"].format(effects=effects))
    return "".join(f'<p class="board-note">{part}</p>' for part in parts)


def name_category(name: str, texts: Texts) -> str:
    """A category as people of a language call it; "" are all."""
    if not name:
        return texts["leaderboard"]["choice_all"]
    return texts["categories"].get(name, name)


def _say_effect(effect: Coefficient, texts: Texts) -> str:
    words = texts["leaderboard"]
    points = (POINTS_PER_LOG_ODDS * x for x in (effect.estimate, effect.lower, effect.upper))
    estimate, lower, upper = (f"{value:+.0f}" for value in points)
    return say(
        words["chosen_style_effect"],
        feature=words.get(f"feature_{effect.name}", effect.name),
        points=estimate,
        lower=lower,
        upper=upper,
    )
