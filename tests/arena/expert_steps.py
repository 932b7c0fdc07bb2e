"""Battles, experts and judges on record, for tests that need them to be somewhere."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from board_votes import register
from sqlalchemy import insert

from arena.rules.actions import Terms
from arena.rules.battles import (
    BattleStatus,
    Outcome,
    Pairing,
    Response,
    ResponseStatus,
    Side,
    VoterKind,
)
from arena.rules.judgements import Judge, JudgeMode
from arena.rules.sampling import allot_tasks, draw_battles
from arena.store.judge_tables import judge_calls, judges
from arena.store.tables import voters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.rules.experts import Arm, Expert
    from arena.store import Store

NAMES = ("Amber", "Birch")
JUDGE = "Judge Gavel (plain)"


def answer_battle(
    store: Store,
    *,
    models: tuple[str, str] = NAMES,
    prompts: Sequence[str] = ("Why?",),
    texts: tuple[str, str] = ("Because.", "Therefore."),
    voter_id: str = "crowd-1",
    policy: str = "uniform",
) -> str:
    """A battle with both answers to every prompt, ready for a vote; its id."""
    register(store, models)
    worker_id = store.workers.register()
    pairing = Pairing(
        model_a=models[0],
        model_b=models[1],
        policy=policy,
        policy_version=1,
        probability=1.0,
        candidates=2,
    )
    battle = store.battles.start(
        voter_id=voter_id, pairing=pairing, prompt=prompts[0], worker_id=worker_id
    )
    terms = Terms(models=frozenset(models), max_turns=len(prompts))
    for turn, prompt in enumerate(prompts):
        if turn:
            store.battles.add_turn(
                battle.id, voter_id=voter_id, prompt=prompt, worker_id=worker_id, terms=terms
            )
        for side, text in zip(Side, texts, strict=True):
            response = Response(
                turn=turn,
                side=side,
                attempt=0,
                status=ResponseStatus.COMPLETE,
                text=text,
                created_at=datetime.now(UTC),
            )
            store.battles.add_response(battle.id, response)
        store.battles.settle(battle.id, BattleStatus.READY, worker_id=worker_id)
    return battle.id


def vote_on_battles(
    store: Store, outcomes: Sequence[Outcome], *, prompts: Sequence[str] = ("Why?",)
) -> list[str]:
    """A battle with the crowd's vote for each outcome; their ids.

    Every one has a voter of its own, and texts that tell it from the others.
    """
    made = []
    for number, outcome in enumerate(outcomes):
        battle_id = answer_battle(
            store,
            prompts=[f"{prompt} ({number})" for prompt in prompts],
            texts=(f"First answer, {number}.", f"Second answer, {number}."),
            voter_id=f"crowd-{number}",
        )
        store.battles.vote(battle_id, voter_id=f"crowd-{number}", outcome=outcome)
        made.append(battle_id)
    return made


def invite(store: Store, name: str, *, days: float = 30) -> Expert:
    """Somebody with a link that works for so long."""
    return store.experts.invite(name, expires_at=datetime.now(UTC) + timedelta(days=days))


def assign(
    store: Store,
    experts: Sequence[Expert],
    *,
    battles: int,
    name: str = "study",
    per_battle: int | None = None,
    shares: Mapping[Arm, float] | None = None,
    verdicts: Mapping[str, Outcome] | None = None,
    seed: int = 0,
) -> None:
    """Gives battles to experts, to all of them unless said otherwise."""
    items = draw_battles(store.assignments.candidates(), battles=battles, stratify=(), seed=seed)
    tasks = allot_tasks(
        items,
        experts=[expert.voter_id for expert in experts],
        per_battle=per_battle or len(experts),
        seed=seed,
        shares=shares,
        verdicts=verdicts,
    )
    store.assignments.create(name, plan={"seed": seed}, items=items, tasks=tasks)


def let_judge(
    store: Store, verdicts: Mapping[str, tuple[Outcome | None, Outcome | None]], *, turn: int = 0
) -> None:
    """What a judge said of each battle, in order and with the sides exchanged."""
    now = datetime.now(UTC)
    gavel = Judge(model="Gavel", mode=JudgeMode.PLAIN, prompts_hash="0", sampling={})
    asked = {"status": "answered", "reading": "structured", "attempts": 1, "lost": 0}
    texts = {"request": {}, "output": "", "reasoning": "", "asked_at": now}
    with store.engine.begin() as connection:
        connection.execute(
            insert(voters).values(id=gavel.voter_id, kind=VoterKind.JUDGE, created_at=now)
        )
        connection.execute(
            insert(judges).values(
                voter_id=gavel.voter_id,
                name=JUDGE,
                **asdict(gavel),
                created_at=now,
            )
        )
        connection.execute(
            insert(judge_calls),
            [
                {
                    "voter_id": gavel.voter_id, "battle_id": battle_id, "turn": turn,
                    "swapped": swapped, "verdict": verdict, **asked, **texts,
                }
                for battle_id, orders in verdicts.items()
                for swapped, verdict in enumerate(orders)
            ],
        )  # fmt: skip
