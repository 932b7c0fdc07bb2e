"""A conversation as one panel shows it: prompts as they were typed, answers as Markdown.

A panel is a piece of HTML of our own, not Gradio's Chatbot, whose Markdown loses what people
typed and cannot be told what a price, a picture or emphasis in Chinese is. Its value is data,
so that an update of a long conversation sends no more than what is new, and `panel.js` puts the
blocks where they belong without touching the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import gradio as gr

from arena.web.gradio_seams import find_formulas
from arena.web.layout import html_part
from arena.web.markup import Writing, render_answer
from arena.web.templating import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rules.battles import Side
    from arena.web.texts import Texts

_SCRIPT = Path(__file__).with_name("panel.js")


class Turn(TypedDict):
    """A prompt and its answer.

    Attributes:
        prompt: as it was typed.
        text: the answer as the model wrote it, for copying; empty before it begins.
        blocks: the answer as HTML.
    """

    prompt: str
    text: str
    blocks: list[str]


class PanelWriter:
    """Renders one panel for as long as somebody watches it: each update only what is new."""

    def __init__(self) -> None:
        self._writing = Writing()

    async def write(
        self, prompts: Sequence[str], answers: Sequence[str], *, is_writing: bool = False
    ) -> list[Turn]:
        """The turns of a conversation.

        Args:
            prompts: one a turn.
            answers: one a turn, empty where it has not begun.
            is_writing: whether the last answer goes on.
        """
        turns: list[Turn] = []
        for number, (prompt, answer) in enumerate(zip(prompts, answers, strict=True), start=1):
            if is_writing and number == len(prompts):
                blocks = await self._writing.blocks(answer)
            else:
                blocks = await render_answer(answer)
            turns.append({"prompt": prompt, "text": answer, "blocks": list(blocks)})
        return turns


def lay_out_panel(texts: Texts, side: Side, *, language: str, follows: bool = False) -> gr.HTML:
    """One conversation with its title, and a line below it.

    Args:
        texts: of the page's language.
        side: which.
        language: its code, as in the page's path.
        follows: whether the newest prompt is brought to the top when it is asked.
    """
    formulas = find_formulas()
    assets = f"/{language}/assets/"
    with gr.Column(elem_classes="panel-column", min_width=280):
        title = texts["battle"][f"model_{side}"]
        html_part(render("panel_title.html", title=title, side=side))
        chat = gr.HTML(
            value=[],
            html_template=render(
                "panel.html",
                words=texts["battle"],
                side=side,
                title=title,
                follows=follows,
                formulas=assets + formulas.script if formulas.script else "",
                formula_style=assets + formulas.style if formulas.style else "",
            ),
            js_on_load=_SCRIPT.read_text(encoding="utf-8"),
            elem_id=f"panel-{side}",
            apply_default_css=False,
        )
        html_part(render("side_note.html"), elem_id=f"note-{side}", elem_classes="side-note-box")
    return chat
