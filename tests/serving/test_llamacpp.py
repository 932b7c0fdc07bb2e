"""The embedded server with the real small model, over both of its APIs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from misbehaving_provider import collect, complete

from serving import (
    Completion,
    ContextTooLong,
    LlamaCppServer,
    Message,
    ModelSpec,
    ModelUnreachable,
    Roster,
    Sampling,
    ServerFault,
    TextDelta,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from serving import ChatModel

pytestmark = pytest.mark.model

STORY = [Message("user", "Tell me a long story about a lighthouse.")]


@asynccontextmanager
async def model_over(
    backend: str, server: LlamaCppServer, **fields: object
) -> AsyncIterator[ChatModel]:
    url = server.base_url if backend == "openai" else server.root_url
    table = {"name": "it", "backend": backend, "model": "small", "base_url": url, **fields}
    async with Roster([ModelSpec.model_validate(table)], environ={}) as roster:
        yield roster.models["it"]


async def get(server: LlamaCppServer, path: str) -> str:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return (await client.get(f"{server.root_url}{path}")).text


async def busy_slots(server: LlamaCppServer) -> int:
    slots: list[dict[str, Any]] = json.loads(await get(server, "/slots"))
    return sum(slot["is_processing"] for slot in slots)


async def generated_tokens(server: LlamaCppServer) -> float:
    lines = (await get(server, "/metrics")).splitlines()
    name = "llamacpp:tokens_predicted_total"
    return next(float(line.split()[1]) for line in lines if line.startswith(name))


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
async def test_an_answer_is_streamed_and_counted(backend: str, llama: LlamaCppServer) -> None:
    async with model_over(backend, llama, system_prompt="Be brief.") as model:
        *deltas, completion = await collect(model, STORY, Sampling(max_tokens=24))
    assert isinstance(completion, Completion)
    assert len(deltas) > 1
    texts = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert completion.text == "".join(texts) != ""
    assert completion.finish_reason == "length"
    assert completion.completion_tokens == 24
    assert completion.prompt_tokens is not None
    assert 10 < completion.prompt_tokens < 60
    assert completion.model_id == llama.model_id
    assert 0 < completion.time_to_first_token < completion.duration
    assert completion.tokens_per_second is not None
    assert completion.tokens_per_second > 1


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
async def test_an_answer_can_end_by_itself(backend: str, llama: LlamaCppServer) -> None:
    async with model_over(backend, llama) as model:
        sampling = Sampling(max_tokens=400, temperature=0, stop=("lighthouse",))
        completion = await complete(model, STORY, sampling)
    assert completion.finish_reason == "stop"
    assert "lighthouse" not in completion.text


async def test_the_system_prompt_reaches_the_model(llama: LlamaCppServer) -> None:
    async with (
        model_over("openai", llama) as plain,
        model_over("openai", llama, system_prompt="word " * 100) as told,
    ):
        without = await complete(plain, STORY, Sampling(max_tokens=1))
        with_it = await complete(told, STORY, Sampling(max_tokens=1))
    assert without.prompt_tokens is not None
    assert with_it.prompt_tokens is not None
    # Without one, the model's template puts a short system prompt of its own.
    assert 60 < with_it.prompt_tokens - without.prompt_tokens < 120


async def test_a_seed_repeats_the_answer(llama: LlamaCppServer) -> None:
    hot = Sampling(temperature=1.5, max_tokens=32)
    async with model_over("openai", llama) as model:
        answers = [
            (await complete(model, STORY, Sampling(seed=seed).over(hot))).text for seed in (7, 7, 8)
        ]
    assert answers[0] == answers[1] != answers[2]


async def test_a_schema_shapes_the_answer(llama: LlamaCppServer) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["left", "right"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    async with model_over("openai", llama) as model:
        answer = await complete(model, STORY, Sampling(response_schema=schema, max_tokens=64))
    assert json.loads(answer.text) in ({"verdict": "left"}, {"verdict": "right"})


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
async def test_too_long_a_conversation_says_so(backend: str, llama: LlamaCppServer) -> None:
    async with model_over(backend, llama) as model:
        with pytest.raises(ContextTooLong, match="2048 tokens"):
            await collect(model, [Message("user", "word " * 3000)])


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
async def test_leaving_stops_the_generation(backend: str, llama: LlamaCppServer) -> None:
    async with model_over(backend, llama, extra_body={"ignore_eos": True}) as model:
        events = model.stream(STORY, Sampling(max_tokens=1900))
        async with aclosing(events):
            assert isinstance(await anext(events), TextDelta)
            assert await busy_slots(llama) == 1
        for _ in range(1200):
            if await busy_slots(llama) == 0:
                break
            await asyncio.sleep(0.05)
        assert await busy_slots(llama) == 0
        assert await generated_tokens(llama) < 1900
        before = await generated_tokens(llama)
        await asyncio.sleep(0.3)
        assert await generated_tokens(llama) == before


async def test_two_answers_stream_side_by_side(llama: LlamaCppServer) -> None:
    order: list[str] = []

    async def read(model: ChatModel, name: str) -> None:
        async with aclosing(model.stream(STORY, Sampling(max_tokens=40))) as events:
            async for _ in events:
                order.append(name)  # noqa: PERF401  (two tasks append in turn)

    async with model_over("openai", llama) as model:
        await asyncio.gather(read(model, "a"), read(model, "b"))
    assert {"a", "b"} == set(order[: len(order) // 2])


async def test_the_event_loop_runs_on_while_a_model_loads(model_file: Path) -> None:
    server = LlamaCppServer(model_file, context_size=512, parallel=1)
    loading = asyncio.create_task(server.start(patience=120))
    gaps, last = [], time.monotonic()
    while not loading.done():
        await asyncio.sleep(0.01)
        gaps.append(time.monotonic() - last)
        last = time.monotonic()
    await loading
    assert "ok" in await get(server, "/health")
    await server.aclose()
    # In this process, the load holds everything up for 0.7 s on two idle cores, nearly all of it.
    assert max(gaps) < max(0.4, sum(gaps) / 4)
    with pytest.raises(httpx2.ConnectError):
        await get(server, "/health")


async def test_a_server_that_crashes_is_started_again_at_the_same_address(
    model_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = LlamaCppServer(model_file, context_size=512, parallel=1)
    await server.start()
    try:
        async with model_over("openai", server, retries=0) as model:
            first = server.pid
            assert first is not None
            os.killpg(first, signal.SIGKILL)
            with pytest.raises((ModelUnreachable, ServerFault)):
                await complete(model, STORY, Sampling(max_tokens=4))
            answer = await until_answered(model)
        assert answer.completion_tokens == 4
        assert server.pid not in (None, first)
        assert "has ended and is started again" in caplog.text
    finally:
        await server.aclose()
    assert server.pid is None


async def until_answered(model: ChatModel, *, seconds: float = 240.0) -> Completion:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return await complete(model, STORY, Sampling(max_tokens=4))
        except (ModelUnreachable, ServerFault):
            assert time.monotonic() < deadline, "it never came back"
            await asyncio.sleep(0.5)


async def test_models_of_one_file_share_one_server(model_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "the-same.gguf"
    link.symlink_to(model_file)
    table = {"backend": "llamacpp", "path": model_file, "sampling": {"max_tokens": 8}}
    specs = [
        ModelSpec.model_validate({**table, "name": "plain", "context_size": 512, "parallel": 2}),
        ModelSpec.model_validate({**table, "name": "terse", "system_prompt": "Be terse."}),
        ModelSpec.model_validate({**table, "name": "linked", "path": link}),
    ]
    async with Roster(specs) as roster:
        assert len(roster.servers) == 1
        reports = [await roster.check(name) for name in roster.models]
        (server,) = roster.servers
        assert isinstance(server, LlamaCppServer)
        assert len(json.loads(await get(server, "/slots"))) == 2
    assert [(report.name, report.status) for report in reports] == [
        ("plain", "ok"),
        ("terse", "ok"),
        ("linked", "ok"),
    ]
    assert {report.model_id for report in reports} == {server.model_id}
    assert all(report.time_to_first_token for report in reports)
    assert not roster.servers


async def test_a_damaged_file_is_quoted_from_the_servers_log(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + b"\x00" * 400)
    with pytest.raises(ModelUnreachable, match=r"damaged\.gguf ended while starting.*log"):
        await LlamaCppServer(damaged).start(patience=30)
