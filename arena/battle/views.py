"""What a page may show of a battle. Names appear here only once the vote is stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arena.rules.actions import Action  # noqa: TC001  dataclass fields are inspected at run time
from arena.rules.battles import Battle, BattleStatus, Outcome, Response, ResponseStatus, Side
from serving.protocol import generation_speed


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


def recorded_side(battle: Battle, side: Side, *, reveal: Reveal | None = None) -> SideView:
    """The view of a side as it is on record."""
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
        reveal=reveal,
    )


def reveal_of(card: dict[str, object], response: Response | None) -> Reveal:
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
        tokens_per_second=None if response is None else _speed(response),
        completion_tokens=None if response is None else response.completion_tokens,
        time_to_first_token=None if response is None else response.time_to_first_token,
        reasoning="" if response is None else response.reasoning,
        was_cut=response is not None and response.finish_reason == "length",
    )


def _speed(response: Response) -> float | None:
    return generation_speed(
        response.completion_tokens,
        time_to_first_token=response.time_to_first_token,
        duration=response.duration,
    )
