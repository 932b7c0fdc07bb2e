"""Models that fail rest, and return by themselves once they answer."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from battle_steps import answer
from staged_models import VOTER, StagedModel, conducting, until, watch

from arena.battle import model_health
from arena.battle.model_health import ModelHealth
from arena.matchmaking.matchmaker import TooFewModels
from arena.rules.battles import BattleStatus, Response, ResponseStatus, Side
from serving import BadCredentials, Interrupted, ModelUnreachable, Refused, ServingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.store import Store


def ended(kind: str | None = None, status: ResponseStatus = ResponseStatus.COMPLETE) -> Response:
    if kind is None:
        return answer(Side.A, status=status)
    failed = answer(Side.A, status=ResponseStatus.FAILED, text="")
    return replace(failed, error_kind=kind)


@asynccontextmanager
async def probing(*models: StagedModel, first_rest: float = 0.05) -> AsyncIterator[ModelHealth]:
    health = ModelHealth({model.card.name: model for model in models}, first_rest=first_rest)
    task = asyncio.create_task(health.keep_probing())
    try:
        yield health
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_a_model_rests_after_three_failures_in_a_row() -> None:
    health = ModelHealth({"Amber": StagedModel("Amber")})
    for kind in ("Interrupted", "TimedOut"):
        health.note("Amber", ended(kind))
    health.note("Amber", ended())
    for kind in ("Interrupted", "RateLimited"):
        health.note("Amber", ended(kind))
    assert health.resting == frozenset()
    health.note("Amber", ended("EmptyAnswer"))
    assert health.resting == {"Amber"}


@pytest.mark.parametrize(
    "kind", ["Unreadable", "ServerFault", "Interrupted", "EmptyAnswer", "TimedOut", "Unfinished"]
)
def test_one_voter_alone_rests_no_model(kind: str) -> None:
    health = ModelHealth({"Amber": StagedModel("Amber")})
    for _ in range(20):
        health.note("Amber", ended(kind), voter_id="one")
    assert health.resting == frozenset()
    health.note("Amber", ended(kind), voter_id="another")
    assert health.resting == {"Amber"}


def test_voters_before_an_answer_are_forgotten_with_their_failures() -> None:
    health = ModelHealth({"Amber": StagedModel("Amber")})
    health.note("Amber", ended("Unreadable"), voter_id="one")
    health.note("Amber", ended(), voter_id="two")
    for _ in range(5):
        health.note("Amber", ended("Unreadable"), voter_id="two")
    assert health.resting == frozenset()


@pytest.mark.parametrize(
    "kind", ["BadCredentials", "ModelNotFound", "ModelUnreachable", "QuotaUsedUp"]
)
def test_what_every_request_would_meet_is_not_tried_thrice(kind: str) -> None:
    health = ModelHealth({"Amber": StagedModel("Amber")})
    health.note("Amber", ended(kind))
    assert health.resting == {"Amber"}


@pytest.mark.parametrize(
    "kind", ["Refused", "ParameterRefused", "ContextTooLong", "UnknownPrompt", "NotStored"]
)
def test_what_the_conversation_or_the_disk_is_to_blame_for_is_no_failure(kind: str) -> None:
    health = ModelHealth({"Amber": StagedModel("Amber")})
    health.note("Amber", ended("Interrupted"))
    for _ in range(9):
        health.note("Amber", ended(kind))
    health.note("Amber", ended("Interrupted"))
    assert health.resting == frozenset()


def test_an_answer_that_was_stopped_says_nothing() -> None:
    health = ModelHealth({"Amber": StagedModel("Amber")})
    health.note("Amber", ended("Interrupted"))
    health.note("Amber", ended("Interrupted"))
    health.note("Amber", ended(status=ResponseStatus.CANCELLED))
    health.note("Amber", ended("Interrupted"))
    assert health.resting == {"Amber"}


async def test_a_model_that_answers_again_returns_by_itself() -> None:
    model = StagedModel("Amber", ModelUnreachable("it is down"))
    async with probing(model) as health:
        health.note("Amber", ended("ModelUnreachable"))
        await until(lambda: len(model.asked) >= 2)  # it is asked, and asked again later
        assert health.resting == {"Amber"}
        model.script = ("OK",)
        await until(lambda: health.resting == frozenset())
        asked = len(model.asked)
        await asyncio.sleep(0.2)
        assert len(model.asked) == asked  # no more probes
        # Its first rest is short again.
        health.note("Amber", ended("ModelUnreachable"))
        await until(lambda: health.resting == frozenset(), seconds=30)


def test_a_retry_that_is_answered_ends_the_rest() -> None:
    health = ModelHealth({"Amber": StagedModel("Amber"), "Birch": StagedModel("Birch")})
    health.note("Amber", ended("ModelUnreachable"))
    health.note("Birch", ended())
    assert health.resting == {"Amber"}
    health.note("Amber", ended())
    assert health.resting == frozenset()


async def test_each_rest_is_twice_as_long_as_the_last(caplog: pytest.LogCaptureFixture) -> None:
    model = StagedModel("Amber", BadCredentials("no such key"))
    async with probing(model, first_rest=0.1) as health:
        health.note("Amber", ended("ModelUnreachable"))
        await until(lambda: len(model.asked) >= 3)
    said = [record.getMessage() for record in caplog.records]
    assert said[:3] == [
        "Amber rests for 0.1 s: ModelUnreachable",
        "Amber rests for 0.2 s: BadCredentials",
        "Amber rests for 0.4 s: BadCredentials",
    ]
    assert model_health.LONGEST_REST_SECONDS == 600


@pytest.mark.parametrize(
    ("step", "returns"),
    [
        ("OK", True),
        (Refused("not this prompt"), True),  # it could answer
        ("  ", False),
        (Interrupted("gone"), False),
        (ServingError("odd"), False),
        (RuntimeError("a defect"), False),
    ],
)
async def test_what_a_probe_takes_for_an_answer(step: str | Exception, returns: bool) -> None:
    model = StagedModel("Amber", step)
    async with probing(model) as health:
        health.note("Amber", ended("ModelUnreachable"))
        await until(lambda: len(model.asked) >= (1 if returns else 2))
        if returns:
            await until(lambda: not health.resting)
        assert bool(health.resting) is not returns


async def test_a_probe_that_hangs_neither_returns_the_model_nor_holds_up_the_end() -> None:
    model = StagedModel("Amber", asyncio.Event())
    async with probing(model) as health:
        health.note("Amber", ended("ModelUnreachable"))
        await until(lambda: bool(model.asked))
        await asyncio.sleep(0.2)
        assert len(model.asked) == 1
        assert health.resting == {"Amber"}
    await until(lambda: model.stopped == 1)


async def test_a_failing_model_is_no_longer_drawn(store: Store) -> None:
    down = StagedModel("Down", ModelUnreachable("it is down"))
    models = (StagedModel("Amber"), StagedModel("Birch"), down)
    async with conducting(store, *models) as conductor:
        for _ in range(30):
            view = await conductor.start("Why?", VOTER)
            await watch(conductor, view.battle_id)
        assert len(down.asked) == 1


async def test_with_fewer_than_two_models_no_battle_begins(store: Store) -> None:
    models = (StagedModel("Amber"), StagedModel("Down", ModelUnreachable("it is down")))
    async with conducting(store, *models) as conductor:
        view = await conductor.start("Why?", VOTER)
        assert (await watch(conductor, view.battle_id)).status is BattleStatus.FAILED
        with pytest.raises(TooFewModels):
            await conductor.start("Why?", VOTER)
