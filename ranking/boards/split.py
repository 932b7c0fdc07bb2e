"""Many boards over one pass of the votes: by category, language, voter kind, time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

import numpy as np

from ranking.boards.leaderboard import Leaderboard, compute_leaderboard
from ranking.boards.options import Options, take_options
from ranking.errors import RankingError
from ranking.intervals.voters import LEAST_VOTERS
from ranking.votes.encoding import BOTH_BAD
from ranking.votes.inputs import VotesLike, apply_weighting, take_single_votes
from ranking.votes.votes import Group, Votes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from ranking.boards.options import OptionKeywords
    from ranking.intervals.bootstrap import Progress

Period = Literal["day", "week", "month", "year"]
PERIODS: tuple[str, ...] = get_args(Period)

MIN_VOTES = 100
"""Fewer votes than this leave a board blank by default."""


@dataclass(frozen=True)
class BoardPart:
    """The board of a part of the votes, one of a collection.

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
    def from_dict(cls, data: dict[str, Any]) -> BoardPart:
        """Read what `to_dict` wrote."""
        boards = {
            name: None if data.get(name) is None else Leaderboard.from_dict(data[name])
            for name in ("board", "adjusted")
        }
        return cls(group=data["group"], label=data["label"], votes=data["votes"], **boards)


def compute_boards(
    votes: VotesLike,
    options: Options | None = None,
    *,
    by: Sequence[str] = (),
    min_votes: int = MIN_VOTES,
    also_adjusted: bool = False,
    fragility: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **changes: Unpack[OptionKeywords],
) -> tuple[BoardPart, ...]:
    """The overall board, then one for each label of each group.

    Args:
        votes: All votes: a table, single votes, or a file as read.
        options: The recipe of every board, `Options()` by default.
        by: Names of groups of the votes; "day", "week", "month" and "year" split by time.
        min_votes: A part with fewer votes gets no board: it is left blank, never guessed. So
            does one whose votes are all of one voter, or nearly all, where voters are clusters,
            or that has nothing to adjust for.
        also_adjusted: Compute each board a second time, adjusted for the votes' covariates.
        fragility: Also find how many votes would put another model first on each board.
        threads: Threads of the bootstrap; all cores by default.
        progress: Called with the replicates done of all boards together, and their total.
        changes: Options by name, in place of those of the recipe.

    Raises:
        RankingError: A group is unknown, or the votes have no times to split by.
    """
    told = take_options(options, changes)
    whole = take_single_votes(votes, "splitting votes into boards")
    parts = [("overall", "", whole)]
    for group in by:
        # What no vote of a part has cannot be adjusted for there.
        parts.extend(
            (group, label, part.drop_absent_covariates()) for label, part in _split(whole, group)
        )
    counted = [_count_votes(part, told) for *_, part in parts]
    filled = [
        count >= max(min_votes, 1) and (group == "overall" or _is_usable(part, told))
        for (group, _, part), count in zip(parts, counted, strict=True)
    ]
    shares = _share_progress(progress, sum(filled) * (1 + also_adjusted))
    compute = partial(_compute_part, threads=threads, fragility=fragility)
    boards = []
    for (group, label, part), count, is_filled in zip(parts, counted, filled, strict=True):
        plain = adjusted = None
        if is_filled:
            plain = compute(part, told, progress=next(shares))
            if also_adjusted and (group == "overall" or part.covariates is not None):
                adjusted = compute(part, told.change(adjust=True), progress=next(shares))
        boards.append(BoardPart(group, label, count, plain, adjusted))
    return tuple(boards)


def _count_votes(part: Votes, options: Options) -> int:
    """Votes that are not dropped."""
    if options.both_bad == "drop":
        return int((part.outcome != BOTH_BAD).sum())
    return len(part)


def _is_usable(part: Votes, options: Options) -> bool:
    """Whether it has covariates to adjust for, and voters to compare, where that is asked for.

    Where one of them cast all votes or nearly all, there are none to compare.
    """
    if options.adjust and part.covariates is None:
        return False
    if not options.cluster or part.voter is None:
        return True
    rows = apply_weighting(part, options.weights).to_rows(both_bad=options.both_bad, cluster=True)
    return rows.effective_clusters >= LEAST_VOTERS


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


def _compute_part(
    part: Votes,
    options: Options,
    *,
    threads: int | None,
    fragility: bool,
    progress: Progress | None,
) -> Leaderboard:
    present = part.drop_absent_models()
    if options.anchor is not None and options.anchor[0] not in present.models:
        # The anchor has no votes here: better no shift than no board.
        options = options.change(anchor=None)
    return compute_leaderboard(
        present, options, threads=threads, fragility=fragility, progress=progress
    )
