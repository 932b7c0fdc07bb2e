from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import collect, complete

from serving import (
    BadCredentials,
    Completion,
    ContextTooLong,
    Interrupted,
    Message,
    ModelCard,
    ModelUnreachable,
    RateLimited,
    ReasoningDelta,
    Refused,
    Sampling,
    ServingError,
    TextDelta,
    TimedOut,
)
from serving.deadlines import Limits
from serving.limits import End, LimitedModel, WireEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

Step = WireEvent | ServingError | float


class Scripted:
    """A back end that plays one script a request: events, errors, and pauses in seconds."""

    def __init__(self, *scripts: Sequence[Step]) -> None:
        self.scripts = scripts
        self.asked: list[tuple[list[Message], Sampling]] = []
        self.times: list[float] = []
        self.closed = 0

    async def open(
        self, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[WireEvent]:
        script = self.scripts[min(len(self.asked), len(self.scripts) - 1)]
        self.asked.append((list(messages), sampling))
        self.times.append(time.monotonic())
        try:
            for step in script:
                if isinstance(step, float):
                    await asyncio.sleep(step)
                elif isinstance(step, ServingError):
                    raise step
                else:
                    yield step
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        pass


END = End(finish_reason="stop", prompt_tokens=3, completion_tokens=2, model_id="m-1")
GOOD: list[Step] = [TextDelta("a"), TextDelta("b"), END]


def limited(backend: Scripted, **limits: float) -> LimitedModel:
    retries = int(limits.pop("retries", 2))
    return LimitedModel(
        backend, card=ModelCard(name="it"), limits=Limits(retries=retries, **limits)
    )


async def test_completion_adds_up_what_was_streamed() -> None:
    backend = Scripted([0.05, ReasoningDelta("r1"), ReasoningDelta("r2"), 0.05, *GOOD])
    *deltas, completion = await collect(limited(backend))
    assert deltas == [ReasoningDelta("r1"), ReasoningDelta("r2"), TextDelta("a"), TextDelta("b")]
    assert isinstance(completion, Completion)
    assert (completion.text, completion.reasoning) == ("ab", "r1r2")
    assert (completion.prompt_tokens, completion.completion_tokens) == (3, 2)
    assert completion.model_id == "m-1"
    assert completion.time_to_first_token >= 0.05
    assert completion.time_to_first_token + 0.05 <= completion.duration < 1
    assert completion.tokens_per_second == pytest.approx(
        1 / (completion.duration - completion.time_to_first_token)
    )


async def test_an_empty_answer_is_an_answer() -> None:
    completion = await complete(limited(Scripted([END])))
    assert completion.text == ""
    assert completion.time_to_first_token == completion.duration


async def test_system_prompt_and_defaults_go_with_every_request() -> None:
    backend = Scripted(GOOD)
    model = LimitedModel(
        backend,
        card=ModelCard(name="it"),
        sampling=Sampling(temperature=0.5, max_tokens=9),
        system_prompt="Be brief.",
    )
    await complete(model, [Message("user", "hi")], Sampling(max_tokens=3))
    messages, sampling = backend.asked[0]
    assert messages == [Message("system", "Be brief."), Message("user", "hi")]
    assert sampling == Sampling(temperature=0.5, max_tokens=3)


@pytest.mark.parametrize("messages", [[], [Message("user", "a"), Message("assistant", "b")]])
async def test_a_conversation_ends_with_the_user(messages: list[Message]) -> None:
    with pytest.raises(Refused, match="must end with the user"):
        await anext(limited(Scripted(GOOD)).stream(messages))


@pytest.mark.parametrize(
    ("script", "limits", "limit"),
    [
        ([600.0, *GOOD], {"first_token": 0.05}, "first_token"),
        ([TextDelta("a"), 600.0, END], {"between_tokens": 0.05}, "between_tokens"),
        ([0.03, TextDelta("a")] * 10_000, {"total": 0.1}, "total"),
        ([600.0, *GOOD], {"total": 0.05}, "total"),
    ],
)
async def test_each_limit_ends_the_answer_and_is_named(
    script: list[Step], limits: dict[str, float], limit: str
) -> None:
    backend = Scripted(script)
    start = time.monotonic()
    with pytest.raises(TimedOut, match=f"`{limit}` of {limits[limit]:g} s") as caught:
        await collect(limited(backend, **limits))
    assert caught.value.limit == limit
    assert f"`timeouts.{limit}`" in str(caught.value)
    assert time.monotonic() - start < 30
    assert backend.closed == len(backend.asked) == 1


async def test_time_that_the_reader_takes_is_not_held_against_the_model() -> None:
    model = limited(Scripted(GOOD), between_tokens=0.05)
    seen = 0
    async for _ in model.stream([Message("user", "hi")]):
        await asyncio.sleep(0.1)
        seen += 1
    assert seen == 3


async def test_what_may_pass_is_tried_again_before_the_first_token() -> None:
    backend = Scripted([ModelUnreachable("down")], [Interrupted("cut")], GOOD)
    completion = await complete(limited(backend))
    assert completion.text == "ab"
    assert completion.duration < 0.4  # of the request that was answered
    first, second, third = backend.times
    assert 0.45 < second - first < 1.6
    assert 0.9 < third - second < 2.2


async def test_retries_are_counted() -> None:
    backend = Scripted([ModelUnreachable("down")])
    with pytest.raises(ModelUnreachable, match="down"):
        await collect(limited(backend, retries=1))
    assert len(backend.asked) == 2


async def test_a_connection_that_was_not_made_in_time_is_tried_again() -> None:
    backend = Scripted([TimedOut("slow network", limit="connect")], GOOD)
    assert (await complete(limited(backend))).text == "ab"


@pytest.mark.parametrize(
    "error", [BadCredentials("no"), ContextTooLong("no"), Refused("no"), TimedOut("no")]
)
async def test_what_will_not_pass_is_not_tried_again(error: ServingError) -> None:
    backend = Scripted([error])
    with pytest.raises(type(error)):
        await collect(limited(backend))
    assert len(backend.asked) == 1


async def test_nothing_is_tried_again_after_the_first_token() -> None:
    backend = Scripted([TextDelta("a"), ModelUnreachable("gone")], GOOD)
    events = limited(backend).stream([Message("user", "hi")])
    assert await anext(events) == TextDelta("a")
    with pytest.raises(Interrupted, match="gone"):
        await anext(events)
    assert len(backend.asked) == 1


async def test_a_stream_that_ends_without_an_end_is_interrupted() -> None:
    with pytest.raises(Interrupted, match="without saying why"):
        await collect(limited(Scripted([TextDelta("a")])))


async def test_the_wait_that_a_provider_asks_for_is_kept() -> None:
    backend = Scripted([RateLimited("slow", retry_after=1.4)], GOOD)
    await complete(limited(backend))
    assert 1.35 < backend.times[1] - backend.times[0] < 30


async def test_a_wait_longer_than_the_total_limit_is_not_begun() -> None:
    backend = Scripted([RateLimited("slow", retry_after=60)], GOOD)
    start = time.monotonic()
    with pytest.raises(RateLimited) as caught:
        await collect(limited(backend, total=10))
    assert caught.value.retry_after == 60
    assert time.monotonic() - start < 30


async def close_early(model: LimitedModel) -> None:
    async with aclosing(model.stream([Message("user", "hi")])) as events:
        await anext(events)


async def cancel_early(model: LimitedModel) -> None:
    task = asyncio.create_task(collect(model))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("leave", [close_early, cancel_early])
async def test_leaving_closes_the_request(
    leave: Callable[[LimitedModel], Awaitable[None]],
) -> None:
    backend = Scripted([TextDelta("a"), 60.0, END])
    await leave(limited(backend))
    assert backend.closed == 1


async def test_cancelling_while_waiting_to_retry_stops_the_retries() -> None:
    backend = Scripted([ModelUnreachable("down")])
    await cancel_early(limited(backend))
    await asyncio.sleep(0.8)
    assert len(backend.asked) == 1
