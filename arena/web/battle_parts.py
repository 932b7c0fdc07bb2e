"""The components of the battle page and where they stand; `battle_page` has the events."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import gradio as gr

from arena.battles import Outcome, Side
from arena.web.battle_render import VOTE_KEYS, status_line
from arena.web.layout import html_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.web.texts import Texts

# Single dollars are turned into \( \) by `markup`, which knows them from prices.
LATEX: list[dict[str, str | bool]] = [
    {"left": "$$", "right": "$$", "display": True},
    {"left": "\\[", "right": "\\]", "display": True},
    {"left": "\\(", "right": "\\)", "display": False},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One side: the conversation, and a line on what its model is doing."""

    chat: gr.Chatbot
    note: gr.HTML


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The components that events read or write."""

    battle_id: gr.Textbox
    how: gr.HTML
    status: gr.HTML
    a: Panel
    b: Panel
    votes_row: gr.Row
    votes: dict[Outcome, gr.Button]
    reveal: gr.HTML
    notice: gr.HTML
    prompt: gr.Textbox
    send: gr.Button
    surprise: gr.Button
    regenerate: gr.Button
    retry: gr.Button
    new: gr.Button

    def outputs(self) -> list[Any]:
        """Every component that an event may change."""
        found: list[Any] = []
        for field in fields(self):
            part = getattr(self, field.name)
            if isinstance(part, Panel):
                found += [part.chat, part.note]
            elif isinstance(part, dict):
                found += part.values()
            else:
                found.append(part)
        return found


def lay_out(texts: Texts, *, known_prompts: Sequence[str] | None) -> Parts:
    """Places the components inside the open Blocks, top to bottom as a volunteer reads.

    Args:
        texts: of the page's language.
        known_prompts: the only prompts that can be answered, offered to pick from; `None`
            where any prompt will do.
    """
    words = texts["battle"]
    how = html_part(_how_it_works(texts), elem_id="how")
    status = html_part(status_line(texts, None), elem_id="battle-status")
    with gr.Row(elem_id="panels"):
        a, b = (_lay_out_panel(texts, side) for side in Side)
    with gr.Row(elem_id="votes") as votes_row:
        votes = {
            outcome: gr.Button(words[key], interactive=False, elem_id=f"vote-{number}")
            for number, (outcome, key) in enumerate(VOTE_KEYS.items(), start=1)
        }
    reveal = html_part(elem_id="reveal")
    notice = html_part(elem_id="notice")
    with gr.Row(elem_id="ask"):
        prompt = gr.Textbox(
            label=words["prompt_label"],
            placeholder=words["prompt_placeholder"],
            show_label=False,
            container=False,
            lines=1,
            max_lines=6,
            elem_id="prompt",
            scale=1,
        )
        send = gr.Button(words["send"], variant="primary", elem_id="send", scale=0)
    with gr.Row(elem_id="tools"):
        surprise = gr.Button(words["surprise"], elem_id="surprise", size="sm")
        regenerate = gr.Button(
            words["regenerate"], elem_id="regenerate", size="sm", interactive=False
        )
        retry = gr.Button(words["retry"], elem_id="retry", size="sm", visible=False)
        new = gr.Button(words["new"], elem_id="new-battle", size="sm", interactive=False)
        html_part(f'<p class="keys-hint">{words["keys_hint"]}</p>', elem_id="keys-hint")
    if known_prompts is not None:
        _offer(known_prompts, prompt, title=words["recorded_title"])
    return Parts(
        battle_id=gr.Textbox(visible=False),
        how=how,
        status=status,
        a=a,
        b=b,
        votes_row=votes_row,
        votes=votes,
        reveal=reveal,
        notice=notice,
        prompt=prompt,
        send=send,
        surprise=surprise,
        regenerate=regenerate,
        retry=retry,
        new=new,
    )


def _how_it_works(texts: Texts) -> str:
    words = texts["battle"]
    steps = "".join(f"<li>{words[f'how_{step}']}</li>" for step in (1, 2, 3))
    tagline = texts["site"]["tagline"]
    return f'<section class="how"><h1>{tagline}</h1><ol>{steps}</ol></section>'


def _lay_out_panel(texts: Texts, side: Side) -> Panel:
    words = texts["battle"]
    with gr.Column(elem_classes="panel-column", min_width=280):
        html_part(f'<h2 class="panel-title">{words[f"model_{side}"]}</h2>')
        chat = gr.Chatbot(
            show_label=False,
            container=False,
            height="100%",
            elem_id=f"panel-{side}",
            placeholder=words[f"panel_{side}_empty"],
            latex_delimiters=LATEX,
            sanitize_html=True,
            allow_tags=False,
            feedback_options=None,
            buttons=["copy"],
            autoscroll=False,
            layout="bubble",
            group_consecutive_messages=False,
        )
        note = html_part(elem_classes="side-note-box")
    return Panel(chat=chat, note=note)


def _offer(prompts: Sequence[str], box: gr.Textbox, *, title: str) -> None:
    gr.Examples(
        [[prompt] for prompt in prompts],
        inputs=box,
        label=title,
        examples_per_page=8,
        elem_id="recorded-prompts",
        api_visibility="private",
    )
