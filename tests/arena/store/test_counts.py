"""Which votes count: excluded and retracted ones leave the counts and stay on record."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from battle_steps import PAIRING, TERMS, VOTER, answer, finish, make_ready, start
from sqlalchemy import delete, func, insert, select, update

from arena.rules.actions import Action
from arena.rules.battles import ExclusionReason, Outcome, ResponseStatus, Side, VoterKind
from arena.settings.shipped import read_prompts
from arena.store import DetailedCount, OutcomeCount, VotedAnswer, VoteSelection
from arena.store.tables import battles, exclusions, voters, votes
from arena.store.tally import Census

if TYPE_CHECKING:
    from arena.store import Store

A, B = PAIRING.model_a, PAIRING.model_b


def vote(store: Store, outcome: Outcome, *, voter_id: str = VOTER) -> None:
    store.battles.vote(make_ready(store, voter_id=voter_id).id, voter_id=voter_id, outcome=outcome)


def on_record(store: Store) -> int:
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(votes)) or 0


def test_votes_are_counted_by_pair_as_shown_and_outcome(store: Store) -> None:
    assert (store.votes.by_outcome(), store.votes.last_id()) == ([], 0)
    assert store.votes.tally().votes == 0
    for outcome in (Outcome.TIE, Outcome.MODEL_A, Outcome.TIE):
        vote(store, outcome)
    assert store.votes.by_outcome() == [
        OutcomeCount(A, B, Outcome.MODEL_A, 1),
        OutcomeCount(A, B, Outcome.TIE, 2),
    ]
    assert store.votes.tally().votes == 3
    assert store.votes.last_id() == 3


def test_a_retracted_vote_leaves_the_counts_and_stays_on_record(store: Store) -> None:
    for outcome in (Outcome.TIE, Outcome.MODEL_A):
        vote(store, outcome)
    with store.engine.begin() as connection:
        first = votes.c.outcome == Outcome.TIE
        connection.execute(update(votes).where(first).values(retracted_at=datetime.now(UTC)))
    assert store.votes.by_outcome() == [OutcomeCount(A, B, Outcome.MODEL_A, 1)]
    assert store.votes.tally().votes == 1
    assert on_record(store) == 2


def test_a_running_arena_sees_settled_votes_leave_and_return(store: Store) -> None:
    for outcome in (Outcome.TIE, Outcome.MODEL_A):
        vote(store, outcome)
    age(store)
    census = Census(store.votes)
    assert census.count().settled_until == 2
    first = VoteSelection(vote_ids=(1,))
    for _ in range(2):
        assert store.exclusions.exclude(first, reason=ExclusionReason.TRIAL, note="tried") == 1
        assert census.count().votes == store.votes.tally().votes == 1
        assert store.answers.taken_out() == {1}
        assert store.exclusions.restore(first, note="no trial") == 1
        assert census.count().votes == store.votes.tally().votes == 2
        assert store.answers.taken_out() == set()
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
    assert store.votes.tally().votes == 1
    assert on_record(store) == 2


def test_only_the_crowd_is_counted(store: Store) -> None:
    vote(store, Outcome.TIE)
    vote(store, Outcome.MODEL_B, voter_id="expert-1")
    with store.engine.begin() as connection:
        expert = voters.c.id == "expert-1"
        connection.execute(update(voters).where(expert).values(kind=VoterKind.EXPERT))
    assert store.votes.by_outcome() == [OutcomeCount(A, B, Outcome.TIE, 1)]
    assert store.votes.tally().votes == 1
    assert store.votes.last_id() == 2


# Counting the newest alone


def age(store: Store) -> None:
    """Makes all votes on record two minutes old."""
    with store.engine.begin() as connection:
        connection.execute(
            update(votes).values(created_at=datetime.now(UTC) - timedelta(minutes=2))
        )


def exclude(store: Store, vote_id: int) -> None:
    row = {"vote_id": vote_id, "reason": ExclusionReason.MAINTAINER, "note": ""}
    with store.engine.begin() as connection:
        connection.execute(insert(exclusions).values(**row, created_at=datetime.now(UTC)))


def retract(store: Store, vote_id: int) -> None:
    with store.engine.begin() as connection:
        which = votes.c.id == vote_id
        connection.execute(update(votes).where(which).values(retracted_at=datetime.now(UTC)))


@pytest.mark.parametrize("seed", range(3))
def test_a_tally_brought_up_to_date_is_a_full_count_whatever_happened(
    store: Store, seed: int
) -> None:
    draw = random.Random(seed)
    tally = store.votes.tally()
    assert (tally.counts(), tally.votes) == ([], 0)
    left: list[int] = []
    for step in range(30):
        what = draw.choice(["vote", "vote", "vote", "exclude", "retract", "age"])
        if what == "vote":
            vote(store, draw.choice(list(Outcome)), voter_id=f"voter-{step}")
            left.append(store.votes.last_id())
        elif what == "age":
            age(store)
        elif left:
            chosen = left.pop(draw.randrange(len(left)))
            (exclude if what == "exclude" else retract)(store, chosen)
        if draw.random() < 0.7:
            tally = store.votes.tally(tally)
            assert tally.counts() == store.votes.by_outcome()
            assert tally.votes == store.votes.tally().votes
            assert tally.last_vote_id == store.votes.last_id()


def test_a_tally_knows_the_first_vote_on_each_model(store: Store) -> None:
    early = store.votes.tally()
    assert early.first_vote_ids == {}
    for outcome in (Outcome.TIE, Outcome.MODEL_B):
        vote(store, outcome)
    recent = store.votes.tally(early)
    assert recent.first_vote_ids == {A: 1, B: 1}
    age(store)
    vote(store, Outcome.MODEL_A)
    settled = store.votes.tally(recent)
    assert settled.first_vote_ids == {A: 1, B: 1}
    exclude(store, 1)
    assert store.votes.tally(settled).first_vote_ids == {A: 2, B: 2}


def test_a_tally_counts_the_settled_votes_once(store: Store) -> None:
    for outcome in (Outcome.TIE, Outcome.TIE, Outcome.MODEL_B):
        vote(store, outcome)
    age(store)
    vote(store, Outcome.MODEL_A)
    first = store.votes.tally()
    assert first.settled_until == 3
    assert first.recent == {(A, B, Outcome.MODEL_A, None): 1}
    with store.engine.begin() as connection:  # what nothing in the program does
        connection.execute(update(votes).values(outcome=Outcome.BOTH_BAD))
    vote(store, Outcome.MODEL_A)
    assert store.votes.tally(first).counts() == [
        OutcomeCount(A, B, Outcome.MODEL_A, 1),
        OutcomeCount(A, B, Outcome.MODEL_B, 1),
        OutcomeCount(A, B, Outcome.TIE, 2),
        OutcomeCount(A, B, Outcome.BOTH_BAD, 1),
    ]
    assert store.votes.tally().counts() == store.votes.by_outcome()


def test_a_vote_that_is_committed_late_is_counted(store: Store) -> None:
    """On PostgreSQL vote 2 may appear after vote 3 was counted."""
    for outcome in (Outcome.TIE, Outcome.MODEL_A, Outcome.TIE):
        vote(store, outcome)
    with store.engine.begin() as connection:
        connection.execute(
            update(votes)
            .where(votes.c.id == 1)
            .values(created_at=datetime.now(UTC) - timedelta(hours=1))
        )
        late = dict(connection.execute(select(votes).where(votes.c.id == 2)).mappings().one())
        connection.execute(delete(votes).where(votes.c.id == 2))
    tally = store.votes.tally()
    assert (tally.votes, tally.settled_until) == (2, 1)
    with store.engine.begin() as connection:
        connection.execute(insert(votes).values(late))
    assert store.votes.tally(tally).counts() == store.votes.by_outcome()


def test_counts_of_a_time(store: Store) -> None:
    days = [datetime(2026, 11, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
    for number, day in enumerate(days, start=1):
        vote(store, Outcome.TIE, voter_id=f"voter-{number}")
        with store.engine.begin() as connection:
            connection.execute(update(votes).where(votes.c.id == number).values(created_at=day))
    assert store.votes.by_outcome(since=days[1]) == [OutcomeCount(A, B, Outcome.TIE, 2)]
    assert store.votes.by_outcome(until=days[1]) == [OutcomeCount(A, B, Outcome.TIE, 1)]
    assert store.votes.by_outcome(since=days[1], until=days[1]) == []
    assert store.votes.by_detail(["voter_id", "day"], since=days[1]) == [
        DetailedCount(A, B, Outcome.TIE, 1, voter_id=f"voter-{day}", day=date(2026, 11, day))
        for day in (2, 3)
    ]


def test_counts_tell_draw_probabilities_apart(store: Store) -> None:
    for _ in range(3):
        vote(store, Outcome.TIE)
    with store.engine.begin() as connection:
        first = select(votes.c.battle_id).where(votes.c.id == 1).scalar_subquery()
        connection.execute(update(battles).where(battles.c.id == first).values(probability=0.25))
    assert store.votes.by_detail(["probability"]) == [
        DetailedCount(A, B, Outcome.TIE, 1, probability=0.25),
        DetailedCount(A, B, Outcome.TIE, 2, probability=0.5),
    ]
    assert store.votes.by_detail([]) == [DetailedCount(A, B, Outcome.TIE, 3)]


def test_a_battle_that_begins_with_a_shipped_prompt_is_labelled(store: Store) -> None:
    shipped, known = next(iter(read_prompts().items()))
    for prompt in (shipped, "Something of one's own.", shipped):
        worker = store.workers.register()
        battle = finish(store, start(store, worker_id=worker, prompt=prompt), worker_id=worker)
        store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    labelled = DetailedCount(A, B, Outcome.TIE, 2, category=known.category, language=known.language)
    counts = store.votes.by_detail(["category", "language"])
    assert sorted(counts, key=lambda count: count.votes) == [
        DetailedCount(A, B, Outcome.TIE, 1), labelled,
    ]  # fmt: skip
    assert [(v.category, v.language) for v in store.answers.read()] == [
        tuple(known), (None, None), tuple(known),
    ]  # fmt: skip


# With the answers


def test_the_last_attempts_of_every_turn_are_read_with_the_vote(store: Store) -> None:
    worker = store.workers.register()
    battle = start(store, worker_id=worker)
    finish(
        store,
        battle,
        answer(Side.A, text="Left."),
        answer(Side.B, status=ResponseStatus.FAILED, text="Bro"),
        worker_id=worker,
    )
    store.battles.reopen(battle.id, Action.RETRY, voter_id=VOTER, worker_id=worker, terms=TERMS)
    retried = answer(Side.B, attempt=1, text="Right.")
    finish(store, battle, retried, worker_id=worker)
    battle = store.battles.add_turn(
        battle.id, voter_id=VOTER, prompt="And then?", worker_id=worker, terms=TERMS
    )
    finish(store, battle, worker_id=worker)
    store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    (voted,) = store.answers.read()
    assert voted[:5] == (A, B, Outcome.TIE, VOTER, 0.5)
    assert voted.answers == (
        VotedAnswer(Side.A, "Left.", None),
        VotedAnswer(Side.B, "Right.", None),
        VotedAnswer(Side.A, "Because.", None),
        VotedAnswer(Side.B, "Because.", None),
    )


def test_answers_are_read_for_the_votes_that_count(store: Store) -> None:
    for number in range(1, 5):
        vote(store, Outcome.MODEL_A, voter_id=f"voter-{number}")
    exclude(store, 1)
    retract(store, 3)
    assert [voted.voter_id for voted in store.answers.read()] == ["voter-2", "voter-4"]
    assert [len(voted.answers) for voted in store.answers.read()] == [2, 2]
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert list(store.answers.read(since=tomorrow)) == []
    assert len(list(store.answers.read(until=tomorrow))) == 2
