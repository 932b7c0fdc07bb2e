"""Judges on record: claimed once, read in one orientation, never among people's votes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from counting_judge import record_battles
from sqlalchemy import insert, select, update

from arena.judging.summaries import summarise
from arena.leaderboards.judges import rank_verdicts
from arena.leaderboards.recipe import Recipe
from arena.rules.battles import Outcome, VoterKind
from arena.rules.judgements import (
    CallKey,
    CallStatus,
    Judge,
    JudgeMode,
    Reading,
    Verdict,
)
from arena.settings import LeaderboardSettings
from arena.store import Claim, Store
from arena.store.judge_tables import judge_calls
from arena.store.tables import battles, responses, voters, votes, workers
from arena.store.transactions import begin_write
from ranking import Consistency
from serving.protocol import Completion, RateLimited

if TYPE_CHECKING:
    from collections.abc import Sequence

JUDGE = Judge(model="Judge", mode=JudgeMode.PLAIN, prompts_hash="p", sampling={"seed": 1})
QUICK = Recipe.from_settings(LeaderboardSettings(replicates=100))
REQUEST = [{"role": "user", "content": "Which?"}]
A, B, TIE, BOTH_BAD = Outcome


def claim(store: Store, key: CallKey, worker_id: str, *, retry_failed: bool = False) -> Claim:
    return store.judgings.claim(
        JUDGE.voter_id, key, request=REQUEST, worker_id=worker_id, retry_failed=retry_failed
    )


def answer(store: Store, key: CallKey, worker_id: str, verdict: Outcome | None = A) -> None:
    reading = Reading.UNPARSABLE if verdict is None else Reading.STRUCTURED
    completion = Completion(
        text="said\0", finish_reason="stop", prompt_tokens=10, completion_tokens=5,
        time_to_first_token=0.1, duration=0.5, model_id="m",
    )  # fmt: skip
    store.judgings.answer(
        JUDGE.voter_id, key, worker_id=worker_id, completion=completion,
        verdict=Verdict(verdict, reading), cost=0.25,
    )  # fmt: skip


def judge_turn(store: Store, battle_id: str, verdicts: Sequence[Outcome | None]) -> None:
    """Both orders of a battle's first turn: in order, then swapped."""
    worker_id = store.workers.register()
    for swapped, verdict in zip((False, True), verdicts, strict=True):
        key = CallKey(battle_id, 0, swapped)
        assert claim(store, key, worker_id) is Claim.MINE
        answer(store, key, worker_id, verdict)


def test_a_question_is_claimed_once_and_ends_once(store: Store) -> None:
    (battle_id,) = record_battles(store, 1)
    store.judgings.register(JUDGE)
    key = CallKey(battle_id, 0, swapped=False)
    mine, other = store.workers.register(), store.workers.register()
    assert claim(store, key, mine) is Claim.MINE
    # Of this process, hence taken for a predecessor of the same number: as on another host.
    with begin_write(store.engine) as connection:
        connection.execute(update(workers).values(host="elsewhere"))
    assert claim(store, key, other) is Claim.ELSEWHERE
    answer(store, key, other, B)  # not the one who asked
    assert store.judgings.statuses(JUDGE.voter_id) == {key: CallStatus.ASKED}
    answer(store, key, mine, A)
    assert claim(store, key, other, retry_failed=True) is Claim.DONE
    (call,) = store.judge_verdicts.calls(JUDGE.voter_id)
    assert (call.verdict, call.attempts, call.lost, call.cost) == (A, 1, 0, 0.25)


@pytest.mark.parametrize("how", ["stopped", "silent"])
def test_what_a_dead_worker_asked_is_asked_again_and_counted(store: Store, how: str) -> None:
    (battle_id,) = record_battles(store, 1)
    store.judgings.register(JUDGE)
    key = CallKey(battle_id, 0, swapped=True)
    dead, heir = store.workers.register(), store.workers.register()
    assert claim(store, key, dead) is Claim.MINE
    if how == "stopped":
        store.workers.sign_off(dead)
    else:
        long_ago = datetime.now(UTC) - timedelta(minutes=2)
        with begin_write(store.engine) as connection:
            connection.execute(
                update(workers).where(workers.c.id == dead).values(
                    host="elsewhere", heartbeat_at=long_ago
                )
            )  # fmt: skip
    assert claim(store, key, heir) is Claim.MINE
    answer(store, key, heir, B)
    answer(store, key, dead, A)  # it was not dead after all, but it is too late
    (call,) = store.judge_verdicts.calls(JUDGE.voter_id)
    assert (call.verdict, call.attempts, call.lost) == (B, 2, 1)
    assert summarise([call]).lost == 1


