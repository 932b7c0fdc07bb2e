"""Plays every event of every page under every cut of the line, in a real browser, and counts.

Run it with: python tests/benchmarks/connection.py [--events send vote …] [--cuts reset …]

In a cell, how many of its cases came back by themselves with everything counted once and
nothing typed lost; a case is one event at one moment (while it is being sent, within 60 ms of the
click, in the middle of the answer, at rest). A cell that is not whole is a failure, and its
cases are listed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Error, sync_playwright
from sqlalchemy import make_url

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# What the tests of one folder share lies beside them, on no path of a benchmark; what lies beside
# this one, by the names of our packages, is not meant.
HERE = Path(__file__).parents[1] / "arena"
sys.path[:1] = [str(HERE), str(HERE / "web")]
lines = importlib.import_module("bad_lines")
proxies = importlib.import_module("misbehaving_proxy")

AWAY = "database away"


def main() -> int:
    told = _options()
    os.environ["GRADIO_HEARTBEAT_INTERVAL"] = lines.HEARTBEAT_SECONDS
    chosen = [
        case
        for case in lines.cases(cuts=tuple(told.cuts))
        if case[0] in told.events and case[1] in told.moments
        for _ in range(told.repeat)
    ]
    kept: Counter[tuple[str, str]] = Counter()
    broken: list[Any] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told.chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for is_away in (False, True):
            some = [case for case in chosen if (case[2] == AWAY) == is_away]
            if is_away and told.postgres is None:
                break
            for event, moment, cut in _play(browser, some, postgres=told.postgres, broken=broken):
                kept[event, cut] += 1
                print(f"  kept: {event}, {moment}, {cut}", file=sys.stderr, flush=True)
        browser.close()
    _print(chosen if told.postgres else [case for case in chosen if case[2] != AWAY], kept)
    for case, words in broken:
        print(f"lost: {', '.join(case)}: {words}")
    return int(bool(broken))


def _play(browser: Browser, cases: list[Any], *, postgres: str | None, broken: list[Any]) -> Any:  # noqa: ANN401
    """The cases that went well; the others are added to the broken ones."""
    if not cases:
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database, urls = None, {}
        if cases[0][2] == AWAY:
            url = make_url(str(postgres))
            database = stack.enter_context(proxies.MisbehavingProxy(url.port))
            behind = url.set(port=database.port).render_as_string(hide_password=False)
            urls = {"record": postgres, "database": behind}
        workers = stack.enter_context(lines.open_workers(folder / "arena", **urls))
        proxy = stack.enter_context(proxies.MisbehavingProxy(lines.port_of(workers.first)))
        for case in cases:
            began = time.monotonic()
            try:
                with lines.open_line(browser, workers, proxy, database=database) as line:
                    lines.play(line, *case)
            except (AssertionError, Error) as error:
                words = " ".join(str(error).split())[:200]
                broken.append((case, f"{words} ({time.monotonic() - began:.0f} s)"))
            else:
                yield case


def _print(cases: list[Any], kept: Counter[tuple[str, str]]) -> None:
    cuts = list(dict.fromkeys(cut for _, _, cut in cases))
    print(f"| event | {' | '.join(cuts)} |")
    print(f"|---|{'---|' * len(cuts)}")
    played = Counter((event, cut) for event, _, cut in cases)
    for event in dict.fromkeys(event for event, _, _ in cases):
        cells = [f"{kept[event, cut]} of {played[event, cut]}" for cut in cuts]
        print(f"| {event} | {' | '.join(cells)} |")
    print(f"\n{kept.total()} of {len(cases)} cases")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", nargs="+", default=list(lines.EVENTS), choices=lines.EVENTS)
    parser.add_argument("--cuts", nargs="+", default=list(lines.CUTS), choices=lines.CUTS)
    parser.add_argument("--moments", nargs="+", default=lines.MOMENTS, choices=lines.MOMENTS)
    parser.add_argument("--repeat", type=int, default=1, help="play each case so often")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument(
        "--postgres", help="URL of an empty database, for the cut that takes it away"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
