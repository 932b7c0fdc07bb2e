"""`arena up --workers`: real workers behind a real proxy, killed, replaced and stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from page_client import Heard, PageClient
from serving_arena import recorded_model, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from serving_arena import Row, RunningArena

pytestmark = pytest.mark.slow

ARENA = Path(sys.executable).with_name("arena")
NAMES = ("Amber-7B", "Birch-9B")
WORDS = [f"word{number}" for number in range(30)]
# So many that chance sends all of them to one worker once in 30,000 runs.
VISITORS = 16
PATIENCE = 120


def write_arena(folder: Path, *names: str) -> Path:
    """Settings of an arena whose models take three seconds to answer "Count", and none else."""
    slow: Row = {"answer": " ".join(WORDS), "tokens": len(WORDS), "tokens_per_second": 10}
    answers = {"Count": slow, "*": "Soon."}
    specs = [recorded_model(name, folder, answers=answers) for name in names]
    lines = [f"data_dir = {json.dumps(str(folder / 'data'))}"]
    for spec in specs:
        lines += ["[[models]]", *(f"{key} = {json.dumps(value)}" for key, value in spec.items())]
    path = folder / "arena.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@contextmanager
def crew(folder: Path, proxy: str) -> Iterator[RunningArena]:
    """Two workers behind this proxy, by the command that people use."""
    config = write_arena(folder, *NAMES)
    command = [str(ARENA), "up", "--config", str(config), "--port", "0"]
    command += ["--workers", "2", "--proxy", proxy]
    with serving(command, data_dir=folder / "data") as arena:
        yield arena


@pytest.fixture(scope="module", params=["nginx", "haproxy"])
def arena(
    request: pytest.FixtureRequest,
    need: Callable[..., str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunningArena]:
    need(request.param, folders=[Path("/usr/sbin")])
    with crew(tmp_path_factory.mktemp(request.param), request.param) as served:
        yield served


def find_workers(arena: RunningArena) -> list[int]:
    """The processes of the workers."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(arena.process.pid)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "fleet.worker" in line]


