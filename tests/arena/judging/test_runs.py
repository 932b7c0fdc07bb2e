"""Whole runs of `arena judge run` against a real server that counts what it is asked."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from counting_judge import (
    CountingJudge,
    Reply,
    answering_after,
    by_digest,
    record_battles,
    write_settings,
)

from arena.rules.judgements import CallStatus
from arena.store import Store, open_store
from ranking import Consistency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Each starts the command several times, with a process that asks.
pytestmark = pytest.mark.slow

GOOD = '{"reason": "Right.", "verdict": "A"}'
Table = list[tuple[Any, ...]]
Seen = TypeVar("Seen")


@dataclass
class Arena:
    """An arena in a folder whose only model is a server's."""

    folder: Path
    config: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/arena.db"

    def command(self, *arguments: str) -> list[str]:
        run = ["judge", "run", "--judge", "Judge", "--yes", "--config", str(self.config)]
        return [sys.executable, "-c", "from arena.cli import main; main()", *run, *arguments]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), check=False, capture_output=True, text=True, timeout=400
        )

    def run_to_summary(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        shown = json.loads(done.stdout)["summary"]
        assert isinstance(shown, dict)
        return shown

    def table(self) -> Table:
        """Everything on record about the only judge's calls that a restart must not change."""
        store = open_store(self.url)
        (known,) = store.judgings.judges()
        calls = store.judge_verdicts.calls(known.judge.voter_id)
        store.close()
        return [(*c.key, c.status, c.verdict, c.reading, c.completion_tokens) for c in calls]


@pytest.fixture
def judge() -> Iterator[CountingJudge]:
    with CountingJudge(delay=0.02) as server:
        yield server


def make_arena(
    folder: Path,
    judge: CountingJudge,
    *,
    battles: int = 12,
    turns: int = 2,
    first_token: float = 30,
    fields: dict[str, object] | None = None,
) -> Arena:
    folder.mkdir(exist_ok=True)
    arena = Arena(
        folder,
        write_settings(folder, base_url=judge.base_url, first_token=first_token, **(fields or {})),
    )
    store = open_store(arena.url)
    record_battles(store, battles, turns_each=turns)
    store.close()
    return arena


def with_store(arena: Arena, look: Callable[[Store], Seen]) -> Seen:
    store = open_store(arena.url)
    try:
        return look(store)
    finally:
        store.close()


def test_the_cost_stays_below_its_limit(tmp_path: Path, judge: CountingJudge) -> None:
    arena = make_arena(tmp_path, judge, fields={"price_input": 10.0, "price_output": 100.0})
    done = arena.run("--max-cost", "0.05", "--max-tokens", "100", "--json")
    assert done.returncode == 1, done.stderr
    assert "could exceed --max-cost" in done.stderr
    summary = json.loads(done.stdout)["summary"]
    assert summary["answered"] == judge.requests < 48
    # An answer may cost about 350 · 10 + 100 · 100 millionths of a dollar, and costs a sixth.
    assert 0.05 - 0.016 < summary["cost"] <= 0.05


def test_a_run_killed_at_random_moments_asks_nothing_twice(
    tmp_path: Path, judge: CountingJudge
) -> None:
    whole = make_arena(tmp_path / "whole", judge, battles=20)
    assert whole.run().returncode == 0
    expected, asked = whole.table(), dict(judge.asked)
    assert len(expected) == len(asked) == 20 * 2 * 2
    judge.asked.clear()
    judge.bodies.clear()

    seed = random.randrange(2**32)
    chance = random.Random(seed)
    broken = make_arena(tmp_path / "broken", judge, battles=20)
    for _ in range(3):
        run = broken.start()
        # Three times this, and what comes until the kill, are fewer than there are.
        judge.wait_for(judge.requests + chance.randint(1, 10))
        time.sleep(chance.random() * 0.05)
        run.kill()
        run.communicate()
    summary = json.loads(broken.run("--json").stdout)["summary"]

    assert judge.asked == asked, f"seed {seed}"  # each of them once
    assert broken.table() == expected, f"seed {seed}"
    assert summary["lost"] == summary["failed"] == summary["unfinished"] == 0


def test_a_killed_command_leaves_nothing_half_stored(tmp_path: Path, judge: CountingJudge) -> None:
    released = threading.Event()
    judge.rule = answering_after(released)
    arena = make_arena(tmp_path, judge)
    run = arena.start("--concurrency", "3")
    judge.wait_for(3)
    run.kill()
    run.communicate()
    statuses = [row[3] for row in arena.table()]
    assert statuses == [CallStatus.ASKED] * 3
    released.set()
    deadline = time.monotonic() + 120
    while CallStatus.ASKED in (statuses := [row[3] for row in arena.table()]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(0.5)
    assert statuses == [row[3] for row in arena.table()] == [CallStatus.ANSWERED] * 3
    assert judge.requests == 3


def test_a_killed_worker_is_found_out_and_told(tmp_path: Path, judge: CountingJudge) -> None:
    judge.rule = answering_after(released := threading.Event())
    arena = make_arena(tmp_path, judge, battles=2)
    run = arena.start("--concurrency", "2")
    judge.wait_for(2)
    os.kill(find_worker(arena), signal.SIGKILL)
    released.set()
    _, said = run.communicate(timeout=240)
    assert run.returncode == 2
    assert "ended with status -9" in said
    judge.rule = by_digest
    shown = arena.run()
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"perhaps paid for twice +│ +2 ", shown.stdout)
    assert [row[3] for row in arena.table()] == [CallStatus.ANSWERED] * 8
    assert judge.requests == 8 + 2


def find_worker(arena: Arena) -> int:
    def look(store: Store) -> int:
        with store.engine.connect() as connection:
            (pid,) = connection.exec_driver_sql(
                "SELECT pid FROM workers WHERE stopped_at IS NULL"
            ).scalars()
        return int(pid)

    return int(with_store(arena, look))


def test_two_runs_at_once_share_the_work(tmp_path: Path, judge: CountingJudge) -> None:
    arena = make_arena(tmp_path, judge)
    runs = [arena.start("--json") for _ in range(2)]
    said = [run.communicate(timeout=240) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert set(judge.asked.values()) == {1}
    summaries = [json.loads(out)["summary"] for out, _ in said]
    assert summaries[0] == summaries[1]
    assert summaries[0]["answered"] == 48


def test_ctrl_c_stores_what_is_under_way(tmp_path: Path, judge: CountingJudge) -> None:
    judge.rule = lambda prompt: Reply(by_digest(prompt).text, delay=0.5)
    arena = make_arena(tmp_path, judge)
    run = arena.start("--concurrency", "4", "--json")
    judge.wait_for(4)
    run.send_signal(signal.SIGINT)
    out, said = run.communicate(timeout=240)
    assert run.returncode == 130
    assert "the same command goes on from here" in said
    summary = json.loads(out)["summary"]
    assert summary["unfinished"] == 0
    assert summary["answered"] == judge.requests <= 8


def misbehave(prompt: str) -> Reply:
    """Each way to fail once, told by the number of the battle."""
    if "Question 0." in prompt:
        return Reply("I would say that both have their merits.")
    if "Question 1." in prompt:
        return Reply("too many", status=429, headers={"retry-after": "0.1"})
    if "Question 2." in prompt:
        return Reply("this request breaks our rules", status=400)
    if "Question 3." in prompt:
        return Reply('{"reason": "It goes on')
    if "Question 4." in prompt:
        return Reply(GOOD, delay=2)
    if "Question 5." in prompt:
        return Reply(GOOD, cut=True)
    return Reply(GOOD)


def test_whatever_goes_wrong_ends_as_a_row_that_says_why(
    tmp_path: Path, judge: CountingJudge
) -> None:
    judge.rule = misbehave
    arena = make_arena(tmp_path, judge, battles=9, turns=1, first_token=0.5, fields={"retries": 1})
    # One at a time, so that no ten failures come in a row.
    summary = arena.run_to_summary("--concurrency", "1")
    assert summary["questions"] == 9 * 2
    assert summary["failures"] == {
        "RateLimited": 2, "Refused": 2, "TimedOut": 2, "Interrupted": 2,
    }  # fmt: skip
    assert summary["readings"] == {"structured": 6, "fallback": 0, "unparsable": 4}
    assert "this request breaks our rules" in summary["examples"]["Refused"]
    assert summary["consistency"][Consistency.UNPARSABLE] == 2
    # It always says A, whatever stands there.
    assert summary["consistency"][Consistency.FIRST_BIASED] == 3
    shown = arena.run().stdout
    for words in ("RateLimited", "TimedOut", "No verdict readable", "first-biased"):
        assert words in shown
    judge.rule = by_digest
    before = judge.requests
    assert arena.run_to_summary("--retry-failed")["failed"] == 0
    assert judge.requests == before + 8


def test_a_judge_that_takes_only_its_own_temperature_is_asked_once_and_goes_on(
    tmp_path: Path, judge: CountingJudge
) -> None:
    judge.takes_temperature = False
    arena = make_arena(tmp_path, judge, battles=6, turns=1)
    done = arena.run("--battles", "6")
    assert done.returncode == 0, done.stderr
    assert "'temperature' does not support 0.0" in done.stderr
    assert "going on with --temperature model" in done.stderr
    refused = [body for body in judge.bodies if "temperature" in body]
    assert len(refused) == 1
    assert judge.requests == 6 * 2 + 1
    # The judge that was refused is not on record, and the same command asks nothing again.
    (known,) = with_store(arena, lambda store: store.judgings.judges())
    assert known.name == "Judge (plain)"
    assert known.judge.sampling["temperature"] is None
    statuses = with_store(arena, lambda store: store.judgings.statuses(known.judge.voter_id))
    assert set(statuses.values()) == {CallStatus.ANSWERED}
    again = arena.run("--battles", "6")
    assert again.returncode == 0, again.stderr
    assert judge.requests == 6 * 2 + 2


def test_a_judge_that_takes_no_temperature_at_all_is_stopped_with_words(
    tmp_path: Path, judge: CountingJudge
) -> None:
    judge.takes_temperature = False
    arena = make_arena(tmp_path, judge, battles=6, turns=1)
    with arena.config.open("a", encoding="utf-8") as file:
        file.write("\n[models.sampling]\ntemperature = 0.7\n")
    done = arena.run()
    assert done.returncode == 1
    assert "does not take `temperature`" in done.stderr
    assert judge.requests == 2
