"""A published leaderboard: the overall one, one for each category, and those at equal style."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ranking import Leaderboard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.store import Snapshot


class Choice(NamedTuple):
    """Which of the boards.

    Attributes:
        category: of the first prompts, "" for all votes.
        at_equal_style: adjusted for how the answers look.
    """

    category: str = ""
    at_equal_style: bool = False


OVERALL = Choice()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A board of some of the votes.

    Attributes:
        votes: how many it counts.
        leaderboard: the result.
    """

    votes: int
    leaderboard: Leaderboard

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"votes": self.votes, "board": self.leaderboard.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Part:
        """Reads what `to_dict` wrote."""
        return cls(votes=data["votes"], leaderboard=Leaderboard.from_dict(data["board"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleParts:
    """The boards at equal style. They are computed less often than the others.

    Attributes:
        computed_at: when.
        votes: how many votes counted then, with texts or without.
        last_vote_id: the newest vote that existed then.
        overall: of all votes with texts, `None` where it could not be computed.
        categories: of each category for which it could.
    """

    computed_at: datetime
    votes: int
    last_vote_id: int
    overall: Part | None
    categories: Mapping[str, Part]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "computed_at": self.computed_at.isoformat(),
            "votes": self.votes,
            "last_vote_id": self.last_vote_id,
            "overall": self.overall and self.overall.to_dict(),
            "category": {name: part.to_dict() for name, part in self.categories.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StyleParts:
        """Reads what `to_dict` wrote."""
        return cls(
            computed_at=datetime.fromisoformat(data["computed_at"]),
            votes=data["votes"],
            last_vote_id=data["last_vote_id"],
            overall=data["overall"] and Part.from_dict(data["overall"]),
            categories={name: Part.from_dict(part) for name, part in data["category"].items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBoard:
    """A published leaderboard.

    Attributes:
        snapshot_id: its number on record.
        computed_at: when.
        votes: how many votes it counts.
        last_vote_id: the newest vote that existed when it was computed.
        code_version: of the program that computed it.
        settings: what the computation was told.
        leaderboard: the result.
        categories: boards of the categories with enough votes.
        style: the same at equal style, `None` where it was not computed yet.
    """

    snapshot_id: int
    computed_at: datetime
    votes: int
    last_vote_id: int
    code_version: str
    settings: Mapping[str, Any]
    leaderboard: Leaderboard
    categories: Mapping[str, Part] = field(default_factory=dict)
    style: StyleParts | None = None

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> PublishedBoard:
        """Reads a snapshot."""
        # Snapshots of version 0.1 hold the overall board alone.
        others = snapshot.board.get("boards", {})
        style = others.get("style")
        return cls(
            snapshot_id=snapshot.id,
            computed_at=snapshot.created_at,
            votes=snapshot.votes,
            last_vote_id=snapshot.last_vote_id,
            code_version=snapshot.code_version,
            settings=snapshot.settings,
            leaderboard=Leaderboard.from_dict(snapshot.board),
            categories={
                name: Part.from_dict(part) for name, part in others.get("category", {}).items()
            },
            style=style and StyleParts.from_dict(style),
        )

    def choose(self, choice: Choice) -> PublishedBoard | None:
        """One of the boards as if it were the overall one, `None` where it was not computed."""
        if choice == OVERALL:
            return self
        style, origin = self.style, self
        if not choice.at_equal_style:
            part = self.categories.get(choice.category)
        elif style is None:
            return None
        else:
            part = style.categories.get(choice.category) if choice.category else style.overall
            origin = replace(self, computed_at=style.computed_at, last_vote_id=style.last_vote_id)
        if part is None:
            return None
        return replace(origin, votes=part.votes, leaderboard=part.leaderboard)

    def choices(self) -> list[Choice]:
        """All that `choose` has a board for."""
        asked = [
            Choice(category, at_equal_style)
            for category in ("", *self.categories)
            for at_equal_style in (False, True)
        ]
        return [choice for choice in asked if self.choose(choice) is not None]


def describe_parts(categories: Mapping[str, Part], style: StyleParts | None) -> dict[str, Any]:
    """The boards beside the overall one, as a snapshot and a download hold them."""
    return {
        "category": {name: part.to_dict() for name, part in categories.items()},
        "style": style and style.to_dict(),
    }
