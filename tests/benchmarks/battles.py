"""Many battles at once: how soon the first text comes, how long a battle takes.

    python tests/benchmarks/battles.py --battles 100
    python tests/benchmarks/battles.py --backend openai --battles 200 --arriving-over 4
    python tests/benchmarks/battles.py --backend openai --workers 2 --battles 800 --arriving-over 16
    python tests/benchmarks/battles.py --backend openai --battles 100 --database postgresql+psycopg://…

Starts the real server over two models of 50 tokens/s and 200 tokens (recorded, or a provider over
HTTP: `paced_provider.py`), opens so many battles as browsers would (a loaded page, then a
join and an event stream each) and compares what arrives with the models' own pace. Meanwhile
`/healthz` is asked ten times a second. With a provider, the same number of streams is first read
through the bare SDK, which is what the machine and the mock leave of the pace. Exits 1 if a goal is
missed: every battle complete, first text within `--late` seconds of the model's own, whole
battles within `--times` the model's own time, no silence of `/healthz` above a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS = 200
TOKENS_PER_SECOND = 50
TIME_TO_FIRST_TOKEN = 0.1
OWN_SECONDS = TIME_TO_FIRST_TOKEN + (TOKENS - 1) / TOKENS_PER_SECOND
FIRST_WORD = b"alpha"
HEALTHZ_GOAL = 1.0
HERE = Path(__file__).parent
# What the status line says once the vote is open; a stream sends it once, as a difference.
READY = b"Both answers are complete"
_SERVER = """
import json, sys
from arena.settings import Settings
from serving.roster import Roster

settings = Settings(**json.loads(sys.argv[1]))
announce = lambda line: print(line, flush=True)
if settings.server.workers > 1:
    from arena.fleet.crew import run_crew
    run_crew(settings, announce=announce)
else:
    from arena.web.server import run
    run(settings, roster=Roster(settings.models), announce=announce)
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


@dataclass(frozen=True, slots=True)
class Figures:
    """All battles of a run.

    Attributes:
        timings: one a battle.
        silence: longest answer of `/healthz`, seconds.
    """

    timings: list[Timing]
    silence: float

    @property
    def complete(self) -> int:
        """How many battles had both answers."""
        return sum(t.first_text is not None and t.whole is not None for t in self.timings)

    @property
    def late(self) -> list[float]:
        """First texts, seconds after the model's own."""
        firsts = [t.first_text for t in self.timings if t.first_text is not None]
        return [first - TIME_TO_FIRST_TOKEN for first in firsts]

    @property
    def times(self) -> list[float]:
        """Whole battles, over the model's own time."""
        return [t.whole / OWN_SECONDS for t in self.timings if t.whole is not None]


def main() -> int:
    """Runs the benchmark and prints its figures; 0 if every goal is met."""
    options = _options()
    # A visitor has a socket or two here, and as many at the server.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        models = _recorded(folder)
        if options.backend != "recorded":
            port = stack.enter_context(running_provider())
            models = _provided(options.backend, port)
            _print_floor(asyncio.run(_read_bare(options, port)))
        settings = _settings(folder, models, options)
        url = stack.enter_context(running_server(settings))
        found = asyncio.run(_measure(url, options.battles, options.arriving_over))
    return _report(found, options)


def _recorded(folder: Path) -> list[dict[str, Any]]:
    row = {
        "prompt": "*",
        "answer": " ".join([FIRST_WORD.decode(), *(f"word{n}" for n in range(TOKENS - 1))]),
        "tokens": TOKENS,
        "tokens_per_second": TOKENS_PER_SECOND,
        "time_to_first_token": TIME_TO_FIRST_TOKEN,
    }
    path = folder / "answers.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return [{"name": name, "backend": "recorded", "path": str(path)} for name in ("one", "two")]


def _provided(backend: str, port: int) -> list[dict[str, Any]]:
    base = f"http://127.0.0.1:{port}" + ("" if backend == "anthropic" else "/v1")
    spec = {"backend": backend, "model": "mock", "base_url": base}
    return [{"name": name, **spec} for name in ("one", "two")]


def _settings(
    folder: Path, models: list[dict[str, Any]], options: argparse.Namespace
) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "data_dir": str(folder),
        "models": models,
        "server": {"port": 0, "workers": options.workers},
        "battles": {"max_live": 10_000},
    }
    if options.database is not None:
        settings["database"] = {"url": options.database}
    return settings


@contextmanager
def running_server(settings: dict[str, Any]) -> Iterator[str]:
    """The arena, and where it listens."""
    command = [sys.executable, "-c", _SERVER, json.dumps(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout)))
            yield found[0].rstrip("/")
        finally:
            server.terminate()


