"""Leaderboards: counts from the store, fits from ranking, snapshots back.

Pages read the board that this process saw last; nothing is ever computed for a request.
A snapshot names the votes, the options, the seed and the code version that made it, so
that anybody can make it again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import arena
from ranking import Comparisons, Leaderboard, compute_leaderboard
from ranking.bradley_terry import DEFAULT_PRIOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from arena.matchmaker import Matchmaker
    from arena.settings import LeaderboardSettings
    from arena.store import Snapshot, Store, Tally
    from ranking import Entry

logger = logging.getLogger(__name__)

SEED = 0  # of the bootstrap: the same votes give the same intervals again
# A tally notices new, excluded and retracted votes, but not a hand that changes the record
# otherwise: so the whole is counted again now and then, for at most a hundredth of the time.
RECOUNT_SECONDS = 60.0
RECOUNT_REST_PER_SECOND = 100.0
# A refresh that takes long is made less often: at most a twentieth of one core.
REST_PER_SECOND_OF_WORK = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A published leaderboard.

    Attributes:
        snapshot_id: its number on record.
        computed_at: when.
        votes: how many votes it counts.
        last_vote_id: the newest vote that existed when it was computed.
        code_version: of the program that computed it.
        settings: what the computation was told.
        leaderboard: the result.
    """

    snapshot_id: int
    computed_at: datetime
    votes: int
    last_vote_id: int
    code_version: str
    settings: Mapping[str, Any]
    leaderboard: Leaderboard

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Board:
        """Reads a snapshot."""
        return cls(
            snapshot_id=snapshot.id,
            computed_at=snapshot.created_at,
            votes=snapshot.votes,
            last_vote_id=snapshot.last_vote_id,
            code_version=snapshot.code_version,
            settings=snapshot.settings,
            leaderboard=Leaderboard.from_dict(snapshot.board),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardModel:
    """A model as its card describes it.

    Attributes:
        name: shown.
        organisation: its maker.
        license: of the weights or the service.
    """

    name: str
    organisation: str
    license: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardLine:
    """A ranked model.

    Attributes:
        model: who.
        entry: its numbers.
        has_few_votes: fewer than `leaderboard.min_votes`.
        is_retired: it is no longer configured and gets no new votes.
    """

    model: BoardModel
    entry: Entry
    has_few_votes: bool
    is_retired: bool

    @property
    def is_provisional(self) -> bool:
        """Whether the place says little yet: few votes, or only the prior bounds it."""
        return self.has_few_votes or self.entry.provisional


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardView:
    """What the leaderboard page shows.

    One vote makes the first board, on which everything is provisional; a model stops being
    so once it has `min_votes` votes and has both won (or tied) and lost (or tied) against
    the others.

    Attributes:
        board: the published board, `None` before the first vote was counted.
        lines: the ranked models, best first.
        unranked: the configured models without a vote.
        min_votes: votes that a model needs to be more than provisional.
        votes_to_settle: votes still needed, at the least, to give each configured model
            `min_votes` (each vote counts for two models).
        votes_to_settle_from_none: the same had nobody voted yet.
    """

    board: Board | None
    lines: tuple[BoardLine, ...]
    unranked: tuple[BoardModel, ...]
    min_votes: int
    votes_to_settle: int
    votes_to_settle_from_none: int

    @property
    def snapshot_id(self) -> int:
        """The number of the snapshot shown, 0 where there is none."""
        return 0 if self.board is None else self.board.snapshot_id


class Boards:
    """Keeps the leaderboard up with the votes and hands it to pages and matchmaker.

    Reads the latest snapshot when made, so that a restarted process begins where the last
    one ended. Any number of processes may keep the same record fresh: each looks for a
    newer snapshot first, and computes only what nobody has.

    Args:
        store: the record.
        matchmaker: learns the strengths of every board.
        settings: how often and how precisely.
        models: the names that are configured now.
    """

    def __init__(
        self,
        store: Store,
        matchmaker: Matchmaker,
        *,
        settings: LeaderboardSettings,
        models: Sequence[str],
    ) -> None:
        self._store = store
        self._matchmaker = matchmaker
        self._settings = settings
        self._models = tuple(models)
        self._lock = Lock()
        self._board: Board | None = None
        self._read_until = 0  # the newest snapshot seen, readable or not
        self._cards: dict[str, dict[str, Any]] = {}
        self._told_settings = False
        self._tally: Tally | None = None
        self._recount_at = time.monotonic() + RECOUNT_SECONDS
        self._view = self._look_at(None, {})
        self._adopt()

    def latest(self) -> Board | None:
        """The board that this process saw last, `None` before the first; asks nobody."""
        return self._view.board

    def view(self) -> BoardView:
        """What pages show of it; asks nobody."""
        return self._view

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
            if self._is_stale(newest):
                self._publish()
                self._adopt()
            self._told_settings = True

    async def keep_fresh(self) -> None:
        """Refreshes for as long as the program runs; what goes wrong is logged."""
        while True:
            started = time.monotonic()
            try:
                await asyncio.to_thread(self.refresh)
            except Exception:
                # The next refresh may work again; ending here would freeze the board unseen.
                logger.exception("the leaderboard could not be refreshed")
            worked = time.monotonic() - started
            rest = worked * REST_PER_SECOND_OF_WORK
            await asyncio.sleep(max(self._settings.refresh_seconds, rest))

    def _options(self) -> dict[str, Any]:
        """What `compute_leaderboard` is told."""
        return {
            "interval": "bootstrap",
            "replicates": self._settings.replicates,
            "level": self._settings.level,
            "prior": DEFAULT_PRIOR,
            "both_bad": "tie",
            "seed": SEED,
        }

    def _snapshot_settings(self) -> dict[str, Any]:
        return {"models": sorted(self._models), "options": self._options()}

    def _is_stale(self, newest: int) -> bool:
        board = self._board
        if board is None:
            return newest > 0
        return newest > board.last_vote_id or self._is_told_otherwise(board) or self._differs(board)

    def _is_told_otherwise(self, board: Board) -> bool:
        """Whether this process started with other settings than made the board.

        Asked once: two processes with different settings would otherwise outdo each other.
        """
        if self._told_settings:
            return False
        told = (dict(board.settings), board.code_version)
        return told != (self._snapshot_settings(), arena.__version__)

    def _differs(self, board: Board) -> bool:
        """Whether another number of votes counts now, as far as that is cheap to know."""
        if self._tally is None and time.monotonic() < self._recount_at:
            return False
        if self._count().votes == board.votes:
            return False
        # Another process may have found what this one's tally cannot see.
        self._tally = None
        return self._count().votes != board.votes

    def _count(self) -> Tally:
        """All votes: what is new since the last count, or the whole record if that is due."""
        started = time.monotonic()
        known = self._tally if started < self._recount_at else None
        self._tally = self._store.votes.tally(known)
        if known is None:
            ended = time.monotonic()
            rest = RECOUNT_REST_PER_SECOND * (ended - started)
            self._recount_at = ended + max(RECOUNT_SECONDS, rest)
        return self._tally

    def _publish(self) -> None:
        """Computes a board from all votes that count and records it."""
        tally = self._count()
        counts = tally.counts()
        leaderboard = Leaderboard(entries=(), battles=(), win_rates=(), method=self._options())
        if counts:
            a, b, outcomes, votes = zip(*counts, strict=True)
            # One thread: the other cores belong to the pages.
            leaderboard = compute_leaderboard(
                Comparisons.from_counts(a, b, outcomes, votes), **self._options(), threads=1
            )
        self._store.snapshots.add(
            votes=tally.votes,
            last_vote_id=tally.last_vote_id,
            code_version=arena.__version__,
            settings=self._snapshot_settings(),
            board=leaderboard.to_dict(),
        )

    def _adopt(self) -> None:
        """Takes over the latest snapshot and the cards if they are new here."""
        snapshot = self._store.snapshots.latest(after=self._read_until)
        cards = self._store.battles.cards()
        board = None if snapshot is None else _read(snapshot)
        if snapshot is not None:
            self._read_until = snapshot.id
        if board is not None:
            self._board = board
            entries = board.leaderboard.entries
            self._matchmaker.learn({entry.model: entry.strength for entry in entries})
        elif cards == self._cards:
            return
        self._cards = cards
        self._view = self._look_at(self._board, cards)

    def _look_at(self, board: Board | None, cards: Mapping[str, Mapping[str, Any]]) -> BoardView:
        entries = () if board is None else board.leaderboard.entries
        votes = {entry.model: entry.votes for entry in entries}
        least = self._settings.min_votes
        missing = sum(max(0, least - votes.get(name, 0)) for name in self._models)
        return BoardView(
            board=board if entries else None,
            lines=tuple(self._line(entry, cards) for entry in entries),
            unranked=tuple(_describe(n, cards) for n in self._models if n not in votes),
            min_votes=least,
            votes_to_settle=math.ceil(missing / 2),
            votes_to_settle_from_none=math.ceil(least * len(self._models) / 2),
        )

    def _line(self, entry: Entry, cards: Mapping[str, Mapping[str, Any]]) -> BoardLine:
        return BoardLine(
            model=_describe(entry.model, cards),
            entry=entry,
            has_few_votes=entry.votes < self._settings.min_votes,
            is_retired=entry.model not in self._models,
        )


def _read(snapshot: Snapshot) -> Board | None:
    """The board of a snapshot, `None` if a program of another version wrote it differently.

    The votes are still there, so a board that cannot be read is one to compute again.
    """
    try:
        return Board.from_snapshot(snapshot)
    except (KeyError, TypeError, ValueError):
        logger.warning("snapshot %d cannot be read and will be computed again", snapshot.id)
        return None


def _describe(name: str, cards: Mapping[str, Mapping[str, Any]]) -> BoardModel:
    card = cards.get(name, {})
    return BoardModel(
        name=name,
        organisation=str(card.get("organisation", "")),
        license=str(card.get("license", "")),
    )
