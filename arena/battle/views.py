"""What a page may show of a battle. Names appear here only once the vote is stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from arena.rules.actions import Action, coming_actions, open_actions
from arena.rules.battles import Battle, BattleStatus, Outcome, Response, ResponseStatus, Side
from serving.protocol import generation_speed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.rules.actions import Terms


class SideState(StrEnum):
    """Where one side's answer to the last turn stands."""

    WAITING = "waiting"  # asked, nothing has come yet
    WRITING = "writing"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reveal:
    """Who gave an answer; exists only after the vote.

    Attributes:
        name: the model.
        organisation: its maker.
        license: of the weights or the service.
        description: one sentence.
        tokens_per_second: generation speed of the last answer.
        completion_tokens: length of the last answer.
        time_to_first_token: seconds, of the last answer.
        reasoning: the provider's reasoning text of the last answer.
        was_cut: whether the last answer ended at its length limit.
    """

    name: str
    organisation: str
    license: str
    description: str
    tokens_per_second: float | None
    completion_tokens: int | None
    time_to_first_token: float | None
    reasoning: str
    was_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    """One side of a battle.

    Attributes:
        answers: an answer a turn, the last one as far as it has come.
        state: of the last one.
        problem: kind of the error that ended it (a name of `serving`'s error tree), if any.
        reveal: who it was, `None` before the vote.
    """

    answers: tuple[str, ...]
    state: SideState
    problem: str | None = None
    reveal: Reveal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BattleView:
    """A battle as its voter may see it now.

    Attributes:
        battle_id: its id.
        prompts: one a turn.
        status: where it stands.
        edition: which answers these are; a vote names it, see `Battle.edition`.
        open: what the voter may do now.
        coming: what they may do once both answers are complete.
        a: the left side.
        b: the right side.
        outcome: what the voter said, `None` before the vote.
    """

    battle_id: str
    prompts: tuple[str, ...]
    status: BattleStatus
    edition: int
    open: frozenset[Action]
    coming: frozenset[Action] = frozenset()
    a: SideView
    b: SideView
    outcome: Outcome | None = None

    def side(self, side: Side) -> SideView:
        """The view of one side."""
        return self.a if side is Side.A else self.b


_STATES = {
    ResponseStatus.COMPLETE: SideState.COMPLETE,
    ResponseStatus.FAILED: SideState.FAILED,
    ResponseStatus.CANCELLED: SideState.CANCELLED,
}
_UNRECORDED = {
    BattleStatus.ANSWERING: SideState.WAITING,
    BattleStatus.FAILED: SideState.FAILED,
}


def view_battle(
    battle: Battle,
    terms: Terms,
    *,
    cards: Mapping[str, Mapping[str, object]],
    drafts: Mapping[Side, SideView] | None = None,
) -> BattleView:
    """A battle as its voter may see it, with the names once there is a vote.

    Args:
        battle: as on record.
        terms: of the arena.
        cards: the models' rows on record by name, read only where there is a vote.
        drafts: the sides that are being answered, as far as they have come.
    """
    a, b = ((drafts or {}).get(side) or _recorded_side(battle, side, cards=cards) for side in Side)
    return BattleView(
        battle_id=battle.id,
        prompts=battle.prompts,
        status=battle.status,
        edition=battle.edition,
        open=open_actions(battle, terms),
        coming=coming_actions(battle, terms),
        a=a,
        b=b,
        outcome=None if battle.vote is None else battle.vote.outcome,
    )


def _recorded_side(
    battle: Battle, side: Side, *, cards: Mapping[str, Mapping[str, object]]
) -> SideView:
    last = len(battle.prompts) - 1
    responses = [battle.response(turn, side) for turn in range(last + 1)]
    answers = tuple("" if response is None else response.text for response in responses)
    latest = responses[last]
    if latest is None:
        # A battle fails only once both sides have ended; this one could not be stored.
        problem = "NotStored" if battle.status is BattleStatus.FAILED else None
        state = _UNRECORDED.get(battle.status, SideState.CANCELLED)
        return SideView(answers=answers, state=state, problem=problem)
    return SideView(
        answers=answers,
        state=_STATES[latest.status],
        problem=latest.error_kind,
        reveal=_reveal(cards[battle.pairing.model(side)], latest) if battle.vote else None,
    )


def _reveal(card: Mapping[str, object], response: Response) -> Reveal:
    """What is told about a side's model after the vote.

    Args:
        card: the model's row on record.
        response: the last answer.
    """
    return Reveal(
        name=str(card["name"]),
        organisation=str(card["organisation"]),
        license=str(card["license"]),
        description=str(card["description"]),
        tokens_per_second=generation_speed(
            response.completion_tokens,
            time_to_first_token=response.time_to_first_token,
            duration=response.duration,
        ),
        completion_tokens=response.completion_tokens,
        time_to_first_token=response.time_to_first_token,
        reasoning=response.reasoning,
        was_cut=response.finish_reason == "length",
    )
