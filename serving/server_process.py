"""A server started here for a model: a process of its own, watched, logged and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from serving.protocol import ModelUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

logger = logging.getLogger(__name__)

_KEEPER = Path(__file__).with_name("keeper.py")
_SECONDS_TO_STOP = 10.0
# A small model is up within a second, a large one within minutes: look often at first.
_SECONDS_BEFORE_A_LOOK = 0.05
_SECONDS_BETWEEN_LOOKS = 1.0
_LINES_QUOTED = 12
# Before a server that has crashed is started again, longer each time that it does not come up.
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0


def find_free_port() -> int:
    """A port of the loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """One server process with its log.

    It runs under `keeper.py`, in a session of its own: a Ctrl-C in the terminal does not
    reach it before its users are done, and it ends when this process ends, however
    that happens.
    """

    def __init__(
        self, command: Sequence[str], *, title: str, env: Mapping[str, str] | None = None
    ) -> None:
        self._command = list(command)
        self._title = title
        self._env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None

    def __str__(self) -> str:
        return self._title

    @property
    def pid(self) -> int | None:
        """The id of the keeper and of the process group, `None` while nothing runs."""
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> Path | None:
        """What the server wrote; kept after it has ended."""
        return self._log

    async def start(self, *, health_url: str, patience: float) -> None:
        """Starts it and waits up to `patience` seconds until its address answers 200.

        Raises:
            ModelUnreachable: it ended, or was not healthy in time; the message quotes its log.
        """
        try:
            await asyncio.to_thread(self._launch)
            await self._wait_until_healthy(health_url, patience)
        except BaseException:
            await self._stop()
            raise

    async def wait(self) -> str:
        """Waits until it has ended by itself; the end of its log."""
        while True:
            if self._process is None or self._process.poll() is not None:
                await self._stop()  # closes what was left of it
                return self._tail()
            # Looked at, not waited for: a thread that waits would hold up the program's end.
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    async def aclose(self) -> None:
        """Stops it, and removes its log, since all went well."""
        await self._stop()
        if self._log is not None:
            self._log.unlink(missing_ok=True)

    def _launch(self) -> None:
        handle, name = tempfile.mkstemp(prefix="arena-", suffix=".log")
        self._log = Path(name)
        with os.fdopen(handle, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_KEEPER), *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **self._env},
            )

    async def _wait_until_healthy(self, url: str, patience: float) -> None:
        deadline = time.monotonic() + patience
        pause = _SECONDS_BEFORE_A_LOOK
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:
            while time.monotonic() < deadline:
                if self._process is None or self._process.poll() is not None:
                    raise ModelUnreachable(f"{self._title} ended while starting: {self._tail()}")
                with contextlib.suppress(httpx2.HTTPError):
                    if (await client.get(url)).status_code == httpx2.codes.OK:
                        return
                await asyncio.sleep(pause)
                pause = min(1.1 * pause, _SECONDS_BETWEEN_LOOKS)
        raise ModelUnreachable(
            f"{self._title} was not ready after {patience:g} s (raise `timeouts.startup` if it "
            f"needs longer): {self._tail()}"
        )

    def _tail(self) -> str:
        if self._log is None:
            return "it has no log"
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join(line for line in lines[-_LINES_QUOTED:] if line.strip())
        return f"the end of its log, {self._log}:\n{said or '(empty)'}"

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, _SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            await asyncio.to_thread(process.wait)


class LocalServer:
    """A server that is started here and asked over HTTP; one that crashes is started again.

    A subclass chooses its command and hands the process to `_bring_up`.
    """

    def __init__(self) -> None:
        self._process: ServerProcess | None = None
        self._port = 0
        self._guard: asyncio.Task[None] | None = None

    @property
    def root_url(self) -> str:
        """Its address, for /health, /metrics and what else it serves."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """Its address for OpenAI's API."""
        return f"{self.root_url}/v1"

    @property
    def pid(self) -> int | None:
        """The id of its process group, `None` while it does not run."""
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> Path | None:
        """The file with its output, `None` while it does not run."""
        return self._process.log if self._process is not None else None

    async def aclose(self) -> None:
        """Stops it with all of its workers; answers in progress break off."""
        if self._guard is not None and not self._guard.done():
            self._guard.cancel()
            await asyncio.wait([self._guard])
        process, self._process = self._process, None
        if process is not None:
            await process.aclose()

    async def _bring_up(self, process: ServerProcess, *, patience: float) -> None:
        await process.start(health_url=f"{self.root_url}/health", patience=patience)
        self._process = process
        self._guard = asyncio.create_task(self._keep_up(process, patience))

    async def _keep_up(self, process: ServerProcess, patience: float) -> None:
        """Starts the server again at the same address whenever it has ended by itself."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            logger.warning("%s has ended and is started again; %s", process, await process.wait())
            await asyncio.sleep(pause)
            try:
                await process.start(health_url=f"{self.root_url}/health", patience=patience)
            except ModelUnreachable as error:
                logger.warning("%s", error)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                pause = _FIRST_PAUSE_SECONDS
