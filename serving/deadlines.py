"""How long an answer may take, and what ends a wait that is overdue."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["Clock", "Limits", "Overdue", "Watchdog"]

_Event = TypeVar("_Event")


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


@dataclass(slots=True)
class Clock:
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


class Overdue(Exception):
    """A wait that went past its deadline."""


class Watchdog:
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

    async def wait(self, event: Awaitable[_Event], seconds: float) -> _Event:
        """The event.

        Raises:
            Overdue: it did not come in time.
        """
        self._waiting, self._has_bitten = asyncio.current_task(), False
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set()
        try:
            return await event
        except asyncio.CancelledError:
            if self._has_bitten and self._waiting is not None and not self._waiting.uncancel():
                raise Overdue from None
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
