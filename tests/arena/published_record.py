"""A record with something in every published table, inserted in bulk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from board_votes import register
from sqlalchemy import insert

from arena.rules.battles import BattleStatus, ExclusionReason, Outcome, VoterKind
from arena.store.expert_tables import (
    assignment_items,
    assignment_tasks,
    assignments,
    experts,
    judgements,
)
from arena.store.judge_tables import judge_calls, judges
from arena.store.tables import battles, exclusions, responses, turns, voters, votes

if TYPE_CHECKING:
    from arena.store import Store

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("amber", "Birch", "Cedar 1.5", "dogwood")
PLANTED = "write to ann.lee@example.org"


def record_arena(store: Store, count: int = 600, *, people: int = 200, seed: int = 0) -> None:
    """Battles a minute apart: votes, retractions, exclusions, verdicts of experts and a judge."""
    register(store, NAMES)
    random = np.random.default_rng(seed)
    strengths = np.linspace(0.8, -0.8, len(NAMES))
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("voters", "battles", "turns", "responses", "votes", "exclusions")
    }
    for i in range(people):
        rows["voters"].append(
            {
                "id": f"person-{i}",
                "kind": VoterKind.CROWD,
                "created_at": BEGIN + timedelta(seconds=i),
                "bucket": None,
            }
        )
    for i in range(count):
        _add_battle(rows, i, random, strengths, people)
    with store.engine.begin() as connection:
        for table in (voters, battles, turns, responses, votes, exclusions):
            connection.execute(insert(table), rows[table.name])
        for number in range(3):
            _add_verdicts(connection, number)


def _add_battle(
    rows: dict[str, list[dict[str, Any]]],
    i: int,
    random: np.random.Generator,
    strengths: Any,  # noqa: ANN401  an array
    people: int,
) -> None:
    first = int(random.integers(len(NAMES)))
    second = (first + int(random.integers(1, len(NAMES)))) % len(NAMES)
    won = random.random() < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = Outcome.MODEL_A if won else Outcome.MODEL_B
    outcome = (Outcome.TIE, Outcome.BOTH_BAD, outcome)[min(2, int(random.integers(10)))]
    at, voter = BEGIN + timedelta(minutes=i), f"person-{int(random.integers(people))}"
    rows["battles"].append({
        "id": f"b{i:020d}", "voter_id": voter, "model_a": NAMES[first], "model_b": NAMES[second],
        "policy": "uniform", "policy_version": 1, "probability": 1 / 6, "candidates": 4,
        "category": ("coding", "writing", None)[i % 3], "language": ("en", "zh")[i % 2],
        "status": BattleStatus.VOTED, "created_at": at, "updated_at": at,
    })  # fmt: skip
    rows["turns"].append({
        "battle_id": f"b{i:020d}", "turn": 0, "prompt": f"Why {i}? {PLANTED}", "created_at": at,
    })  # fmt: skip
    for side in ("a", "b"):
        rows["responses"].append({
            "battle_id": f"b{i:020d}", "turn": 0, "side": side, "attempt": 0,
            "status": "complete", "text": f"因为 {i} {side}", "reasoning": "", "created_at": at,
            "completion_tokens": 5 + i % 7, "duration": 0.5, "model_id": f"{NAMES[first]}-v1",
        })  # fmt: skip
    rows["votes"].append({
        "id": i + 1, "battle_id": f"b{i:020d}", "voter_id": voter, "outcome": outcome,
        "created_at": at + timedelta(seconds=30),
        "retracted_at": at + timedelta(seconds=40) if i % 97 == 5 else None,
    })  # fmt: skip
    if i % 53 == 7:
        rows["exclusions"].append({
            "vote_id": i + 1, "reason": ExclusionReason.MAINTAINER, "note": "seen twice",
            "created_at": at + timedelta(minutes=1),
            "lifted_at": at + timedelta(minutes=2) if i % 2 else None,
        })  # fmt: skip


def _add_verdicts(connection: Any, number: int) -> None:  # noqa: ANN401  a connection
    battle = f"b{number:020d}"
    if number == 0:
        for table, values in (
            (voters, {"id": "expert-1", "kind": VoterKind.EXPERT, "created_at": BEGIN}),
            (voters, {"id": "judge-1", "kind": VoterKind.JUDGE, "created_at": BEGIN}),
            (experts, {"voter_id": "expert-1", "name": "Dr Ada Roe", "link_id": "secret-link",
                       "created_at": BEGIN, "expires_at": BEGIN}),
            (assignments, {"id": 1, "name": "study", "plan": {}, "created_at": BEGIN}),
            (judges, {"voter_id": "judge-1", "name": "strict", "model": "judge-model",
                      "mode": "plain", "prompts_hash": "x", "sampling": {}, "created_at": BEGIN}),
        ):  # fmt: skip
            connection.execute(insert(table), values)
    at = BEGIN + timedelta(days=1, minutes=number)
    item = {"id": number + 1, "assignment_id": 1, "battle_id": battle, "position": number}
    task = {"id": number + 1, "item_id": number + 1, "voter_id": "expert-1", "position": number,
            "swapped": False, "arm": "blind"}  # fmt: skip
    said = {"id": number + 1, "task_id": number + 1, "outcome": Outcome.MODEL_A, "reasons": ["x"],
            "comment": PLANTED, "seconds": 3.0, "created_at": at}  # fmt: skip
    connection.execute(insert(assignment_items), item)
    connection.execute(insert(assignment_tasks), task)
    connection.execute(insert(judgements), said)
    for swapped in (False, True):
        call = {
            "voter_id": "judge-1", "battle_id": battle, "turn": 0, "swapped": swapped,
            "status": "answered", "verdict": Outcome.MODEL_B, "reading": None, "request": {},
            "output": "B", "reasoning": "", "attempts": 1, "lost": 0, "asked_at": at,
            "answered_at": at,
        }  # fmt: skip
        connection.execute(insert(judge_calls), call)
