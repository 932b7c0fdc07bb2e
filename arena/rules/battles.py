"""Battles, their answers and votes, and the rules between them. No I/O.

A battle is one conversation answered by two models side by side. Each of its turns has
one prompt and, per side, one answer at a time: a retry or a regeneration adds an attempt
and the highest attempt counts, so nothing that a voter has seen is ever overwritten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003  dataclass fields are inspected at run time
from enum import StrEnum

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# 128 random bits in the alphabet of addresses: what pages and `secrets.token_urlsafe(16)` make.
_BATTLE_ID = re.compile("[A-Za-z0-9_-]{22}")


class Side(StrEnum):
    """Where an answer is shown: A is on the left."""

    A = "a"
    B = "b"


class Outcome(StrEnum):
    """The four buttons, under the names that public vote files use."""

    MODEL_A = "model_a"
    MODEL_B = "model_b"
    TIE = "tie"
    BOTH_BAD = "tie (bothbad)"


def turn_round(outcome: Outcome, *, swapped: bool) -> Outcome:
    """An outcome as it reads with the sides exchanged, if they are."""
    if not swapped:
        return outcome
    exchanged = {Outcome.MODEL_A: Outcome.MODEL_B, Outcome.MODEL_B: Outcome.MODEL_A}
    return exchanged.get(outcome, outcome)


class VoterKind(StrEnum):
    """Who judges."""

    CROWD = "crowd"
    EXPERT = "expert"
    JUDGE = "judge"
    PROGRAM = "program"  # owns battles that nobody started, and never votes


class BattleStatus(StrEnum):
    """Where a battle stands."""

    ANSWERING = "answering"  # at least one side is still being written
    READY = "ready"  # both answers are complete; the vote is open
    FAILED = "failed"  # a side failed; it can be retried, not voted on
    ABANDONED = "abandoned"  # the page was left or the server stopped before both had ended
    VOTED = "voted"


class ResponseStatus(StrEnum):
    """How an answer ended."""

    COMPLETE = "complete"
    FAILED = "failed"  # the model could not answer
    CANCELLED = "cancelled"  # we stopped it: page left, new battle, server stopped


class ExclusionReason(StrEnum):
    """Why a vote does not count. The vote itself stays on record."""

    IDENTITY_REVEALED = "identity_revealed"  # an answer named its own model before the vote
    AUTOMATED = "automated"  # cast by a program
    INTERESTED = "interested"  # cast by somebody whom the ranking profits
    TRIAL = "trial"  # cast to try the arena
    MAINTAINER = "maintainer"  # excluded by hand for another reason, which the note gives


class BattleError(Exception):
    """A request that the rules of a battle do not allow."""


class UnknownBattle(BattleError):
    """There is no such battle, or it belongs to another voter.

    One error for both, so that an answer never tells whether an id exists.
    """


class VoteNotOpen(BattleError):
    """A vote on a battle whose two answers are not both complete."""


class VoteStale(BattleError):
    """A vote on answers that have been replaced or continued since they were shown."""


class TurnUnanswered(BattleError):
    """A follow-up to a turn that does not have two complete answers, or their regeneration."""


class NothingToRetry(BattleError):
    """A retry of a turn whose two answers are complete."""


class BattleClosed(BattleError):
    """A turn, a retry or a regeneration after the vote."""


class BattleBusy(BattleError):
    """A turn, a retry or a regeneration while answers are still being written."""


class TurnTaken(BattleError):
    """A follow-up to a turn that another tab has followed up with another prompt."""


class SentTwice(BattleError):
    """A request that is on record already: the line broke, so its page sent it once more.

    Attributes:
        battle: what it has become since.
    """

    def __init__(self, battle: Battle) -> None:
        super().__init__(battle.id)
        self.battle = battle


class ModelGone(BattleError):
    """A model of this battle is no longer served, so nobody can answer."""


class InvalidPrompt(BattleError):
    """A prompt that cannot be sent.

    Attributes:
        reason: `empty`, `too_long`, `too_many_turns`, `not_recorded` or `no_follow_up`.
        value: the offending number (characters or turns).
        limit: what is allowed (the number of recorded prompts for `not_recorded`).
    """

    def __init__(self, reason: str, *, value: int, limit: int) -> None:
        super().__init__(f"{reason}: {value}, allowed {limit}")
        self.reason = reason
        self.value = value
        self.limit = limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A draw of the matchmaker.

    Attributes:
        model_a: name of the model shown on the left.
        model_b: name of the model shown on the right.
        policy: what drew it.
        policy_version: which edition of that policy.
        probability: chance of this unordered pair under the policy, in (0, 1].
        candidates: number of models that could have been drawn.
    """

    model_a: str
    model_b: str
    policy: str
    policy_version: int
    probability: float
    candidates: int

    def model(self, side: Side) -> str:
        """The name of the model on a side."""
        return self.model_a if side is Side.A else self.model_b


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One ended answer.

    Attributes:
        turn: index of the turn it answers, from 0.
        side: where it is shown.
        attempt: 0 for the first, one more for each retry or regeneration.
        status: how it ended.
        text: the answer as far as it came.
        reasoning: the provider's reasoning text, hidden until the vote.
        finish_reason: the provider's word, `None` where it did not end by itself.
        prompt_tokens: counted by the provider.
        completion_tokens: counted by the provider.
        time_to_first_token: seconds.
        duration: seconds.
        model_id: what the provider calls the model.
        error_kind: name of the serving error, `None` for a complete answer.
        error_message: its words, for the maintainer only.
        created_at: when it ended.
    """

    turn: int
    side: Side
    attempt: int
    status: ResponseStatus
    text: str
    reasoning: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    time_to_first_token: float | None = None
    duration: float | None = None
    model_id: str | None = None
    error_kind: str | None = None
    error_message: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one voter said about one battle.

    Attributes:
        id: its number; later votes have higher ones.
        battle_id: about which battle.
        voter_id: who said it.
        outcome: the button.
        created_at: when.
        is_excluded: whether it does not count, for whatever reason is on record.
    """

    id: int
    battle_id: str
    voter_id: str
    outcome: Outcome
    created_at: datetime
    is_excluded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Battle:
    """A battle as it is on record.

    Attributes:
        id: random, unguessable.
        voter_id: who asked, and the only crowd voter who may vote.
        pairing: who answers, and how the pair was drawn.
        status: where it stands.
        prompts: one a turn.
        responses: every attempt of every turn and side that has ended.
        vote: the owner's vote, if cast.
        created_at: when it was drawn.
    """

    id: str
    voter_id: str
    pairing: Pairing
    status: BattleStatus
    prompts: tuple[str, ...]
    responses: tuple[Response, ...]
    vote: Vote | None
    created_at: datetime

    def response(self, turn: int, side: Side) -> Response | None:
        """The answer that counts: the latest ended attempt, `None` before the first ended."""
        attempts = [r for r in self.responses if r.turn == turn and r.side is side]
        return max(attempts, key=lambda r: r.attempt, default=None)

    def next_attempt(self, side: Side) -> int:
        """The number of the next attempt at the last turn on a side."""
        latest = self.response(len(self.prompts) - 1, side)
        return 0 if latest is None else latest.attempt + 1

    def is_complete(self, side: Side) -> bool:
        """Whether the last turn's answer on a side is complete."""
        latest = self.response(len(self.prompts) - 1, side)
        return latest is not None and latest.status is ResponseStatus.COMPLETE

    def unfinished_sides(self) -> tuple[Side, ...]:
        """The sides that a retry would ask again."""
        return tuple(side for side in Side if not self.is_complete(side))

    def check_owner(self, voter_id: str) -> None:
        """Raises `UnknownBattle` for anybody but the voter who started it."""
        if self.voter_id != voter_id:
            raise UnknownBattle(self.id)

    @property
    def edition(self) -> int:
        """Which answers these are: grows with every answer that ends."""
        return len(self.responses)


