"""The vLLM back end against the real vLLM; `scripts/vllm-cpu` installs it and runs this.

Two variables say what to run: `ARENA_TEST_VLLM_MODEL`, the directory of a small chat model,
and `ARENA_TEST_VLLM_COMMAND`, the `vllm` command where it is not on the search path.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from serving import (
    Completion,
    ContextTooLong,
    Message,
    ModelSpec,
    Refused,
    Roster,
    RosterError,
    Sampling,
    TextDelta,
    VllmServer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(600)]

# Eager, because compiling takes longer than all the tests do.
ARGS = ("--enforce-eager", "--max-model-len", "1024")
# SmolLM2 is sure of every token of its answer (by 1.2 in log-odds at least), so rounding
# cannot change it; of "Paris" it is so unsure that eager and compiled bfloat16 differ.
QUESTION = [Message("user", "Count from 1 to 10.")]
ANSWER = "1. 1\n2. 2\n3. 3\n"
GREEDY = Sampling(temperature=0, max_tokens=32)


@pytest.fixture(scope="module", autouse=True)
def vllm_command() -> Iterator[None]:
    """Puts the command on the search path, and keeps vLLM small and off the network."""
    named = os.environ.get("ARENA_TEST_VLLM_COMMAND")
    if named is None and shutil.which("vllm") is None:
        pytest.skip("vLLM is not installed; scripts/vllm-cpu installs it and runs these tests")
    with pytest.MonkeyPatch.context() as patch:
        if named is not None:
            patch.setenv("PATH", str(Path(named).parent), prepend=os.pathsep)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        yield


@pytest.fixture(scope="module")
def model_directory(vllm_command: None) -> Path:
    named = os.environ.get("ARENA_TEST_VLLM_MODEL")
    if named is None:
        pytest.skip("no model for vLLM; name its directory in ARENA_TEST_VLLM_MODEL")
    return Path(named)


@pytest.fixture(scope="module")
def server(model_directory: Path) -> Iterator[VllmServer]:
    """One running vLLM for the tests that only ask it something."""
    server = VllmServer(str(model_directory), served_name="smol", args=ARGS)
    asyncio.run(server.start(patience=500))
    yield server
    asyncio.run(server.aclose())


def running(server: VllmServer, *, backend: str = "vllm", model: str = "smol") -> Roster:
    """A roster of one model that asks a server which runs already."""
    url = server.root_url if backend == "anthropic" else server.base_url
    spec = {"name": "Smol", "backend": backend, "model": model, "base_url": url}
    return Roster([ModelSpec.model_validate(spec)])


def started(directory: Path) -> Roster:
    """A roster of one model that starts its own vLLM."""
    spec = {"name": "Smol", "backend": "vllm", "path": directory, "vllm_args": ARGS}
    return Roster([ModelSpec.model_validate(spec)])


def list_descendants(ancestor: int) -> dict[int, str]:
    """The living processes below one, each with its title, whatever session they are in."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            parents[int(stat.parent.name)] = int(parent)
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: read_title(pid) for pid in found - {ancestor}}


def read_title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def count(server: VllmServer, metric: str, **labels: str) -> float:
    """One of vLLM's own counters."""
    for line in httpx2.get(f"{server.root_url}/metrics", trust_env=False).text.splitlines():
        found = re.fullmatch(rf"vllm:{metric}\{{(.*)\}} (\S+)", line)
        if found and all(f'{name}="{value}"' in found[1] for name, value in labels.items()):
            return float(found[2])
    raise AssertionError(f"vLLM has no metric {metric} with {labels}")


async def test_a_roster_starts_vllm_answers_and_leaves_no_process(model_directory: Path) -> None:
    roster = started(model_directory)
    await roster.start()
    try:
        processes = list_descendants(os.getpid())
        assert any("EngineCore" in title for title in processes.values()), processes
        report = await roster.check("Smol")
    finally:
        await roster.aclose()
    assert (report.status, report.model_id) == ("ok", "Smol"), report
    assert {pid: title for pid, title in processes.items() if is_alive(pid)} == {}


def test_no_process_is_left_when_its_user_is_killed_while_vllm_loads(
    model_directory: Path,
) -> None:
    code = (
        "import asyncio, sys; from serving import VllmServer; "
        "asyncio.run(VllmServer(sys.argv[1], served_name='smol', args=sys.argv[2:]).start())"
    )
    user = subprocess.Popen([sys.executable, "-c", code, str(model_directory), *ARGS])
    try:
        assert wait_until(
            lambda: any("EngineCore" in it for it in list_descendants(user.pid).values()),
            seconds=300,
        )
        processes = list_descendants(user.pid)
    finally:
        user.send_signal(signal.SIGKILL)
        user.wait()
    assert wait_until(lambda: not any(map(is_alive, processes)), seconds=15), processes


