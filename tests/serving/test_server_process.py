from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serving import ModelUnreachable, VllmServer
from serving.server_process import ServerProcess, find_free_port

# A server with a child of its own, as vLLM has; it names that child in the first line.
SERVER = """
import http.server, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
handler = http.server.SimpleHTTPRequestHandler
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""
STUBBORN = (
    "import signal\nfor s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)"
)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int, *, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


async def started(tmp_path: Path, code: str = SERVER) -> tuple[ServerProcess, int]:
    port = find_free_port()
    process = ServerProcess(
        [sys.executable, "-c", code, str(port)], title="the server", env={"PWD": str(tmp_path)}
    )
    await process.start(health_url=f"http://127.0.0.1:{port}/", patience=120)
    assert process.log is not None
    return process, int(process.log.read_text().split()[1])


async def test_a_server_runs_until_it_is_closed(tmp_path: Path) -> None:
    process, child = await started(tmp_path)
    pid, log = process.pid, process.log
    assert pid is not None
    assert log is not None
    assert is_running(child)
    await process.aclose()
    assert wait_until_gone(pid)
    assert wait_until_gone(child)
    assert process.pid is None
    assert not log.exists()
    await process.aclose()  # again is nothing


async def test_a_server_that_will_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serving.server_process._SECONDS_TO_STOP", 0.3)
    process, child = await started(tmp_path, f"{STUBBORN}\n{SERVER}")
    begin = time.monotonic()
    await process.aclose()
    assert time.monotonic() - begin < 30
    assert wait_until_gone(child)


async def test_a_server_that_fails_is_quoted(tmp_path: Path) -> None:
    process = ServerProcess(
        [sys.executable, "-c", "print('no such layer'); raise SystemExit(3)"], title="the server"
    )
    with pytest.raises(ModelUnreachable, match=r"(?s)ended while starting.*no such layer.*3") as it:
        await process.start(health_url="http://127.0.0.1:9/", patience=120)
    assert process.log is not None
    assert str(process.log) in str(it.value)


async def test_a_server_that_is_never_healthy_is_given_up(tmp_path: Path) -> None:
    process = ServerProcess(
        [sys.executable, "-c", "import time; time.sleep(60)"], title="the server"
    )
    begin = time.monotonic()
    with pytest.raises(ModelUnreachable, match=r"not ready after 0\.5 s.*timeouts\.startup"):
        await process.start(health_url="http://127.0.0.1:9/", patience=0.5)
    assert time.monotonic() - begin < 30
    assert process.pid is None


async def test_cancelling_the_start_ends_the_server() -> None:
    process = ServerProcess(
        [sys.executable, "-c", "import time; time.sleep(60)"], title="the server"
    )
    task = asyncio.create_task(process.start(health_url="http://127.0.0.1:9/", patience=60))
    for _ in range(6000):
        if process.pid is not None:
            break
        await asyncio.sleep(0.01)
    pid = process.pid
    assert pid is not None
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert wait_until_gone(pid)


def test_a_server_does_not_outlive_a_killed_program(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys, time\n"
        "from serving.server_process import ServerProcess, find_free_port\n"
        "port = find_free_port()\n"
        f"server = ServerProcess([sys.executable, '-c', {SERVER!r}, str(port)], title='it')\n"
        "asyncio.run(server.start(health_url=f'http://127.0.0.1:{port}/', patience=120))\n"
        "print(server.pid, server.log, flush=True)\n"
        "time.sleep(60)\n"
    )
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    with program.stdout:
        pid, log = program.stdout.readline().split()
    child = int(Path(log).read_text().split()[1])
    assert is_running(child)
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    assert wait_until_gone(int(pid))
    assert wait_until_gone(child)
    Path(log).unlink()


STAND_IN = f"""#!{sys.executable}
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
print(sys.argv[1:], os.environ["VLLM_NO_USAGE_STATS"], flush=True)
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def only_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The one folder in which commands are found."""
    if Path(sys.executable).with_name("vllm").exists():
        pytest.skip("the real vLLM is installed here and is found first")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


async def test_vllm_that_is_not_installed_says_how_to_have_it(only_path: Path) -> None:
    with pytest.raises(ModelUnreachable, match=r"preference-arena\[vllm\].*`base_url`"):
        await VllmServer("model", served_name="it").start(patience=1)


async def test_vllm_is_started_with_its_name_and_arguments(only_path: Path) -> None:
    """With a stand-in for the command; the real one has a test of its own."""
    command = only_path / "vllm"
    command.write_text(STAND_IN)
    command.chmod(0o755)
    server = VllmServer("dir/model", served_name="small", args=("--max-model-len", "512"))
    await server.start(patience=120)
    assert server.log is not None
    words = server.log.read_text()
    assert words.startswith("['serve', 'dir/model', '--served-model-name', 'small', '--host'")
    assert "'--max-model-len', '512'] 1" in words
    assert server.base_url == f"{server.root_url}/v1"
    pid = server.pid
    assert pid is not None
    await server.aclose()
    assert wait_until_gone(pid)
