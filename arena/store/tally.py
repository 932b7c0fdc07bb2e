"""The votes that count, counted once for every room of this process that asks."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.store import Tally, VoteCounts

# A tally notices new, excluded and retracted votes, but not a hand that changes the record
# otherwise: so the whole is counted again now and then, for at most a hundredth of the time.
RECOUNT_SECONDS = 60.0
RECOUNT_REST_PER_SECOND = 100.0


class Census:
    """Keeps one tally of the votes and brings it up to date when asked; safe in any thread.

    Args:
        votes: the record.
    """

    def __init__(self, votes: VoteCounts) -> None:
        self._votes = votes
        self._lock = Lock()
        self._tally: Tally | None = None
        self._recount_at = 0.0

    def count(self, *, afresh: bool = False) -> Tally:
        """All votes that count now.

        Args:
            afresh: count the whole record, not only what is new since the last time.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database does not answer.
        """
        with self._lock:
            started = time.monotonic()
            known = None if afresh or started >= self._recount_at else self._tally
            self._tally = self._votes.tally(known)
            if known is None:
                ended = time.monotonic()
                rest = RECOUNT_REST_PER_SECOND * (ended - started)
                self._recount_at = ended + max(RECOUNT_SECONDS, rest)
            return self._tally
