"""What experts may do: who is let in, what an answer is, what they are told. No I/O.

An expert is a voter of a kind of their own. What they say about a battle is a judgement,
never a vote: it cannot reach the crowd's leaderboard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003  dataclass fields are inspected at run time
from enum import StrEnum
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, URLSafeSerializer

from arena.rules.battles import Outcome, storable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.rules.battles import Battle

MAX_COMMENT = 2_000
# A page left open and in view over lunch is no time spent on two answers.
MAX_SECONDS = 3_600.0


class Arm(StrEnum):
    """What an expert sees of a judge's verdict before the own one."""

    BLIND = "blind"  # nothing
    SHOWN = "shown"
    PLANTED = "planted"  # a wrong one in its place


class Reason(StrEnum):
    """What decided a judgement."""

    CORRECTNESS = "correctness"
    COMPLETENESS = "completeness"
    CLARITY = "clarity"
    FORMAT = "format"
    INSTRUCTION_FOLLOWING = "instruction_following"
    SAFETY = "safety"


class CannotJudge(StrEnum):
    """Why an expert gives no judgement on a battle."""

    SUBJECT = "subject"  # outside the expert's field
    LANGUAGE = "language"  # not one that the expert reads
    DISPLAY = "display"  # an answer cannot be read as it is shown
    CONTENT = "content"  # the expert does not want to read it
    OTHER = "other"


class ExpertError(Exception):
    """A request that the rules of the panel do not allow."""


class NotInvited(ExpertError):
    """A link that lets nobody in.

    One error for a forged, an expired, a replaced and a revoked one, so that an answer never
    tells whether there is such an expert.
    """


class UnknownTask(ExpertError):
    """There is no such task, or it is another expert's."""


class InvalidAnswer(ExpertError):
    """An answer that is not one of those that the page offers."""


class AlreadyJudged(ExpertError):
    """A second answer to a task; the first one counts."""


class NothingToUndo(ExpertError):
    """There is no judgement yet, or the expert was already told about the arms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expert:
    """Somebody who was invited.

    Attributes:
        voter_id: who judges, as on record.
        name: what the maintainer calls them.
        link_id: random; part of the only link that lets them in.
        created_at: of the first invitation.
        expires_at: when the link stops working.
        revoked_at: when the maintainer took it back, `None` while it holds.
    """

    voter_id: str
    name: str
    link_id: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None

    def is_welcome(self, now: datetime) -> bool:
        """Whether the expert's link works."""
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an expert says about a task.

    Attributes:
        outcome: with the sides as they were shown; `None` where they cannot judge.
        cannot_judge: why not; `None` where they can.
        reasons: what decided it, in the order of `Reason`.
        comment: in the expert's own words.
        seconds: that the task was in view, `None` where the page did not measure it.
    """

    outcome: Outcome | None = None
    cannot_judge: CannotJudge | None = None
    reasons: tuple[Reason, ...] = ()
    comment: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Which answer is meant: a page that names it can send the same thing twice.

    Attributes:
        task_id: to which task.
        edition: how many earlier answers to that task were taken back.
    """

    task_id: int
    edition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One battle for one expert.

    Attributes:
        id: its number on record.
        edition: how many answers to it were given, and taken back.
        assignment_id: what it belongs to.
        battle: what is judged.
        swapped: whether the battle's side A is shown on the right.
        arm: what is shown of a judge's verdict.
        shown_outcome: the verdict shown, in the battle's orientation; `None` in the blind arm.
        first_shown_at: when the page first had it.
    """

    id: int
    edition: int
    assignment_id: int
    battle: Battle
    swapped: bool
    arm: Arm
    shown_outcome: Outcome | None
    first_shown_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A task with the judgement that stands, sides as the expert saw them.

    Attributes:
        prompt: the first of the battle.
        arm: what was shown of a judge's verdict.
        shown_outcome: the verdict shown.
        answer: what the expert said.
    """

    prompt: str
    arm: Arm
    shown_outcome: Outcome | None
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentProgress:
    """How far an expert is with an assignment.

    Attributes:
        assignment_id: which.
        total: tasks.
        done: of these, judged or said to be impossible to judge.
        has_arms: whether a verdict is shown with some of them.
    """

    assignment_id: int
    total: int
    done: int
    has_arms: bool

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to judge."""
        return self.done == self.total

    @property
    def is_told(self) -> bool:
        """Whether the expert knows what was shown to them: nothing is changed afterwards."""
        return self.has_arms and self.is_complete


def check_answer(
    *,
    outcome: Outcome | None,
    cannot_judge: str | None,
    reasons: Iterable[object],
    comment: object,
    seconds: object,
) -> Answer:
    """What a page sent as an answer on record; nothing in it is trusted.

    Args:
        outcome: the button.
        cannot_judge: a value of `CannotJudge` in place of an outcome.
        reasons: values of `Reason`, in any order.
        comment: as typed.
        seconds: that the page measured.

    Raises:
        InvalidAnswer: it is neither or both, or a value is not one that the page offers.
    """
    if (outcome is None) == (cannot_judge is None):
        raise InvalidAnswer("an answer is an outcome, or a reason why there is none")
    if not isinstance(comment, str) or len(comment) > MAX_COMMENT:
        raise InvalidAnswer(f"a comment is a text of at most {MAX_COMMENT} characters")
    given = list(reasons)
    if unknown := [reason for reason in given if reason not in list(Reason)]:
        raise InvalidAnswer(f"no reasons: {unknown!r}")
    try:
        why = None if cannot_judge is None else CannotJudge(cannot_judge)
    except ValueError:
        raise InvalidAnswer(f"no reason to give no judgement: {cannot_judge!r}") from None
    return Answer(
        outcome=outcome,
        cannot_judge=why,
        reasons=tuple(reason for reason in Reason if reason in given),
        comment=storable(comment).strip(),
        seconds=_read_seconds(seconds),
    )


def bound_seconds(seconds: float | None, *, elapsed: float) -> float | None:
    """A page's measurement within what the server's own clock allows.

    Args:
        seconds: that the page says it was in view, `None` where it says nothing.
        elapsed: since the task was first sent to any page.
    """
    if seconds is None:
        return None
    return max(0.0, min(seconds, elapsed, MAX_SECONDS))


def _read_seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


class ExpertKeys:
    """Signs and reads the keys in experts' links.

    The signature keeps anybody from making up a key; whether it still lets its expert in is
    the record's to say.

    Args:
        secret: the signing secret, the same in every process of an arena.
    """

    def __init__(self, secret: str) -> None:
        self._serializer = URLSafeSerializer(secret, salt="arena.expert")

    def sign(self, expert: Expert) -> str:
        """The key of an expert's present link."""
        return str(self._serializer.dumps([expert.voter_id, expert.link_id]))

    def read(self, key: str) -> tuple[str, str]:
        """Voter and link of a key.

        Raises:
            NotInvited: nobody signed it here.
        """
        try:
            content = self._serializer.loads(key)
        except BadSignature:
            raise NotInvited from None
        match content:
            case [str(voter_id), str(link_id)]:
                return voter_id, link_id
        raise NotInvited
