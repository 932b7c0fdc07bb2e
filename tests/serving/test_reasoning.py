from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.protocol import ReasoningDelta, TextDelta
from serving.reasoning import ReasoningSplitter


def split(pieces: list[str]) -> tuple[str, str]:
    splitter = ReasoningSplitter()
    deltas = [delta for piece in pieces for delta in splitter.feed(piece)] + splitter.finish()
    assert all(delta.text for delta in deltas)
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    return reasoning, "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


@pytest.mark.parametrize(
    ("whole", "reasoning", "answer"),
    [
        ("Hello", "", "Hello"),
        ("<think>why</think>\n\nHello", "why", "Hello"),
        ("\n <think>\nwhy\n</think>Hello", "\nwhy\n", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>never closed </thin", "never closed </thin", ""),
        ("<thin", "", "<thin"),
        ("  <thing>", "", "  <thing>"),
        ("Use <think>tags</think> so", "", "Use <think>tags</think> so"),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("<think>a<</think>b", "a<", "b"),
        ("<think>a</think> \n", "a", ""),
        ("", "", ""),
    ],
)
def test_reasoning_at_the_start_is_taken_out(whole: str, reasoning: str, answer: str) -> None:
    assert split([whole]) == (reasoning, answer)


tokens = st.sampled_from(["<think>", "</think>", "<", ">", "/", "think", " ", "\n", "a", "é", "👍"])


@given(whole=st.lists(tokens, max_size=20).map("".join), cuts=st.lists(st.integers(0, 100)))
def test_any_cutting_gives_the_same_split(whole: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    pieces = [whole[start:end] for start, end in itertools.pairwise(edges)]
    assert split(pieces) == split([whole])
    assert split(list(whole)) == split([whole])


def test_text_is_passed_on_as_soon_as_it_cannot_be_a_tag() -> None:
    splitter = ReasoningSplitter()
    assert splitter.feed("<th") == []
    assert splitter.feed("e") == [TextDelta("<the")]
    assert splitter.feed(" end <") == [TextDelta(" end <")]
