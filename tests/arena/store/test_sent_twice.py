"""What a page sends again when the line broke is on record once, whichever process it reaches."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from battle_steps import PAIRING, TERMS, VOTER, answer, finish, start
from board_votes import register
from expert_steps import assign, invite, vote_on_battles
from sqlalchemy import func, select

from arena.rules.actions import Action
from arena.rules.battles import (
    BattleClosed,
    BattleStatus,
    Outcome,
    ResponseStatus,
    SentTwice,
    Side,
    TurnTaken,
    UnknownBattle,
)
from arena.rules.experts import AlreadyJudged, Answer, CannotJudge, Given, NothingToUndo, Reason
from arena.store import open_store
from arena.store.expert_tables import judgements
from arena.store.tables import battles, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Table

    from arena.rules.battles import Battle
    from arena.rules.experts import Expert, Task
    from arena.store import Store

COPIES = 8


@pytest.fixture
def other(store: Store) -> Iterator[Store]:
    """Another process's view of the same record."""
    opened = open_store(store.engine.url.render_as_string(hide_password=False))
    yield opened
    opened.close()


def count(store: Store, table: Table) -> int:
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def begin(store: Store, *, battle_id: str, voter_id: str = VOTER, prompt: str = "Why?") -> Battle:
    return store.battles.start(
        battle_id=battle_id,
        voter_id=voter_id,
        pairing=PAIRING,
        prompt=prompt,
        worker_id=store.workers.register(),
    )


def at_once(*copies: Callable[[], object]) -> list[Any]:
    """What each made of it; the battle where it was told that it came too late."""

    def call(copy: Callable[[], object]) -> object:
        try:
            return copy()
        except SentTwice as known:
            return known.battle

    with ThreadPoolExecutor(len(copies)) as threads:
        return list(threads.map(call, copies))


def ready(store: Store) -> tuple[Battle, str]:
    worker_id = store.workers.register()
    return finish(store, start(store, worker_id=worker_id), worker_id=worker_id), worker_id


def test_a_battle_sent_twice_is_one_battle(store: Store, other: Store) -> None:
    register(store, (PAIRING.model_a, PAIRING.model_b))
    battle = begin(store, battle_id=secrets.token_urlsafe(16))
    for again in (store, other):
        with pytest.raises(SentTwice) as known:
            begin(again, battle_id=battle.id)
        assert known.value.battle == battle
    assert (count(store, battles), count(store, turns)) == (1, 1)


def test_a_battle_sent_to_two_processes_at_once_is_one_battle(store: Store, other: Store) -> None:
    register(store, (PAIRING.model_a, PAIRING.model_b))
    for round_number in range(1, 6):
        battle_id = secrets.token_urlsafe(16)
        copies = [lambda to=to, name=battle_id: begin(to, battle_id=name) for to in (store, other)]
        assert {found.id for found in at_once(*copies * 4)} == {battle_id}
        assert count(store, battles) == count(store, turns) == round_number


def test_an_id_that_is_somebody_elses_battle_gives_nothing_away(store: Store) -> None:
    register(store, (PAIRING.model_a, PAIRING.model_b))
    battle = begin(store, battle_id=secrets.token_urlsafe(16))
    with pytest.raises(UnknownBattle):
        begin(store, battle_id=battle.id, voter_id="a thief")
    assert store.battles.get(battle.id, voter_id=VOTER) == battle
    with pytest.raises(UnknownBattle):
        store.battles.get(battle.id, voter_id="a thief")


def test_a_battle_sent_again_after_its_vote_stays_voted(store: Store) -> None:
    battle, _ = ready(store)
    voted = store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    with pytest.raises(SentTwice) as known:
        begin(store, battle_id=battle.id)
    assert known.value.battle == voted


