"""Answers from a file: arenas over pre-generated answers, and load tests without a model.

The file holds one JSON object a line, see `Row`. A conversation is looked up by all of its
user messages; what the model said in between does not matter, since it is recorded too.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from serving.limits import End, LimitedModel
from serving.protocol import (
    FinishReason,
    Message,
    ReasoningDelta,
    Sampling,
    ServingError,
    TextDelta,
    UnknownPrompt,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path

    from serving.limits import WireEvent
    from serving.specs import ModelSpec

ANY_PROMPT = "*"
# English text has about four characters in a token of today's vocabularies; used where a
# row does not say how many tokens its answer had.
_CHARACTERS_A_TOKEN = 4
# A stream wakes up at most this often and then sends every token that is due: a person sees
# no difference, and two hundred fast streams stay cheap.
_SECONDS_A_TICK = 0.02
_PROMPTS_IN_A_MESSAGE = 3

Key = tuple[str, ...]


class RecordedMessage(BaseModel):
    """One turn of a recorded conversation."""

    role: str
    content: str


class Row(BaseModel):
    """One line of the file: a prompt or a conversation, and the answer to it.

    Other fields are ignored, so that a file may carry more about an answer.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    prompt: str | None = Field(
        default=None, description="The user's only message; '*' answers every other prompt."
    )
    messages: tuple[RecordedMessage, ...] | None = Field(
        default=None, description="The conversation up to the user's last message."
    )
    answer: str
    reasoning: str = ""
    model_id: str | None = Field(default=None, description="What the provider calls the model.")
    tokens: int | None = Field(
        default=None, ge=1, description="Tokens of reasoning and answer; about length/4 if unset."
    )
    prompt_tokens: int | None = Field(default=None, ge=0)
    time_to_first_token: float | None = Field(default=None, ge=0, description="Seconds.")
    tokens_per_second: float | None = Field(default=None, gt=0)
    finish_reason: FinishReason = "stop"

    @property
    def key(self) -> Key:
        """All user messages, in order."""
        if self.messages is None:
            return (_normalise(self.prompt or ""),)
        return tuple(_normalise(turn.content) for turn in self.messages if turn.role == "user")

    @property
    def token_count(self) -> int:
        """Its tokens as recorded, or as estimated from its length."""
        length = len(self.reasoning) + len(self.answer)
        return self.tokens or max(1, math.ceil(length / _CHARACTERS_A_TOKEN))


def _normalise(text: str) -> str:
    return " ".join(text.split())


def read_rows(path: Path, *, model_id: str | None = None) -> dict[Key, Row]:
    """Reads recorded answers.

    Args:
        path: the JSONL file.
        model_id: use only rows of this model (and rows that name none), so that one file
            can hold the answers of several models.

    Returns:
        The rows by their user messages.

    Raises:
        ServingError: the file cannot be read, a line is not a valid row, a conversation
            has two answers, or no row is left.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(
            f"cannot read recorded answers from {path}: {error}; check `path`"
        ) from error
    rows: dict[Key, Row] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _parse_row(line, where=f"{path} line {number}")
        if model_id is not None and row.model_id not in (None, model_id):
            continue
        if row.key in rows:
            raise ServingError(
                f"{path} line {number}: a second answer to {row.key[-1][:80]!r}; keep one, or "
                "tell the models apart by `model_id` and name one in `model`"
            )
        rows[row.key] = row
    if not rows:
        whose = f" of model_id {model_id!r}" if model_id else ""
        raise ServingError(f"{path} holds no answers{whose}; check `path` and `model`")
    return rows


def _parse_row(line: str, *, where: str) -> Row:
    try:
        row = Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise ServingError(
            f"{where}: {field}: {first['msg']}; a row is "
            '{"prompt": "…", "answer": "…"} or {"messages": […], "answer": "…"}'
        ) from error
    if (row.prompt is None) == (row.messages is None):
        raise ServingError(f"{where}: give either `prompt` or `messages`")
    if not row.key or not all(row.key):
        raise ServingError(f"{where}: it has no user message, or an empty one")
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When the tokens of an answer are due; `tokens_per_second` None is all at once."""

    time_to_first_token: float = 0.0
    tokens_per_second: float | None = None


