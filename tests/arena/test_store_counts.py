"""Which votes count: excluded and retracted ones leave the counts and stay on record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from battle_steps import PAIRING, VOTER, make_ready
from sqlalchemy import func, insert, select, update

from arena.battles import ExclusionReason, Outcome, VoterKind
from arena.store import OutcomeCount
from arena.store.tables import exclusions, voters, votes

if TYPE_CHECKING:
    from arena.store import Store

A, B = PAIRING.model_a, PAIRING.model_b


def vote(store: Store, outcome: Outcome, *, voter_id: str = VOTER) -> None:
    store.battles.vote(make_ready(store, voter_id=voter_id).id, voter_id=voter_id, outcome=outcome)


def on_record(store: Store) -> int:
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(votes)) or 0


def test_votes_are_counted_by_pair_as_shown_and_outcome(store: Store) -> None:
    assert (store.votes.by_outcome(), store.votes.total(), store.votes.last_id()) == ([], 0, 0)
    for outcome in (Outcome.TIE, Outcome.MODEL_A, Outcome.TIE):
        vote(store, outcome)
    assert store.votes.by_outcome() == [
        OutcomeCount(A, B, Outcome.MODEL_A, 1),
        OutcomeCount(A, B, Outcome.TIE, 2),
    ]
    assert store.votes.total() == 3
    assert store.votes.last_id() == 3


def test_a_retracted_vote_leaves_the_counts_and_stays_on_record(store: Store) -> None:
    for outcome in (Outcome.TIE, Outcome.MODEL_A):
        vote(store, outcome)
    with store.engine.begin() as connection:
        first = votes.c.outcome == Outcome.TIE
        connection.execute(update(votes).where(first).values(retracted_at=datetime.now(UTC)))
    assert store.votes.by_outcome() == [OutcomeCount(A, B, Outcome.MODEL_A, 1)]
    assert store.votes.total() == 1
    assert on_record(store) == 2


def test_an_excluded_vote_leaves_the_counts_once_however_many_reasons(store: Store) -> None:
    for outcome in (Outcome.TIE, Outcome.MODEL_A):
        vote(store, outcome)
    with store.engine.begin() as connection:
        tie = connection.scalar(select(votes.c.id).where(votes.c.outcome == Outcome.TIE))
        for reason in ExclusionReason:
            connection.execute(
                insert(exclusions).values(
                    vote_id=tie, reason=reason, note="by hand", created_at=datetime.now(UTC)
                )
            )
    assert store.votes.by_outcome() == [OutcomeCount(A, B, Outcome.MODEL_A, 1)]
    assert store.votes.total() == 1
    assert on_record(store) == 2


def test_only_the_crowd_is_counted(store: Store) -> None:
    vote(store, Outcome.TIE)
    vote(store, Outcome.MODEL_B, voter_id="expert-1")
    with store.engine.begin() as connection:
        expert = voters.c.id == "expert-1"
        connection.execute(update(voters).where(expert).values(kind=VoterKind.EXPERT))
    assert store.votes.by_outcome() == [OutcomeCount(A, B, Outcome.TIE, 1)]
    assert store.votes.total() == 1
    assert store.votes.last_id() == 2
