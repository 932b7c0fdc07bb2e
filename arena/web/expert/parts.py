"""The components of the experts' page and where they stand; `expert_page` has the events."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from arena.rules.battles import Side
from arena.rules.experts import MAX_COMMENT, CannotJudge, Reason
from arena.web.battle.render import VOTE_KEYS
from arena.web.layout import html_part
from arena.web.panel import lay_out_panel
from arena.web.templating import render

if TYPE_CHECKING:
    from arena.rules.battles import Outcome
    from arena.web.texts import Texts

_SCRIPT = Path(__file__).with_name("expert.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The components that events read or write.

    Only `state` and the two conversations are ever written. What an expert fills in is plain
    HTML, read and emptied by the page's script, which sends it as the one text `answer`.
    """

    state: gr.HTML
    chat_a: gr.HTML
    chat_b: gr.HTML
    votes: dict[Outcome, gr.Button]
    cannot: gr.Button
    undo: gr.Button
    go_on: gr.Button
    answer: gr.Textbox


def lay_out(texts: Texts, *, language: str) -> Parts:
    """Places the components inside the open Blocks, top to bottom as an expert works.

    Args:
        texts: of the page's language.
        language: its code, as in the page's path.
    """
    words = texts["expert"]
    state = gr.HTML(
        elem_id="expert-state",
        apply_default_css=False,
        js_on_load=_SCRIPT.read_text(encoding="utf-8"),
    )
    with gr.Row(elem_id="panels"):
        chat_a, chat_b = (lay_out_panel(texts, side, language=language) for side in Side)
    form = render("expert/form.html", words=words, reasons=Reason, max_comment=MAX_COMMENT)
    html_part(form, elem_id="expert-form")
    with gr.Row(elem_id="votes"):
        votes = {
            outcome: gr.Button(texts["battle"][key], elem_id=f"vote-{number}")
            for number, (outcome, key) in enumerate(VOTE_KEYS.items(), start=1)
        }
    with gr.Row(elem_id="expert-tools"):
        cannot_judge = render("expert/cannot.html", words=words, reasons=CannotJudge)
        html_part(cannot_judge, elem_id="expert-cannot")
        cannot = gr.Button(words["cannot_send"], elem_id="cannot-judge", size="sm")
        undo = gr.Button(words["undo"], elem_id="undo", size="sm")
        go_on = gr.Button(words["go_on"], elem_id="go-on", variant="primary")
        html_part(render("battle/keys_hint.html", words=words["hint"]), elem_id="expert-hint")
    return Parts(
        state=state,
        chat_a=chat_a,
        chat_b=chat_b,
        votes=votes,
        cannot=cannot,
        undo=undo,
        go_on=go_on,
        answer=gr.Textbox(visible=False),
    )
