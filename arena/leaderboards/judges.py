"""The boards of AI judges, beside that of people and never part of it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ranking import Leaderboard, Votes, compute_leaderboard
from ranking.intervals.voters import LEAST_VOTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.leaderboards.recipe import Recipe
    from arena.store import JudgeVerdict, JudgeVerdicts
    from ranking import Options

logger = logging.getLogger(__name__)

LOOK_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBoard:
    """How one judge ranks the models.

    Attributes:
        judge: its name.
        verdicts: how many it gave that could be read, both orders of a pair taken together.
        leaderboard: the ranking they make.
    """

    judge: str
    verdicts: int
    leaderboard: Leaderboard

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "judge": self.judge, "verdicts": self.verdicts, "board": self.leaderboard.to_dict()
        }  # fmt: skip


class JudgeBoardKeeper:
    """Keeps the judges' boards up with their verdicts.

    Args:
        record: the verdicts.
        recipe: of the arena's boards.
    """

    def __init__(self, record: JudgeVerdicts, recipe: Recipe) -> None:
        self._record = record
        self._recipe = recipe
        self._count = 0
        self._boards: tuple[JudgeBoard, ...] = ()

    def latest(self) -> tuple[JudgeBoard, ...]:
        """The boards as this process saw them last, by name; asks nobody."""
        return self._boards

    def refresh(self) -> None:
        """Ranks again if there are more verdicts than before.

        Raises:
            RankingError: the verdicts cannot be ranked.
            sqlalchemy.exc.SQLAlchemyError: the database does not answer.
        """
        count = self._record.count()
        if count == self._count:
            return
        boards = []
        for judge, group in groupby(self._record.read(), key=lambda verdict: verdict.judge):
            readable = [verdict for verdict in group if verdict.verdict is not None]
            leaderboard = rank_verdicts(readable, self._recipe, threads=1)
            if leaderboard is not None:
                boards.append(
                    JudgeBoard(judge=judge, verdicts=len(readable), leaderboard=leaderboard)
                )
        self._boards, self._count = tuple(boards), count

    async def keep_fresh(self) -> None:
        """Refreshes for as long as the program runs; what goes wrong is logged."""
        while True:
            try:
                await asyncio.to_thread(self.refresh)
            except Exception:
                # The next refresh may work again; ending here would freeze the boards unseen.
                logger.exception("the judges' boards could not be refreshed")
            await asyncio.sleep(LOOK_SECONDS)


def rank_verdicts(
    verdicts: Sequence[JudgeVerdict], recipe: Recipe, *, threads: int | None = None
) -> Leaderboard | None:
    """Ranks models by what judges said about them.

    Args:
        verdicts: of one judge, or of several.
        recipe: of the arena's boards.
        threads: of the bootstrap; all cores if not told.

    Returns:
        The board, `None` where there is no verdict to rank by.
    """
    verdicts = [verdict for verdict in verdicts if verdict.verdict is not None]
    if not verdicts:
        return None
    votes, options = gather_verdicts(verdicts, recipe)
    return compute_leaderboard(votes, options, threads=threads, fragility=True)


def gather_verdicts(verdicts: Sequence[JudgeVerdict], recipe: Recipe) -> tuple[Votes, Options]:
    """Verdicts as votes, and the options of a board made of them.

    A verdict that the two orders did not agree on counts as a tie, and one that could not be
    read in both counts nowhere. Verdicts on one battle are not independent, so the intervals
    take battles with all that was said of them, where there are several.

    Args:
        verdicts: of one judge, or of several; at least one.
        recipe: of the arena's boards.
    """
    votes = Votes.from_columns(
        [verdict.model_a for verdict in verdicts],
        [verdict.model_b for verdict in verdicts],
        [str(verdict.verdict) for verdict in verdicts],
        # Whose votes go together: here those about one battle.
        voter=[verdict.battle_id for verdict in verdicts],
        groups={"category": [verdict.category for verdict in verdicts]},
    )
    has_several = votes.to_rows(cluster=True).effective_clusters >= LEAST_VOTERS
    return votes, recipe.judges if has_several else recipe.options
