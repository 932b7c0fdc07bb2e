"""The steps of a battle on record, for tests that need one to be somewhere in particular."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from board_votes import register

from arena.rules.battles import (
    Battle,
    BattleStatus,
    Pairing,
    Response,
    ResponseStatus,
    Side,
    settled_status,
)

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
    store: Store, *, worker_id: str | None = None, voter_id: str = VOTER, prompt: str = "Why?"
) -> Battle:
    """A battle between two registered models that is being answered."""
    register(store, (PAIRING.model_a, PAIRING.model_b))
    return store.battles.start(
        voter_id=voter_id,
        pairing=PAIRING,
        prompt=prompt,
        worker_id=worker_id or store.workers.register(),
    )


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
