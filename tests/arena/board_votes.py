"""Votes for tests of boards: through the store's own methods, or many at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import insert

from arena.battles import (
    BattleStatus,
    ExclusionReason,
    Outcome,
    Pairing,
    Response,
    ResponseStatus,
    Side,
    VoterKind,
)
from arena.store.tables import battles, voters, votes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.store import Store

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def register(store: Store, names: Iterable[str], *, license_name: str = "Apache-2.0") -> None:
    store.battles.register_models(
        {
            "name": name,
            "organisation": f"Makers of {name}",
            "license": license_name,
            "price_input": None,
            "price_output": None,
            "description": f"The model {name}.",
        }
        for name in names
    )


def cast(
    store: Store,
    model_a: str,
    model_b: str,
    outcome: Outcome,
    *,
    voter_id: str = "voter-1",
    exclusion: ExclusionReason | None = None,
) -> str:
    """A battle from draw to vote, every step as the conductor takes it; returns its id."""
    pairing = Pairing(
        model_a=model_a,
        model_b=model_b,
        policy="uniform",
        policy_version=1,
        probability=1.0,
        candidates=2,
    )
    worker_id = store.workers.register()
    battle = store.battles.start(
        voter_id=voter_id, pairing=pairing, prompt="Why?", worker_id=worker_id
    )
    for side in Side:
        response = Response(
            turn=0,
            side=side,
            attempt=0,
            status=ResponseStatus.COMPLETE,
            text=f"I am {model_a}." if exclusion else "Because.",
            created_at=NOW,
        )
        store.battles.add_response(battle.id, response)
    store.battles.settle(battle.id, BattleStatus.READY, worker_id=worker_id)
    store.battles.vote(battle.id, voter_id=voter_id, outcome=outcome)
    return battle.id


def cast_many(store: Store, names: Sequence[str], count: int, *, seed: int = 0) -> None:
    """Simulated votes, inserted in bulk: earlier names are stronger."""
    random = np.random.default_rng(seed)
    strengths = np.linspace(0.8, -0.8, len(names))
    first = random.integers(0, len(names), count)
    second = (first + random.integers(1, len(names), count)) % len(names)
    wins = random.random(count) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcomes = np.where(wins, Outcome.MODEL_A.value, Outcome.MODEL_B.value).astype(object)
    outcomes[random.random(count) < 0.2] = Outcome.TIE.value
    outcomes[random.random(count) < 0.1] = Outcome.BOTH_BAD.value
    voter_id = f"crowd-{seed}"
    battle_rows = [
        {
            "id": f"{seed}-{i}",
            "voter_id": voter_id,
            "model_a": names[first[i]],
            "model_b": names[second[i]],
            "policy": "uniform",
            "policy_version": 1,
            "probability": 1.0,
            "candidates": len(names),
            "status": BattleStatus.VOTED,
            "created_at": NOW,
            "updated_at": NOW,
        }
        for i in range(count)
    ]
    vote_rows = [
        {
            "battle_id": f"{seed}-{i}",
            "voter_id": voter_id,
            "outcome": outcomes[i],
            "created_at": NOW,
        }
        for i in range(count)
    ]
    with store.engine.begin() as connection:
        connection.execute(insert(voters).values(id=voter_id, kind=VoterKind.CROWD, created_at=NOW))
        connection.execute(insert(battles), battle_rows)
        connection.execute(insert(votes), vote_rows)
