"""Starts the process that asks a judge, and hears from it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from arena.judging.orders import RunOrder

_LAST_WORDS = 2_000


class WorkerFailed(Exception):
    """The process that asks ended otherwise than it should; the message has its last words."""


class JudgeWorker:
    """A process at work on an order, as a context; leaving it lets the process finish."""

    def __init__(self, order: RunOrder) -> None:
        self._order = order
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed with the worker
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "arena.judging.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        order = self._order.model_dump_json().encode()
        # It may have died at once; then `events` says why.
        with contextlib.suppress(BrokenPipeError):
            self._pipe(self._process.stdin).write(order + b"\n")
            self._pipe(self._process.stdin).flush()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._process is not None and kind is None:
            self._process.wait()
            self._pipe(self._process.stdout).close()
        self._log.close()

    def events(self) -> Iterator[dict[str, Any]]:
        """What it reports, a mapping with `event` each, until it has ended.

        Raises:
            WorkerFailed: it did not end in good order.
        """
        process = self._process
        if process is None:
            raise RuntimeError("the worker was not started")
        for line in self._pipe(process.stdout):
            yield json.loads(line)
        if process.wait() != 0:
            self._log.seek(0)
            words = self._log.read().decode(errors="replace").strip()[-_LAST_WORDS:]
            raise WorkerFailed(f"the process that asks ended with status {process.returncode}: "
                               f"{words or 'it said nothing'}")  # fmt: skip

    def stop(self) -> None:
        """Lets it ask nothing new; it still stores what is under way."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise RuntimeError("the worker has no pipe")
        return pipe
