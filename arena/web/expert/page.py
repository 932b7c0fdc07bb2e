"""The experts' page: a stored battle as the crowd saw it, and what an expert makes of it.

The page trusts nothing the browser sends but the key in its cookie; the panel decides what
the rest is worth.
"""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any

import gradio as gr

from arena.rules.experts import (
    AlreadyJudged,
    ExpertError,
    Given,
    InvalidAnswer,
    NothingToUndo,
    NotInvited,
    UnknownTask,
    check_answer,
)
from arena.web.expert.gate import read_key
from arena.web.expert.parts import lay_out
from arena.web.expert.render import conversations, panel_state
from arena.web.layout import html_part, page_header
from arena.web.panel import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from arena.experts.panel import ExpertPanel, PanelView
    from arena.rules.battles import Outcome
    from arena.web.texts import Texts

    Event = Callable[[str, str], Awaitable[PanelView]]

logger = logging.getLogger(__name__)

# The two conversations and the state, as every event writes them.
Updates = tuple[list[Turn], list[Turn], str]

_NOTICES: dict[type[ExpertError], str] = {
    AlreadyJudged: "again",
    InvalidAnswer: "invalid",
    NothingToUndo: "no_undo",
    UnknownTask: "unknown",
}
_EVENTS_AT_ONCE = 100
# A task and which of the answers to it, as the page's state has them.
_GIVEN = re.compile("([0-9]{1,9})[.]([0-9]{1,9})")
# What the expert filled in, put in for the event's only input.
_ANSWER = "() => [window.arenaAnswer?.() ?? '']"


class ExpertPage:
    """The experts' page in one language.

    Args:
        panel: what experts may do.
        texts: of the language.
        language: its code, as in the page's path.
        title: the arena's.
    """

    def __init__(self, *, panel: ExpertPanel, texts: Texts, language: str, title: str) -> None:
        self._panel = panel
        self._texts = texts
        page_title = f"{texts['expert']['title']} · {title}"
        self.blocks = gr.Blocks(title=page_title, analytics_enabled=False, fill_width=True)
        with self.blocks:
            header = page_header(texts, title=title, language=language, active="expert")
            html_part(header, elem_id="site")
            self._parts = lay_out(texts, language=language)
            self._connect()

    def _connect(self) -> None:
        parts = self._parts
        common: dict[str, Any] = {
            "inputs": [parts.answer],
            "outputs": [parts.chat_a, parts.chat_b, parts.state],
            "js": _ANSWER,
            "show_progress": "hidden",
            "api_visibility": "private",
            "concurrency_limit": _EVENTS_AT_ONCE,
            # The values are made in the form the browser takes, and what it sends is checked.
            "preprocess": False,
            "postprocess": False,
        }
        self.blocks.load(self._guarded(self._look), **common)
        parts.go_on.click(self._guarded(self._look), **common)
        parts.undo.click(self._guarded(self._undo), **common)
        parts.cannot.click(self._guarded(self._judge_as(None)), **common)
        for outcome, button in parts.votes.items():
            button.click(self._guarded(self._judge_as(outcome)), **common)

    def _guarded(self, event: Event) -> Callable[..., Awaitable[Updates]]:
        """The event's view as updates, and its errors as notices beside what there is to do.

        What is not foreseen is logged, not shown: its words could name a model.
        """

        async def _run(request: gr.Request, sent: object) -> Updates:
            key = read_key(request.cookies)
            try:
                view = await event(key, sent if isinstance(sent, str) else "")
            except NotInvited:
                return await self._render(None)
            except ExpertError as error:
                return await self._render_again(key, self._texts["expert"][_NOTICES[type(error)]])
            except Exception:
                logger.exception("an event of the experts' page failed")
                return await self._render_again(key, self._texts["expert"]["failed"])
            return await self._render(view)

        return _run

    async def _look(self, key: str, _sent: str) -> PanelView:
        return await self._panel.look(key)

    async def _undo(self, key: str, sent: str) -> PanelView:
        return await self._panel.undo(key, given=_read_given(sent))

    def _judge_as(self, outcome: Outcome | None) -> Event:
        async def _judge(key: str, sent: str) -> PanelView:
            task, values = _read(sent)
            if outcome is not None:
                values["cannot_judge"] = None
            answer = check_answer(outcome=outcome, **values)
            return await self._panel.judge(key, task.task_id, answer, edition=task.edition)

        return _judge

    async def _render(self, view: PanelView | None, *, notice: str = "") -> Updates:
        left, right = await conversations(view)
        return left, right, panel_state(self._texts, view, notice=notice)

    async def _render_again(self, key: str, notice: str) -> Updates:
        """What there is to judge, with a notice."""
        try:
            view = await self._panel.look(key)
        except Exception:
            logger.exception("the experts' page could not be shown again")
            # What is shown stays; the page's script puts the words beside it.
            raise gr.Error(notice, print_exception=False) from None
        return await self._render(view, notice=notice)


def _read(sent: str) -> tuple[Given, dict[str, Any]]:
    """What is answered and the rest of an answer, unchecked but for their shape.

    Raises:
        InvalidAnswer: the page's script did not write it.
    """
    try:
        found = json.loads(sent)
        task, reasons = f"{found['task']}.{found['edition']}", list(found["reasons"])
    except (ValueError, TypeError, KeyError):
        raise InvalidAnswer("no answer of the page") from None
    return _parse_given(task), {
        "cannot_judge": found.get("cannot"),
        "reasons": reasons,
        "comment": found.get("comment", ""),
        "seconds": found.get("seconds"),
    }


def _read_given(sent: str) -> Given:
    """The judgement that the page would take back.

    Raises:
        InvalidAnswer: the page's script did not write it.
    """
    try:
        return _parse_given(str(json.loads(sent)["undo"]))
    except (ValueError, TypeError, KeyError):
        raise InvalidAnswer("no answer of the page") from None


def _parse_given(text: str) -> Given:
    found = _GIVEN.fullmatch(text)
    if found is None:
        raise InvalidAnswer(f"no task: {text!r}")
    return Given(task_id=int(found[1]), edition=int(found[2]))
