"""Many processes that draw from, answer into and vote on one record at the same time.

    python many_matchmakers.py DATABASE_URL PROCESSES BATTLES

Each process has a store, a standing and a matchmaker of its own, as each web process has.
Writes one JSON line a process: what it drew, how likely it said that was, and what it knew
of the models in the end.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
from typing import TYPE_CHECKING

import numpy as np
from battle_steps import answer

from arena.matchmaking.matchmaker import Matchmaker
from arena.matchmaking.strengths import Strengths
from arena.rules.battles import BattleStatus, Outcome, Side
from arena.store import open_store
from arena.store.tally import Census

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

NAMES = ("Amber", "Birch", "Cedar", "Dune", "Elm", "Fir")
# Log-odds; the outcome of a battle is drawn from them.
STRENGTHS = dict(zip(NAMES, (1.0, 0.6, 0.2, -0.2, -0.6, -1.0), strict=True))
BATTLES_BETWEEN_REFITS = 3


def main() -> None:
    """Starts the processes and waits for all of them."""
    url, processes, battles = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(processes)
    running = [
        context.Process(target=_work, args=(url, number, battles, ready))
        for number in range(processes)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    sys.exit(max(abs(process.exitcode or 0) for process in running))


def _work(url: str, number: int, battles: int, ready: Barrier) -> None:
    store = open_store(url)
    standing = Strengths(NAMES, Census(store.votes))
    matchmaker = Matchmaker(NAMES, standing, policy="uncertainty", exploration=0.1, seed=number)
    random = np.random.default_rng(number)
    worker_id, voter_id = store.workers.register(), f"voter-{number}"
    drawn = []
    ready.wait()
    for turn in range(battles):
        if turn % BATTLES_BETWEEN_REFITS == 0:
            asyncio.run(standing.catch_up())
        chances = {
            f"{min(pair.model_a, pair.model_b)} {max(pair.model_a, pair.model_b)}": pair.probability
            for pair in matchmaker.outlook().prospects
        }
        pairing = matchmaker.draw()
        drawn.append({"pair": " ".join(sorted((pairing.model_a, pairing.model_b))),
                      "probability": pairing.probability, "chances": chances})  # fmt: skip
        battle = store.battles.start(
            voter_id=voter_id, pairing=pairing, prompt="Why?", worker_id=worker_id
        )
        for side in Side:
            store.battles.add_response(battle.id, answer(side))
        store.battles.settle(battle.id, BattleStatus.READY, worker_id=worker_id)
        odds = STRENGTHS[pairing.model_a] - STRENGTHS[pairing.model_b]
        wins = random.random() < 1 / (1 + np.exp(-odds))
        outcome = Outcome.MODEL_A if wins else Outcome.MODEL_B
        standing.learn(store.battles.vote(battle.id, voter_id=voter_id, outcome=outcome))
    ready.wait()  # all votes are cast
    asyncio.run(standing.catch_up())
    known = standing.of(NAMES)
    store.close()
    told = {"drawn": drawn, "votes": standing.votes, "strengths": known.strengths.tolist(),
            "counts": known.counts.tolist()}  # fmt: skip
    # One write each, so that lines of different processes do not mix.
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