def test_a_follow_up_sent_twice_is_one_turn(store: Store, other: Store) -> None:
    battle, worker_id = ready(store)

    def follow(to: Store, prompt: str = "And?", turn: int = 1) -> Battle:
        return to.battles.add_turn(
            battle.id, voter_id=VOTER, prompt=prompt, worker_id=worker_id, terms=TERMS, turn=turn
        )

    copies = [lambda to=to: follow(to) for to in (store, other)] * (COPIES // 2)
    assert {found.prompts for found in at_once(*copies)} == {("Why?", "And?")}
    for prompt, turn in (("Other words", 1), ("And?", 0), ("Later", 3)):
        with pytest.raises(TurnTaken):
            follow(store, prompt, turn)
    answers = tuple(answer(side, turn=1) for side in Side)
    finish(store, store.battles.get(battle.id, voter_id=VOTER), *answers, worker_id=worker_id)
    store.battles.vote(battle.id, voter_id=VOTER, outcome=Outcome.TIE)
    with pytest.raises(SentTwice):  # the copy that the line kept until now
        follow(other)
    with pytest.raises(BattleClosed):
        follow(other, "Another", 2)
    assert count(store, turns) == 2


def test_a_regeneration_sent_twice_asks_once(store: Store, other: Store) -> None:
    battle, worker_id = ready(store)

    def again(to: Store, edition: int = battle.edition) -> Battle:
        return to.battles.reopen(
            battle.id, Action.REGENERATE,
            voter_id=VOTER, worker_id=worker_id, terms=TERMS, edition=edition,
        )  # fmt: skip

    copies = [lambda to=to: again(to) for to in (store, other)] * (COPIES // 2)
    assert {found.status for found in at_once(*copies)} == {BattleStatus.ANSWERING}
    answers = tuple(answer(side, attempt=1) for side in Side)
    finish(store, store.battles.get(battle.id, voter_id=VOTER), *answers, worker_id=worker_id)
    with pytest.raises(SentTwice) as known:
        again(other)
    assert known.value.battle.status is BattleStatus.READY
    assert known.value.battle.edition == battle.edition + 2
    assert again(store, known.value.battle.edition).status is BattleStatus.ANSWERING


def test_a_retry_whose_process_died_can_be_sent_again(store: Store) -> None:
    worker_id = store.workers.register()
    battle = start(store, worker_id=worker_id)
    cut = tuple(answer(side, status=ResponseStatus.CANCELLED) for side in Side)
    battle = finish(store, battle, *cut, worker_id=worker_id)
    tell: dict[str, Any] = {
        "voter_id": VOTER,
        "worker_id": worker_id,
        "terms": TERMS,
        "edition": battle.edition,
    }
    assert store.battles.reopen(battle.id, Action.RETRY, **tell).status is BattleStatus.ANSWERING
    store.battles.settle(battle.id, BattleStatus.ABANDONED, worker_id=worker_id)
    assert store.battles.reopen(battle.id, Action.RETRY, **tell).status is BattleStatus.ANSWERING


def shown(store: Store, expert: Expert) -> Task:
    task = store.experts.next_task(expert.voter_id)
    assert task is not None
    return task


SAID = Answer(outcome=Outcome.MODEL_A, reasons=(Reason.CLARITY,), comment="Neat.", seconds=2.0)


def test_a_verdict_sent_twice_is_one_verdict(store: Store, other: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 2)
    ada, bob = invite(store, "Ada"), invite(store, "Bob")
    assign(store, [ada, bob], battles=2)
    task = shown(store, ada)
    assert task.edition == 0

    def say(to: Store, answer: Answer = SAID, voter_id: str = ada.voter_id) -> int:
        return to.experts.judge(task.id, voter_id=voter_id, answer=answer, edition=0)

    copies = [lambda to=to: say(to) for to in (store, other)] * (COPIES // 2)
    assert set(at_once(*copies)) == {task.assignment_id}
    assert count(store, judgements) == 1
    for differs in (
        Answer(outcome=Outcome.MODEL_B, reasons=SAID.reasons, comment="Neat."),
        Answer(outcome=Outcome.MODEL_A, reasons=SAID.reasons, comment="Neat!"),
        Answer(outcome=Outcome.MODEL_A, comment="Neat."),
        Answer(cannot_judge=CannotJudge.OTHER, reasons=SAID.reasons, comment="Neat."),
    ):
        with pytest.raises(AlreadyJudged):
            say(other, differs)
    assert count(store, judgements) == 1


def test_taking_back_sent_twice_takes_one_verdict_back(store: Store, other: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 3)
    ada = invite(store, "Ada")
    assign(store, [ada], battles=3)
    first = shown(store, ada)
    store.experts.judge(first.id, voter_id=ada.voter_id, answer=SAID, edition=0)
    second = shown(store, ada)
    store.experts.judge(second.id, voter_id=ada.voter_id, answer=SAID, edition=0)
    given = store.experts.undoable(ada.voter_id)
    assert given == Given(task_id=second.id, edition=0)
    copies = [lambda to=to: to.experts.undo(ada.voter_id, given=given) for to in (store, other)]
    drafts = at_once(*copies, *copies)
    assert {(draft.outcome, draft.comment) for draft in drafts} == {(Outcome.MODEL_A, "Neat.")}
    assert store.experts.undoable(ada.voter_id) == Given(task_id=first.id, edition=0)
    assert shown(store, ada).edition == 1
    # A copy of the verdict that the line kept until now is not a new one.
    store.experts.judge(second.id, voter_id=ada.voter_id, answer=SAID, edition=0)
    assert shown(store, ada).id == second.id
    store.experts.judge(second.id, voter_id=ada.voter_id, answer=SAID, edition=1)
    for stale in (Given(task_id=first.id, edition=0), Given(task_id=first.id, edition=7)):
        with pytest.raises(NothingToUndo):
            store.experts.undo(ada.voter_id, given=stale)
    assert shown(store, ada).id not in (first.id, second.id)
