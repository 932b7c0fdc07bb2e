"""What pages show of a board: its models with their cards, and how much is still missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.leaderboards.published import OVERALL, Choice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.leaderboards.published import PublishedBoard
    from ranking import Entry


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
        choice: which of the boards this is.
        choices: those that there are.
        overall: the board of all votes, `None` before the first.
    """

    board: PublishedBoard | None
    lines: tuple[BoardLine, ...]
    unranked: tuple[BoardModel, ...]
    min_votes: int
    votes_to_settle: int
    votes_to_settle_from_none: int
    choice: Choice = OVERALL
    choices: tuple[Choice, ...] = (OVERALL,)
    overall: PublishedBoard | None = None

    @property
    def snapshot_id(self) -> int:
        """The number of the snapshot shown, 0 where there is none."""
        return 0 if self.board is None else self.board.snapshot_id

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that have a board."""
        return tuple(
            choice.category
            for choice in self.choices
            if choice.category and not choice.at_equal_style
        )

    @property
    def can_adjust(self) -> bool:
        """Whether the votes of this category also have a board at equal style."""
        return Choice(self.choice.category, at_equal_style=True) in self.choices


def look_at(
    board: PublishedBoard | None,
    cards: Mapping[str, Mapping[str, Any]],
    *,
    models: Sequence[str],
    min_votes: int,
) -> dict[Choice, BoardView]:
    """A view of each board; there is always one of the overall board.

    Args:
        board: what was published, `None` before the first.
        cards: of all models by name.
        models: the names that are configured now.
        min_votes: votes that a model needs to be more than provisional.
    """
    if board is None or not board.leaderboard.entries:
        board, choices = None, [OVERALL]
    else:
        choices = board.choices()
    views = {}
    for choice in choices:
        chosen = board and board.choose(choice)
        entries = () if chosen is None else chosen.leaderboard.entries
        votes = {entry.model: entry.votes for entry in entries}
        missing = sum(max(0, min_votes - votes.get(name, 0)) for name in models)
        views[choice] = BoardView(
            board=chosen,
            lines=tuple(
                BoardLine(
                    model=_describe(entry.model, cards),
                    entry=entry,
                    has_few_votes=entry.votes < min_votes,
                    is_retired=entry.model not in models,
                )
                for entry in entries
            ),
            unranked=tuple(_describe(name, cards) for name in models if name not in votes),
            min_votes=min_votes,
            votes_to_settle=math.ceil(missing / 2),
            votes_to_settle_from_none=math.ceil(min_votes * len(models) / 2),
            choice=choice,
            choices=tuple(choices),
            overall=board,
        )
    return views


def _describe(name: str, cards: Mapping[str, Mapping[str, Any]]) -> BoardModel:
    card = cards.get(name, {})
    return BoardModel(
        name=name,
        organisation=str(card.get("organisation", "")),
        license=str(card.get("license", "")),
    )
