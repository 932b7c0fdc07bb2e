"""One worker's part in a run: how many at once, when it rests, and when it gives up."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest
from counting_judge import CountingJudge, Reply, answering_after, by_digest, record_battles

from arena.judging.asking import GIVE_UP_AFTER, Asking, Ended
from arena.judging.orders import RunOrder, describe_judge
from arena.rules.judgements import CallStatus, JudgeMode
from serving import ModelSpec, Roster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.store import Store


@pytest.fixture
def store(store: Store) -> Store:
    """With what these tests need, on both databases."""
    record_battles(store, 10)
    return store


@pytest.fixture
def server() -> Iterator[CountingJudge]:
    with CountingJudge(delay=0.02) as server:
        yield server


class Run:
    """A worker in this process."""

    def __init__(self, store: Store, server: CountingJudge, *, concurrency: int = 1) -> None:
        self.store = store
        self.spec = ModelSpec(
            name="Judge", backend="openai", model="m", base_url=server.base_url, retries=0
        )
        self.order = RunOrder(
            database_url="",
            spec=self.spec,
            judge=describe_judge(self.spec, JudgeMode.PLAIN),
            battle_ids=tuple(store.judged_battles.find()),
            concurrency=concurrency,
        )
        self.known = store.judgings.register(self.order.judge)
        self.ended: list[Ended] = []
        self.asking: Asking | None = None

    async def go(self) -> str | None:
        async with Roster([self.spec], environ={}) as roster:
            self.asking = Asking(
                self.store,
                roster.models["Judge"],
                order=self.order,
                worker_id=self.store.workers.register(),
                report=self.ended.append,
            )
            await self.asking.run()
        return self.asking.stopped_by

    def statuses(self) -> list[CallStatus]:
        return list(self.store.judgings.statuses(self.order.judge.voter_id).values())


async def test_no_more_are_under_way_than_may_be(store: Store, server: CountingJudge) -> None:
    run = Run(store, server, concurrency=3)
    assert await run.go() is None
    assert run.statuses() == [CallStatus.ANSWERED] * 20
    assert server.most_at_once == 3
    assert set(server.asked.values()) == {1}
    assert [ended.answered for ended in run.ended] == [True] * 20


async def test_the_request_is_on_record_before_it_is_sent(
    store: Store, server: CountingJudge
) -> None:
    run = Run(store, server)
    seen: list[int] = []

    def look(prompt: str) -> Reply:
        statuses = run.statuses()
        seen.append(statuses.count(CallStatus.ASKED))
        return by_digest(prompt)

    server.rule = look
    await run.go()
    assert seen == [1] * 20


async def test_a_request_carries_the_schema_and_nothing_of_the_contenders_names(
    store: Store, server: CountingJudge
) -> None:
    await Run(store, server).go()
    body = server.bodies[0]
    assert body["response_format"]["type"] == "json_schema"
    assert (body["temperature"], body["max_tokens"]) == (0, 512)
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    # Amber's answer says "Amber on 0.0."; besides the answers, no name is told.
    assert body["messages"][1]["content"].count("Amber") == 1


async def test_a_run_gives_up_when_everything_fails(store: Store, server: CountingJudge) -> None:
    server.rule = lambda _: Reply("who are you?", status=401)
    run = Run(store, server)
    assert await run.go() == "failures"
    assert server.requests == GIVE_UP_AFTER
    assert run.statuses() == [CallStatus.FAILED] * GIVE_UP_AFTER


async def test_conversations_that_are_too_long_stop_nothing(
    store: Store, server: CountingJudge
) -> None:
    server.rule = lambda _: Reply("maximum context length is 8 tokens", status=400)
    run = Run(store, server)
    assert await run.go() is None
    assert run.statuses() == [CallStatus.FAILED] * 20
    calls = store.judge_verdicts.calls(run.order.judge.voter_id)
    assert {call.failure_kind for call in calls} == {"ContextTooLong"}


async def test_after_too_many_requests_nothing_is_asked_for_a_while(
    store: Store, server: CountingJudge
) -> None:
    times: list[float] = []

    def slow_down_once(prompt: str) -> Reply:
        times.append(time.monotonic())
        if len(times) == 1:
            return Reply("slow down", status=429, headers={"retry-after": "1"})
        return by_digest(prompt)

    server.rule = slow_down_once
    run = Run(store, server)
    assert await run.go() is None
    assert 1 <= times[1] - times[0] < 60
    assert sorted(run.statuses()) == [CallStatus.ANSWERED] * 19 + [CallStatus.FAILED]


async def test_stopped_it_stores_what_is_under_way(store: Store, server: CountingJudge) -> None:
    server.rule = answering_after(released := threading.Event())
    run = Run(store, server, concurrency=2)
    going = asyncio.create_task(run.go())
    await asyncio.to_thread(server.wait_for, 2)
    assert run.asking is not None
    run.asking.stop()
    released.set()
    assert await going == "told"
    assert server.requests == 2
    assert run.statuses() == [CallStatus.ANSWERED] * 2
