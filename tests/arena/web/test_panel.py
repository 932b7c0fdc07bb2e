"""What a panel is given: prompts as typed, the models' own words, and blocks of HTML."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from gradio.utils import diff

from arena.web.panel import PanelWriter, Turn

if TYPE_CHECKING:
    from collections.abc import Callable


async def test_a_conversation_has_a_turn_a_prompt_and_an_answer_that_has_not_begun_is_empty() -> (
    None
):
    turns = await PanelWriter().write(["One?", "Two?"], ["First.", ""], is_writing=True)
    assert [(turn["prompt"], turn["text"]) for turn in turns] == [("One?", "First."), ("Two?", "")]
    assert [turn["blocks"] for turn in turns] == [['<p dir="auto">First.</p>\n'], []]
    assert await PanelWriter().write([], []) == []


async def test_prompts_and_copies_are_what_was_written_and_answers_run_nothing() -> None:
    hostile = "<script>x</script> `<b>`"
    (turn,) = await PanelWriter().write([hostile], [hostile])
    assert (turn["prompt"], turn["text"]) == (hostile, hostile)
    (block,) = turn["blocks"]
    assert "&lt;script&gt;x&lt;/script&gt; <code>&lt;b&gt;</code>" in block


async def test_an_answer_that_is_complete_is_the_same_however_it_was_written() -> None:
    text = "# One\n\n- a\n- b\n\n```py\nx = 1\n```\n\nWords **here**."
    writer = PanelWriter()
    for end in range(0, len(text), 4):
        await writer.write(["Asked"], [text[:end]], is_writing=True)
    done = await writer.write(["Asked"], [text])
    assert done == await PanelWriter().write(["Asked"], [text])
    assert "hl-" in done[0]["blocks"][2]


async def test_an_update_sends_only_what_is_new() -> None:
    earlier = "A paragraph of an earlier answer. " * 40
    before = "First block.\n\n" + "Second block. " * 20 + "\n\nThird"
    writer = PanelWriter()
    prompts = ["One", "Two"]
    old = await writer.write(prompts, [earlier, before], is_writing=True)
    new = await writer.write(prompts, [earlier, before + " grows"], is_writing=True)
    find_changes: Callable[[object, object], object] = diff
    sent = json.dumps(find_changes(old, new))
    assert len(sent) < 300
    assert "grows" in sent
    assert "earlier" not in sent
    assert "Second" not in sent


@pytest.mark.parametrize("length", [500, 8_000])
async def test_an_update_costs_little_however_long_the_answer_is(length: int) -> None:
    text = "Some **words** of a paragraph that goes on, with `code`.\n\n" * (length // 57)
    writer = PanelWriter()
    await writer.write(["Asked"], [text], is_writing=True)
    seconds: list[float] = []
    turns: list[Turn] = []
    for number in range(20):
        text += f"word {number} "
        began = time.process_time()
        turns = await writer.write(["Asked"], [text], is_writing=True)
        seconds.append(time.process_time() - began)
    assert turns[0]["text"] == text
    assert sorted(seconds)[10] < 0.005  # measured: 0.0002
