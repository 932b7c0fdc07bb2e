"""A refreshed leaderboard beside the bare SQL GROUP BY that counts the same votes.

    python -P tests/benchmarks/leaderboard.py --votes 1000000 --models 100

(-P, so that `ranking` is the package and not the file beside this one.)

Fills an SQLite file with simulated votes, then measures in one process, in turn: the GROUP
BY alone; a first refresh (counts, fit, 1,000 replicates, snapshot on record); and, after one
more vote, the counting and a refresh. Prints wall and CPU seconds. Exits 1 if a goal is
missed: the first refresh within 3 times the GROUP BY's CPU time, counting again after one
more vote within a twentieth of it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from arena.leaderboards.keeper import LeaderboardKeeper
from arena.settings import LeaderboardSettings
from arena.store import Store, open_store
from arena.store.tally import Census
from ranking import OUTCOMES
from ranking.pairing.simulate import draw_strengths, simulate_votes, skew_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ranking import Votes

REFRESH_GOAL = 3.0
COUNT_GOAL = 0.05
VOTES_PER_VOTER = 50
LONG_AGO = "2024-11-01 12:00:00.000000"
_BATTLE = (
    "INSERT INTO battles (id, voter_id, model_a, model_b, policy, policy_version, probability,"
    " candidates, status, created_at, updated_at)"
    " VALUES (?, ?, ?, ?, 'uniform', 1, 0.01, 2, 'voted', ?, ?)"
)
_VOTE = "INSERT INTO votes (battle_id, voter_id, outcome, created_at) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took.

    Attributes:
        wall: seconds on the clock.
        cpu: seconds of this process on all cores.
    """

    wall: float
    cpu: float


def main() -> int:
    """Runs the benchmark and prints its figures; 0 if every goal is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/arena.db")
        names = [f"model-{number:03d}" for number in range(options.models)]
        fill(store, names, options.votes)
        grouped, first, counted, again = _measure(store, names, options)
        store.close()
    return _report(grouped, first, counted, again)


def fill(store: Store, names: Sequence[str], votes: int) -> None:
    """Simulated votes of many voters on popular and rare models, inserted in bulk."""
    store.battles.register_models(
        {
            "name": name,
            "organisation": "",
            "license": "",
            "price_input": None,
            "price_output": None,
            "description": "",
        }
        for name in names
    )
    simulated = simulate_votes(
        draw_strengths(len(names), seed=1),
        votes,
        seed=2,
        pair_weights=skew_pairs(len(names), seed=3, exponent=0.5),
        tie=0.3,
        both_bad=0.4,
        voters=max(votes // VOTES_PER_VOTER, 1),
        names=names,
    )
    _insert(store, simulated)


def _insert(store: Store, simulated: Votes) -> None:
    assert simulated.voter is not None
    people = [f"voter-{number:010d}" for number in range(len(simulated.voter.names))]
    who = [people[code] for code in simulated.voter.codes.tolist()]
    left = [simulated.models[code] for code in simulated.model_a.tolist()]
    right = [simulated.models[code] for code in simulated.model_b.tolist()]
    ended = [OUTCOMES[code] for code in simulated.outcome.tolist()]
    # As scattered as the random ids of real battles, and as long.
    ids = [f"{number * 2_654_435_761 % 2**32:022x}" for number in range(len(who))]
    times = [LONG_AGO] * len(ids)
    driver = store.engine.raw_connection()
    cursor = driver.cursor()
    cursor.execute("BEGIN")
    cursor.executemany(
        "INSERT INTO voters VALUES (?, 'crowd', ?)", [(name, LONG_AGO) for name in people]
    )
    cursor.executemany(_BATTLE, list(zip(ids, who, left, right, times, times, strict=True)))
    cursor.executemany(_VOTE, list(zip(ids, who, ended, times, strict=True)))
    cursor.execute("COMMIT")
    driver.close()


def _measure(
    store: Store, names: Sequence[str], options: argparse.Namespace
) -> tuple[Cost, Cost, Cost, Cost]:
    """The GROUP BY, the first refresh, and after one more vote the count and the refresh."""
    settings = LeaderboardSettings(replicates=options.replicates)
    grouped: list[Cost] = []
    first: list[Cost] = []
    counted: list[Cost] = []
    again: list[Cost] = []
    for number in range(options.rounds):
        grouped.append(_time(store.votes.by_outcome))
        boards = LeaderboardKeeper(store, Census(store.votes), settings=settings, models=names)
        _add_vote(store, names, f"first-{number}")
        first.append(_time(boards.refresh))
        tally = store.votes.tally()
        _add_vote(store, names, f"more-{number}")
        counted.append(_time(partial(store.votes.tally, tally)))
        again.append(_time(boards.refresh))
    return _median(grouped), _median(first), _median(counted), _median(again)


def _add_vote(store: Store, names: Sequence[str], battle_id: str) -> None:
    driver = store.engine.raw_connection()
    cursor = driver.cursor()
    cursor.execute("BEGIN")
    cursor.execute(_BATTLE, (battle_id, "voter-0000000000", names[0], names[1], LONG_AGO, LONG_AGO))
    cursor.execute(_VOTE, (battle_id, "voter-0000000000", "tie", LONG_AGO))
    cursor.execute("COMMIT")
    driver.close()


def _time(work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        wall=statistics.median(cost.wall for cost in costs),
        cpu=statistics.median(cost.cpu for cost in costs),
    )


def _report(grouped: Cost, first: Cost, counted: Cost, again: Cost) -> int:
    lines = {
        "bare GROUP BY": grouped,
        "first refresh": first,
        "count after one more vote": counted,
        "refresh after one more vote": again,
    }
    print(f"{'':29}{'wall s':>9}{'CPU s':>9}{'× GROUP BY (wall, CPU)':>25}")
    for name, cost in lines.items():
        ratios = f"{cost.wall / grouped.wall:.3f}, {cost.cpu / grouped.cpu:.3f}"
        print(f"{name:29}{cost.wall:9.3f}{cost.cpu:9.3f}{ratios:>25}")
    missed = [
        first.cpu > REFRESH_GOAL * grouped.cpu,
        counted.cpu > COUNT_GOAL * grouped.cpu,
        again.cpu >= first.cpu,
    ]
    print("missed a goal" if any(missed) else "every goal is met")
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
