"""What is known of the models' strengths at this moment, for drawing the next pair.

A vote of this process is learned the moment it is committed, by a rank-one update. Every
few seconds the record is counted again, which brings in the votes of other processes and
takes out what was excluded, and a full fit replaces what was pieced together. Nothing here
is kept: a restarted process counts, fits, and is where the last one was.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import numpy as np

from arena.battles import Outcome
from ranking import Comparisons
from ranking.bradley_terry import PairCounts
from ranking.posterior import Posterior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.battles import Pairing, Vote
    from arena.census import Census
    from arena.store import Tally

logger = logging.getLogger(__name__)

REFIT_SECONDS = 2.0
_SHARES = {Outcome.MODEL_A: 1.0, Outcome.MODEL_B: 0.0, Outcome.TIE: 0.5, Outcome.BOTH_BAD: 0.5}


class Standing:
    """The posterior of all models that are served or were ever voted on.

    Everything but the counting and the fits, which run in threads, happens on the event
    loop, so nothing here needs a lock.

    Args:
        models: the names that are served now.
        census: counts the votes on record.

    Attributes:
        version: grows whenever something was learned.
    """

    def __init__(self, models: Sequence[str], census: Census) -> None:
        self._served = tuple(models)
        self._census = census
        self._names = tuple(sorted(models))
        self._index = {name: number for number, name in enumerate(self._names)}
        self._posterior = Posterior.prior(len(self._names))
        self._counted: Tally | None = None
        # Votes of this process that no count contains yet, by their numbers.
        self._pending: dict[int, tuple[Pairing, Outcome]] = {}
        self.version = 0

    def of(self, names: Sequence[str]) -> Posterior:
        """What is known of these models, in this order, shapes (N,), (N, N), (N, N)."""
        at = np.array([self._index[name] for name in names])
        whole, block = self._posterior, np.ix_(at, at)
        return Posterior(whole.strengths[at], whole.covariance[block], whole.counts[block])

    @property
    def votes(self) -> int:
        """How many votes it knows."""
        counted = 0 if self._counted is None else self._counted.votes
        return counted + len(self._pending)

    def learn(self, vote: Vote, pairing: Pairing) -> None:
        """Learns a vote that was committed and counts; one that it knows changes nothing."""
        until = 0 if self._counted is None else self._counted.last_vote_id
        if vote.id <= until or vote.id in self._pending:
            return
        self._pending[vote.id] = (pairing, vote.outcome)
        self._posterior = self._update(self._posterior, pairing, vote.outcome)
        self.version += 1

    async def catch_up(self) -> None:
        """Counts the record and fits again if anything changed.

        Raises:
            RankingError: the votes cannot be fitted.
            sqlalchemy.exc.SQLAlchemyError: the database does not answer.
        """
        tally = await asyncio.to_thread(self._census.count)
        if self._counted is not None and _is_same(tally, self._counted) and not self._pending:
            return
        names = tuple(sorted({*self._served, *_voted_on(tally)}))
        posterior = await asyncio.to_thread(_fit, names, tally)
        self._names, self._index = names, {name: number for number, name in enumerate(names)}
        self._counted = tally
        # What was committed while it was counted and fitted comes on top again.
        self._pending = {
            number: vote for number, vote in self._pending.items() if number > tally.last_vote_id
        }
        for pairing, outcome in self._pending.values():
            posterior = self._update(posterior, pairing, outcome)
        self._posterior = posterior
        self.version += 1

    async def keep_up(self) -> None:
        """Catches up for as long as the program runs; what goes wrong is logged."""
        while True:
            await asyncio.sleep(REFIT_SECONDS)
            try:
                await self.catch_up()
            except Exception:
                # Pairs are still drawn from what is known, and the next time may work again.
                logger.exception("the strengths could not be brought up to date")

    def _update(self, posterior: Posterior, pairing: Pairing, outcome: Outcome) -> Posterior:
        a, b = self._index[pairing.model_a], self._index[pairing.model_b]
        return posterior.update(a, b, _SHARES[outcome])


def _is_same(tally: Tally, other: Tally) -> bool:
    told = (tally.votes, tally.last_vote_id, tally.marks)
    return told == (other.votes, other.last_vote_id, other.marks)


def _voted_on(tally: Tally) -> set[str]:
    return {name for count in tally.counts() for name in (count.model_a, count.model_b)}


def _fit(names: tuple[str, ...], tally: Tally) -> Posterior:
    counts = tally.counts()
    if not counts:
        return Posterior.prior(len(names))
    index = {name: number for number, name in enumerate(names)}
    a, b, outcomes, votes = zip(*counts, strict=True)
    comparisons = Comparisons.from_counts(
        [index[name] for name in a], [index[name] for name in b], outcomes, votes, models=names
    )
    return Posterior.from_counts(PairCounts.from_comparisons(comparisons))