def wait_until(told: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not told():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def persist(visitor: PageClient, act: Callable[[], Heard], *, until: str = "") -> Heard:
    """Does it again while the line is bad, as the page's script does, or the status another."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            heard = act()
            if heard.completed and until in heard.status:
                return heard
        except httpx2.HTTPError:
            pass
        assert time.monotonic() < deadline, "the arena did not come back"
        time.sleep(0.2)
        visitor.renew_session()


def find_worker(arena: RunningArena, battle_id: str) -> int:
    """The process that is answering a battle."""
    ((pid,),) = arena.rows(
        "SELECT workers.pid FROM battles JOIN workers ON workers.id = battles.worker_id "
        "WHERE battles.id = ?", battle_id,
    )  # fmt: skip
    assert isinstance(pid, int)
    return pid


def begin(visitor: PageClient, prompt: str) -> Iterator[dict[str, Any]]:
    """Begins a battle; the messages that are left of it once its first text is there."""
    visitor.start_pressing("send", prompt, "0", "", "")
    messages = visitor.listen()
    for message in messages:
        heard = Heard()
        heard.take(message)
        if heard.battle_id and WORDS[0] in json.dumps(message):
            visitor.battle_id = heard.battle_id
            return messages
    raise AssertionError("no text came")


def visit(arena: RunningArena, _: int) -> set[int]:
    """The workers that answered two battles of one visitor, who voted on both."""
    seen = set()
    with PageClient(arena.address, seconds=PATIENCE) as visitor:
        visitor.open()
        for _ in range(2):
            messages = begin(visitor, "Count")
            seen.add(find_worker(arena, visitor.battle_id))
            heard = Heard()
            for message in messages:
                heard.take(message)
            visitor.edition = heard.edition
            assert sorted(visitor.press("vote-1").names) == sorted(NAMES)
    return seen


def test_a_voter_stays_with_one_worker(arena: RunningArena) -> None:
    with ThreadPoolExecutor(VISITORS) as visitors:
        seen = list(visitors.map(lambda number: visit(arena, number), range(VISITORS)))
    assert [len(workers) for workers in seen] == [1] * VISITORS
    assert set.union(*seen) == set(find_workers(arena))
    assert arena.count("SELECT count(*) FROM votes") == 2 * VISITORS


def test_only_a_proxy_that_is_believed_says_where_a_visitor_is(arena: RunningArena) -> None:
    """The proxy stands on the loopback here, from where it believes what it is told."""
    told = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7"}
    believed = httpx2.get(f"{arena.address}/en/", headers=told, trust_env=False)
    assert "Secure" in believed.headers["set-cookie"]
    plain = httpx2.get(f"{arena.address}/en/", trust_env=False)
    assert "Secure" not in plain.headers["set-cookie"]


def test_no_file_is_taken(arena: RunningArena) -> None:
    answer = httpx2.post(
        f"{arena.address}/en/gradio_api/upload", files={"files": b"anything"}, trust_env=False
    )
    assert answer.status_code == 403


def test_a_worker_killed_in_the_middle_is_replaced_and_its_voter_goes_on(
    arena: RunningArena,
) -> None:
    before = find_workers(arena)
    with PageClient(arena.address, seconds=PATIENCE) as visitor:
        visitor.open()
        messages = begin(visitor, "Count")
        os.kill(find_worker(arena, visitor.battle_id), signal.SIGKILL)
        with suppress(httpx2.HTTPError):
            list(messages)
        # What was being written is lost; once that is known, it can be asked for again.
        retried = persist(visitor, lambda: visitor.press("retry"), until="ready")
        visitor.edition = retried.edition
        reveal = persist(visitor, lambda: visitor.press("vote-2"))
    assert sorted(reveal.names) == sorted(NAMES)
    vote = arena.rows("SELECT outcome FROM votes WHERE battle_id = ?", visitor.battle_id)
    assert vote == [("model_b",)]
    wait_until(lambda: len(find_workers(arena)) == 2)
    assert set(find_workers(arena)) != set(before)


def test_workers_are_replaced_by_a_signal_without_cutting_an_answer(arena: RunningArena) -> None:
    before = find_workers(arena)
    with PageClient(arena.address, seconds=PATIENCE) as visitor:
        visitor.open()
        messages = begin(visitor, "Count")
        write_arena(arena.data_dir.parent, *NAMES, "Cedar-1B")
        arena.process.send_signal(signal.SIGHUP)
        rest = json.dumps(list(messages))
    assert WORDS[-1] in rest
    assert "process_completed" in rest
    wait_until(lambda: not set(before) & set(find_workers(arena)) and len(find_workers(arena)) == 2)
    wait_until(lambda: arena.count("SELECT count(*) FROM models WHERE name = 'Cedar-1B'") == 1)
    with PageClient(arena.address, seconds=PATIENCE) as visitor:
        visitor.open()
        assert visitor.ask("Anything").completed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_crew_ends_all_of_it(
    number: signal.Signals, tmp_path: Path, need: Callable[..., str]
) -> None:
    need("nginx", folders=[Path("/usr/sbin")])
    with crew(tmp_path, "nginx") as arena:
        workers = find_workers(arena)
        arena.process.send_signal(number)
        arena.process.wait(PATIENCE)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        wait_until(lambda: not answers(arena.address))
    assert "Traceback" not in arena.log


def answers(address: str) -> bool:
    try:
        httpx2.get(f"{address}/healthz", trust_env=False)
    except httpx2.TransportError:
        return False
    return True


def test_without_a_proxy_the_remedy_is_named(tmp_path: Path) -> None:
    config = write_arena(tmp_path, *NAMES)
    code = (
        "import arena.fleet.proxies as proxies\n"
        "proxies._FOLDERS = ()\n"
        "from arena.cli import main\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "up", "--config", str(config), "--port", "0"]
    done = subprocess.run(
        [*command, "--workers", "2"],
        env={**os.environ, "PATH": str(tmp_path)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "apt-get install nginx-light" in done.stderr
    assert "leave out --workers" in done.stderr


@pytest.mark.model
def test_workers_share_one_server_of_a_local_model(
    tmp_path: Path, model_file: Path, need: Callable[..., str]
) -> None:
    need("nginx", folders=[Path("/usr/sbin")])
    lines = [f"data_dir = {json.dumps(str(tmp_path / 'data'))}"]
    for name in NAMES:
        spec = {"name": name, "backend": "llamacpp", "path": str(model_file)}
        lines += ["[[models]]", *(f"{key} = {json.dumps(value)}" for key, value in spec.items())]
        lines += ["sampling = { max_tokens = 8 }"]
    config = tmp_path / "arena.toml"
    config.write_text("\n".join(lines), encoding="utf-8")
    command = [str(ARENA), "up", "--config", str(config), "--port", "0", "--workers", "2"]
    with serving(command, data_dir=tmp_path / "data") as arena:
        with PageClient(arena.address, seconds=PATIENCE) as visitor:
            visitor.open()
            assert visitor.ask("Say hello.").status == "ready"
            assert sorted(visitor.press("vote-1").names) == sorted(NAMES)
        below = descend(arena.process.pid)
        servers = [args for args in below if "llamacpp_process" in args and "keeper" not in args]
        assert len(servers) == 1
        assert not any("llamacpp" in args for pid in find_workers(arena) for args in descend(pid))


def descend(ancestor: int) -> list[str]:
    """The command lines of all processes that a process has started, and they."""
    listed = subprocess.run(
        ["ps", "-ww", "-e", "-o", "pid=,ppid=,args="], check=True, capture_output=True, text=True
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    known, found = {ancestor}, []
    for pid, parent, args in sorted(rows, key=lambda row: int(row[0])):
        if int(parent) in known:
            known.add(int(pid))
            found.append(args)
    return found
