"""What may be done in a battle, and when, and which votes count.

Pages show what is open here, the record enforces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arena.rules.battles import (
    Battle,
    BattleBusy,
    BattleClosed,
    BattleError,
    BattleStatus,
    ExclusionReason,
    InvalidPrompt,
    ModelGone,
    NothingToRetry,
    SentTwice,
    Side,
    TurnTaken,
    TurnUnanswered,
    VoteNotOpen,
    VoteStale,
)
from arena.rules.naming import names_model


class Action(StrEnum):
    """What a voter may do."""

    START = "start"  # send the prompt that begins a battle
    FOLLOW_UP = "follow-up"  # send another prompt to the same models
    VOTE = "vote"
    REGENERATE = "regenerate"  # ask both for another answer to the last prompt
    RETRY = "retry"  # ask the sides that did not finish once more
    LEAVE = "leave"  # turn to a new battle


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an arena can do for a battle, whatever the battle's own state.

    Attributes:
        models: names of those that can be asked.
        max_turns: most turns of a battle.
        is_recorded: whether only recorded answers can be shown: there is no follow-up then.
    """

    models: frozenset[str]
    max_turns: int
    is_recorded: bool = False


FIRST_ACTIONS = frozenset({Action.START})  # where there is no battle yet

_INTERRUPTED = frozenset({Action.RETRY, Action.LEAVE})
_OPEN = {
    BattleStatus.ANSWERING: frozenset({Action.LEAVE}),
    BattleStatus.READY: frozenset({Action.VOTE, Action.FOLLOW_UP, Action.REGENERATE, Action.LEAVE}),
    BattleStatus.FAILED: _INTERRUPTED,
    BattleStatus.ABANDONED: _INTERRUPTED,
    BattleStatus.VOTED: frozenset({Action.START, Action.LEAVE}),
}
_REFUSALS: dict[BattleStatus, type[BattleError]] = {
    BattleStatus.ANSWERING: BattleBusy,
    BattleStatus.READY: NothingToRetry,
    BattleStatus.FAILED: TurnUnanswered,
    BattleStatus.ABANDONED: TurnUnanswered,
    BattleStatus.VOTED: BattleClosed,
}
_ASKS_THE_MODELS = frozenset({Action.FOLLOW_UP, Action.REGENERATE, Action.RETRY})


def open_actions(battle: Battle | None, terms: Terms) -> frozenset[Action]:
    """What its owner may do now.

    Args:
        battle: as on record, `None` before the first prompt.
        terms: of the arena.
    """
    if battle is None:
        return FIRST_ACTIONS
    return frozenset(action for action in Action if _find_refusal(action, battle, terms) is None)


def coming_actions(battle: Battle, terms: Terms) -> frozenset[Action]:
    """What its owner may do once both answers are complete, while these are on their way."""
    if battle.status is not BattleStatus.ANSWERING:
        return frozenset()
    ready = _OPEN[BattleStatus.READY]
    return frozenset(a for a in ready if _refuse_by_terms(a, battle, terms) is None)


def check_action(action: Action, battle: Battle, terms: Terms) -> None:
    """Raises unless its owner may do this now.

    Raises:
        BattleError: what keeps them from it.
    """
    refusal = _find_refusal(action, battle, terms)
    if refusal is not None:
        raise refusal


def check_vote(battle: Battle, *, edition: int | None = None) -> None:
    """Raises unless the vote is open on the answers that the voter has read.

    Args:
        battle: as on record.
        edition: of the answers read, `None` for whichever there are; see `Battle.edition`.

    Raises:
        BattleClosed: there is a vote.
        VoteNotOpen: the two answers are not both complete.
        VoteStale: they have been replaced or continued.
    """
    refusal = _refuse_by_state(Action.VOTE, battle)
    if refusal is not None:
        raise refusal
    if edition not in (None, battle.edition):
        raise VoteStale(battle.id)


def check_turn(battle: Battle, prompt: str, *, turn: int | None) -> None:
    """Raises unless the page that sends a prompt shows all the turns before it.

    Args:
        battle: as on record.
        prompt: as it would be stored.
        turn: the index that its page expects it to have, `None` for whichever is next.

    Raises:
        SentTwice: it is on record as that turn.
        TurnTaken: another one is.
    """
    if turn is None or turn == len(battle.prompts):
        return
    if prompt in battle.prompts[turn : turn + 1]:
        raise SentTwice(battle)
    raise TurnTaken(battle.id)


def check_edition(battle: Battle, *, edition: int | None) -> None:
    """Raises unless the answers that a page wants to have replaced are still those on record.

    Args:
        battle: as on record.
        edition: of the answers shown, `None` for whichever there are.

    Raises:
        SentTwice: others are on record, or on their way: what was asked for has been done.
    """
    is_answering = battle.status is BattleStatus.ANSWERING
    if edition is not None and (is_answering or edition != battle.edition):
        raise SentTwice(battle)


def names_itself(battle: Battle) -> bool:
    """Whether an answer told the voter which model wrote it.

    Every attempt counts, for the voter has read it, and whoever said the name first: a prompt that
    lists all names would otherwise let every answer tell its own.
    """
    return any(
        names_model(response.text, battle.pairing.model(response.side))
        for response in battle.responses
    )


def exclusion_of(battle: Battle) -> ExclusionReason | None:
    """Why a vote on this battle would not count, `None` where it would."""
    return ExclusionReason.IDENTITY_REVEALED if names_itself(battle) else None


def _find_refusal(action: Action, battle: Battle, terms: Terms) -> BattleError | None:
    return _refuse_by_state(action, battle) or _refuse_by_terms(action, battle, terms)


def _refuse_by_state(action: Action, battle: Battle) -> BattleError | None:
    status = battle.status
    if status is BattleStatus.READY and battle.unfinished_sides():
        status = BattleStatus.FAILED  # the word alone opens nothing
    if action in _OPEN[status]:
        return None
    is_unvoted = status is not BattleStatus.VOTED
    refusal = VoteNotOpen if action is Action.VOTE and is_unvoted else _REFUSALS[status]
    return refusal(battle.id)


def _refuse_by_terms(action: Action, battle: Battle, terms: Terms) -> BattleError | None:
    if action in _ASKS_THE_MODELS and not all(
        battle.pairing.model(side) in terms.models for side in Side
    ):
        return ModelGone(battle.id)
    if action is Action.FOLLOW_UP:
        turns = len(battle.prompts)
        if terms.is_recorded:
            return InvalidPrompt("no_follow_up", value=turns + 1, limit=1)
        if turns >= terms.max_turns:
            return InvalidPrompt("too_many_turns", value=turns + 1, limit=terms.max_turns)
    return None
