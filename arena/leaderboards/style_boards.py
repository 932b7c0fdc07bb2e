"""Boards at equal style: they need a line a vote, so they are made less often than the others."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from arena.leaderboards.published import Part, StyleParts
from arena.leaderboards.style import StyleRecord
from ranking import RankingError, compute_leaderboard

if TYPE_CHECKING:
    from arena.leaderboards.recipe import Recipe
    from arena.store import Store, Tally
    from ranking import Votes

logger = logging.getLogger(__name__)

# At most a hundredth of the time goes into them.
STYLE_SECONDS = 60.0
STYLE_REST_PER_SECOND = 100.0


class StyleBoards:
    """Computes boards at equal style when they are due.

    Args:
        store: where the texts of the answers are.
        recipe: what they are told.
    """

    def __init__(self, store: Store, recipe: Recipe) -> None:
        self._recipe = recipe
        self._record = StyleRecord(store)
        self._rest = STYLE_SECONDS

    def can_rank(self, known: StyleParts | None, tally: Tally) -> bool:
        """Whether new boards may be made: they are due, and the texts of the votes are read.

        Args:
            known: the boards that there are, whichever process made them.
            tally: all votes; some of the texts not read yet are read now.
        """
        if known is not None:
            rested = datetime.now(UTC) - known.computed_at
            if rested < timedelta(seconds=self._rest):
                return False
        return self._record.catch_up(tally)

    def rank(self, tally: Tally) -> StyleParts:
        """Boards at equal style, overall and of each category, where they can be computed."""
        started = time.monotonic()
        votes = self._record.votes(tally)
        overall = None if votes is None else self._adjust("all votes", votes)
        categories = {} if votes is None else self._rank_categories(votes)
        parts = StyleParts(
            computed_at=datetime.now(UTC),
            votes=tally.votes,
            last_vote_id=tally.last_vote_id,
            overall=overall,
            categories=categories,
        )
        self._rest = max(STYLE_SECONDS, STYLE_REST_PER_SECOND * (time.monotonic() - started))
        return parts

    def _rank_categories(self, votes: Votes) -> dict[str, Part]:
        adjusted = {name: self._adjust(name, part) for name, part in votes.split("category")}
        return {name: part for name, part in adjusted.items() if part is not None}

    def _adjust(self, name: str, votes: Votes) -> Part | None:
        """A board at equal style; `None` if votes are few or all answers look alike."""
        varied = votes.drop_absent_models().drop_absent_covariates()
        if varied.covariates is None or len(votes) < self._recipe.min_votes:
            return None
        try:
            leaderboard = compute_leaderboard(varied, self._recipe.style, threads=1)
        except RankingError as error:
            logger.warning("the style of %s cannot be adjusted for: %s", name, error)
            return None
        return Part(votes=len(votes), leaderboard=leaderboard)
