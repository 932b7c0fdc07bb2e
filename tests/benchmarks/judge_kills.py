"""Kills `arena judge run` at random moments and counts what its server was asked.

Run it with: python tests/benchmarks/judge_kills.py --kills 25

A moment is drawn evenly over the time that a run of this many questions takes, its start
included. Every question must have been asked exactly once when the last run ends, and the
table must be that of a run that nobody killed.
"""

from __future__ import annotations

import argparse
import importlib
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.store import open_store

if TYPE_CHECKING:
    from collections import Counter

# What the tests of one folder share lies beside them, on no path of a benchmark.
sys.path.insert(0, str(Path(__file__).parents[1] / "arena"))
counting = importlib.import_module("counting_judge")

Table = list[tuple[Any, ...]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=25)
    options.add_argument("--battles", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    told = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, counting.CountingJudge(delay=0.1) as judge:
        started = time.monotonic()
        whole = Arena(Path(folder) / "whole", judge.base_url, told.battles)
        whole.start().wait()
        took = time.monotonic() - started
        expected, asked = whole.table(), dict(judge.asked)
        judge.asked.clear()

        broken = Arena(Path(folder) / "broken", judge.base_url, told.battles)
        kills, while_asking = kill_often(broken, judge.asked, told, longest=took / 3)
        last = broken.start().wait()
        twice = sum(times - 1 for times in judge.asked.values())
        same = broken.table() == expected
    print(
        f"{len(expected):,} questions, {kills} kills ({while_asking} while questions were under "
        f"way), {sum(judge.asked.values()):,} requests, {twice} asked twice, "
        f"{len(asked) - len(judge.asked)} never asked, table {'the same' if same else 'DIFFERS'}, "
        f"last run ended with {last}; seed {told.seed}"
    )
    if twice or not same or dict(judge.asked) != asked:
        raise SystemExit(1)


class Arena:
    def __init__(self, folder: Path, base_url: str, battles: int) -> None:
        folder.mkdir()
        self._url = f"sqlite:///{folder}/arena.db"
        self._config = counting.write_settings(folder, base_url=base_url)
        store = open_store(self._url)
        counting.record_battles(store, battles)
        store.close()

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "from arena.cli import main; main()", "judge", "run"]
        where = ["--judge", "Judge", "--yes", "--config", str(self._config)]
        return subprocess.Popen(
            [*command, *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def table(self) -> Table:
        store = open_store(self._url)
        (known,) = store.judgings.judges()
        calls = store.judge_verdicts.calls(known.judge.voter_id)
        store.close()
        return [(*c.key, c.status, c.verdict, c.reading, c.attempts, c.lost) for c in calls]


def kill_often(
    arena: Arena, asked: Counter[str], told: argparse.Namespace, *, longest: float
) -> tuple[int, int]:
    """Returns how many runs were killed, and how many of them while they were asking."""
    chance = random.Random(told.seed)
    kills = while_asking = 0
    for _ in range(told.kills):
        run, before = arena.start(), sum(asked.values())
        try:
            run.wait(timeout=chance.random() * longest)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            kills += 1
            while_asking += sum(asked.values()) > before
    return kills, while_asking


if __name__ == "__main__":
    main()
