"""What the panel shows as the values of the page's components. No request, no event."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

from arena.experts.panel import EndView, TaskView
from arena.rules.battles import Outcome
from arena.web.battle.render import VOTE_KEYS
from arena.web.panel import PanelWriter
from arena.web.templating import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from arena.experts.panel import PanelView
    from arena.rules.experts import Answer, Judged
    from arena.web.panel import Turn
    from arena.web.texts import Texts

_PREFERS = {
    Outcome.MODEL_A: "prefers_a",
    Outcome.MODEL_B: "prefers_b",
    Outcome.TIE: "prefers_tie",
    Outcome.BOTH_BAD: "prefers_bothbad",
}
_PROMPT_LENGTH = 90


async def conversations(view: PanelView | None) -> tuple[list[Turn], list[Turn]]:
    """What stands in the two panels."""
    if not isinstance(view, TaskView):
        return [], []
    return (
        await PanelWriter().write(view.prompts, view.left),
        await PanelWriter().write(view.prompts, view.right),
    )


def panel_state(texts: Texts, view: PanelView | None, *, notice: str = "") -> str:
    """Everything but the two conversations.

    Its attributes carry what the page's script needs: what is shown, the task's number for the
    answer, whether there is something to undo, and what the expert had filled in before.

    Args:
        texts: of the page's language.
        view: what to show, `None` for somebody who is not let in any more.
        notice: a message about something that was not done.
    """
    data = {
        "phase": _phase(view),
        "undo": _name_given(view),
        # Tells the script that an event was answered, even by what was there before.
        "stamp": secrets.token_hex(4),
    }
    if isinstance(view, TaskView):
        data["task"] = str(view.task_id)
        data["edition"] = str(view.edition)
        data["draft"] = json.dumps(_describe(view.draft))
        body = _task(texts, view)
    elif isinstance(view, EndView):
        data["more"] = "yes" if view.more else ""
        body = _end(texts, view)
    else:
        words = texts["expert"]
        body = _message(words["refused_title"], words["refused"])
    return str(render("expert/state.html", data=data, body=body, notice=notice))


def _phase(view: PanelView | None) -> str:
    if view is None:
        return "refused"
    return "task" if isinstance(view, TaskView) else "end"


def _name_given(view: PanelView | None) -> str:
    """The judgement that can be taken back, as the page sends it; empty where there is none."""
    if view is None or view.undoes is None:
        return ""
    return f"{view.undoes.task_id}.{view.undoes.edition}"


def _describe(draft: Answer | None) -> dict[str, object]:
    if draft is None:
        return {}
    return {
        "reasons": draft.reasons,
        "comment": draft.comment,
        "cannot": draft.cannot_judge or "",
        "seconds": draft.seconds or 0,
    }


def _task(texts: Texts, view: TaskView) -> Markup:
    words = texts["expert"]
    done = words["progress"].format(done=view.done, total=view.total)
    status = words["status"].format(number=view.done + 1, total=view.total)
    advice = ""
    if view.advice is not None:
        advice = words["advice"].format(verdict=words[_PREFERS[view.advice]])
    return render(
        "expert/task.html", words=words, view=view, status=status, done=done, advice=advice
    )


def _end(texts: Texts, view: EndView) -> Markup:
    words = texts["expert"]
    if not view.total:
        return _message(words["nothing_title"], words["nothing"])
    text = words["end_more"] if view.more else words["end"]
    ended = _message(words["end_title"], text.format(total=view.total))
    return ended + _told(texts, view.told) if view.told else ended


def _message(title: str, text: str) -> Markup:
    return render("message.html", title=title, text=text, role="status", id="")


def _told(texts: Texts, told: tuple[Judged, ...]) -> Markup:
    """What an expert is told about the verdicts they saw, once nothing can be changed."""
    rows = [_told_row(texts, number, one) for number, one in enumerate(told, start=1)]
    return render("expert/told.html", words=texts["expert"], rows=rows)


def _told_row(texts: Texts, number: int, one: Judged) -> tuple[str, ...]:
    words = texts["expert"]
    prompt = " ".join(one.prompt.split())
    if len(prompt) > _PROMPT_LENGTH:
        prompt = f"{prompt[:_PROMPT_LENGTH]}…"
    shown = "–" if one.shown_outcome is None else words[_PREFERS[one.shown_outcome]]
    said = one.answer.outcome
    yours = words["told_none"] if said is None else texts["battle"][VOTE_KEYS[said]]
    return str(number), prompt, words[f"arm_{one.arm}"], shown, yours
