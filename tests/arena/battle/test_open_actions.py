"""What a view opens is what the conductor takes: every state, every action."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from battle_steps import LAST_TURNS, PAIRING, STATES, VOTER, make
from sqlalchemy import event, func, select
from staged_models import StagedModel, conducting, watch

from arena.rules.actions import Action
from arena.rules.battles import BattleError, BattleStatus, Outcome
from arena.store import battle_records
from arena.store.tables import votes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from arena.battle.conductor import Conductor
    from arena.rules.battles import Battle
    from arena.store import Store


async def is_taken(conductor: Conductor, store: Store, action: Action, battle_id: str) -> bool:
    """Whether the conductor does it; what it does not do leaves the battle as it was."""
    before = await conductor.view(battle_id, VOTER)
    with suppress(BattleError):
        if action in (Action.START, Action.FOLLOW_UP):
            sent = await conductor.send("And then?", VOTER, battle_id=battle_id)
            await watch(conductor, sent.battle_id)
            return (action is Action.START) == (sent.battle_id != battle_id)
        if action is Action.VOTE:
            known = count_votes(store)
            await conductor.vote(battle_id, VOTER, Outcome.TIE, edition=before.edition)
            return count_votes(store) > known
        if action is Action.LEAVE:
            await conductor.leave(battle_id, VOTER)
            return True
        ask = conductor.retry if action is Action.RETRY else conductor.regenerate
        await ask(battle_id, VOTER)
        return (await watch(conductor, battle_id)).edition > before.edition
    assert await conductor.view(battle_id, VOTER) == before
    return False


def count_votes(store: Store) -> int:
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(votes)) or 0


@pytest.mark.parametrize("state", STATES)
async def test_what_is_open_is_taken_and_nothing_else(store: Store, state: str) -> None:
    models = StagedModel(PAIRING.model_a), StagedModel(PAIRING.model_b)
    async with conducting(store, *models, max_turns=LAST_TURNS) as conductor:
        for action in Action:
            battle_id = make(store, state)
            view = await conductor.view(battle_id, VOTER)
            taken = await is_taken(conductor, store, action, battle_id)
            assert taken == (action in view.open), action


@pytest.mark.parametrize("state", [state for state in STATES if "answering" in state])
async def test_what_is_coming_is_open_once_both_have_answered(store: Store, state: str) -> None:
    models = StagedModel(PAIRING.model_a), StagedModel(PAIRING.model_b)
    async with conducting(store, *models, max_turns=LAST_TURNS) as conductor:
        coming = (await conductor.view(make(store, state), VOTER)).coming
        ready = make(
            store, state.replace("answering the", "ready after the").replace("answering", "ready")
        )
        assert coming == (await conductor.view(ready, VOTER)).open


async def test_a_live_view_says_the_same_as_the_record(store: Store) -> None:
    models = StagedModel(PAIRING.model_a, 0.3, "A."), StagedModel(PAIRING.model_b, 0.3, "B.")
    async with conducting(store, *models) as conductor:
        live = await conductor.start("Why?", VOTER)
        ready = await watch(conductor, live.battle_id)
    assert live.status is BattleStatus.ANSWERING
    assert live.open == {Action.LEAVE}
    assert live.coming == ready.open == {
        Action.VOTE, Action.FOLLOW_UP, Action.REGENERATE, Action.LEAVE,
    }  # fmt: skip


async def test_a_recorded_arena_opens_no_follow_up(store: Store) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(store, *models, known_prompts=("Why?",)) as conductor:
        live = await conductor.start("Why?", VOTER)
        ready = await watch(conductor, live.battle_id)
        assert Action.FOLLOW_UP not in live.coming | ready.open
        for action in (Action.FOLLOW_UP, Action.START):
            assert not await is_taken(conductor, store, action, live.battle_id)


# What a step costs the record


@contextmanager
def counting_statements(store: Store) -> Iterator[list[str]]:
    """The statements that run inside, but for those that frame a transaction, and beats."""
    ran: list[str] = []

    def note(*told: object) -> None:
        statement = str(told[2])
        if not statement.startswith(("BEGIN", "PRAGMA")) and "workers" not in statement:
            ran.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield ran
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


def count_loads(statements: Sequence[str]) -> int:
    """How often a battle's own row was read."""
    return sum("FROM battles" in statement for statement in statements)


async def test_every_step_loads_its_battle_once(store: Store) -> None:
    release = asyncio.Event()  # no answer is stored meanwhile
    models = (StagedModel(name, release, "So.") for name in (PAIRING.model_a, PAIRING.model_b))
    async with conducting(store, *models, grace_seconds=60) as conductor:
        follow_up = partial(conductor.send, "And then?", VOTER)
        steps: list[tuple[str, int, Callable[[str], Awaitable[object]]]] = [
            ("ready", 5, lambda battle_id: follow_up(battle_id=battle_id)),
            ("ready", 4, lambda battle_id: conductor.regenerate(battle_id, VOTER)),
            ("failed", 4, lambda battle_id: conductor.retry(battle_id, VOTER)),
            ("ready", 7, lambda battle_id: conductor.vote(battle_id, VOTER, Outcome.TIE)),
            ("ready", 3, lambda battle_id: conductor.view(battle_id, VOTER)),
        ]
        for state, most, step in steps:
            release.clear()
            battle_id = make(store, state)
            with counting_statements(store) as ran:
                await step(battle_id)
                statements = tuple(ran)
            assert count_loads(statements) == 1, statements
            assert len(statements) <= most, statements
            release.set()
            await watch(conductor, battle_id)


async def test_a_vote_asks_once_whether_it_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    known = vars(battle_records)["exclusion_of"]

    def ask(battle: Battle) -> object:
        asked.append(battle)
        return known(battle)

    monkeypatch.setattr(battle_records, "exclusion_of", ask)
    models = StagedModel(PAIRING.model_a), StagedModel(PAIRING.model_b)
    async with conducting(store, *models) as conductor:
        battle_id = make(store, "ready")
        for _ in range(2):
            await conductor.vote(battle_id, VOTER, Outcome.TIE)
    assert [battle.id for battle in asked] == [battle_id]
