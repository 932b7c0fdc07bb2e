"""What a draw and a vote cost the matchmaker, beside the fit that a vote would cost otherwise.

    python -P tests/benchmarks/matchmaker.py --models 300 --votes 100000

Fills an SQLite file with simulated votes, lets the matchmaker catch up with it, then times in
turn, in one process: learning a vote, the draw that follows it (all pairs are weighed
again), a further draw, and catching up (counting and fitting). Prints the median and the 90th
percentile of each. Exits 1 if a goal is missed: the median draw and the median vote within
a millisecond.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[1] / "arena"))

from board_votes import cast_many, register

from arena.battles import Outcome, Vote
from arena.census import Census
from arena.matchmaker import Matchmaker
from arena.standing import Standing
from arena.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GOAL_SECONDS = 0.001


def main() -> int:
    """Runs the benchmark and prints its figures; 0 if every goal is met."""
    options = _options()
    names = tuple(f"model-{number:03}" for number in range(options.models))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/arena.db")
        try:
            register(store, names)
            cast_many(store, names, options.votes)
            census = Census(store.votes)
            standing = Standing(names, census)
            caught_up = _time(lambda: asyncio.run(standing.catch_up()))
            matchmaker = Matchmaker(names, standing, policy=options.policy, exploration=0.1, seed=1)
            learned, drawn, again = _play(matchmaker, standing, options.rounds, options.votes)
        finally:
            store.close()
    print(f"models {options.models}, votes {options.votes:,}, policy {options.policy}")
    _tell("learning a vote", learned)
    _tell("the next draw", drawn)
    _tell("one more draw", again)
    print(f"{'counting and fitting':22} {1e3 * caught_up:8.1f} ms, once")
    slowest = max(statistics.median(learned), statistics.median(drawn))
    return 0 if slowest <= GOAL_SECONDS else 1


def _play(
    matchmaker: Matchmaker, standing: Standing, rounds: int, last_vote: int
) -> tuple[list[float], list[float], list[float]]:
    learned, drawn, again = [], [], []
    outcomes = tuple(Outcome)
    for number in range(1, rounds + 1):
        pairing = matchmaker.draw()
        vote = _vote(last_vote + number, outcomes[number % 3])
        learned.append(_time(partial(standing.learn, vote, pairing)))
        drawn.append(_time(matchmaker.draw))
        again.append(_time(matchmaker.draw))
    return learned, drawn, again


def _vote(number: int, outcome: Outcome) -> Vote:
    return Vote(
        id=number,
        battle_id=f"battle-{number}",
        voter_id="voter-1",
        outcome=outcome,
        created_at=datetime.now(UTC),
    )


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _tell(what: str, seconds: Sequence[float]) -> None:
    ninth = statistics.quantiles(seconds, n=10)[-1]
    print(f"{what:22} {1e3 * statistics.median(seconds):8.3f} ms, 90 % within {1e3 * ninth:.3f} ms")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--votes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--policy", default="uncertainty")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
