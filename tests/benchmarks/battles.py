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
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

TOKENS = 200
TOKENS_PER_SECOND = 50
TIME_TO_FIRST_TOKEN = 0.1
OWN_SECONDS = TIME_TO_FIRST_TOKEN + (TOKENS - 1) / TOKENS_PER_SECOND
FIRST_TEXT_GOAL = 1.0
WHOLE_GOAL = 1.3
_FIRST_WORD = "alpha"
# What the status line says once the vote is open; a stream sends it once, as a difference.
READY = "Both answers are complete"
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
        "answer": " ".join([_FIRST_WORD, *(f"word{n}" for n in range(TOKENS - 1))]),
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
    events = await _find_events(url)
    clients = [_client(url) for _ in range(battles)]
    for number, client in enumerate(clients):
        await client.get("/en/")  # the cookie
        await _send(client, events["load"], [""], session=f"visit{number}")

    async def _one(number: int, client: httpx.AsyncClient) -> Timing:
        await asyncio.sleep(arriving_over * number / battles)
        prompt = ["Say something.", ""]
        return await _send(client, events["ask"], prompt, session=f"visit{number}")

    try:
        return list(await asyncio.gather(*(_one(n, client) for n, client in enumerate(clients))))
    finally:
        await asyncio.gather(*(client.aclose() for client in clients))


def _client(url: str) -> httpx.AsyncClient:
    # A connection a request: under load a reused one may be closed by the server while the
    # request is on its way, which looks like a fault and is none.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, timeout=120, limits=limits, trust_env=False)


async def _find_events(url: str) -> dict[str, int]:
    """The numbers of the events that a browser sends on loading and on asking."""
    async with _client(url) as client:
        config = (await client.get("/en/config")).json()
    names = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
    found = {}
    for event in config["dependencies"]:
        for target, trigger in event["targets"]:
            if trigger == "load":
                found["load"] = event["id"]
            elif names.get(target) == "send":
                found["ask"] = event["id"]
    return found


async def _send(client: httpx.AsyncClient, event: int, data: list[str], *, session: str) -> Timing:
    """Sends an event as the page's script does and reads its stream to the end."""
    started = time.perf_counter()
    body = {"data": data, "fn_index": event, "session_hash": session}
    await client.post("/en/gradio_api/queue/join", json=body)
    first = whole = None
    stream = client.stream("GET", "/en/gradio_api/queue/data", params={"session_hash": session})
    async with stream as lines:
        async for line in lines.aiter_lines():
            now = time.perf_counter() - started
            if first is None and _FIRST_WORD in line:
                first = now
            if READY in line:
                whole = now
            if "process_completed" in line:
                break
    return Timing(first_text=first, whole=whole)


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