@contextmanager
def running_provider() -> Iterator[int]:
    """The paced provider, and its port."""
    command = [sys.executable, str(HERE / "paced_provider.py"), "--tokens", str(TOKENS)]
    command += ["--tokens-per-second", str(TOKENS_PER_SECOND)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as provider:
        try:
            assert provider.stdout is not None
            yield int(provider.stdout.readline())
        finally:
            provider.terminate()


async def _read_bare(options: argparse.Namespace, port: int) -> Figures:
    """The same streams through the bare SDK, two a battle, nothing else done with them."""
    base = f"http://127.0.0.1:{port}"
    read = _reader_of_anthropic(base) if options.backend == "anthropic" else _reader_of_openai(base)

    async def _one(number: int) -> Timing:
        await asyncio.sleep(options.arriving_over * number / options.battles)
        sides = await asyncio.gather(read(), read())
        return Timing(min(side.first_text for side in sides), max(side.whole for side in sides))

    timings = await asyncio.gather(*map(_one, range(options.battles)))
    return Figures(list(timings), 0.0)


def _reader_of_openai(base: str) -> Any:  # noqa: ANN401  an async function
    import httpx2
    from openai import AsyncOpenAI

    limits = httpx2.Limits(max_connections=None)
    http = httpx2.AsyncClient(limits=limits, timeout=300)
    client = AsyncOpenAI(api_key="x", base_url=f"{base}/v1", http_client=http)

    async def read() -> Timing:
        began = time.perf_counter()
        first = None
        stream = await client.chat.completions.create(
            model="mock", messages=[{"role": "user", "content": "Say."}], stream=True
        )
        async for chunk in stream:
            if first is None and chunk.choices and chunk.choices[0].delta.content:
                first = time.perf_counter() - began
        return Timing(first, time.perf_counter() - began)

    return read


def _reader_of_anthropic(base: str) -> Any:  # noqa: ANN401  an async function
    import httpx2
    from anthropic import AsyncAnthropic

    limits = httpx2.Limits(max_connections=None)
    http = httpx2.AsyncClient(limits=limits, timeout=300)
    client = AsyncAnthropic(api_key="x", base_url=base, http_client=http)

    async def read() -> Timing:
        began = time.perf_counter()
        first = None
        stream = await client.messages.create(
            model="mock",
            max_tokens=999,
            messages=[{"role": "user", "content": "Say."}],
            stream=True,
        )
        async for event in stream:
            if first is None and event.type == "content_block_delta":
                first = time.perf_counter() - began
        return Timing(first, time.perf_counter() - began)

    return read


async def _measure(url: str, battles: int, arriving_over: float) -> Figures:
    port = int(url.rsplit(":", 1)[1])
    asking = await _find_asking(port)
    visitors = [Visitor(port, session=f"visit{number}") for number in range(battles)]
    for visitor in visitors:
        await visitor.open()
    silences: list[float] = []
    asked = asyncio.create_task(_ask_healthz(port, silences))

    async def _one(number: int, visitor: Visitor) -> Timing:
        await asyncio.sleep(arriving_over * number / battles)
        return await visitor.send(asking, ["Say something.", "0", "", ""])

    timings = await asyncio.gather(*(_one(n, visitor) for n, visitor in enumerate(visitors)))
    asked.cancel()
    await asyncio.wait([asked])
    return Figures(list(timings), max(silences))


async def _ask_healthz(port: int, silences: list[float]) -> None:
    """Asks ten times a second, and notes how long each answer took."""
    visitor = Visitor(port, session="")
    while True:
        began = time.perf_counter()
        await visitor.fetch("GET", "/healthz")
        silences.append(time.perf_counter() - began)
        await asyncio.sleep(0.1)


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


def _print_floor(found: Figures) -> None:
    late, times = found.late, found.times
    print(
        f"the bare SDK          first text median {statistics.median(late):.2f}, max "
        f"{max(late):.2f} s late; whole median {statistics.median(times):.2f}, max "
        f"{max(times):.2f} of the model's"
    )


def _report(found: Figures, options: argparse.Namespace) -> int:
    late, times = found.late, found.times
    print(f"battles               {len(found.timings)}, complete {found.complete}")
    if found.complete < len(found.timings):
        return 1
    print(f"first text, s late    median {statistics.median(late):.2f}, max {max(late):.2f}")
    print(f"whole, of the model's median {statistics.median(times):.2f}, max {max(times):.2f}")
    print(f"/healthz, s           max {found.silence:.2f}")
    return int(
        max(late) > options.late or max(times) > options.times or found.silence > HEALTHZ_GOAL
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--battles", type=int, default=100)
    parser.add_argument("--arriving-over", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument(
        "--backend", choices=["recorded", "openai", "anthropic"], default="recorded"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--database", metavar="URL", help="SQLite in a new folder if none")
    parser.add_argument("--late", type=float, default=1.0, metavar="SECONDS", help="goal")
    parser.add_argument("--times", type=float, default=1.3, help="goal")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
