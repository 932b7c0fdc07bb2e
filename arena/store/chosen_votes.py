"""Votes and voters as a maintainer sees and chooses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import exists, or_, select

from arena.store.conditions import cast_between, joined_votes
from arena.store.tables import battles, exclusions, votes

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Select

    from arena.rules.battles import ExclusionReason, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteSelection:
    """Which votes are meant: those that meet everything that is said; nothing said is all.

    Attributes:
        vote_ids: one of these numbers.
        battle_ids: on one of these battles.
        voter_ids: cast by one of these voters.
        models: on a battle of each of these models, two at most.
        since: not before this time.
        until: before this time.
        reason: with this reason not to count, in force.
    """

    vote_ids: tuple[int, ...] = ()
    battle_ids: tuple[str, ...] = ()
    voter_ids: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    reason: ExclusionReason | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing is said."""
        return self == VoteSelection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """A reason why a vote does not count, or did not for a while.

    Attributes:
        reason: which.
        note: a maintainer's words.
        created_at: since when.
        lifted_at: until when, `None` where it is in force.
        lifted_note: why it was lifted.
    """

    reason: ExclusionReason
    note: str
    created_at: datetime
    lifted_at: datetime | None = None
    lifted_note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRecord:
    """A vote as a maintainer sees it.

    Attributes:
        vote_id: its number.
        battle_id: on which battle.
        voter_id: by whom.
        model_a: on the left.
        model_b: on the right.
        outcome: what it says.
        created_at: when it was cast.
        retracted_at: when the voter took it back, `None` where they did not.
        counts: whether rankings count it.
        exclusions: every reason that it has or had, the oldest first.
    """

    vote_id: int
    battle_id: str
    voter_id: str
    model_a: str
    model_b: str
    outcome: Outcome
    created_at: datetime
    retracted_at: datetime | None
    counts: bool
    exclusions: tuple[Exclusion, ...] = ()


class VoteTotals(NamedTuple):
    """How many votes there are, and what becomes of them.

    Attributes:
        votes: all.
        counted: those that rankings count.
        retracted: taken back by their voters.
        excluded: for each reason in force, how many; a vote may have several.
    """

    votes: int
    counted: int
    retracted: int
    excluded: dict[ExclusionReason, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterRecord:
    """A voter of the crowd as a maintainer sees them.

    Attributes:
        voter_id: who.
        votes: cast.
        counted: of those, how many rankings count.
        created_at: when they came.
        last_at: their last vote, `None` before the first.
        outcomes: how often they said what, sides as shown.
        excluded_reason: why what they say does not count, `None` where it does.
        excluded_note: the same in a maintainer's words.
    """

    voter_id: str
    votes: int
    counted: int
    created_at: datetime
    last_at: datetime | None
    outcomes: dict[Outcome, int]
    excluded_reason: ExclusionReason | None
    excluded_note: str | None


def select_votes(chosen: VoteSelection) -> Select[tuple[int]]:
    """The numbers of the votes that are meant, joined with battles and voters."""
    where: list[ColumnElement[bool]] = [cast_between(chosen.since, chosen.until)]
    if chosen.vote_ids:
        where.append(votes.c.id.in_(chosen.vote_ids))
    if chosen.battle_ids:
        where.append(votes.c.battle_id.in_(chosen.battle_ids))
    if chosen.voter_ids:
        where.append(votes.c.voter_id.in_(chosen.voter_ids))
    where += [or_(battles.c.model_a == name, battles.c.model_b == name) for name in chosen.models]
    if chosen.reason is not None:
        where.append(
            exists().where(
                exclusions.c.vote_id == votes.c.id,
                exclusions.c.reason == chosen.reason,
                exclusions.c.lifted_at.is_(None),
            )
        )
    return select(votes.c.id.label("vote_id")).select_from(joined_votes()).where(*where)
