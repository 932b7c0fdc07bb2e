"""The fits behind the leaderboards: overall, of each category, and at equal style."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from arena.leaderboards.published import Part, StyleParts
from arena.leaderboards.style import FEATURES
from ranking import Comparisons, Leaderboard, RankingError, compute_leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.settings import LeaderboardSettings
    from arena.store import OutcomeCount, Tally
    from ranking import Votes

logger = logging.getLogger(__name__)

SEED = 0  # of the bootstrap: the same votes give the same intervals again


class BoardFits:
    """Computes boards from votes, one thread each: the other cores belong to the pages.

    Args:
        settings: how precisely, and which categories.
    """

    def __init__(self, settings: LeaderboardSettings) -> None:
        self._settings = settings
        # A vote is of one category at most, so the others' boards are as they were.
        self._ranked: dict[str, tuple[Sequence[OutcomeCount], Leaderboard]] = {}

    @property
    def options(self) -> dict[str, Any]:
        """What `compute_leaderboard` is told for the overall board and the categories."""
        return {
            "interval": "bootstrap",
            "replicates": self._settings.replicates,
            "level": self._settings.level,
            # Adaptive draws need it: see docs/pairing.md.
            "prior": "fitted",
            "both_bad": "tie",
            "seed": SEED,
        }

    @property
    def style_options(self) -> dict[str, Any]:
        """The same for boards at equal style: a bootstrap with covariates would take minutes."""
        return {**self.options, "interval": "sandwich", "covariates": True}

    def describe(self) -> dict[str, Any]:
        """All that these boards are told, as a snapshot records it."""
        return {
            "options": self.options,
            "categories": {"min_votes": self._settings.min_category_votes},
            "style": {"features": list(FEATURES), "options": self.style_options},
        }

    def rank(self, counts: Sequence[OutcomeCount]) -> Leaderboard:
        """The board of these votes, empty where there are none."""
        if not counts:
            return Leaderboard(entries=(), battles=(), win_rates=(), method=self.options)
        a, b, outcomes, votes = zip(*counts, strict=True)
        return compute_leaderboard(
            Comparisons.from_counts(a, b, outcomes, votes), **self.options, threads=1
        )

    def rank_categories(self, tally: Tally) -> dict[str, Part]:
        """A board for each category with enough votes."""
        parts = {}
        for name, counts in tally.counts_by_category().items():
            votes = sum(count.votes for count in counts)
            if votes < self._settings.min_category_votes:
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
        varied = _keep_varied(votes)
        if varied is None or len(votes) < self._settings.min_category_votes:
            return None
        try:
            leaderboard = compute_leaderboard(varied, **self.style_options, threads=1)
        except RankingError as error:
            logger.warning("the style of %s cannot be adjusted for: %s", name, error)
            return None
        return Part(votes=len(votes), leaderboard=leaderboard)


def _keep_varied(votes: Votes) -> Votes | None:
    """Votes without the features in which their answers never differ from vote to vote."""
    z = votes.covariates
    if z is None or not len(votes):
        return None
    varies = z.std(axis=0) > 0
    names = zip(votes.covariate_names, varies, strict=True)
    kept = replace(
        votes,
        covariates=z[:, varies],
        covariate_names=tuple(name for name, does in names if does),
    )
    return kept.drop_absent_models() if varies.any() else None
