"""The components of the battle page and where they stand; `battle_page` has the events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import gradio as gr

from arena.rules.battles import Side
from arena.web.battle.render import VOTE_KEYS, battle_state
from arena.web.layout import html_part
from arena.web.panel import lay_out_panel
from arena.web.templating import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rules.battles import Outcome
    from arena.web.texts import Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The components that events read or write.

    Only the first four are ever written, and while all is well as plain values: Gradio
    6.31 takes 2 to 5 ms to change a component's property, or to be told that an output stays
    as it is, and 0.3 ms for a value. What follows from the state (which buttons are open,
    what the prompt box invites to) the page's script reads off `state`.
    """

    chat_a: gr.HTML
    chat_b: gr.HTML
    state: gr.HTML
    notice: gr.HTML
    votes: dict[Outcome, gr.Button]
    battle_id: gr.Textbox
    edition: gr.Textbox
    turn: gr.Textbox
    new_id: gr.Textbox
    prompt: gr.Textbox
    send: gr.Button
    surprise: gr.Button
    regenerate: gr.Button
    stop: gr.Button
    retry: gr.Button
    idea: gr.Textbox
    new: gr.Button
    restore: gr.Button


def lay_out(
    texts: Texts,
    *,
    language: str,
    known_prompts: Sequence[str] | None,
    offer_ideas: bool = True,
) -> Parts:
    """Places the components inside the open Blocks, top to bottom as a volunteer reads.

    Args:
        texts: of the page's language.
        language: its code, as in the page's path.
        known_prompts: the only prompts that can be answered, offered to pick from; `None`
            where any prompt will do.
        offer_ideas: whether "surprise me" is shown.
    """
    words = texts["battle"]
    html_part(render("battle/how.html", texts=texts), elem_id="how")
    with gr.Row(elem_id="panels"):
        chat_a, chat_b = (
            lay_out_panel(texts, side, language=language, follows=True) for side in Side
        )
    with gr.Column(elem_id="standing"):
        state = html_part(battle_state(texts, None), elem_id="state")
        notice = html_part("", elem_id="notice")
    with gr.Row(elem_id="votes"):
        votes = {
            outcome: gr.Button(words[key], elem_id=f"vote-{number}")
            for number, (outcome, key) in enumerate(VOTE_KEYS.items(), start=1)
        }
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
        surprise = gr.Button(words["surprise"], elem_id="surprise", size="sm", visible=offer_ideas)
        regenerate = gr.Button(words["regenerate"], elem_id="regenerate", size="sm")
        stop = gr.Button(words["stop"], elem_id="stop", size="sm")
        retry = gr.Button(words["retry"], elem_id="retry", size="sm")
        new = gr.Button(words["new"], elem_id="new-battle", size="sm")
        html_part(render("battle/keys_hint.html", words=words["keys_hint"]), elem_id="keys-hint")
    if known_prompts is not None:
        _offer(known_prompts, prompt, title=words["recorded_title"])
    return Parts(
        chat_a=chat_a,
        chat_b=chat_b,
        state=state,
        notice=notice,
        votes=votes,
        battle_id=gr.Textbox(visible=False),
        edition=gr.Textbox(visible=False),
        turn=gr.Textbox(visible=False),
        new_id=gr.Textbox(visible=False),
        prompt=prompt,
        send=send,
        surprise=surprise,
        regenerate=regenerate,
        stop=stop,
        retry=retry,
        idea=gr.Textbox(visible=False),
        new=new,
        restore=gr.Button(visible="hidden", elem_id="restore"),
    )


def _offer(prompts: Sequence[str], box: gr.Textbox, *, title: str) -> None:
    gr.Examples(
        [[prompt] for prompt in prompts],
        inputs=box,
        label=title,
        examples_per_page=8,
        elem_id="recorded-prompts",
        api_visibility="private",
    )
