"""The steps of a battle on record, for tests that need one to be somewhere in particular."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from board_votes import register
from sqlalchemy import update

from arena.rules.actions import Terms
from arena.rules.battles import (
    Battle,
    BattleStatus,
    Outcome,
    Pairing,
    Response,
    ResponseStatus,
    Side,
    settled_status,
)
from arena.store.tables import workers
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from arena.store import Store

VOTER = "voter-1"
PAIRING = Pairing(
    model_a="Amber",
    model_b="Birch",
    policy="uniform",
    policy_version=1,
    probability=0.5,
    candidates=3,
)
TERMS = Terms(models=frozenset({PAIRING.model_a, PAIRING.model_b}), max_turns=10)


def answer(
    side: Side,
    *,
    turn: int = 0,
    attempt: int = 0,
    status: ResponseStatus = ResponseStatus.COMPLETE,
    text: str = "Because.",
) -> Response:
    return Response(
        turn=turn,
        side=side,
        attempt=attempt,
        status=status,
        text=text,
        created_at=datetime.now(UTC),
    )


def battle_with(
    *responses: Response,
    prompts: tuple[str, ...] = ("Why?",),
    status: BattleStatus = BattleStatus.READY,
    pairing: Pairing = PAIRING,
) -> Battle:
    """A battle that is on no record."""
    return Battle(
        id="battle-1",
        voter_id=VOTER,
        pairing=pairing,
        status=status,
        prompts=prompts,
        responses=responses,
        vote=None,
        created_at=datetime.now(UTC),
    )


def start(
    store: Store,
    *,
    worker_id: str | None = None,
    voter_id: str = VOTER,
    prompt: str = "Why?",
    pairing: Pairing = PAIRING,
) -> Battle:
    """A battle between two registered models that is being answered."""
    register(store, (pairing.model_a, pairing.model_b))
    return store.battles.start(
        voter_id=voter_id,
        pairing=pairing,
        prompt=prompt,
        worker_id=worker_id or store.workers.register(),
    )


def register_alive(store: Store) -> str:
    """A worker that whoever looks for dead ones takes for alive: another process of this host.

    This process's own number on another row is that of a predecessor.
    """
    worker_id = store.workers.register()
    soon = datetime.now(UTC) + timedelta(hours=1)  # however slow the machine is
    alive = update(workers).where(workers.c.id == worker_id)
    with begin_write(store.engine) as connection:
        connection.execute(alive.values(pid=os.getppid(), heartbeat_at=soon))
    return worker_id


def finish(store: Store, battle: Battle, *responses: Response, worker_id: str) -> Battle:
    """Records its answers (both complete unless given) and settles it as they ended."""
    given = responses or tuple(answer(side, turn=len(battle.prompts) - 1) for side in Side)
    for response in given:
        store.battles.add_response(battle.id, response)
    status = settled_status(tuple(response.status for response in given))
    store.battles.settle(battle.id, status, worker_id=worker_id)
    return store.battles.get(battle.id, voter_id=battle.voter_id)


def make_ready(store: Store, *, voter_id: str = VOTER) -> Battle:
    """A battle that can be voted on."""
    worker_id = store.workers.register()
    return finish(store, start(store, worker_id=worker_id, voter_id=voter_id), worker_id=worker_id)


# Every place where a battle can be, and those where the arena itself sets the limits.
STATES = (
    "answering", "answering the last turn", "answering by a model that is gone", "ready",
    "ready after the last turn", "ready by a model that is gone", "failed",
    "failed by a model that is gone", "abandoned", "voted", "voted by a model that is gone",
)  # fmt: skip
LAST_TURNS = 2


def make(store: Store, state: str, *, voter_id: str = VOTER, pairing: Pairing = PAIRING) -> str:
    """A battle in one of `STATES`, answered by a worker that is alive; its id.

    Args:
        store: the record.
        state: which. The last turn is the second: arenas that are to agree allow that many.
        voter_id: whose battle it is.
        pairing: of models that are served.
    """
    status = BattleStatus(state.split()[0])
    if "gone" in state:
        pairing = replace(pairing, model_b="Gone-1B")
    worker_id = register_alive(store)
    battle = start(store, worker_id=worker_id, voter_id=voter_id, pairing=pairing)
    if "last turn" in state:
        finish(store, battle, worker_id=worker_id)
        battle = store.battles.add_turn(
            battle.id,
            voter_id=voter_id,
            prompt="And?",
            worker_id=worker_id,
            terms=Terms(models=frozenset({pairing.model_a, pairing.model_b}), max_turns=LAST_TURNS),
        )
    ends = {BattleStatus.FAILED: "failed", BattleStatus.ABANDONED: "cancelled"}
    turn = len(battle.prompts) - 1
    second = ResponseStatus(ends.get(status, "complete"))
    if status is not BattleStatus.ANSWERING:
        answers = (answer(Side.A, turn=turn), answer(Side.B, turn=turn, status=second))
        finish(store, battle, *answers, worker_id=worker_id)
    if status is BattleStatus.VOTED:
        store.battles.vote(battle.id, voter_id=voter_id, outcome=Outcome.TIE)
    return battle.id
