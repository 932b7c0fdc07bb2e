"""Twenty processes' worth of draws and votes on one record: nothing lost, nothing stuck."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from board_votes import register
from many_matchmakers import NAMES
from sqlalchemy import func, select

from arena.matchmaking.strengths import Strengths
from arena.store import open_store
from arena.store.tables import battles, votes
from arena.store.tally import Census

HERE = Path(__file__).parents[1]
PROCESSES = 20
BATTLES = 12


@pytest.mark.slow
def test_twenty_processes_draw_and_vote_on_one_record(database_url: str) -> None:
    store = open_store(database_url)
    register(store, NAMES)
    done = subprocess.run(
        [sys.executable, HERE / "many_matchmakers.py", database_url, str(PROCESSES), str(BATTLES)],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1])])},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == PROCESSES

    # Every vote is there, once, and every process knows all of them.
    with store.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(votes)) == PROCESSES * BATTLES
        logged = connection.execute(select(battles.c.probability)).scalars().all()
    assert [one["votes"] for one in told] == [PROCESSES * BATTLES] * PROCESSES
    afresh = Strengths(NAMES, Census(store.votes))
    asyncio.run(afresh.catch_up())
    known = afresh.of(NAMES)
    for one in told:
        np.testing.assert_allclose(one["strengths"], known.strengths, atol=1e-9)
        np.testing.assert_array_equal(one["counts"], known.counts)
    store.close()

    # What was logged is what was drawn from.
    drawn = [draw for one in told for draw in one["drawn"]]
    assert sorted(logged) == pytest.approx(sorted(draw["probability"] for draw in drawn))
    assert all(draw["probability"] == draw["chances"][draw["pair"]] for draw in drawn)
    seen = Counter(draw["pair"] for draw in drawn)
    for pair in drawn[0]["chances"]:
        chances = np.array([draw["chances"][pair] for draw in drawn])
        spread = np.sqrt((chances * (1 - chances)).sum())
        # 15 pairs: the largest of 15 fair deviations passes 4.2 once in 2,500 times.
        assert abs(seen[pair] - chances.sum()) < 4.2 * spread, pair