def settled_status(statuses: tuple[ResponseStatus, ...]) -> BattleStatus:
    """The status of a battle whose sides ended like this.

    Args:
        statuses: of both sides' last answers.
    """
    if all(status is ResponseStatus.COMPLETE for status in statuses):
        return BattleStatus.READY
    if ResponseStatus.CANCELLED in statuses:
        return BattleStatus.ABANDONED
    return BattleStatus.FAILED


def check_battle_id(battle_id: str) -> None:
    """Raises `UnknownBattle` unless it is an id that a page may give to a new battle.

    A page makes the id before it sends the first prompt, so that the prompt can be sent again
    when its answer is lost. An id that is taken stays its owner's.
    """
    if _BATTLE_ID.fullmatch(battle_id) is None:
        raise UnknownBattle(battle_id)


def storable(text: str) -> str:
    """The text without NUL and lone surrogates.

    PostgreSQL stores no NUL, UTF-8 (hence every database and the wire) no lone surrogate,
    and neither is anything that a person or a model meant to write.
    """
    return _UNSTORABLE.sub("", text)


def clean_prompt(prompt: str, *, max_characters: int) -> str:
    """A prompt as it is stored and sent, without what cannot be and with its ends stripped.

    Args:
        prompt: as typed.
        max_characters: longest prompt allowed.

    Raises:
        InvalidPrompt: nothing is left, or it is too long.
    """
    if len(prompt) > max_characters:
        raise InvalidPrompt("too_long", value=len(prompt), limit=max_characters)
    text = storable(prompt).strip()
    if not text:
        raise InvalidPrompt("empty", value=0, limit=max_characters)
    return text
