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
_TOKENS_A_PRICE = 1_000_000


class Spending:
    """Adds up the day's tokens (UTC) at the prices of the cards, those of all processes.

    A model that has reached its cap is not drawn for the remainder of the day. Battles that
    are being answered go on, and answers whose provider counts no tokens cost nothing here.

    Args:
        tokens: the record.
        cards: of the models that have a cap, each with its prices.
        caps: US dollars a day, by name.
    """

    def __init__(
        self, tokens: TokenCounts, *, cards: Mapping[str, ModelCard], caps: Mapping[str, float]
    ) -> None:
        self._tokens = tokens
        self._cards = cards
        self._caps = dict(caps)
        self._spent_out: frozenset[str] = frozenset()

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
        spent_out = frozenset(
            name
            for name, cap in self._caps.items()
            if name in tokens and cost_of(tokens[name], self._cards[name]) >= cap
        )
        for name in sorted(spent_out - self._spent_out):
            logger.warning("%s has reached its cap of $%g a day", name, self._caps[name])
        self._spent_out = spent_out

    async def keep_counting(self) -> None:
        """Counts for as long as the program runs; what goes wrong is logged."""
        while self._caps:
            await asyncio.sleep(COUNT_SECONDS)
            try:
                await self.count()
            except Exception:
                # A count that fails must not take the models away, and the next may work.
                logger.exception("the cost of the day could not be added up")


def cost_of(tokens: Tokens, card: ModelCard) -> float:
    """US dollars at the card's prices; a price that is not known counts as nothing."""
    prices = (card.price_input or 0.0, card.price_output or 0.0)
    return (tokens.prompt * prices[0] + tokens.completion * prices[1]) / _TOKENS_A_PRICE
