"""Judges over a provider that misbehaves: which verdicts are read, and what failures say."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from counting_judge import record_battles
from misbehaving_provider import Provider
from played_apis import KEY, Api, spec_for
from stream_shapes import EVERY, ApiName, Shape, instead, refusal

from arena.judging.asking import Asking
from arena.judging.orders import RunOrder, describe_judge
from arena.rules.judgements import CallStatus, JudgeMode, Reading
from serving import Roster

if TYPE_CHECKING:
    from arena.store import Store

SAYS = '{"reason": "Right.", "verdict": "A"}'
BEGINS_INSIDE = {"reasoning": {"begins_inside": True}}
CHANNELS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
READ = [
    Shape(name="as it should be", pieces=lambda w: w.say(SAYS)),
    Shape(name="think tags", pieces=lambda w: w.say("<think>Hm.</think>\n\n", SAYS)),
    Shape(name="thinking tags", pieces=lambda w: w.say(f"<thinking>Hm.</thinking>{SAYS}")),
    Shape(name="no opening tag", pieces=lambda w: w.say("Hm.\n</think>\n\n", SAYS)),
    Shape(
        name="no opening tag, as the settings say",
        pieces=lambda w: w.say("Hm.</think>", SAYS),
        settings=BEGINS_INSIDE,
    ),
    Shape(name="channels", pieces=lambda w: w.say(CHANNELS, SAYS)),
    Shape(name="bare channels", pieces=lambda w: w.say(f"analysisHm.assistantfinal{SAYS}")),
    Shape(name="no reason", pieces=lambda w: [w.start(), w.text(SAYS), w.mark]),
    Shape(name="odd frames", pieces=lambda w: [b"data:\n\n", b"retry: 1\n\n", *w.say(SAYS)]),
    Shape(name="not streamed", pieces=lambda w: instead(w.whole(SAYS)), ending="raw"),
]
FAILED = [
    Shape(
        name="the filter",
        pieces=lambda w: w.say(SAYS, reason="content_filter"),
        end="Refused",
        says="filter",
    ),
    Shape(
        name="an unknown end",
        pieces=lambda w: w.say(SAYS, reason="mystery"),
        end="Unfinished",
        says="mystery",
    ),
    Shape(name="cut", pieces=lambda w: [w.start(), w.text(SAYS)], ending="cut", end="Interrupted"),
    Shape(
        name="arrears",
        pieces=refusal(429, {"error": {"message": "您的账户已欠费"}}),
        ending="raw",
        end="QuotaUsedUp",
        says="欠费",
    ),
    Shape(
        name="a page",
        pieces=lambda w: instead("<html><title>Log in</title></html>", kind="text/html"),
        ending="raw",
        end="ModelNotFound",
        says="Log in",
    ),
]


@pytest.fixture
def store(store: Store) -> Store:
    """With what these tests need, on both databases."""
    record_battles(store, 1)
    return store


async def judge(store: Store, shape: Shape, api: ApiName) -> list[dict[str, Any]]:
    """The calls of a judge about one battle, as they are on record."""
    provider = Provider(script=[shape.play(api)])
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.port = server.sockets[0].getsockname()[1]
    spec = spec_for(Api(api), provider.root_url, **shape.settings)
    order = RunOrder(
        database_url="",
        spec=spec,
        judge=describe_judge(spec, JudgeMode.PLAIN),
        battle_ids=tuple(store.judged_battles.find()),
    )
    store.judgings.register(order.judge)
    async with server, Roster([spec], environ={"IT_KEY": KEY}) as roster:
        worker_id = store.workers.register()
        model = roster.models["it"]
        await Asking(store, model, order=order, worker_id=worker_id, report=lambda _: None).run()
    return [call._asdict() for call in store.judge_verdicts.calls(order.judge.voter_id)]


def each_api(shapes: list[Shape]) -> pytest.MarkDecorator:
    cases = [(shape, api) for shape in shapes for api in EVERY]
    names = [f"{api}: {shape.name}" for shape, api in cases]
    return pytest.mark.parametrize(("shape", "api"), cases, ids=names)


@each_api(READ)
async def test_a_verdict_is_read_behind_whatever_stands_before_it(
    shape: Shape, api: ApiName, store: Store
) -> None:
    calls = await judge(store, shape, api)
    assert [call["status"] for call in calls] == [CallStatus.ANSWERED] * 2
    assert [call["reading"] for call in calls] == [Reading.STRUCTURED] * 2
    assert None not in {call["verdict"] for call in calls}


@each_api(FAILED)
async def test_an_answer_that_ended_badly_is_no_verdict(
    shape: Shape, api: ApiName, store: Store
) -> None:
    calls = await judge(store, shape, api)
    assert [call["status"] for call in calls] == [CallStatus.FAILED] * 2
    assert {call["failure_kind"] for call in calls} == {shape.end}
    assert all(shape.says in call["failure_message"] for call in calls)
