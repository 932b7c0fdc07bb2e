"""How much one voter and one address may ask for in a time; no more is ever on record of them."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from limits.errors import StorageError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from arena.battle.crowding import ArenaFull
from arena.settings.rates import read_rate

if TYPE_CHECKING:
    from arena.battle.crowding import Asker

logger = logging.getLogger(__name__)

IN_MEMORY = "memory://"


class Deed(StrEnum):
    """What is counted."""

    BATTLE = "battle"
    FOLLOW_UP = "follow-up"
    REGENERATION = "regeneration"  # and a retry: both ask the models once more
    VOTE = "vote"


class QuotaSpent(ArenaFull):
    """A voter or an address has asked for as much as one may in that time.

    Attributes:
        seconds: until the next is open, at least 1.
    """

    def __init__(self, deed: Deed, seconds: float) -> None:
        self.seconds = max(1.0, seconds)
        super().__init__(f"no {deed} of this voter or address for {self.seconds:.0f} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Such as `"10/minute; 60/hour"`, as the library `limits` writes them; empty for none.

    Attributes:
        of_voter: of one voter, for each deed.
        of_address: from one address, which may be that of a school.
    """

    of_voter: dict[Deed, str] = field(default_factory=dict)
    of_address: dict[Deed, str] = field(default_factory=dict)


class Quotas:
    """Counts deeds in moving windows.

    Args:
        rates: how many.
        storage: where they are counted: in this process, or as a URL of `limits`, such as
            `redis://localhost:6379`, for all processes together.

    Raises:
        limits.errors.ConfigurationError: the storage is none, or its driver is missing.
        ValueError: a rate is none.
    """

    def __init__(self, rates: Rates, storage: str = IN_MEMORY) -> None:
        kept = storage_from_string(storage, wrap_exceptions=True)
        self._limiter = MovingWindowRateLimiter(kept)
        self._is_here = storage == IN_MEMORY
        self._of_voter = {deed: read_rate(rate) for deed, rate in rates.of_voter.items()}
        self._of_address = {deed: read_rate(rate) for deed, rate in rates.of_address.items()}

    async def spend(self, deed: Deed, asker: Asker) -> None:
        """Counts a deed.

        Args:
            deed: which.
            asker: whose. An empty address is that of nobody known and shares nothing.

        Raises:
            QuotaSpent: there were as many as there may be; this one is not counted.
        """
        if self._is_here:
            seconds = self._hit(deed, asker)
        else:
            try:
                seconds = await asyncio.to_thread(self._hit, deed, asker)
            except StorageError as error:
                # People go on; what a flood may do meanwhile is bounded by the number at once.
                logger.warning("nothing is counted while rates.storage is away: %s", error)
                return
        if seconds is not None:
            raise QuotaSpent(deed, seconds)

    def _hit(self, deed: Deed, asker: Asker) -> float | None:
        """How long to wait where there were too many."""
        whose = [("voter", asker.voter_id, self._of_voter.get(deed, ()))]
        if asker.address:
            whose.append(("address", asker.address, self._of_address.get(deed, ())))
        wanted = [(rate, (deed, kind, name)) for kind, name, rates in whose for rate in rates]
        for rate, name in wanted:
            if not self._limiter.test(rate, *name):
                return self._limiter.get_window_stats(rate, *name).reset_time - time.time()
        for rate, name in wanted:
            self._limiter.hit(rate, *name)
        return None
