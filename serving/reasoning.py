"""Splits reasoning that a model writes into its answer from the answer itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from serving.protocol import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["KNOWN_TAGS", "Delta", "ReasoningSplitter", "Stray", "Tags", "find_stray"]

Delta = TextDelta | ReasoningDelta
Tags = tuple[str, str]

# DeepSeek-R1, Qwen and most others; Claude's habit; Gemini; Magistral; Cohere; Seed-OSS;
# Kimi-VL; OpenThinker. Compared without regard to case.
KNOWN_TAGS: tuple[Tags, ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[think]", "[/think]"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
# gpt-oss writes channels: <|channel|>analysis<|message|>…<|end|>, then `final`.
_HARMONY = tuple(
    f"<|{word}|>" for word in ("channel", "start", "message", "end", "return", "call", "constrain")
)
_HARMONY_OPENINGS = _HARMONY[:2]
_FINAL = "final"
# The same where a server has dropped the marks: analysis…assistantfinal…
_BARE_HARMONY = re.compile(r"\s*analysis(?=\S)(?P<before>.+?)assistantfinal", re.DOTALL)


class ReasoningSplitter:
    """Separates the reasoning at the start of an answer from what follows.

    Only there do models put it; the same tags further on are part of the answer, for instance
    of one about reasoning models. White space around a block goes with it. An unclosed block is
    reasoning to the end. The pieces fed to it may cut the tags anywhere: the split is the same
    for every cut.

    Args:
        tags: opening and closing tags that may stand there.
        begins_inside: the opening tag is in the model's template, so that the answer begins
            with reasoning.
    """

    def __init__(self, tags: Sequence[Tags] = KNOWN_TAGS, *, begins_inside: bool = False) -> None:
        self._tags = [(opening.lower(), closing.lower()) for opening, closing in tags]
        self._begins_inside = begins_inside
        self._state: Literal["start", "reasoning", "answer", "header", "channel"] = "start"
        self._closings: tuple[str, ...] = ()
        self._channel = ""
        self._has_split = False
        self._held = ""

    def feed(self, text: str) -> list[Delta]:
        """Takes the next piece; returns what can be told apart by now."""
        if self._state == "answer":
            return [TextDelta(text)] if text else []
        self._held += text
        deltas: list[Delta] = []
        while self._step(deltas):
            pass
        return deltas

    def finish(self) -> list[Delta]:
        """Returns what was held back when the answer is over."""
        held, self._held = self._held, ""
        if self._state == "start" and self._has_split:
            held = held.lstrip()
        if not held or self._state == "header":
            return []
        return [self._delta(held)]

    def _step(self, deltas: list[Delta]) -> bool:
        """Moves on as far as one state allows; says whether the next may have work."""
        match self._state:
            case "start":
                return self._look_for_opening()
            case "reasoning":
                return self._read_until(self._closings, deltas, then="start")
            case "header":
                return self._read_header()
            case "channel":
                return self._read_until(_HARMONY, deltas, then="header", keep_tag=True)
            case "answer":
                if self._held:
                    deltas.append(TextDelta(self._held))
                self._held = ""
                return False

    def _look_for_opening(self) -> bool:
        begun = self._held.lstrip()
        plain = _lower(begun)
        # A server that takes reasoning out itself may leave the closing tag behind.
        closings = tuple(closing for _, closing in self._tags)
        openings = {opening: (closing,) for opening, closing in self._tags}
        known = (*openings, *closings, *_HARMONY_OPENINGS)
        if any(tag != plain and tag.startswith(plain) for tag in known) and not any(
            plain.startswith(tag) for tag in known
        ):
            return False  # it may become one
        found = next((tag for tag in known if plain.startswith(tag)), None)
        if found in _HARMONY_OPENINGS:
            self._state, self._held = "header", begun
        elif found in openings:
            self._state, self._closings = "reasoning", openings[found]
            self._held = begun[len(found) :]
        elif found is not None:
            self._held = begun[len(found) :]
        elif self._begins_inside:
            self._state, self._closings = "reasoning", closings
        else:
            self._state = "answer"
            self._held = begun if self._has_split else self._held
        self._has_split = self._has_split or self._state != "answer"
        self._begins_inside = False
        return True

    def _read_until(
        self,
        tags: Iterable[str],
        deltas: list[Delta],
        *,
        then: Literal["start", "header"],
        keep_tag: bool = False,
    ) -> bool:
        """Reads up to the first of the tags, or up to what may become one."""
        plain = _lower(self._held)
        places = [(place, tag) for tag in tags if (place := plain.find(tag)) >= 0]
        if not places:
            keep = max(_overlap(plain, tag) for tag in tags)
            text, self._held = self._held[: len(plain) - keep], self._held[len(plain) - keep :]
        else:
            place, tag = min(places)
            text, self._held = self._held[:place], self._held[place:]
            if not keep_tag:
                self._held = self._held[len(tag) :]
        if text:
            deltas.append(self._delta(text))
        if places:
            self._state = then
        return bool(places)

    def _read_header(self) -> bool:
        """Reads the marks before a message: who writes, in which channel."""
        header, mark, rest = self._held.partition("<|message|>")
        if not mark:
            return False
        _, named, channel = header.rpartition("<|channel|>")
        self._channel = channel.split()[0].lower() if named and channel.split() else _FINAL
        self._state, self._held = "channel", rest
        return True

    def _delta(self, text: str) -> Delta:
        hidden = self._state == "reasoning" or (
            self._state == "channel" and self._channel != _FINAL
        )
        return ReasoningDelta(text) if hidden else TextDelta(text)


class Stray(NamedTuple):
    """Reasoning that stands in an answer without its opening tag.

    Attributes:
        reasoning: what stands before the closing tag.
        answer: what stands behind it.
        tag: the closing tag.
    """

    reasoning: str
    answer: str
    tag: str


def find_stray(text: str, tags: Sequence[Tags] = KNOWN_TAGS) -> Stray | None:
    """Looks for reasoning whose opening tag stands in the model's template.

    Only a closing tag at the beginning or the end of a line counts, and only without an
    opening one before it: an answer may speak of such tags.
    """
    bare = _BARE_HARMONY.match(text)
    if bare is not None:
        return Stray(bare["before"], text[bare.end() :].lstrip(), "assistantfinal")
    for opening, closing in tags:
        edge = rf"(?:(?:^|\n)[ \t]*{re.escape(closing)}|{re.escape(closing)}[ \t]*(?=\n|$))"
        found = re.search(edge, text, re.IGNORECASE)
        if found is not None and opening.lower() not in text[: found.start()].lower():
            return Stray(text[: found.start()], text[found.end() :].lstrip(), closing)
    return None


def _lower(text: str) -> str:
    """The text in lower case, letter for letter: a few letters would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def _overlap(text: str, tag: str) -> int:
    """How much of the text's end could be the beginning of the tag."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if tag.startswith(text[-size:])), 0)
