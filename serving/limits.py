"""The limits that every back end keeps, in one place: timeouts, retries, accounting.

A back end knows one wire API and turns a request into pieces of text and one `End`. A
`LimitedModel` makes a `ChatModel` of it: it puts the system prompt first, keeps the four
timeouts, retries what may pass as long as nothing was shown, and adds up the `Completion`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

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
    ServingError,
    StreamEvent,
    TextDelta,
    TimedOut,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

# Back-off before a retry: about 0.5 s, 1 s, 2 s … and up to half a second more, so that the
# clients of one server that failed do not come back at the same moment.
_back_off = wait_exponential(multiplier=0.5, max=20) + wait_random(0, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how often to try, times in seconds.

    Attributes:
        connect: to open a connection; kept by the HTTP client of a back end.
        first_token: from a request to its first text or reasoning.
        between_tokens: between two pieces.
        total: for a whole answer, retries included.
        retries: further attempts after a failure before the first token.
    """

    connect: float = 10.0
    first_token: float = 60.0
    between_tokens: float = 30.0
    total: float = 300.0
    retries: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last event of a back end: how the answer ended, as the provider counts it."""

    finish_reason: FinishReason
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


@dataclass(slots=True)
class _Clock:
    """The times of one answer; `request` moves with each attempt."""

    limits: Limits
    start: float = field(default_factory=time.monotonic)
    request: float = field(default_factory=time.monotonic)
    first: float | None = None

    def next_deadline(self) -> tuple[str, float, float]:
        """The limit that runs out first: its name, its length and when that is."""
        if self.first is None:
            name, seconds, since = "first_token", self.limits.first_token, self.request
        else:
            name, seconds, since = "between_tokens", self.limits.between_tokens, time.monotonic()
        end = self.start + self.limits.total
        if since + seconds <= end:
            return name, seconds, since + seconds
        return "total", self.limits.total, end


class _Overdue(Exception):
    """A wait that went past its deadline."""


class _Watchdog:
    """Ends a wait that goes past its deadline, with one timer for all waits of a stream.

    `asyncio.timeout` for each token would cost a tenth of the time of many streams: a timer
    made and taken back each time. This one is set again only when it has fired too early.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._waiting: asyncio.Task[Any] | None = None
        self._has_bitten = False

    async def wait(self, event: Awaitable[WireEvent], seconds: float) -> WireEvent:
        """The event.

        Raises:
            _Overdue: it did not come in time.
        """
        self._waiting, self._has_bitten = asyncio.current_task(), False
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set()
        try:
            return await event
        except asyncio.CancelledError:
            if self._has_bitten and self._waiting is not None and not self._waiting.uncancel():
                raise _Overdue from None
            raise
        finally:
            self._waiting = None

    def stop(self) -> None:
        """Takes the timer back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self) -> None:
        self.stop()
        self._timer = self._loop.call_at(self._deadline, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiting is None:
            return  # nobody waits; the next who does sets it
        if self._loop.time() < self._deadline:
            self._set()
        else:
            self._has_bitten = True
            self._waiting.cancel()


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
    ) -> None:
        self._backend = backend
        self._card = card
        self._limits = limits or Limits()
        self._sampling = sampling or Sampling()
        self._system_prompt = system_prompt

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
        clock, watchdog = _Clock(self._limits), _Watchdog()
        text: list[str] = []
        reasoning: list[str] = []
        try:
            source, event = await self._begin(
                self._with_system_prompt(messages), chosen, clock, watchdog
            )
            async with aclosing(source):
                while not isinstance(event, End):
                    (text if isinstance(event, TextDelta) else reasoning).append(event.text)
                    yield event
                    event = await self._next_event(source, clock, watchdog)
        finally:
            watchdog.stop()
        now = time.monotonic()
        yield Completion(
            text="".join(text),
            reasoning="".join(reasoning),
            finish_reason=event.finish_reason,
            prompt_tokens=event.prompt_tokens,
            completion_tokens=event.completion_tokens,
            time_to_first_token=(clock.first or now) - clock.request,
            duration=now - clock.request,
            model_id=event.model_id,
        )

    def _with_system_prompt(self, messages: Sequence[Message]) -> list[Message]:
        if not self._system_prompt:
            return list(messages)
        return [Message("system", self._system_prompt), *messages]

    async def _begin(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        clock: _Clock,
        watchdog: _Watchdog,
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
        self, source: AsyncGenerator[WireEvent], clock: _Clock, watchdog: _Watchdog
    ) -> WireEvent:
        limit, seconds, deadline = clock.next_deadline()
        failure: ServingError
        try:
            event = await watchdog.wait(anext(source), deadline - time.monotonic())
        except _Overdue:
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
            if clock.first is None and not isinstance(event, End):
                clock.first = time.monotonic()
            return event
        # Raised out here, an error carries no chain of causes that might quote a key.
        raise failure


def _as_seen_mid_stream(error: ServingError) -> ServingError:
    return Interrupted(str(error)) if isinstance(error, ModelUnreachable) else error


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