async def test_a_directory_without_a_model_is_an_error_that_quotes_the_log(
    model_directory: Path, tmp_path: Path
) -> None:
    with pytest.raises(RosterError) as caught:
        await started(tmp_path).start()
    message = str(caught.value)
    assert str(tmp_path) in message
    assert "Specify a local directory that contains a recognized configuration file" in message


async def test_damaged_weights_are_named_although_the_log_ends_in_something_else(
    model_directory: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(model_directory, damaged)
    weights = next(damaged.glob("*.safetensors"))
    os.truncate(weights, weights.stat().st_size // 2)
    with pytest.raises(RosterError) as caught:
        await started(damaged).start()
    message = str(caught.value)
    assert "Engine core initialization failed" in message
    assert "SafetensorError: Error while deserializing header" in message


@pytest.mark.parametrize("backend", ["vllm", "openai", "anthropic"])
async def test_an_answer_streams_piece_by_piece_and_is_counted(
    server: VllmServer, backend: str
) -> None:
    async with running(server, backend=backend) as roster:
        events = [event async for event in roster.models["Smol"].stream(QUESTION, GREEDY)]
    *deltas, end = events
    assert isinstance(end, Completion)
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert end.text == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert end.text.startswith(ANSWER)
    assert (end.finish_reason, end.completion_tokens, end.model_id) == ("length", 32, "smol")
    assert end.prompt_tokens is not None
    assert end.prompt_tokens > len(QUESTION[0].content.split())
    # vLLM joins tokens that wait for a slow reader, but never all of them.
    assert 4 < len(deltas) <= 32
    assert 0 < end.time_to_first_token < end.duration


async def test_an_answer_ends_at_a_stop_string(server: VllmServer) -> None:
    async with running(server) as roster:
        until_four = Sampling(temperature=0, max_tokens=32, stop=("4",))
        events = [event async for event in roster.models["Smol"].stream(QUESTION, until_four)]
    assert isinstance(events[-1], Completion)
    assert (events[-1].text, events[-1].finish_reason) == (ANSWER, "stop")


async def test_a_seed_repeats_an_answer(server: VllmServer) -> None:
    async def answer(seed: int) -> str:
        hot = Sampling(temperature=1.5, max_tokens=24, seed=seed)
        events = [event async for event in roster.models["Smol"].stream(QUESTION, hot)]
        assert isinstance(events[-1], Completion)
        return events[-1].text

    async with running(server) as roster:
        first, again, other = await answer(1), await answer(1), await answer(2)
    assert first == again
    assert first != other


async def test_closing_the_stream_aborts_the_request(server: VllmServer) -> None:
    spec = {"name": "Smol", "backend": "vllm", "model": "smol", "base_url": server.base_url}
    endless = ModelSpec.model_validate(spec | {"extra_body": {"ignore_eos": True}})
    before = count(server, "generation_tokens_total")
    async with Roster([endless]) as roster:
        answer = roster.models["Smol"].stream(QUESTION, Sampling(temperature=0, max_tokens=900))
        async with aclosing(answer):
            assert isinstance(await anext(answer), TextDelta)
            assert count(server, "num_requests_running") == 1
    assert await asyncio.to_thread(
        wait_until, lambda: count(server, "num_requests_running") == 0, seconds=10
    )
    # It ended early, not because it was done.
    assert 0 < count(server, "generation_tokens_total") - before < 600


@pytest.mark.parametrize("backend", ["vllm", "anthropic"])
async def test_a_conversation_too_long_for_the_context_is_told_apart(
    server: VllmServer, backend: str
) -> None:
    long = [Message("user", "word " * 2000)]
    async with running(server, backend=backend) as roster:
        with pytest.raises(ContextTooLong, match="1024"):
            await anext(roster.models["Smol"].stream(long, GREEDY))


async def test_a_name_that_vllm_does_not_serve_is_refused(server: VllmServer) -> None:
    async with running(server, model="another") as roster:
        with pytest.raises(Refused, match="another"):
            await anext(roster.models["Smol"].stream(QUESTION, GREEDY))