class RecordedBackend:
    """Plays recorded answers, at their own pace or at one for all.

    A token is an equal share of the characters of reasoning and answer together: as many
    shares as the row's `tokens`, or one for every four characters. Each is due at a fixed
    time after the request, so a stream that was held up catches up.
    """

    def __init__(
        self,
        rows: Mapping[Key, Row],
        *,
        name: str,
        model_id: str | None = None,
        time_to_first_token: float | None = None,
        tokens_per_second: float | None = None,
    ) -> None:
        self._rows = rows
        self._name = name
        self._model_id = model_id or name
        self._time_to_first_token = time_to_first_token
        self._tokens_per_second = tokens_per_second

    @property
    def prompts(self) -> tuple[str, ...]:
        """Prompts with which a conversation can begin, as the file has them."""
        return self._continuations(())

    @property
    def answers_anything(self) -> bool:
        """Whether a row `*` answers what has no row of its own."""
        return (ANY_PROMPT,) in self._rows

    async def open(
        self, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[WireEvent]:
        """Streams the recorded answer; `sampling` cannot change it."""
        del sampling
        row = self._find(messages)
        async for event in play(row, self._pace(row)):
            yield event
        yield End(
            finish_reason=row.finish_reason,
            word=row.finish_reason,
            prompt_tokens=row.prompt_tokens,
            completion_tokens=row.token_count,
            model_id=row.model_id or self._model_id,
        )

    async def aclose(self) -> None:
        """Nothing is open."""

    def _pace(self, row: Row) -> Pace:
        first, speed = self._time_to_first_token, self._tokens_per_second
        return Pace(
            time_to_first_token=(row.time_to_first_token or 0.0) if first is None else first,
            tokens_per_second=row.tokens_per_second if speed is None else speed,
        )

    def _find(self, messages: Sequence[Message]) -> Row:
        key = tuple(_normalise(turn.content) for turn in messages if turn.role == "user")
        row = self._rows.get(key) or self._rows.get((ANY_PROMPT,))
        if row is not None:
            return row
        known = self._continuations(key[:-1]) or self.prompts
        some = ", ".join(repr(prompt) for prompt in known[:_PROMPTS_IN_A_MESSAGE])
        raise UnknownPrompt(
            f"{self._name}: no recorded answer to {key[-1][:80]!r} at this point of the "
            f"conversation; it has {len(known)} prompts, such as {some}",
            known=known,
        )

    def _continuations(self, asked: Key) -> tuple[str, ...]:
        depth = len(asked)
        return tuple(
            row.prompt.strip() if row.prompt is not None else _last_user_message(row)
            for key, row in self._rows.items()
            if len(key) == depth + 1 and key[:depth] == asked and key != (ANY_PROMPT,)
        )


def _last_user_message(row: Row) -> str:
    return next(
        turn.content.strip() for turn in reversed(row.messages or ()) if turn.role == "user"
    )


async def play(row: Row, pace: Pace) -> AsyncGenerator[TextDelta | ReasoningDelta]:
    """Streams a row's reasoning and answer at a pace."""
    start = time.monotonic()
    if pace.time_to_first_token > 0:
        await asyncio.sleep(pace.time_to_first_token)
    whole, thought = row.reasoning + row.answer, len(row.reasoning)
    tokens, sent = row.token_count, 0
    while sent < len(whole):
        due = tokens
        if pace.tokens_per_second is not None:
            elapsed = time.monotonic() - start - pace.time_to_first_token
            due = min(tokens, 1 + int(elapsed * pace.tokens_per_second))
        end = len(whole) * due // tokens
        if sent < thought and end > sent:
            yield ReasoningDelta(whole[sent : min(end, thought)])
        if end > max(sent, thought):
            yield TextDelta(whole[max(sent, thought) : end])
        sent = max(sent, end)
        if sent < len(whole) and pace.tokens_per_second is not None:
            next_due = start + pace.time_to_first_token + due / pace.tokens_per_second
            await asyncio.sleep(max(_SECONDS_A_TICK, next_due - time.monotonic()))


class RecordedModel(LimitedModel):
    """A model whose answers were recorded."""

    def __init__(self, spec: ModelSpec, rows: Mapping[Key, Row]) -> None:
        source = RecordedBackend(
            rows,
            name=spec.name,
            model_id=spec.model,
            time_to_first_token=spec.time_to_first_token,
            tokens_per_second=spec.tokens_per_second,
        )
        super().__init__(
            source,
            card=spec.card,
            limits=spec.limits,
            reasoning=spec.reasoning.to_reasoning(),
        )
        self._source = source

    @property
    def prompts(self) -> tuple[str, ...]:
        """Prompts with which a conversation can begin; empty if it answers only `*`."""
        return self._source.prompts

    @property
    def answers_anything(self) -> bool:
        """Whether a row `*` answers every prompt that has no row of its own."""
        return self._source.answers_anything


async def load_recorded(spec: ModelSpec) -> RecordedModel:
    """Reads a model's file without holding up the event loop.

    Raises:
        ServingError: see `read_rows`.
    """
    if spec.path is None:
        raise ServingError(f"model {spec.name!r} needs `path`, the JSONL file with its answers")
    rows = await asyncio.to_thread(read_rows, spec.path, model_id=spec.model)
    return RecordedModel(spec, rows)
