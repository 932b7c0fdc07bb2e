"""A hundred battles at once in one process: how soon the first text comes, how long a battle takes.

    python tests/benchmarks/battles.py --battles 100

Starts the real server over two recorded models of 50 tokens/s and 200 tokens, opens so
many battles at the same moment as browsers would (a loaded page, then a join and an event
stream each) and compares what arrives with the models' own pace. Exits 1 if a goal is missed: every
battle complete, first text within 1 s of the model's own, whole battles within 1.3 times
the model's own time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TOKENS = 200
TOKENS_PER_SECOND = 50
TIME_TO_FIRST_TOKEN = 0.1
OWN_SECONDS = TIME_TO_FIRST_TOKEN + (TOKENS - 1) / TOKENS_PER_SECOND
FIRST_TEXT_GOAL = 1.0
WHOLE_GOAL = 1.3
FIRST_WORD = b"alpha"
# What the status line says once the vote is open; a stream sends it once, as a difference.
READY = b"Both answers are complete"
_SERVER = """
import sys
from pathlib import Path
from arena.settings import Settings
from arena.web.server import run
from serving.roster import ModelSpec, Roster

folder = Path(sys.argv[1])
models = [
    ModelSpec(name=name, backend="recorded", path=folder / "answers.jsonl")
    for name in ("one", "two")
]
settings = Settings(data_dir=folder, server={"port": 0}, models=models)
run(settings, roster=Roster(models), announce=lambda line: print(line, flush=True))
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """One battle, in seconds from the click.

    Attributes:
        first_text: until a word of an answer arrived, `None` if none did.
        whole: until both answers were complete, `None` if they never were.
    """

    first_text: float | None
    whole: float | None


def main() -> int:
    """Runs the benchmark and prints its figures; 0 if every goal is met."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        server, url = start_server(Path(folder))
        try:
            timings = asyncio.run(
                _measure(url, battles=options.battles, arriving_over=options.arriving_over)
            )
        finally:
            server.terminate()
            server.wait()
    return _report(timings)


def start_server(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """The arena over two recorded models, and where it listens."""
    row = {
        "prompt": "*",
        "answer": " ".join([FIRST_WORD.decode(), *(f"word{n}" for n in range(TOKENS - 1))]),
        "tokens": TOKENS,
        "tokens_per_second": TOKENS_PER_SECOND,
        "time_to_first_token": TIME_TO_FIRST_TOKEN,
    }
    (folder / "answers.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(folder)], stdout=subprocess.PIPE, text=True
    )
    if server.stdout is None:
        raise RuntimeError("the server has no output")
    invitation = server.stdout.readline()
    return server, invitation.split()[-1].rstrip("/")


async def _measure(url: str, *, battles: int, arriving_over: float) -> list[Timing]:
    port = int(url.rsplit(":", 1)[1])
    asking = await _find_asking(port)
    visitors = [Visitor(port, session=f"visit{number}") for number in range(battles)]
    for visitor in visitors:
        await visitor.open()

    async def _one(number: int, visitor: Visitor) -> Timing:
        await asyncio.sleep(arriving_over * number / battles)
        return await visitor.send(asking, ["Say something.", "0", "", ""])

    return list(await asyncio.gather(*(_one(n, visitor) for n, visitor in enumerate(visitors))))


class Visitor:
    """A browser's share of the protocol, over bare sockets.

    A whole HTTP client would need as much processor time for a hundred battles as the
    server, and its own delay would be measured. Every request has a connection of its own:
    under load an idle one may be closed while a request is on its way.
    """

    def __init__(self, port: int, *, session: str) -> None:
        self._port = port
        self._session = session
        self._cookie = ""

    async def open(self) -> None:
        """Loads the page, which sets the cookie."""
        head, _, _ = (await self.fetch("GET", "/en/")).partition(b"\r\n\r\n")
        cookie = re.search(rb"set-cookie: ([^;]+)", head, re.IGNORECASE)
        self._cookie = "" if cookie is None else cookie[1].decode()

    async def send(self, event: int, data: list[str]) -> Timing:
        """Sends an event as the page's script does and reads its stream to the end."""
        started = time.perf_counter()
        body = {"data": data, "fn_index": event, "session_hash": self._session}
        await self.fetch("POST", "/en/gradio_api/queue/join", body=json.dumps(body))
        reader, writer = await self._request(
            "GET", f"/en/gradio_api/queue/data?session_hash={self._session}"
        )
        first = whole = None
        while line := await reader.readline():
            now = time.perf_counter() - started
            if first is None and FIRST_WORD in line:
                first = now
            if READY in line:
                whole = now
            if b"process_completed" in line:
                break
        writer.close()
        return Timing(first_text=first, whole=whole)

    async def fetch(self, method: str, path: str, *, body: str = "") -> bytes:
        """A whole response, head and all."""
        reader, writer = await self._request(method, path, body=body)
        answer = await reader.read()
        writer.close()
        return answer

    async def _request(
        self, method: str, path: str, *, body: str = ""
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nConnection: close\r\n"
            f"Cookie: {self._cookie}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body.encode())}\r\n\r\n"
        )
        writer.write((head + body).encode())
        await writer.drain()
        return reader, writer


async def _find_asking(port: int) -> int:
    """The number of the event that a browser sends on asking."""
    answer = await Visitor(port, session="").fetch("GET", "/en/config")
    config = json.loads(answer.partition(b"\r\n\r\n")[2])
    names = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
    (asking,) = {
        int(event["id"])
        for event in config["dependencies"]
        for target, _ in event["targets"]
        if names.get(target) == "send"
    }
    return asking


def _report(timings: list[Timing]) -> int:
    firsts = [timing.first_text for timing in timings if timing.first_text is not None]
    wholes = [timing.whole for timing in timings if timing.whole is not None]
    complete = len(firsts) == len(wholes) == len(timings)
    print(f"battles at once       {len(timings)}, complete {len(wholes)}")
    if not complete:
        return 1
    late = [first - TIME_TO_FIRST_TOKEN for first in firsts]
    ratio = [whole / OWN_SECONDS for whole in wholes]
    print(f"first text, s late    median {statistics.median(late):.2f}, max {max(late):.2f}")
    print(f"a whole battle, s     median {statistics.median(wholes):.2f}, max {max(wholes):.2f}")
    print(f"... over the model's  median {statistics.median(ratio):.2f}, max {max(ratio):.2f}")
    return int(max(late) > FIRST_TEXT_GOAL or max(ratio) > WHOLE_GOAL)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--battles", type=int, default=100)
    parser.add_argument("--arriving-over", type=float, default=0.0, metavar="SECONDS")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
