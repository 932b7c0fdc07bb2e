"""Which models can answer now: those that keep failing rest until they answer a probe.

A circuit breaker for each model. A few failures in a row that several voters met, or one that
every further request would meet too, and the model is not drawn; when its rest is over it is
asked briefly (half-open), by this process and not by a volunteer, and either returns or rests
for twice as long. What one voter alone meets may be that voter's doing, so it rests nothing.
What is known here concerns this process alone and is lost with it: the next one finds out by
itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arena.rules.battles import ResponseStatus
from serving.protocol import Message, ServingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.rules.battles import Response
    from serving.protocol import ChatModel

logger = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3
VOTERS_IN_A_ROW = 2
FIRST_REST_SECONDS = 30.0
LONGEST_REST_SECONDS = 600.0
LOOK_SECONDS = 1.0
# The next request would meet the same, whatever it asks: there is no connection, or the
# account, the address or the name is wrong.
_AT_ONCE = frozenset({"BadCredentials", "ModelNotFound", "ModelUnreachable", "QuotaUsedUp"})
# The model could answer; this conversation, or our own disk, could not be served.
_NOT_ITS_FAULT = frozenset(
    {"ContextTooLong", "NotStored", "ParameterRefused", "Refused", "UnknownPrompt"}
)
_PROBE = Message("user", "Say OK.")


@dataclass(slots=True)
class _Pulse:
    """What is known of one model."""

    failures: int = 0  # in a row
    voters: set[str | None] = field(default_factory=set)  # who met them
    rests: int = 0  # in a row
    until: float | None = None  # on the monotonic clock, `None` while it may be drawn
    probe: asyncio.Task[None] | None = field(default=None, repr=False)


class ModelHealth:
    """Knows which models rest, from how their answers ended.

    Args:
        models: every model that can be asked, by name.
        first_rest: seconds of a model's first rest; each further one is twice as long.
    """

    def __init__(
        self, models: Mapping[str, ChatModel], *, first_rest: float = FIRST_REST_SECONDS
    ) -> None:
        self._models = models
        self._first_rest = first_rest
        self._pulses = {name: _Pulse() for name in models}
        self._resting: frozenset[str] = frozenset()

    @property
    def resting(self) -> frozenset[str]:
        """The models that are not to be drawn now."""
        return self._resting

    def note(self, name: str, response: Response, *, voter_id: str | None = None) -> None:
        """Learns from an ended answer of a model.

        Args:
            name: the model.
            response: the answer.
            voter_id: whose battle it was, `None` if that is not known: then another one's each
                time.
        """
        pulse = self._pulses[name]
        if response.status is ResponseStatus.COMPLETE:
            self._recover(name, pulse)
        elif response.status is ResponseStatus.FAILED and pulse.until is None:
            # Failures of answers that were under way when a rest began say nothing new.
            self._fail(name, pulse, response.error_kind or "", voter_id)

    async def keep_probing(self) -> None:
        """Probes models whose rest is over, for as long as the program runs."""
        try:
            while True:
                self._probe_rested()
                await asyncio.sleep(min(LOOK_SECONDS, self._first_rest))
        finally:
            probes = [pulse.probe for pulse in self._pulses.values() if pulse.probe is not None]
            for probe in probes:
                probe.cancel()
            await asyncio.gather(*probes, return_exceptions=True)

    def _fail(self, name: str, pulse: _Pulse, kind: str, voter_id: str | None) -> None:
        if kind in _NOT_ITS_FAULT:
            pulse.failures = 0
            pulse.voters.clear()
            return
        pulse.failures += 1
        pulse.voters.add(voter_id)
        several = None in pulse.voters or len(pulse.voters) >= VOTERS_IN_A_ROW
        if kind in _AT_ONCE or (several and pulse.failures >= FAILURES_IN_A_ROW):
            self._rest(name, pulse, kind)

    def _rest(self, name: str, pulse: _Pulse, why: str) -> None:
        seconds = min(self._first_rest * 2**pulse.rests, LONGEST_REST_SECONDS)
        pulse.rests += 1
        pulse.until = time.monotonic() + seconds
        self._resting |= {name}
        logger.warning("%s rests for %g s: %s", name, seconds, why)

    def _probe_rested(self) -> None:
        now = time.monotonic()
        for name, pulse in self._pulses.items():
            if pulse.until is not None and pulse.until <= now and pulse.probe is None:
                pulse.probe = asyncio.create_task(self._probe(name, pulse))

    async def _probe(self, name: str, pulse: _Pulse) -> None:
        try:
            failure = await _ask_briefly(self._models[name])
        finally:
            pulse.probe = None
        if failure is None:
            self._recover(name, pulse)
        elif pulse.until is not None:  # a volunteer's retry may have been answered meanwhile
            self._rest(name, pulse, failure)

    def _recover(self, name: str, pulse: _Pulse) -> None:
        if pulse.until is not None:
            logger.warning("%s answers again", name)
        pulse.failures = pulse.rests = 0
        pulse.voters.clear()
        pulse.until = None
        self._resting -= {name}


async def _ask_briefly(model: ChatModel) -> str | None:
    """Why a model still cannot answer, `None` if it can: its first word is enough."""
    try:
        async with aclosing(model.stream([_PROBE])) as events:
            async for event in events:
                if event.text.strip():
                    return None
    except ServingError as error:
        kind = type(error).__name__
        return None if kind in _NOT_ITS_FAULT else kind
    except Exception as error:
        # Whatever a back end raises, the model goes on resting and is asked again.
        logger.exception("the probe of %s", model.card.name)
        return type(error).__name__
    return "EmptyAnswer"
