"""Leaderboards: counts from the store, fits from ranking, snapshots back.

Pages read the board that this process saw last; nothing is ever computed for a request.
A snapshot names the votes, the options, the seed and the code version that made it, so
that anybody can make it again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from threading import Lock
from typing import TYPE_CHECKING, Any

import arena
from arena.leaderboards.published import OVERALL, Choice, Part, PublishedBoard, describe_parts
from arena.leaderboards.recipe import Recipe
from arena.leaderboards.style_boards import StyleBoards
from arena.leaderboards.views import look_at
from ranking import Comparisons, Leaderboard, compute_leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.leaderboards.published import StyleParts
    from arena.leaderboards.views import BoardView
    from arena.settings import LeaderboardSettings
    from arena.store import OutcomeCount, Snapshot, Store, Tally
    from arena.store.tally import Census

logger = logging.getLogger(__name__)

# A refresh that takes long is made less often: at most a twentieth of one core.
REST_PER_SECOND_OF_WORK = 20.0


class LeaderboardKeeper:
    """Keeps the leaderboard up with the votes and hands it to pages.

    Reads the latest snapshot when made, so that a restarted process begins where the last
    one ended. Any number of processes may keep the same record fresh: each looks for a
    newer snapshot first, and computes only what nobody has.

    Args:
        store: the record.
        census: counts its votes.
        settings: how often and how precisely.
        models: the names that are configured now.
    """

    def __init__(
        self,
        store: Store,
        census: Census,
        *,
        settings: LeaderboardSettings,
        models: Sequence[str],
    ) -> None:
        self._store = store
        self._census = census
        self._settings = settings
        self._models = tuple(models)
        self._lock = Lock()
        self._recipe = Recipe.from_settings(settings)
        self._styles = StyleBoards(store, self._recipe)
        # A vote is of one category at most, so the others' boards are as they were.
        self._ranked: dict[str, tuple[Sequence[OutcomeCount], Leaderboard]] = {}
        self._board: PublishedBoard | None = None
        self._read_until = 0  # the newest snapshot seen, readable or not
        self._cards: dict[str, dict[str, Any]] = {}
        self._told_settings = False
        self._views = self._look_at()
        self._adopt()

    def latest(self) -> PublishedBoard | None:
        """The board that this process saw last, `None` before the first; asks nobody."""
        return self.view().board

    def view(self, choice: Choice = OVERALL) -> BoardView:
        """What pages show of it; asks nobody.

        Args:
            choice: which board. Where it was not computed, its category's is shown without
                the adjustment, or else the overall one; the view says which.
        """
        views = self._views
        return views.get(choice) or views.get(Choice(choice.category)) or views[OVERALL]

    def is_behind(self) -> bool:
        """Whether the record has votes that the board does not know of yet; asks the record."""
        board = self.latest()
        return self._store.votes.last_id() > (0 if board is None else board.last_vote_id)

    def refresh(self) -> None:
        """Publishes a new board if the record has something that the latest one lacks.

        Safe to call from any thread.

        Raises:
            RankingError: the votes cannot be ranked.
            sqlalchemy.exc.SQLAlchemyError: the database does not answer.
        """
        with self._lock:
            newest = self._store.votes.last_id()
            self._adopt()
            if self._is_stale(newest) or self._is_style_stale():
                self._publish()
                self._adopt()
            self._told_settings = True

    async def keep_fresh(self) -> None:
        """Refreshes for as long as the program runs; what goes wrong is logged."""
        before = 0.0
        while True:
            started = time.monotonic()
            try:
                await asyncio.to_thread(self.refresh)
            except Exception:
                # The next refresh may work again; ending here would freeze the board unseen.
                logger.exception("the leaderboard could not be refreshed")
            worked = time.monotonic() - started
            # One that took long, as the first does, is no habit yet.
            rest = min(worked, before) * REST_PER_SECOND_OF_WORK
            before = worked
            await asyncio.sleep(max(self._settings.refresh_seconds, rest))

    def _snapshot_settings(self) -> dict[str, Any]:
        return {"models": sorted(self._models), **self._recipe.to_dict()}

    def _is_stale(self, newest: int) -> bool:
        board = self._board
        if board is None:
            return newest > 0
        return newest > board.last_vote_id or self._is_told_otherwise(board) or self._differs(board)

    def _is_told_otherwise(self, board: PublishedBoard) -> bool:
        """Whether this process started with other settings than made the board.

        Asked once: two processes with different settings would otherwise outdo each other.
        """
        if self._told_settings:
            return False
        return not self._is_made_alike(board)

    def _is_made_alike(self, board: PublishedBoard) -> bool:
        told = (dict(board.settings), board.code_version)
        return told == (self._snapshot_settings(), arena.__version__)

    def _differs(self, board: PublishedBoard) -> bool:
        """Whether another number of votes counts now, as far as that is cheap to know."""
        if self._census.count().votes == board.votes:
            return False
        # Another process may have found what this one's tally cannot see.
        return self._census.count(afresh=True).votes != board.votes

    def _publish(self) -> None:
        """Computes a board from all votes that count and records it."""
        tally = self._census.count()
        leaderboard = self._rank(tally.counts())
        parts = describe_parts(self._rank_categories(tally), self._rank_styles(tally))
        self._store.snapshots.add(
            votes=tally.votes,
            last_vote_id=tally.last_vote_id,
            code_version=arena.__version__,
            settings=self._snapshot_settings(),
            board={**leaderboard.to_dict(), "boards": parts},
        )

    def _rank(self, counts: Sequence[OutcomeCount]) -> Leaderboard:
        """The board of these votes, empty where there are none; other cores are the pages'."""
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

    def _rank_categories(self, tally: Tally) -> dict[str, Part]:
        """A board for each category with enough votes."""
        parts = {}
        for name, counts in tally.counts_by_category().items():
            votes = sum(count.votes for count in counts)
            if votes < self._recipe.min_votes:
                continue
            known = self._ranked.get(name)
            if known is None or known[0] != counts:
                known = self._ranked[name] = (counts, self._rank(counts))
            parts[name] = Part(votes=votes, leaderboard=known[1])
        return parts

    def _is_style_stale(self) -> bool:
        """Whether votes came since the boards at equal style, and these may be computed."""
        board = self._board
        if board is None or not self._is_made_alike(board):
            return False  # the other process that made it sees to it
        style = board.style
        if style is not None and (style.votes, style.last_vote_id) == (
            board.votes, board.last_vote_id
        ):  # fmt: skip
            return False
        return self._styles.can_rank(style, self._census.count())

    def _rank_styles(self, tally: Tally) -> StyleParts | None:
        """Boards at equal style if they are due, else those that there are."""
        board = self._board
        known = board.style if board is not None and self._is_made_alike(board) else None
        return self._styles.rank(tally) if self._styles.can_rank(known, tally) else known

    def _adopt(self) -> None:
        """Takes over the latest snapshot and the cards if they are new here."""
        snapshot = self._store.snapshots.latest(after=self._read_until)
        cards = self._store.battles.cards()
        board = None if snapshot is None else _read(snapshot)
        if snapshot is not None:
            self._read_until = snapshot.id
        if board is not None:
            self._board = board
        elif cards == self._cards:
            return
        self._cards = cards
        self._views = self._look_at()

    def _look_at(self) -> dict[Choice, BoardView]:
        return look_at(
            self._board, self._cards, models=self._models, min_votes=self._settings.min_votes
        )


def _read(snapshot: Snapshot) -> PublishedBoard | None:
    """The board of a snapshot, `None` if a program of another version wrote it differently.

    The votes are still there, so a board that cannot be read is one to compute again.
    """
    try:
        return PublishedBoard.from_snapshot(snapshot)
    except (KeyError, TypeError, ValueError):
        logger.warning("snapshot %d cannot be read and will be computed again", snapshot.id)
        return None
