"""What is kept of an answer that was asked for: as it comes, and however it ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from battle_steps import answer, battle_with
from staged_models import END, StagedModel, Thought, until

from arena.battle.answering import Answering
from arena.battle.views import SideState
from arena.rules.battles import BattleStatus, Response, ResponseStatus, Side
from serving import TimedOut

if TYPE_CHECKING:
    from staged_models import Step

    from arena.rules.battles import Battle


class Desk:
    """Asks, and keeps what would be stored."""

    def __init__(self, battle: Battle, a: StagedModel, b: StagedModel, *sides: Side) -> None:
        self.stored: list[Response] = []
        self.heard: list[tuple[str, ResponseStatus]] = []
        self.statuses: list[BattleStatus | None] = []
        self.fails = False
        self.settled = 0
        self.answering = Answering(
            battle,
            models={Side.A: a, Side.B: b},
            sides=sides or tuple(Side),
            heard=lambda name, response: self.heard.append((name, response.status)),
            commit=self._commit,
            settled=self._settle,
        )

    async def _commit(
        self, battle_id: str, response: Response, status: BattleStatus | None
    ) -> bool:
        assert battle_id == "battle-1"
        await asyncio.sleep(0.01)
        if self.fails:
            raise OSError("the disk is full")
        self.stored.append(response)
        self.statuses.append(status)
        return status is not None

    async def _settle(self, answering: Answering) -> None:
        assert not answering.done
        self.settled += 1

    async def finish(self) -> dict[Side, Response]:
        await until(lambda: self.answering.done)
        assert self.settled == 1
        return {response.side: response for response in self.stored}


def fresh_battle() -> Battle:
    return battle_with(status=BattleStatus.ANSWERING)


async def test_a_complete_answer_keeps_what_the_provider_counted() -> None:
    thought = (Thought("Hm."), "Yes, ", "indeed.")
    stored = await Desk(fresh_battle(), StagedModel("Amber", *thought), StagedModel("B")).finish()
    response = stored[Side.A]
    assert (response.turn, response.attempt) == (0, 0)
    assert response.status is ResponseStatus.COMPLETE
    assert (response.text, response.reasoning) == ("Yes, indeed.", "Hm.")
    assert (response.prompt_tokens, response.completion_tokens) == (1, 9)
    assert (response.finish_reason, response.model_id) == ("stop", "Amber-id")
    assert response.time_to_first_token == 0.5
    assert response.error_kind is None
    assert response.created_at.tzinfo is not None


@pytest.mark.parametrize(
    ("last", "kind", "words"),
    [
        (TimedOut("B took 60 s"), "TimedOut", "B took 60 s"),
        (ZeroDivisionError("oh"), "ServingError", "ZeroDivisionError: oh"),
        (END, "ServingError", "the stream ended without saying so"),
    ],
)
async def test_a_broken_answer_keeps_what_came_and_why(last: Step, kind: str, words: str) -> None:
    broken = StagedModel("B", "Half of ", Thought("Hm."), 0.05, "it", last)
    desk = Desk(fresh_battle(), StagedModel("A"), broken)
    response = (await desk.finish())[Side.B]
    assert response.status is ResponseStatus.FAILED
    assert (response.text, response.reasoning) == ("Half of it", "Hm.")
    assert (response.error_kind, response.error_message) == (kind, words)
    assert response.time_to_first_token is not None
    assert response.duration is not None
    assert 0 <= response.time_to_first_token < 0.05 <= response.duration
    assert desk.answering.status is BattleStatus.FAILED


async def test_a_failure_of_one_side_does_not_touch_the_other() -> None:
    broken = StagedModel("A", TimedOut("A took 60 s"))
    desk = Desk(fresh_battle(), broken, StagedModel("B", 0.1, "Fine."))
    stored = await desk.finish()
    names = desk.answering.battle.pairing
    assert desk.heard == [
        (names.model_a, ResponseStatus.FAILED),
        (names.model_b, ResponseStatus.COMPLETE),
    ]
    assert stored[Side.B].text == "Fine."
    assert stored[Side.B].status is ResponseStatus.COMPLETE


async def test_the_version_grows_with_everything_that_can_be_shown() -> None:
    steps = [asyncio.Event() for _ in range(2)]
    a = StagedModel("A", "One", steps[0], " two", steps[1])
    desk = Desk(fresh_battle(), a, StagedModel("B", steps[1], "Done."))
    versions = []
    for step in steps:
        await until(lambda: a.asked)
        await asyncio.sleep(0.05)
        versions.append(desk.answering.version)
        step.set()
    await desk.finish()
    versions.append(desk.answering.version)
    assert versions == sorted(set(versions))
    view = desk.answering.drafts()[Side.A]
    assert (view.answers, view.state) == (("One two",), SideState.COMPLETE)


async def test_only_the_sides_that_are_asked_are_drafts() -> None:
    battle = battle_with(answer(Side.A), answer(Side.B, status=ResponseStatus.FAILED))
    a, b = StagedModel("A"), StagedModel("B")
    desk = Desk(battle, a, b, Side.B)
    stored = await desk.finish()
    assert Side.A not in desk.answering.drafts()
    assert a.asked == []
    assert stored[Side.B].attempt == 1
    assert desk.answering.status is BattleStatus.READY


async def test_stopping_waits_until_what_came_is_stored() -> None:
    a = StagedModel("A", "So far", asyncio.Event())
    desk = Desk(fresh_battle(), a, StagedModel("B"))
    await until(lambda: desk.answering.has_text)
    await until(lambda: desk.stored)
    await asyncio.gather(desk.answering.stop(), desk.answering.stop())
    assert desk.answering.done
    stored = await desk.finish()
    assert stored[Side.A].status is ResponseStatus.CANCELLED
    assert stored[Side.A].text == "So far"
    assert stored[Side.B].status is ResponseStatus.COMPLETE
    assert a.stopped == 1


async def test_stopping_before_anything_began_still_settles() -> None:
    a, b = StagedModel("A"), StagedModel("B")
    desk = Desk(fresh_battle(), a, b)
    await desk.answering.stop()
    await desk.finish()
    assert desk.answering.status is BattleStatus.ABANDONED


async def test_a_providers_endless_name_is_cut_to_its_column() -> None:
    stored = await Desk(fresh_battle(), StagedModel("x" * 400), StagedModel("B")).finish()
    assert stored[Side.A].model_id == "x" * 300


async def test_the_answer_that_ends_last_settles_the_battle_with_it() -> None:
    desk = Desk(fresh_battle(), StagedModel("A", "Both at"), StagedModel("B", "once."))
    await desk.finish()
    assert desk.statuses == [None, BattleStatus.READY]
    outcome = desk.answering.outcome
    assert outcome is not None
    assert outcome.status is BattleStatus.READY
    assert outcome.responses == tuple(desk.stored)
    assert outcome.edition == 2


async def test_a_retried_side_settles_with_the_answer_that_was_there() -> None:
    battle = battle_with(answer(Side.A), answer(Side.B, status=ResponseStatus.FAILED))
    desk = Desk(battle, StagedModel("A"), StagedModel("B"), Side.B)
    await desk.finish()
    assert desk.statuses == [BattleStatus.READY]
    outcome = desk.answering.outcome
    assert outcome is not None
    assert outcome.responses == (*battle.responses, *desk.stored)


async def test_what_could_not_be_stored_is_no_outcome() -> None:
    wait = asyncio.Event()
    desk = Desk(fresh_battle(), StagedModel("A", "Kept."), StagedModel("B", wait, "Lost."))
    await until(lambda: desk.stored)
    desk.fails = True
    wait.set()
    await desk.finish()
    assert desk.answering.outcome is None
    assert desk.answering.status is BattleStatus.FAILED
    view = desk.answering.drafts()[Side.B]
    assert (view.state, view.problem) == (SideState.FAILED, "NotStored")