def test_a_failure_stays_until_it_is_to_be_asked_again(store: Store) -> None:
    (battle_id,) = record_battles(store, 1)
    store.judgings.register(JUDGE)
    key = CallKey(battle_id, 0, swapped=False)
    worker_id = store.workers.register()
    claim(store, key, worker_id)
    error = RateLimited("Judge: too many requests")
    store.judgings.fail(JUDGE.voter_id, key, worker_id=worker_id, error=error)
    assert claim(store, key, worker_id) is Claim.DONE
    (call,) = store.judge_verdicts.calls(JUDGE.voter_id)
    assert (call.status, call.failure_kind) == (CallStatus.FAILED, "RateLimited")
    assert summarise([call]).examples == {"RateLimited": "Judge: too many requests"}
    assert claim(store, key, worker_id, retry_failed=True) is Claim.MINE
    answer(store, key, worker_id)
    (call,) = store.judge_verdicts.calls(JUDGE.voter_id)
    assert (call.status, call.failure_kind, call.attempts) == (CallStatus.ANSWERED, None, 2)
    assert (summarise([call]).repeated, summarise([call]).lost) == (1, 0)


def test_verdicts_come_from_both_orders_with_all_that_counts_them(store: Store) -> None:
    ids = record_battles(store, 6, category="math")
    known = store.judgings.register(JUDGE)
    told = [(A, A), (A, B), (B, A), (TIE, BOTH_BAD), (None, A)]
    for battle_id, verdicts in zip(ids, told, strict=False):
        judge_turn(store, battle_id, verdicts)
    worker_id = store.workers.register()
    half = CallKey(ids[5], 0, swapped=False)
    claim(store, half, worker_id)
    answer(store, half, worker_id)
    rows = store.judge_verdicts.read()
    assert rows == store.judge_verdicts.read([known.name])
    assert store.judge_verdicts.read(["nobody"]) == []
    assert {row.battle_id: (row.verdict, row.consistency) for row in rows} == {
        ids[0]: (A, Consistency.CONSISTENT),
        ids[1]: (TIE, Consistency.FIRST_BIASED),
        ids[2]: (TIE, Consistency.SECOND_BIASED),
        ids[3]: (TIE, Consistency.CONSISTENT),
        ids[4]: (None, Consistency.UNPARSABLE),
    }
    assert {(row.turn, row.judge, row.judge_model, row.category) for row in rows} == {
        (0, "Judge (plain)", "Judge", "math")
    }
    assert (rows[0].model_a, rows[0].model_b) == ("Amber", "Birch")
    summary = summarise(store.judge_verdicts.calls(JUDGE.voter_id))
    assert summary.judged == 5
    assert list(summary.consistency.values()) == [2, 1, 1, 1]
    assert sum(summary.verdicts.values()) == 4
    assert summary.readings == {
        Reading.STRUCTURED: 10, Reading.FALLBACK: 0, Reading.UNPARSABLE: 1,
    }  # fmt: skip
    assert (summary.prompt_tokens, summary.cost) == (110, 2.75)


def test_no_verdict_of_a_judge_is_a_vote(store: Store) -> None:
    ids = record_battles(store, 6)
    before = (store.votes.by_outcome(), store.votes.last_id(), store.votes.tally().counts())
    store.judgings.register(JUDGE)
    for battle_id in ids:
        judge_turn(store, battle_id, (B, B))
    assert (
        store.votes.by_outcome(), store.votes.last_id(), store.votes.tally().counts()
    ) == before  # fmt: skip
    with store.engine.connect() as connection:
        kinds = select(voters.c.kind).join(votes, votes.c.voter_id == voters.c.id)
        assert set(connection.scalars(kinds)) == {VoterKind.CROWD}
    board = rank_verdicts(store.judge_verdicts.read(), QUICK)
    assert board is not None
    assert board.diagnostics["votes"] == 6
    assert rank_verdicts([], QUICK) is None


