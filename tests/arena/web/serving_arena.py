"""A real arena in a process of its own, over models whose answers and pace a test chooses.

Run as a script, it serves the settings of a JSON file until it is told to stop.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# What a prompt, or the prompts of a conversation, are answered with.
Answers: TypeAlias = "Mapping[str, Row] | Mapping[str | tuple[str, ...], Row]"
Row: TypeAlias = "str | Mapping[str, object]"

START_SECONDS = 240
STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RunningArena:
    """A served arena.

    Attributes:
        address: of its pages, without a slash at the end.
        data_dir: holds its database, its settings and its log.
        process: the server.
    """

    address: str
    data_dir: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        """What the server has written so far."""
        return (self.data_dir / "server.log").read_text(encoding="utf-8", errors="replace")

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """Asks its database, beside the server."""
        address = f"file:{self.data_dir}/arena.db?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=60)) as connection:
            return connection.execute(query, values).fetchall()

    def count(self, query: str, *values: object) -> int:
        """The only value of the only row."""
        ((value,),) = self.rows(query, *values)
        assert isinstance(value, int)
        return value

    def kill(self) -> None:
        """Ends the server without a chance to tidy up."""
        self.process.kill()
        self.process.wait(STOP_SECONDS)


def recorded_model(
    name: str,
    folder: Path,
    *,
    answers: Answers,
    **spec: object,
) -> dict[str, object]:
    """The settings of a model that plays recorded answers.

    Args:
        name: the model's.
        folder: its file is written there.
        answers: prompt → answer, or further fields of the row with it; the prompt `*` is
            any other prompt, a tuple the prompts of a conversation.
        spec: further settings of the model, such as `tokens_per_second` for all answers.
    """
    rows = [
        {**_asked(prompt), **({"answer": row} if isinstance(row, str) else row)}
        for prompt, row in answers.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub('[^A-Za-z0-9]+', '-', name)}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return {"name": name, "backend": "recorded", "path": str(path), **spec}


def _asked(prompt: str | tuple[str, ...]) -> dict[str, object]:
    if isinstance(prompt, str):
        return {"prompt": prompt}
    return {"messages": [{"role": "user", "content": turn} for turn in prompt]}


@contextmanager
def running_arena(
    specs: Sequence[Mapping[str, object]],
    *,
    data_dir: Path,
    port: int = 0,
    **sections: Mapping[str, object],
) -> Iterator[RunningArena]:
    """Serves an arena until the block ends.

    Args:
        specs: its models, as `[[models]]` has them; `recorded_model` writes one.
        data_dir: an empty folder, or that of an arena that ran before.
        port: to listen on; 0 takes a free one.
        sections: further settings, as `battles={"grace_seconds": 0.5}`; `seams` are constants
            of `gradio_seams`.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    server = {"port": port, **sections.pop("server", {})}
    settings = {"data_dir": str(data_dir), "models": specs, "server": server, **sections}
    described = data_dir / "settings.json"
    described.write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, __file__, str(described)]
    with serving(command, data_dir=data_dir) as arena:
        yield arena


@contextmanager
def serving(command: Sequence[str], *, data_dir: Path) -> Iterator[RunningArena]:
    """Runs a command that says where its arena is open, until the block ends.

    Args:
        command: it logs to its standard error.
        data_dir: the folder that it keeps its votes in.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "server.log"
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
    try:
        yield RunningArena(_wait_until_open(process, log), data_dir, process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _wait_until_open(process: subprocess.Popen[bytes], log: Path) -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.decode())
        if found := re.search(r"http://\S+?(?=/?\s)", said[-1]):
            _wait_until_healthy(found[0], process)
            return found[0]
    words = log.read_text(encoding="utf-8")
    raise AssertionError(f"the arena did not start; it said {said}\n{words}")


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=30) as answer:  # noqa: S310  our own address
                assert json.load(answer)["status"] == "ok"
                return
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise
            time.sleep(0.1)


def serve(described: Path) -> None:
    """Serves the arena of a settings file."""
    from arena.settings import Settings
    from arena.web import gradio_seams
    from arena.web.server import run
    from serving import Roster

    sections = json.loads(described.read_text(encoding="utf-8"))
    for name, value in sections.pop("seams", {}).items():
        setattr(gradio_seams, name, value)
    settings = Settings(**sections)
    run(settings, roster=Roster(settings.models), announce=lambda line: print(line, flush=True))


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
