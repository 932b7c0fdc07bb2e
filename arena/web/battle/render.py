"""What stands around the two conversations of a battle. Pure: no request, no Gradio event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.battle.views import SideState
from arena.rules.actions import FIRST_ACTIONS, Action
from arena.rules.battles import BattleStatus, Outcome, Side
from arena.web.templating import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.battle.views import BattleView, Reveal, SideView
    from arena.web.texts import Texts

VOTE_KEYS = {
    Outcome.MODEL_A: "vote_model_a",
    Outcome.MODEL_B: "vote_model_b",
    Outcome.TIE: "vote_tie",
    Outcome.BOTH_BAD: "vote_bothbad",
}


def notice_line(notice: str) -> str:
    """A message about something that was not done; nothing for none."""
    return str(render("battle/notice.html", notice=notice)) if notice else ""


def battle_state(texts: Texts, view: BattleView | None, *, reveal: str = "") -> str:
    """Everything about a battle but the two conversations.

    The status line carries what the page's script and style obey: the status, what is open
    now and what will be, the battle's id for the address and the next event, the number of
    turns, the note under each panel, and the question before an unvoted battle is left.

    Args:
        texts: of the page's language.
        view: the battle, `None` before the first prompt.
        reveal: the names, see `reveal_cards`.
    """
    data = {
        "status": "idle" if view is None else view.status.value,
        "battle": "" if view is None else view.battle_id,
        "turns": "0" if view is None else str(len(view.prompts)),
        "edition": "" if view is None else str(view.edition),
        "open": _words(FIRST_ACTIONS if view is None else view.open),
        "coming": "" if view is None else _words(view.coming),
        "placeholder": _placeholder(texts, view),
        "busy": texts["notice"]["busy"],
        "kept": texts["battle"]["prompt_kept"],
        "confirm": texts["battle"]["new_confirm"] if _is_unvoted(view) else "",
    }
    if view is not None and _is_unvoted(view):
        for side in Side:
            data[f"{side}-state"] = view.side(side).state.value
            data[f"{side}-note"] = _side_note(texts, view.side(side))
    status = _status(texts, view)
    return str(render("battle/state.html", data=data, status=status, reveal=reveal))


def reveal_cards(
    texts: Texts, view: BattleView, *, votes: Mapping[Outcome, int], language: str
) -> str:
    """Both names, and what this voter has said so far; empty before the vote."""
    if view.a.reveal is None or view.b.reveal is None or view.outcome is None:
        return ""
    words = texts["reveal"]
    chosen = {Side.A: Outcome.MODEL_A, Side.B: Outcome.MODEL_B}
    return render(
        "battle/reveal.html",
        words=words,
        language=language,
        cards=[
            _card(texts, side, reveal, chosen=view.outcome is chosen[side])
            for side, reveal in ((Side.A, view.a.reveal), (Side.B, view.b.reveal))
        ],
        total=words["your_votes"].format(total=sum(votes.values())),
        tally=[(texts["battle"][key], votes.get(outcome, 0)) for outcome, key in VOTE_KEYS.items()],
    )


def _is_unvoted(view: BattleView | None) -> bool:
    return view is not None and view.status is not BattleStatus.VOTED


def _words(actions: frozenset[Action]) -> str:
    """In a fixed order, as an attribute that styles can ask for a word of."""
    return " ".join(action for action in Action if action in actions)


def _placeholder(texts: Texts, view: BattleView | None) -> str:
    """What the prompt box invites to."""
    if view is None:
        return texts["battle"]["prompt_placeholder"]
    if view.status is BattleStatus.VOTED:
        return texts["battle"]["next_placeholder"]
    return texts["battle"]["follow_up_placeholder"]


def _side_note(texts: Texts, side: SideView) -> str:
    """What a side's model is doing, or what went wrong."""
    if side.state is SideState.FAILED:
        problems = texts["problem"]
        return problems.get(side.problem or "", problems["ServingError"])
    return texts["side"][side.state]


def _status(texts: Texts, view: BattleView | None) -> str:
    """What happens now, in a sentence that screen readers read out."""
    if view is None:
        return texts["status"]["idle"]
    if view.outcome is not None:
        outcome = texts["battle"][VOTE_KEYS[view.outcome]]
        return texts["status"]["voted"].format(outcome=outcome)
    ended = any(side.state is SideState.COMPLETE for side in (view.a, view.b))
    if view.status is BattleStatus.ANSWERING and ended:
        return texts["status"]["one_done"]
    return texts["status"][view.status]


def _card(texts: Texts, side: Side, reveal: Reveal, *, chosen: bool) -> dict[str, object]:
    """What is told of a model."""
    words = texts["reveal"]
    facts = [
        _fact(words["speed"], "speed", _rounded(reveal.tokens_per_second))
        or words["speed_unknown"],
        _fact(words["tokens"], "tokens", reveal.completion_tokens),
        _fact(words["first_token"], "seconds", _rounded(reveal.time_to_first_token, digits=2)),
        words["was_cut"] if reveal.was_cut else "",
    ]
    about = [
        _fact(words["organisation"], "organisation", reveal.organisation),
        _fact(words["license"], "license", reveal.license),
    ]
    lines = [" · ".join(filter(None, each)) for each in (about, facts, [reveal.description])]
    return {
        "side": texts["battle"][f"model_{side}"],
        "chosen": chosen,
        "name": reveal.name,
        "lines": [line for line in lines if line],
        "reasoning": reveal.reasoning,
    }


def _fact(template: str, key: str, value: object) -> str:
    return "" if value in (None, "") else template.format(**{key: value})


def _rounded(value: float | None, *, digits: int = 1) -> str | None:
    return None if value is None else f"{value:.{digits}f}"
