"""The limits that every back end keeps, in one place: timeouts, retries, accounting.

A back end knows one wire API and turns a request into pieces of text and one `End`. A
`LimitedModel` makes a `ChatModel` of it: it puts the system prompt first, keeps the four
timeouts, retries what may pass as long as nothing was shown, takes reasoning out of the text,
refuses an answer that ended badly, and adds up the `Completion`.
"""

from __future__ import annotations

import logging
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from serving.deadlines import Clock, Limits, Overdue, Watchdog
from serving.endings import explain_end
from serving.protocol import (
    Completion,
    FinishReason,
    Interrupted,
    Message,
    ModelCard,
    ModelUnreachable,
    RateLimited,
    ReasoningDelta,
    Refused,
    Sampling,
    ServerFault,
    ServingError,
    StreamEvent,
    TextDelta,
    TimedOut,
    Unreadable,
)
from serving.reasoning import KNOWN_TAGS, ReasoningSplitter, find_stray

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from serving.reasoning import Delta, Tags

logger = logging.getLogger(__name__)

SystemRole = Literal["system", "user"]

# Back-off before a retry: about 0.5 s, 1 s, 2 s … and up to half a second more, so that the
# clients of one server that failed do not come back at the same moment.
_back_off = wait_exponential(multiplier=0.5, max=20) + wait_random(0, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last event of a back end: how the answer ended, as the provider counts it.

    `word` is the provider's own for `finish_reason`.
    """

    finish_reason: FinishReason
    word: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model_id: str


WireEvent = TextDelta | ReasoningDelta | End


class Backend(Protocol):
    """One wire API or source of answers; raises nothing but `ServingError`."""

    def open(self, messages: Sequence[Message], sampling: Sampling) -> AsyncGenerator[WireEvent]:
        """Makes one request; closing the generator closes the request."""
        ...

    async def aclose(self) -> None:
        """Releases connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """Where a model writes its reasoning into the answer.

    Attributes:
        tags: opening and closing tags around it.
        begins_inside: the opening tag is in the model's template, not in its answer.
    """

    tags: tuple[Tags, ...] = KNOWN_TAGS
    begins_inside: bool = False


class _Draft:
    """An answer while it comes, its reasoning kept apart."""

    def __init__(self, reasoning: Reasoning) -> None:
        self._splitter = ReasoningSplitter(reasoning.tags, begins_inside=reasoning.begins_inside)
        self.text: list[str] = []
        self.reasoning: list[str] = []

    def add(self, event: Delta) -> list[Delta]:
        """Takes the next piece; returns what can be shown of it by now."""
        is_text = isinstance(event, TextDelta)
        return self._keep(self._splitter.feed(event.text) if is_text else [event])

    def finish(self) -> list[Delta]:
        """Returns what was held back when nothing more comes."""
        return self._keep(self._splitter.finish())

    def _keep(self, deltas: list[Delta]) -> list[Delta]:
        for delta in deltas:
            (self.text if isinstance(delta, TextDelta) else self.reasoning).append(delta.text)
        return deltas


class LimitedModel:
    """A `ChatModel` that asks a back end within limits."""

    def __init__(
        self,
        backend: Backend,
        *,
        card: ModelCard,
        limits: Limits | None = None,
        sampling: Sampling | None = None,
        system_prompt: str = "",
        system_role: SystemRole = "system",
        reasoning: Reasoning | None = None,
    ) -> None:
        self._backend = backend
        self._card = card
        self._limits = limits or Limits()
        self._sampling = sampling or Sampling()
        self._system_prompt = system_prompt
        self._system_role = system_role
        self._reasoning = reasoning or Reasoning()
        self._has_warned = False

    def __repr__(self) -> str:
        return f"LimitedModel({self._card.name!r})"

    @property
    def card(self) -> ModelCard:
        """What people may read about it."""
        return self._card

    async def aclose(self) -> None:
        """Releases the back end's connections."""
        await self._backend.aclose()

    async def stream(
        self, messages: Sequence[Message], sampling: Sampling | None = None
    ) -> AsyncGenerator[StreamEvent]:
        """Answers a conversation; see `ChatModel.stream`.

        The times of the `Completion` count from the request that was answered, not from
        attempts that failed before it.
        """
        if not messages or messages[-1].role != "user":
            raise Refused(f"{self._card.name}: a conversation must end with the user's message")
        chosen = (sampling or Sampling()).over(self._sampling)
        clock, watchdog, draft = Clock(self._limits), Watchdog(), _Draft(self._reasoning)
        failure: ServingError | None = None
        try:
            source, event = await self._begin(
                self._with_system_prompt(messages), chosen, clock, watchdog
            )
            async with aclosing(source):
                while not isinstance(event, End):
                    for delta in draft.add(event):
                        yield delta
                    event = await self._next_event(source, clock, watchdog)
            end = event
        except ServingError as error:
            failure = error
        finally:
            watchdog.stop()
        for delta in draft.finish():
            yield delta
        if failure is not None:
            raise failure
        yield self._complete(draft, end, clock)

    def _complete(self, draft: _Draft, end: End, clock: Clock) -> Completion:
        """The finished answer.

        Reasoning that came as text, because only its closing tag was sent, is taken out here:
        it has been shown, but it is no part of what is judged.
        """
        now = time.monotonic()
        text, reasoning = "".join(draft.text), "".join(draft.reasoning)
        stray = find_stray(text, self._reasoning.tags)
        if stray is not None:
            text, reasoning = stray.answer, reasoning + stray.reasoning
            self._warn_once(stray.tag)
        return Completion(
            text=text,
            reasoning=reasoning,
            finish_reason=end.finish_reason,
            prompt_tokens=end.prompt_tokens,
            completion_tokens=end.completion_tokens,
            time_to_first_token=(clock.first or now) - clock.request,
            duration=now - clock.request,
            model_id=end.model_id,
        )

    def _warn_once(self, tag: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s: its answers begin with reasoning that nothing opens and %s closes, which "
                "people saw; set reasoning = { begins_inside = true } in its settings",
                self._card.name,
                tag,
            )

    def _with_system_prompt(self, messages: Sequence[Message]) -> list[Message]:
        whole = list(messages)
        if self._system_prompt:
            whole.insert(0, Message("system", self._system_prompt))
        return whole if self._system_role == "system" else _fold_system(whole)

    async def _begin(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        clock: Clock,
        watchdog: Watchdog,
    ) -> tuple[AsyncGenerator[WireEvent], WireEvent]:
        """The open source and its first event, after as many attempts as that may take."""

        async def attempt() -> tuple[AsyncGenerator[WireEvent], WireEvent]:
            clock.request = time.monotonic()
            source = self._backend.open(messages, sampling)
            return source, await self._next_event(source, clock, watchdog)

        try:
            return await attempt()
        except ServingError as error:
            failures = [error]

        async def attempt_again() -> tuple[AsyncGenerator[WireEvent], WireEvent]:
            if failures:
                raise failures.pop()
            return await attempt()

        # Only now: setting this up takes a millisecond, and most answers need no second try.
        retrying = AsyncRetrying(
            stop=stop_after_attempt(1 + self._limits.retries)
            | stop_before_delay(self._limits.total),
            wait=_pause_before_retry,
            retry=retry_if_exception(_may_pass),
            reraise=True,
        )
        return await retrying(attempt_again)

    async def _next_event(
        self, source: AsyncGenerator[WireEvent], clock: Clock, watchdog: Watchdog
    ) -> WireEvent:
        limit, seconds, deadline = clock.next_deadline()
        failure: ServingError
        try:
            event = await watchdog.wait(anext(source), deadline - time.monotonic())
        except Overdue:
            failure = TimedOut(
                f"{self._card.name}: the limit `{limit}` of {seconds:g} s ran out; "
                f"raise `timeouts.{limit}` of this model if it needs longer",
                limit=limit,
            )
        except StopAsyncIteration:
            failure = Interrupted(f"{self._card.name}: the answer ended without saying why")
        except ServingError as error:
            failure = _as_seen_mid_stream(error) if clock.first is not None else error
        else:
            bad_end = None
            if isinstance(event, End):
                bad_end = explain_end(self._card.name, event.finish_reason, event.word)
            elif clock.first is None:
                clock.first = time.monotonic()
            if bad_end is None:
                return event
            failure = bad_end
        # Raised out here, an error carries no chain of causes that might quote a key.
        raise failure


def _fold_system(messages: list[Message]) -> list[Message]:
    """The conversation with its system turns put before the first message of the user."""
    told = [turn.content for turn in messages if turn.role == "system"]
    rest = [turn for turn in messages if turn.role != "system"]
    first = next((at for at, turn in enumerate(rest) if turn.role == "user"), None)
    if not told or first is None:
        return rest
    rest[first] = Message("user", "\n\n".join((*told, rest[first].content)))
    return rest


def _as_seen_mid_stream(error: ServingError) -> ServingError:
    broken = isinstance(error, ModelUnreachable | ServerFault | Unreadable)
    return Interrupted(str(error)) if broken else error


def _may_pass(error: BaseException) -> bool:
    """Whether to ask again: a model that is slow to answer is not helped by asking twice."""
    if isinstance(error, TimedOut):
        return error.limit == "connect"
    return isinstance(error, ServingError) and error.retryable


def _pause_before_retry(state: RetryCallState) -> float:
    pause = _back_off(state)
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, RateLimited) and error.retry_after is not None:
        return max(pause, error.retry_after)
    return pause
