"""What the readers of both APIs share: pieces of an answer, counts, and how it ended."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from serving.complaints import Complaint
from serving.decoding import join_halves
from serving.endings import find_meaning, find_worse, read_word
from serving.explaining import explain_complaint
from serving.limits import End
from serving.meanings import find_meaning_of_words
from serving.protocol import Interrupted, ReasoningDelta, TextDelta, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from serving.protocol import FinishReason, ServingError
    from serving.reasoning import Delta
    from serving.sdk import Endpoint

logger = logging.getLogger(__name__)

_TEXT_TYPES = frozenset({"text", "output_text", "text_delta"})
_THOUGHT_TYPES = frozenset(
    {"thinking", "reasoning", "thinking_delta", "reasoning.text", "reasoning.summary"}
)
_WORDS_KEPT = 400


class AnswerReader(Protocol):
    """Reads the frames of one answer.

    Attributes:
        is_over: nothing more will come that matters.
    """

    is_over: bool

    @property
    def has_ended(self) -> bool:
        """Whether the answer has said how it ended."""
        ...

    @property
    def has_read_any(self) -> bool:
        """Whether a frame of its API has come."""
        ...

    def read(self, name: str, body: object) -> None:
        """Takes one frame.

        Raises:
            ServingError: it is an error of the provider's.
        """
        ...

    def read_words(self, words: str) -> None:
        """Takes a frame that is no JSON."""
        ...

    def note(self, remark: str) -> None:
        """Keeps something odd for the log."""
        ...

    def take(self) -> list[Delta]:
        """The pieces read since the last time, as few as they can be."""
        ...

    def end(self) -> End:
        """How the answer ended.

        Raises:
            ServingError: it has not.
        """
        ...


class Collected:
    """What has been read of one answer so far; the readers of the two APIs build on it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._model_id = endpoint.model
        self._meaning: FinishReason | None = None
        self._word = ""
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None
        self._new: list[Delta] = []
        self._half = ""
        self._text: list[str] = []
        self._odd_words = ""
        self._notes: list[str] = []
        self._frames = 0
        self.is_over = False

    @property
    def has_ended(self) -> bool:
        """Whether the answer has said how it ended."""
        return self._meaning is not None

    @property
    def has_read_any(self) -> bool:
        """Whether a frame of its API has come."""
        return self._frames > 0

    def note(self, remark: str) -> None:
        """Keeps something odd for the log, once."""
        if remark not in self._notes:
            self._notes.append(remark)

    def read_words(self, words: str) -> None:
        """Takes a frame that is no JSON: the mark of the end, or words to quote if it fails."""
        if words.strip(' \t"').upper() in {"[DONE]", "DONE"}:
            self.is_over = True
        else:
            self._odd_words = (self._odd_words or words)[:_WORDS_KEPT]
            self.note("frames that are no JSON, which were left out")

    def take(self) -> list[Delta]:
        """The pieces read since the last time, neighbours of one kind as one."""
        new, self._new = self._new, []
        if len(new) < 2:
            return new
        pieces: list[tuple[type[Delta], list[str]]] = []
        for delta in new:
            if not pieces or pieces[-1][0] is not type(delta):
                pieces.append((type(delta), []))
            pieces[-1][1].append(delta.text)
        return [kind("".join(texts)) for kind, texts in pieces]

    def end(self) -> End:
        """How the answer ended.

        Raises:
            Interrupted: the connection was closed before the server said so.
            Unreadable: nothing that it sent is of this API.
        """
        if self._half:
            self._new.append(TextDelta("\N{REPLACEMENT CHARACTER}"))
            self._half = ""
        if self._notes:
            logger.warning("%s: the provider sent %s", self._endpoint.name, "; ".join(self._notes))
        if not self._frames or (self._meaning is None and not self.is_over):
            raise self._explain_no_end()
        return End(
            finish_reason=self._meaning or "stop",
            word=self._word,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            model_id=self._model_id,
        )

    def _explain_no_end(self) -> ServingError:
        endpoint = self._endpoint
        words = f"; it said: {endpoint.quote(self._odd_words)}" if self._odd_words else ""
        if not self._frames and find_meaning_of_words(self._odd_words) is not None:
            return explain_complaint(Complaint(words=self._odd_words), endpoint)
        if not self._frames:
            return Unreadable(
                f"{endpoint.name}: nothing that {endpoint.address} sent is an answer of this API; "
                f"check `backend` and `base_url`{words or ' (it sent nothing at all)'}"
            )
        return Interrupted(f"{endpoint.name}: the answer broke off in the middle{words}")

    def _complain(self, complaint: Complaint) -> None:
        raise explain_complaint(complaint, self._endpoint)

    def _say(self, text: str) -> None:
        """Takes text of the answer."""
        if self._half:
            text, self._half = self._half + text, ""
        if text and not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            if "\ud800" <= text[-1] <= "\udbff":  # its other half comes with the next piece
                text, self._half = text[:-1], text[-1]
            text = join_halves(text)
        if text:
            self._text.append(text)
            self._new.append(TextDelta(text))

    def _think(self, text: str) -> None:
        if text:
            self._new.append(ReasoningDelta(text if text.isascii() else join_halves(text)))

    def _read_parts(self, parts: object) -> None:
        """Takes content: a text, a number, a part with a type, or a list of those."""
        if isinstance(parts, str):
            self._say(parts)
        elif isinstance(parts, int | float) and not isinstance(parts, bool):
            self._say(str(parts))
        elif isinstance(parts, list):
            for part in parts:
                self._read_parts(part)
        elif isinstance(parts, dict):
            kind = parts.get("type")
            if kind in _THOUGHT_TYPES or (kind is None and "thinking" in parts):
                self._think(flatten(parts))
            elif kind in _TEXT_TYPES or kind is None:
                self._say(flatten(parts))
            elif kind == "refusal":
                self._say(flatten(parts.get("refusal")))

    def _read_end(self, value: object) -> None:
        word = read_word(value)
        if word is None:
            return
        meaning = find_meaning(word, self._endpoint.finish_reasons)
        worse = meaning if self._meaning is None else find_worse(self._meaning, meaning)
        if worse != self._meaning:
            self._meaning, self._word = worse, word

    def _read_counts(self, usage: object, prompt: Iterable[str], completion: str) -> None:
        """Takes what there is of a message's counts of tokens."""
        if not isinstance(usage, dict):
            return
        counts = [count for name in prompt if (count := read_count(usage.get(name))) is not None]
        if counts:
            self._prompt_tokens = sum(counts)
        counted = read_count(usage.get(completion))
        self._completion_tokens = self._completion_tokens if counted is None else counted


def flatten(part: object) -> str:
    """The text in a part of a content, however deep it lies."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(flatten(inner) for inner in part)
    if isinstance(part, dict):
        for name in ("text", "thinking", "reasoning", "content", "value", "summary", "parts"):
            if part.get(name):
                return flatten(part[name])
    return ""


def read_count(value: object) -> int | None:
    """A number of tokens, also one that is written as a text or with a point."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        count = int(float(value))
    except (ValueError, OverflowError):
        return None
    return count if count >= 0 else None
