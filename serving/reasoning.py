"""Splits reasoning that a model writes into its answer from the answer itself."""

from __future__ import annotations

from typing import Literal

from serving.protocol import ReasoningDelta, TextDelta

_OPEN, _CLOSE = "<think>", "</think>"

Delta = TextDelta | ReasoningDelta


class ThinkSplitter:
    """Separates one `<think>…</think>` at the start of an answer from what follows.

    Only there do models put their reasoning; the same tags further on are part of the
    answer, for instance of one about reasoning models. White space around the block goes
    with it. An unclosed block is reasoning to the end. The pieces fed to it may cut the
    tags anywhere: the split is the same for every cut.
    """

    def __init__(self) -> None:
        self._state: Literal["start", "reasoning", "gap", "answer"] = "start"
        self._held = ""

    def feed(self, text: str) -> list[Delta]:
        """Takes the next piece; returns what can be told apart by now."""
        self._held += text
        deltas: list[Delta] = []
        while self._step(deltas):
            pass
        return deltas

    def finish(self) -> list[Delta]:
        """Returns what was held back when the answer is over."""
        held, self._held = self._held, ""
        if not held or self._state == "gap":
            return []
        return [ReasoningDelta(held) if self._state == "reasoning" else TextDelta(held)]

    def _step(self, deltas: list[Delta]) -> bool:
        """Moves on as far as one state allows; says whether the next may have work."""
        before = self._state
        match self._state:
            case "start":
                self._look_for_opening()
            case "reasoning":
                self._read_reasoning(deltas)
            case "gap":
                self._held = self._held.lstrip()
                self._state = "answer" if self._held else "gap"
            case "answer":
                if self._held:
                    deltas.append(TextDelta(self._held))
                self._held = ""
        return self._state != before

    def _look_for_opening(self) -> None:
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            self._state, self._held = "reasoning", begun.removeprefix(_OPEN)
        elif not _OPEN.startswith(begun):
            self._state = "answer"

    def _read_reasoning(self, deltas: list[Delta]) -> None:
        thought, closing, rest = self._held.partition(_CLOSE)
        if closing:
            self._state, self._held = "gap", rest
        else:
            keep = _overlap(thought, _CLOSE)
            self._held = thought[len(thought) - keep :]
            thought = thought[: len(thought) - keep]
        if thought:
            deltas.append(ReasoningDelta(thought))


def _overlap(text: str, tag: str) -> int:
    """How much of the text's end could be the beginning of the tag."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if tag.startswith(text[-size:])), 0)
