"""Chat models that play a test's script, and a conductor over them."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.battle.answering import Lengths
from arena.battle.conductor import BattleLimits, Conductor
from arena.battle.crowding import CrowdLimits
from arena.battle.model_health import ModelHealth
from arena.matchmaking.matchmaker import Matchmaker
from arena.matchmaking.strengths import Strengths
from arena.store.tally import Census
from serving import Completion, ModelCard, ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

    from arena.battle.quotas import Quotas
    from arena.battle.views import BattleView
    from arena.store import Store
    from serving import ChatModel, Message, Sampling, StreamEvent

VOTER = "voter-1"


@dataclass(frozen=True)
class Thought:
    """A piece of reasoning."""

    text: str


END = object()  # the stream stops here, without a completion
# Text, reasoning, a pause in seconds, something to wait for, or what is raised.
Step = str | Thought | float | asyncio.Event | BaseException | object


class StagedModel:
    """Plays its script for every question.

    Attributes:
        asked: the conversations it was asked to answer.
        stopped: how many of its answers were cancelled.
        on_asked: called when it is asked, before anything else.
    """

    def __init__(self, name: str, *script: Step) -> None:
        self.card = ModelCard(
            name=name, organisation=f"Makers of {name}", license="MIT", description=f"It is {name}."
        )
        self.script = script or (f"{name} says so.",)
        self.asked: list[list[Message]] = []
        self.stopped = 0
        self.on_asked: Callable[[], object] = lambda: None

    async def stream(
        self, messages: Sequence[Message], sampling: Sampling | None = None
    ) -> AsyncGenerator[StreamEvent]:
        self.asked.append(list(messages))
        self.on_asked()
        start = time.monotonic()
        text, reasoning = "", ""
        try:
            for step in self.script:
                if isinstance(step, str):
                    text += step
                    yield TextDelta(step)
                elif isinstance(step, Thought):
                    reasoning += step.text
                    yield ReasoningDelta(step.text)
                elif step is END:
                    return
                else:
                    await _play(step)
        except (asyncio.CancelledError, GeneratorExit):
            self.stopped += 1
            raise
        yield Completion(
            text=text,
            reasoning=reasoning,
            finish_reason="stop",
            prompt_tokens=1,
            completion_tokens=9,
            time_to_first_token=0.5,
            duration=time.monotonic() - start + 1.0,
            model_id=f"{self.card.name}-id",
        )

    async def aclose(self) -> None:
        """Nothing is open."""


async def _play(step: Step) -> None:
    if isinstance(step, BaseException):
        raise step
    if isinstance(step, asyncio.Event):
        await step.wait()
    elif isinstance(step, float):
        await asyncio.sleep(step)
    else:
        raise TypeError(step)


@asynccontextmanager
async def conducting(
    store: Store,
    *models: ChatModel,
    known_prompts: tuple[str, ...] | None = None,
    crowd: CrowdLimits | None = None,
    lengths: Lengths | None = None,
    quotas: Quotas | None = None,
    **limits: float,
) -> AsyncIterator[Conductor]:
    """An open conductor over these models, closed afterwards."""
    named = {model.card.name: model for model in models}
    health = ModelHealth(named)
    standing = Strengths(tuple(named), Census(store.votes))
    conductor = Conductor(
        store=store,
        matchmaker=Matchmaker(
            tuple(named),
            standing,
            policy="uniform",
            exploration=1.0,
            absent=lambda: health.resting,
            seed=5,
        ),
        strengths=standing,
        health=health,
        models=named,
        limits=BattleLimits(
            crowd=crowd or CrowdLimits(),
            lengths=lengths or Lengths(),
            **{"grace_seconds": 60.0, **limits},  # type: ignore[arg-type]
        ),
        known_prompts=known_prompts,
        quotas=quotas,
    )
    await conductor.open()
    try:
        yield conductor
    finally:
        await conductor.close()


async def watch(conductor: Conductor, battle_id: str, *, voter_id: str = VOTER) -> BattleView:
    """The battle once it has settled."""
    async with aclosing(conductor.watch(battle_id, voter_id)) as views:
        async for view in views:
            last = view
    return last


async def until(condition: Callable[[], object], *, seconds: float = 60.0) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.01)
