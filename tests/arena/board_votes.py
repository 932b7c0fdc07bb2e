"""Votes for tests of boards: through the store's own methods, or many at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import insert, select, update

from arena.rules.battles import (
    BattleStatus,
    ExclusionReason,
    Outcome,
    Pairing,
    Response,
    ResponseStatus,
    Side,
    VoterKind,
)
from arena.store.tables import battles, responses, turns, voters, votes

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


def cast_many(
    store: Store,
    names: Sequence[str],
    count: int,
    *,
    seed: int = 0,
    category: str | None = None,
) -> None:
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
            "category": category,
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


def cast_with_texts(
    store: Store,
    names: Sequence[str],
    count: int,
    *,
    longer_wins: float,
    seed: int = 0,
    category: str | None = None,
) -> None:
    """Votes on models of one strength whose answers differ in length, inserted in bulk.

    The first model writes three times as much as the others on average.

    Args:
        store: the record.
        names: the models, all registered.
        count: of votes.
        longer_wins: log-odds that a relative difference in length of 1 is worth.
        seed: of the simulation, and part of the voter's name.
        category: of all prompts.
    """
    random = np.random.default_rng(seed)
    cast_many(store, names, count, seed=seed, category=category)
    rows: list[dict[str, object]] = []
    with store.engine.begin() as connection:
        drawn = connection.execute(
            select(battles.c.id, battles.c.model_a, battles.c.model_b).where(
                battles.c.voter_id == f"crowd-{seed}"
            )
        ).all()
        for battle_id, *sides in drawn:
            words = [
                int(random.integers(10, 60)) * (3 if name == names[0] else 1) for name in sides
            ]
            odds = longer_wins * (words[0] - words[1]) / sum(words)
            won = random.random() < 1 / (1 + np.exp(-odds))
            connection.execute(
                update(votes)
                .where(votes.c.battle_id == battle_id)
                .values(outcome=Outcome.MODEL_A if won else Outcome.MODEL_B)
            )
            rows += [
                {
                    "battle_id": battle_id,
                    "turn": 0,
                    "side": side,
                    "attempt": 0,
                    "status": ResponseStatus.COMPLETE,
                    "text": "so " * length,
                    "reasoning": "",
                    "created_at": NOW,
                }
                for side, length in zip(Side, words, strict=True)
            ]
        connection.execute(
            insert(turns),
            [
                {"battle_id": battle_id, "turn": 0, "prompt": "Why?", "created_at": NOW}
                for battle_id, *_ in drawn
            ],
        )
        connection.execute(insert(responses), rows)
