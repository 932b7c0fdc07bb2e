"""Many boards over one pass of the votes: by category, language, voter kind, time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeGuard, get_args

import numpy as np

from ranking.boards.leaderboard import IntervalKind, Leaderboard, StrengthModel, compute_leaderboard
from ranking.errors import RankingError
from ranking.intervals.voters import LEAST_VOTERS
from ranking.votes.encoding import BOTH_BAD
from ranking.votes.votes import Group, Votes
from ranking.votes.weights import apply_weighting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from ranking.boards.leaderboard import Prior
    from ranking.intervals.bootstrap import Progress
    from ranking.intervals.intervals import BootstrapKind
    from ranking.votes.encoding import BothBad
    from ranking.votes.weights import Weighting

Period = Literal["day", "week", "month", "year"]
PERIODS: tuple[str, ...] = get_args(Period)

MIN_VOTES = 100
"""Fewer votes than this leave a board blank by default."""


class BoardOptions(TypedDict, total=False):
    """Options of `compute_leaderboard`."""

    model: StrengthModel
    interval: IntervalKind
    replicates: int
    bootstrap: BootstrapKind
    cluster: bool
    covariates: bool
    weights: Weighting
    level: float
    prior: Prior
    both_bad: BothBad
    seed: int
    anchor: tuple[str, float] | None
    threads: int | None


@dataclass(frozen=True)
class Board:
    """One cell of a collection of boards.

    Attributes:
        group: What the votes were split by; "overall" for all of them.
        label: Which part this is; "" for all of them.
        votes: Votes in it.
        board: The leaderboard, or None where there are too few votes.
        adjusted: The same with strengths adjusted for the votes' covariates (style), where
            asked for.
    """

    group: str
    label: str
    votes: int
    board: Leaderboard | None
    adjusted: Leaderboard | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "group": self.group,
            "label": self.label,
            "votes": self.votes,
            "board": None if self.board is None else self.board.to_dict(),
            "adjusted": None if self.adjusted is None else self.adjusted.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Board:
        """Read what `to_dict` wrote."""
        boards = {
            name: None if data.get(name) is None else Leaderboard.from_dict(data[name])
            for name in ("board", "adjusted")
        }
        return cls(group=data["group"], label=data["label"], votes=data["votes"], **boards)


def compute_boards(
    votes: Votes,
    *,
    by: Sequence[str] = (),
    min_votes: int = MIN_VOTES,
    adjust: bool = False,
    progress: Progress | None = None,
    **options: Unpack[BoardOptions],
) -> tuple[Board, ...]:
    """The overall board, then one for each label of each group.

    Args:
        votes: All votes.
        by: Names of groups of the votes; "day", "week", "month" and "year" split by time.
        min_votes: A part with fewer votes gets no board: it is left blank, never guessed. So
            does one whose votes are all of one voter, or nearly all, where voters are clusters.
        adjust: Compute each board a second time, adjusted for the votes' covariates.
        progress: Called with the replicates done of all boards together, and their total.
        options: As for `compute_leaderboard`.

    Raises:
        RankingError: A group is unknown, or the votes have no times to split by.
    """
    parts = [("overall", "", votes)]
    for group in by:
        parts.extend((group, label, part) for label, part in _split(votes, group))
    counted = [_count_votes(part, options) for *_, part in parts]
    filled = [
        count >= max(min_votes, 1) and not (group != "overall" and _has_one_voter(part, options))
        for (group, _, part), count in zip(parts, counted, strict=True)
    ]
    shares = _share_progress(progress, sum(filled) * (1 + adjust))
    boards = []
    for (group, label, part), count, is_filled in zip(parts, counted, filled, strict=True):
        plain = adjusted = None
        if is_filled:
            plain = _compute_part(part, options, next(shares))
            if adjust:
                adjusted = _compute_part(part, {**options, "covariates": True}, next(shares))
        boards.append(Board(group, label, count, plain, adjusted))
    return tuple(boards)


def _count_votes(part: Votes, options: BoardOptions) -> int:
    """Votes that are not dropped."""
    if options.get("both_bad") == "drop":
        return int((part.outcome != BOTH_BAD).sum())
    return len(part)


def _has_one_voter(part: Votes, options: BoardOptions) -> bool:
    """Whether voters are clusters, and one of them cast all votes or nearly all."""
    if not options.get("cluster") or part.voter is None:
        return False
    votes = apply_weighting(part, options.get("weights", "given")).to_rows(
        both_bad=options.get("both_bad", "tie"), cluster=True
    )
    return votes.effective_clusters < LEAST_VOTERS


def _share_progress(progress: Progress | None, boards: int) -> Iterator[Progress | None]:
    """One callback a board, each going on where the one before ended."""
    for number in range(boards):
        if progress is None:
            yield None
        else:
            yield partial(_tell_share, progress, number, boards)


def _tell_share(progress: Progress, before: int, boards: int, done: int, total: int) -> None:
    progress(before * total + done, boards * total)


def label_periods(votes: Votes, period: Period) -> Group:
    """The calendar period (UTC) of each vote, such as 2024-08 or 2024-W33.

    Raises:
        RankingError: The votes have no times.
    """
    import pandas as pd

    if votes.time is None:
        raise RankingError(f"the votes have no times to split by {period}")
    form = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}[period]
    stamps = pd.to_datetime(votes.time, unit="s", utc=True)
    return Group.from_column(np.asarray(stamps.strftime(form), dtype=object))


def _is_period(group: str) -> TypeGuard[Period]:
    return group in PERIODS


def _split(votes: Votes, group: str) -> Iterator[tuple[str, Votes]]:
    if group in votes.groups:
        return votes.split(group)
    if _is_period(group):
        return replace(votes, groups={group: label_periods(votes, group)}).split(group)
    known = sorted([*votes.groups, *PERIODS])
    raise RankingError(f"no group {group!r} to split by; known are {known}")


def _compute_part(part: Votes, options: BoardOptions, progress: Progress | None) -> Leaderboard:
    anchor = options.get("anchor")
    present = part.drop_absent_models()
    if anchor is not None and anchor[0] not in present.models:
        # The anchor has no votes here: better no shift than no board.
        options = {**options, "anchor": None}
    return compute_leaderboard(present, **options, progress=progress)
