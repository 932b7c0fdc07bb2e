"""A process that dies in the middle of an answer: its voter can soon go on elsewhere."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from battle_steps import start
from sqlalchemy import update
from staged_models import VOTER, StagedModel, conducting, watch

from arena.battle.watching import ELSEWHERE_TICK
from arena.rules.actions import Action
from arena.rules.battles import BattleStatus
from arena.store.tables import workers
from arena.store.workers import HEARTBEAT_SECONDS, SILENT_SECONDS

if TYPE_CHECKING:
    from arena.store import Store

_WORKER = """
import sys, time
from arena.store import Heartbeat, open_store
heartbeat = Heartbeat(open_store(sys.argv[1]).workers)
print(heartbeat.worker_id, flush=True)
time.sleep(600)
"""


def test_five_seconds_are_enough_to_notice() -> None:
    # The last beat came right before the end, the last look right before the silence was long
    # enough; a page looks at a battle that is answered elsewhere once a tick.
    assert SILENT_SECONDS + HEARTBEAT_SECONDS + ELSEWHERE_TICK < 5
    assert SILENT_SECONDS >= 3 * HEARTBEAT_SECONDS  # two may be missed


@pytest.mark.parametrize("host", ["this host", "another host"])
async def test_a_voter_goes_on_after_a_workers_death(
    store: Store, database_url: str, host: str
) -> None:
    dying = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WORKER, database_url, stdout=asyncio.subprocess.PIPE
    )
    assert dying.stdout is not None
    worker_id = (await dying.stdout.readline()).decode().strip()
    if host == "another host":
        with store.engine.begin() as connection:
            elsewhere = update(workers).where(workers.c.id == worker_id).values(host="elsewhere")
            connection.execute(elsewhere)
    async with conducting(store, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        battle = start(store, worker_id=worker_id)
        async with aclosing(conductor.watch(battle.id, VOTER)) as views:
            assert (await anext(views)).open == {Action.LEAVE}
            dying.kill()
            await dying.wait()
            async for view in views:
                if Action.RETRY in view.open:
                    break
        assert view.status is BattleStatus.ABANDONED
        await conductor.retry(battle.id, VOTER)
        assert Action.VOTE in (await watch(conductor, battle.id)).open
