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

from arena.rules.battles import Outcome
from ranking import Comparisons
from ranking.fits.bradley_terry import PairCounts
from ranking.pairing.policies import find_games_due
from ranking.pairing.posterior import Posterior

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from arena.rules.battles import Battle, Pairing
    from arena.store import Tally
    from arena.store.tally import Census

logger = logging.getLogger(__name__)

REFIT_SECONDS = 2.0
_SHARES = {Outcome.MODEL_A: 1.0, Outcome.MODEL_B: 0.0, Outcome.TIE: 0.5, Outcome.BOTH_BAD: 0.5}


class Strengths:
    """The posterior of all models that are served or were ever voted on.

    What changes it happens on the event loop, but for the counting and the fits, which run
    in threads and change nothing; `of` may be asked from any thread.

    Args:
        models: the names that are served now.
        census: counts the votes on record.

    Attributes:
        version: grows whenever something was learned.
    """

    def __init__(self, models: Sequence[str], census: Census) -> None:
        self._served = tuple(models)
        self._census = census
        # Replaced as a whole: where each model stands in the posterior, and that.
        self._known = _number(models), Posterior.prior(len(models))
        self._due: Mapping[str, int] = {}
        self._counted: Tally | None = None
        # Votes of this process that no count contains yet, by their numbers.
        self._pending: dict[int, tuple[Pairing, Outcome]] = {}
        self.version = 0

    def of(self, names: Sequence[str]) -> Posterior:
        """What is known of these models, in this order, shapes (N,), (N, N), (N, N)."""
        index, whole = self._known
        if tuple(names) == tuple(index):
            return whole  # nobody has retired: nothing to leave out, and no copy to make
        at = np.array([index[name] for name in names])
        block = np.ix_(at, at)
        return Posterior(whole.strengths[at], whole.covariance[block], whole.counts[block])

    def votes_on(self, names: Sequence[str]) -> tuple[int, ...]:
        """How many votes there are on each of these models, whoever they met."""
        index, whole = self._known
        games = whole.counts.sum(axis=1)
        return tuple(round(float(games[index[name]])) for name in names)

    def votes_due(self, names: Sequence[str]) -> tuple[int, ...]:
        """With how many votes each of these models has caught up; 0 where it came early."""
        return tuple(self._due.get(name, 0) for name in names)

    def newcomers(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Which of these models came late and have not caught up, shape (N,)."""
        found = np.zeros(len(names), dtype=np.bool_)
        index, whole = self._known
        for position, name in enumerate(names):
            due = self._due.get(name)  # hardly anybody is late: no sum over all models
            if due is not None:
                found[position] = whole.counts[index[name]].sum() < due
        return found

    @property
    def votes(self) -> int:
        """How many votes it knows."""
        counted = 0 if self._counted is None else self._counted.votes
        return counted + len(self._pending)

    def learn(self, battle: Battle) -> None:
        """Learns the vote on a battle, if it has one that counts; a known one changes nothing."""
        vote = battle.vote
        if vote is None or vote.is_excluded:
            return
        until = 0 if self._counted is None else self._counted.last_vote_id
        if vote.id <= until or vote.id in self._pending:
            return
        self._pending[vote.id] = (battle.pairing, vote.outcome)
        index, posterior = self._known
        self._known = index, _update(posterior, index, battle.pairing, vote.outcome)
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
        index, posterior = await asyncio.to_thread(_fit, self._served, tally)
        self._counted = tally
        # What was committed while it was counted and fitted comes on top again.
        self._pending = {
            number: vote for number, vote in self._pending.items() if number > tally.last_vote_id
        }
        for pairing, outcome in self._pending.values():
            posterior = _update(posterior, index, pairing, outcome)
        self._known = index, posterior
        self._due = _find_due(index, tally)
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


def _number(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(names))}


def _update(
    posterior: Posterior, index: Mapping[str, int], pairing: Pairing, outcome: Outcome
) -> Posterior:
    if not {pairing.model_a, pairing.model_b} <= index.keys():
        return posterior  # no longer served, and never voted on: the next count makes it a place
    return posterior.update(index[pairing.model_a], index[pairing.model_b], _SHARES[outcome])


def _is_same(tally: Tally, other: Tally) -> bool:
    told = (tally.votes, tally.last_vote_id, tally.marks)
    return told == (other.votes, other.last_vote_id, other.marks)


def _find_due(names: Iterable[str], tally: Tally) -> dict[str, int]:
    """Of the models that came when the others had votes already, how many they are to have.

    A model without a vote comes with the next one.
    """
    names = tuple(names)
    arrivals = [tally.first_vote_ids.get(name, tally.last_vote_id + 1) - 1 for name in names]
    due = find_games_due(np.array(arrivals, dtype=np.float64))
    return {name: round(games) for name, games in zip(names, due, strict=True) if games}


def _fit(served: Sequence[str], tally: Tally) -> tuple[dict[str, int], Posterior]:
    """Where each model that is served or was voted on stands, and what is known of them."""
    counts = tally.counts()
    if not counts:
        return _number(served), Posterior.prior(len(served))
    a, b, outcomes, votes = zip(*counts, strict=True)
    index = _number({*served, *a, *b})
    comparisons = Comparisons.from_counts(
        [index[name] for name in a],
        [index[name] for name in b],
        outcomes,
        votes,
        models=tuple(index),
    )
    return index, Posterior.from_counts(PairCounts.from_comparisons(comparisons))
