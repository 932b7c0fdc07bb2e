"""What the models have cost today, and which of them have reached their cap."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.store import TokenCounts, Tokens
    from serving.protocol import ModelCard

logger = logging.getLogger(__name__)

COUNT_SECONDS = 10.0


class Spending:
    """Adds up the day's tokens (UTC) at the prices of the cards, those of all processes.

    A model that has reached its cap is not drawn for the remainder of the day. Battles that
    are being answered go on. What an answer without token counts cost is not known: the cap
    cannot see it, and that is said.

    Args:
        tokens: the record.
        cards: of the models that have a cap, each with its prices.
        caps: US dollars a day, by name.

    Raises:
        ValueError: the prices of a model that has a cap are not known.
    """

    def __init__(
        self, tokens: TokenCounts, *, cards: Mapping[str, ModelCard], caps: Mapping[str, float]
    ) -> None:
        unpriced = sorted(name for name in caps if not cards[name].is_priced)
        if unpriced:
            raise ValueError(f"a cap needs the model's prices: {', '.join(unpriced)}")
        self._tokens = tokens
        self._cards = cards
        self._caps = dict(caps)
        self._spent_out: frozenset[str] = frozenset()
        self._uncounted: frozenset[str] = frozenset()

    @property
    def spent_out(self) -> frozenset[str]:
        """The models that have reached their cap, as of the last count."""
        return self._spent_out

    async def count(self) -> None:
        """Adds up what was answered since midnight.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database does not answer.
        """
        if not self._caps:
            return
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        tokens = await asyncio.to_thread(self._tokens.since, midnight)
        counted = {name: tokens[name] for name in self._caps if name in tokens}
        spent_out = frozenset(name for name in counted if self._has_spent(name, counted[name]))
        for name in sorted(spent_out - self._spent_out):
            logger.warning("%s has reached its cap of $%g a day", name, self._caps[name])
        self._spent_out = spent_out
        self._say_uncounted({name: read.uncounted for name, read in counted.items()})

    def _has_spent(self, name: str, tokens: Tokens) -> bool:
        cost = self._cards[name].cost(tokens.prompt, tokens.completion)
        return cost is not None and cost >= self._caps[name]

    def _say_uncounted(self, answers: Mapping[str, int]) -> None:
        """Once a day and model: a cap that cannot see everything is not kept in silence."""
        found = frozenset(name for name, number in answers.items() if number)
        for name in sorted(found - self._uncounted):
            logger.warning(
                "answers of %s came without token counts: what they cost is not known, and its "
                "cap of $%g a day does not see it",
                name,
                self._caps[name],
            )
        self._uncounted = found

    async def keep_counting(self) -> None:
        """Counts for as long as the program runs; what goes wrong is logged."""
        while self._caps:
            await asyncio.sleep(COUNT_SECONDS)
            try:
                await self.count()
            except Exception:
                # A count that fails must not take the models away, and the next may work.
                logger.exception("the cost of the day could not be added up")