def test_the_board_of_a_judge_is_that_of_its_verdicts(store: Store) -> None:
    """Amber wins every battle, on whichever side it is."""
    ids = record_battles(store, 12)
    store.judgings.register(JUDGE)
    with store.engine.connect() as connection:
        rows = connection.execute(select(battles.c.id, battles.c.model_a, battles.c.model_b)).all()
    for battle_id, a, b in rows:
        verdict = A if a == "Amber" else B if b == "Amber" else TIE
        judge_turn(store, battle_id, (verdict, verdict))
    board = rank_verdicts(store.judge_verdicts.read(), QUICK)
    assert board is not None
    assert board.models[0] == "Amber"
    assert board["Amber"].wins == 8
    assert len(ids) == 12


def test_the_same_judge_is_registered_once_and_others_get_names_of_their_own(
    store: Store,
) -> None:
    first = store.judgings.register(JUDGE)
    assert store.judgings.register(JUDGE) == first
    other = Judge(model="Judge", mode=JudgeMode.PLAIN, prompts_hash="q", sampling={})
    second = store.judgings.register(other)
    third = store.judgings.register(
        Judge(model="Judge", mode=JudgeMode.REFERENCE, prompts_hash="p", sampling={})
    )
    names = [known.name for known in (first, second, third)]
    assert names == ["Judge (plain)", "Judge (plain, 2)", "Judge (reference)"]
    assert [known.name for known in store.judgings.judges()] == names
    with store.engine.connect() as connection:
        found = connection.execute(select(voters.c.kind)).scalars().all()
    assert found == [VoterKind.JUDGE] * 3


def test_only_battles_that_cannot_change_are_found(store: Store) -> None:
    ids = record_battles(store, 4)
    with begin_write(store.engine) as connection:
        connection.execute(update(battles).where(battles.c.id == ids[0]).values(status="ready"))
        connection.execute(
            update(battles).where(battles.c.id == ids[1]).values(
                status="ready", policy="prompt-set"
            )
        )  # fmt: skip
    found = store.judged_battles
    assert found.find() == ids[1:]
    # The pairs go round: Amber–Birch, Amber–Cedar, Birch–Amber, Birch–Cedar.
    assert found.find(pair=("Birch", "Amber")) == [ids[2]]
    assert found.find(pair=("Amber", "Cedar")) == [ids[1]]
    assert found.find(category="math") == found.find(assignment="none") == []


def test_a_battle_is_read_up_to_the_turn_that_lacks_an_answer(store: Store) -> None:
    ids = record_battles(store, 3, turns_each=3, reference="So.")
    with begin_write(store.engine) as connection:
        connection.execute(
            update(responses)
            .where(responses.c.battle_id == ids[1], responses.c.turn == 1, responses.c.side == "b")
            .values(status="failed")
        )
        again = {"battle_id": ids[2], "turn": 0, "side": "a", "attempt": 1, "status": "complete",
                 "text": "Better.", "reasoning": "", "created_at": datetime.now(UTC)}  # fmt: skip
        connection.execute(insert(responses).values(again))
    read = {battle.id: battle.turns for battle in store.judged_battles.read([*ids, "nowhere"])}
    assert [len(read[battle_id]) for battle_id in ids] == [3, 1, 3]
    assert read[ids[2]][0].answer_a == "Better."
    assert read[ids[0]][2].prompt == "Question 0.2?"
    assert read[ids[0]][2].reference == "So."


def test_what_is_stored_of_a_call_can_be_stored_everywhere(store: Store) -> None:
    (battle_id,) = record_battles(store, 1)
    store.judgings.register(JUDGE)
    judge_turn(store, battle_id, (A, A))
    with store.engine.connect() as connection:
        rows = connection.execute(select(judge_calls.c.output, judge_calls.c.request)).all()
    assert [tuple(row) for row in rows] == [("said", REQUEST)] * 2
