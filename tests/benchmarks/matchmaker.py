"""What a draw and a vote cost the matchmaker, beside the fit that a vote would cost otherwise.

    python -P tests/benchmarks/matchmaker.py --models 300 --votes 100000

Lets the matchmaker catch up with simulated votes, then times in turn, in one process: learning
a vote, the draw that follows it (all pairs are weighed again), and a further draw. Prints the
median and the 90th percentile of each, and what the fit took that a vote would cost otherwise.
Exits 1 if a goal is missed: the median draw and the median vote within a millisecond.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from arena.matchmaking.matchmaker import Matchmaker
from arena.matchmaking.strengths import Strengths
from arena.rules.battles import Battle, BattleStatus, Outcome, Vote
from arena.store import Tally, open_store
from arena.store.tally import Census
from ranking import OUTCOMES
from ranking.pairing.simulate import draw_strengths, simulate_votes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.rules.battles import Pairing

GOAL_SECONDS = 0.001


def main() -> int:
    """Runs the benchmark and prints its figures; 0 if every goal is met."""
    options = _options()
    names = tuple(f"model-{number:03}" for number in range(options.models))
    standing = Strengths(names, Simulated(names, options.votes))
    caught_up = _time(lambda: asyncio.run(standing.catch_up()))
    matchmaker = Matchmaker(names, standing, policy=options.policy, exploration=0.1, seed=1)
    learned, drawn, again = _play(matchmaker, standing, options.rounds, options.votes)
    print(f"models {options.models}, votes {options.votes:,}, policy {options.policy}")
    _tell("learning a vote", learned)
    _tell("the next draw", drawn)
    _tell("one more draw", again)
    print(f"{'a fit':22} {1e3 * caught_up:8.1f} ms, once")
    slowest = max(statistics.median(learned), statistics.median(drawn))
    return 0 if slowest <= GOAL_SECONDS else 1


class Simulated(Census):
    """A census that counts votes which are on no record."""

    def __init__(self, names: Sequence[str], votes: int) -> None:
        record = open_store("sqlite://")  # for the marks of a record without exclusions
        super().__init__(record.votes)
        empty = record.votes.tally()
        record.close()
        counts = simulate_votes(draw_strengths(len(names), seed=1), votes, seed=2).count()
        cells = zip(counts.model_a, counts.model_b, counts.outcome, counts.count, strict=True)
        settled: dict[tuple[str, str, str, str | None], int] = {
            (names[a], names[b], OUTCOMES[outcome], None): int(count)
            for a, b, outcome, count in cells
        }
        self._simulated = replace(empty, settled=settled, settled_until=votes, last_vote_id=votes)

    def count(self, *, afresh: bool = False) -> Tally:
        """The simulated votes."""
        del afresh
        return self._simulated


def _play(
    matchmaker: Matchmaker, standing: Strengths, rounds: int, last_vote: int
) -> tuple[list[float], list[float], list[float]]:
    learned, drawn, again = [], [], []
    outcomes = tuple(Outcome)
    for number in range(1, rounds + 1):
        pairing = matchmaker.draw()
        battle = _voted(pairing, last_vote + number, outcomes[number % 3])
        learned.append(_time(partial(standing.learn, battle)))
        drawn.append(_time(matchmaker.draw))
        again.append(_time(matchmaker.draw))
    return learned, drawn, again


def _voted(pairing: Pairing, number: int, outcome: Outcome) -> Battle:
    battle_id, voter_id, now = f"battle-{number}", "voter-1", datetime.now(UTC)
    vote = Vote(id=number, battle_id=battle_id, voter_id=voter_id, outcome=outcome, created_at=now)
    return Battle(
        id=battle_id,
        voter_id=voter_id,
        pairing=pairing,
        status=BattleStatus.VOTED,
        prompts=("Why?",),
        responses=(),
        vote=vote,
        created_at=now,
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
