"""The fits behind the leaderboards: overall, of each category, and at equal style."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arena.leaderboards.published import Part, StyleParts
from ranking import Comparisons, Leaderboard, RankingError, compute_leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.leaderboards.recipe import Recipe
    from arena.store import OutcomeCount, Tally
    from ranking import Votes

logger = logging.getLogger(__name__)


class BoardFits:
    """Computes boards from votes, one thread each: the other cores belong to the pages.

    Args:
        recipe: what they are told.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        # A vote is of one category at most, so the others' boards are as they were.
        self._ranked: dict[str, tuple[Sequence[OutcomeCount], Leaderboard]] = {}

    def rank(self, counts: Sequence[OutcomeCount]) -> Leaderboard:
        """The board of these votes, empty where there are none."""
        if not counts:
            told = self._recipe.options.to_dict()
            return Leaderboard(entries=(), battles=(), win_rates=(), method=told)
        a, b, outcomes, votes = zip(*counts, strict=True)
        return compute_leaderboard(
            Comparisons.from_counts(a, b, outcomes, votes),
            self._recipe.options,
            threads=1,
            fragility=True,
        )

    def rank_categories(self, tally: Tally) -> dict[str, Part]:
        """A board for each category with enough votes."""
        parts = {}
        for name, counts in tally.counts_by_category().items():
            votes = sum(count.votes for count in counts)
            if votes < self._recipe.min_votes:
                continue
            known = self._ranked.get(name)
            if known is None or known[0] != counts:
                known = self._ranked[name] = (counts, self.rank(counts))
            parts[name] = Part(votes=votes, leaderboard=known[1])
        return parts

    def rank_styles(self, votes: Votes | None, tally: Tally) -> StyleParts:
        """Boards at equal style, overall and of each category, where they can be computed.

        Args:
            votes: those whose texts are on record, with covariates.
            tally: all votes.
        """
        overall, categories = None, {}
        if votes is not None:
            overall = self._adjust("all votes", votes)
            for name, part in votes.split("category"):
                adjusted = self._adjust(name, part)
                if adjusted is not None:
                    categories[name] = adjusted
        return StyleParts(
            computed_at=datetime.now(UTC),
            votes=tally.votes,
            last_vote_id=tally.last_vote_id,
            overall=overall,
            categories=categories,
        )

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
