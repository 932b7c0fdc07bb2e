"""One battle from draw to reveal: what is stored before what, and who may do what when."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from battle_steps import finish, start
from sqlalchemy import select, text, update
from staged_models import VOTER, StagedModel, Thought, conducting, until, watch

from arena.battle.answering import Lengths
from arena.battle.crowding import AddressFull, ArenaFull, CrowdLimits, VoterFull
from arena.battle.views import SideState
from arena.rules.actions import Action
from arena.rules.battles import (
    BattleBusy,
    BattleClosed,
    BattleStatus,
    InvalidPrompt,
    ModelGone,
    Outcome,
    ResponseStatus,
    Side,
    UnknownBattle,
    VoteNotOpen,
)
from arena.store.tables import battles, exclusions, responses, votes, workers
from arena.store.transactions import begin_write
from serving import ModelUnreachable
from serving.recorded import RecordedModel, Row
from serving.specs import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import RowMapping, Table

    from arena.battle.answering import _Draft
    from arena.battle.conductor import Conductor
    from arena.battle.views import BattleView, SideView
    from arena.store import Store


@pytest.fixture
def record(store: Store) -> Store:
    """What is stored of the battles, on both databases."""
    return store


def rows(store: Store, table: Table) -> list[RowMapping]:
    with store.engine.connect() as connection:
        return list(connection.execute(select(table)).mappings())


def sides_of(view: BattleView, *names: str) -> tuple[SideView, ...]:
    """The sides of these models, known from the words that they say."""
    by_name = {
        name: side for side in (view.a, view.b) for name in names if name in side.answers[-1]
    }
    return tuple(by_name[name] for name in names)


def in_order(store: Store, battle_id: str, *models: StagedModel) -> tuple[StagedModel, ...]:
    """The models of a battle, the left one first."""
    pairing = store.battles.get(battle_id, voter_id=VOTER).pairing
    by_name = {model.card.name: model for model in models}
    return tuple(by_name[pairing.model(side)] for side in Side)


# What is stored before what


async def test_a_battle_is_on_record_before_a_model_is_asked(record: Store) -> None:
    seen: list[tuple[object, ...]] = []
    models = StagedModel("Amber"), StagedModel("Birch")
    for model in models:
        model.on_asked = lambda: seen.extend(
            (row["status"], row["policy"], row["probability"]) for row in rows(record, battles)
        )
    async with conducting(record, *models) as conductor:
        await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
    assert seen == [(BattleStatus.ANSWERING, "uniform", 1.0)] * 2


async def test_each_answer_is_on_record_when_it_ends(record: Store) -> None:
    release = asyncio.Event()
    quick, slow = StagedModel("Amber"), StagedModel("Birch", "Birch says", release, " so.")
    async with conducting(record, quick, slow, grace_seconds=60) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await until(lambda: rows(record, responses))
        (stored,) = rows(record, responses)
        view = await conductor.view(battle_id, VOTER)
        assert (stored["text"], stored["status"]) == ("Amber says so.", ResponseStatus.COMPLETE)
        assert view.status is BattleStatus.ANSWERING
        assert Action.VOTE not in view.open
        quick_side, slow_side = sides_of(view, "Amber", "Birch")
        assert (quick_side.state, slow_side.state) == (SideState.COMPLETE, SideState.WRITING)
        assert slow_side.answers == ("Birch says",)
        with pytest.raises(VoteNotOpen):
            await conductor.vote(battle_id, VOTER, Outcome.TIE)
        release.set()
        assert Action.VOTE in (await watch(conductor, battle_id)).open
    assert len(rows(record, responses)) == 2


async def test_names_come_with_the_vote_and_not_before(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        ready = await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
        assert (ready.a.reveal, ready.b.reveal, ready.outcome) == (None, None, None)
        voted = await conductor.vote(ready.battle_id, VOTER, Outcome.MODEL_B)
    assert voted.a.reveal is not None
    assert voted.b.reveal is not None
    assert {voted.a.reveal.name, voted.b.reveal.name} == {"Amber", "Birch"}
    assert voted.a.answers == (f"{voted.a.reveal.name} says so.",)
    assert voted.b.answers == (f"{voted.b.reveal.name} says so.",)
    assert voted.a.reveal.organisation == f"Makers of {voted.a.reveal.name}"
    assert voted.outcome is Outcome.MODEL_B
    assert [row["outcome"] for row in rows(record, votes)] == [Outcome.MODEL_B]


async def test_a_vote_that_cannot_be_stored_reveals_nothing(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        forbid(record, "votes", "INSERT")
        with pytest.raises(Exception, match="the disk is full"):
            await conductor.vote(battle_id, VOTER, Outcome.TIE)
        view = await conductor.view(battle_id, VOTER)
        assert (view.status, view.a.reveal, view.b.reveal) == (BattleStatus.READY, None, None)
        allow(record, "votes")
        assert (await conductor.vote(battle_id, VOTER, Outcome.TIE)).status is BattleStatus.VOTED


@contextmanager
def holding(store: Store) -> Iterator[None]:
    """Another writer holds up everything that would be stored."""
    with begin_write(store.engine) as connection:
        if store.engine.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE battles, turns, responses IN EXCLUSIVE MODE"))
        yield


def forbid(store: Store, table: str, action: str, *, when: str = "1 = 1") -> None:
    """Makes the database refuse one kind of write."""
    on = f"BEFORE {action} ON {table} FOR EACH ROW WHEN ({when})"
    with store.engine.begin() as connection:
        if store.engine.dialect.name == "sqlite":
            refusal = "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        else:
            refusal = "EXECUTE FUNCTION refuse()"
            connection.execute(
                text(
                    "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                    "$$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$"
                )
            )
        connection.execute(text(f"CREATE TRIGGER forbidden {on} {refusal}"))


def allow(store: Store, table: str) -> None:
    where = "" if store.engine.dialect.name == "sqlite" else f" ON {table}"
    with store.engine.begin() as connection:
        connection.execute(text(f"DROP TRIGGER forbidden{where}"))


async def test_an_answer_that_cannot_be_stored_is_shown_as_failed(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        forbid(record, "responses", "INSERT", when="NEW.side = 'b'")
        view = await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
        assert view.status is BattleStatus.FAILED
        assert view.a.state is SideState.COMPLETE
        assert (view.b.state, view.b.problem) == (SideState.FAILED, "NotStored")
        with pytest.raises(VoteNotOpen):
            await conductor.vote(view.battle_id, VOTER, Outcome.TIE)
        allow(record, "responses")
        await conductor.retry(view.battle_id, VOTER)
        assert Action.VOTE in (await watch(conductor, view.battle_id)).open


async def test_an_end_that_cannot_be_stored_does_not_keep_the_arena_from_closing(
    record: Store,
) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        forbid(record, "battles", "UPDATE")
        await conductor.start("Why?", VOTER)
        await until(lambda: conductor.live_battles == 0)
        await conductor.start("Why?", VOTER)
    (worker,) = rows(record, workers)
    assert worker["stopped_at"] is not None
    allow(record, "battles")
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")):
        assert {row["status"] for row in rows(record, battles)} == {BattleStatus.ABANDONED}


# Two models, side by side


def recorded(name: str, *, tokens_per_second: float, time_to_first_token: float) -> RecordedModel:
    row = Row(prompt="*", answer=f"{name} " * 40, tokens=40)
    spec = ModelSpec(
        name=name,
        backend="recorded",
        path=Path("unused.jsonl"),
        tokens_per_second=tokens_per_second,
        time_to_first_token=time_to_first_token,
    )
    return RecordedModel(spec, {row.key: row})


async def test_a_slow_model_does_not_delay_the_other_sides_first_text(record: Store) -> None:
    own = 0.3
    slow = recorded("Snail", tokens_per_second=0.2, time_to_first_token=300.0)
    fast = recorded("Hare", tokens_per_second=20, time_to_first_token=own)
    async with conducting(record, slow, fast) as conductor:
        began = time.monotonic()
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        firsts, pieces = [], set()
        async with aclosing(conductor.watch(battle_id, VOTER)) as views:
            async for view in views:
                said = view.a.answers[-1] or view.b.answers[-1]
                if said:
                    firsts.append(time.monotonic() - began)
                    pieces.add(len(said))
                if len(pieces) >= 5:
                    break
        assert own <= firsts[0] < own + 30  # long before the other begins, on any machine
        assert firsts[-1] < own + 60  # and it goes on at its own pace
        assert "Snail" not in str(view)


async def test_each_model_is_told_only_its_own_answers(record: Store) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(record, *models) as conductor:
        battle_id = (await conductor.start("One?", VOTER)).battle_id
        for prompt in ("Two?", "Three?"):
            await watch(conductor, battle_id)
            await conductor.follow_up(battle_id, prompt, VOTER)
        view = await watch(conductor, battle_id)
    for model in models:
        said = f"{model.card.name} says so."
        assert [(turn.role, turn.content) for turn in model.asked[-1]] == [
            ("user", "One?"),
            ("assistant", said),
            ("user", "Two?"),
            ("assistant", said),
            ("user", "Three?"),
        ]
    assert view.prompts == ("One?", "Two?", "Three?")
    assert [len(side.answers) for side in (view.a, view.b)] == [3, 3]
    assert len(rows(record, responses)) == 6


async def test_a_follow_up_after_a_regeneration_continues_the_answer_that_was_shown(
    record: Store,
) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(record, *models) as conductor:
        battle_id = (await conductor.start("One?", VOTER)).battle_id
        await watch(conductor, battle_id)
        for model in models:
            model.script = (f"{model.card.name}, again.",)
        await conductor.regenerate(battle_id, VOTER)
        await watch(conductor, battle_id)
        await conductor.follow_up(battle_id, "Two?", VOTER)
        await watch(conductor, battle_id)
    for model in models:
        assert model.asked[-1][1].content == f"{model.card.name}, again."


# Leaving and coming back


async def test_leaving_stops_the_models_after_the_grace(record: Store) -> None:
    never = asyncio.Event()
    models = StagedModel("Amber", "Amber", never), StagedModel("Birch", "Birch", never)
    async with conducting(record, *models, grace_seconds=0.3) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        async with aclosing(conductor.watch(battle_id, VOTER)) as views:
            async for view in views:
                if view.a.answers[-1] and view.b.answers[-1]:
                    break
        left = time.monotonic()
        await until(lambda: conductor.live_battles == 0)
        assert 0.3 <= time.monotonic() - left < 30
        assert [model.stopped for model in models] == [1, 1]
        view = await conductor.view(battle_id, VOTER)
    assert view.status is BattleStatus.ABANDONED
    assert Action.RETRY in view.open
    assert [side.state for side in (view.a, view.b)] == [SideState.CANCELLED] * 2
    assert {row["text"] for row in rows(record, responses)} == {"Amber", "Birch"}


async def test_coming_back_within_the_grace_keeps_the_battle(record: Store) -> None:
    release = asyncio.Event()
    models = StagedModel("Amber", release), StagedModel("Birch", "Birch", release)
    models[0].script = ("Amber", release, " says so.")
    async with conducting(record, *models, grace_seconds=1.5) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        async with aclosing(conductor.watch(battle_id, VOTER)) as views:
            await anext(views)
        await asyncio.sleep(0.1)
        back = asyncio.create_task(watch(conductor, battle_id))
        await asyncio.sleep(2)  # past the grace of the first page
        assert conductor.live_battles == 1
        release.set()
        assert Action.VOTE in (await back).open
    assert [model.stopped for model in models] == [0, 0]


async def test_a_page_that_never_watches_stops_the_models_too(record: Store) -> None:
    models = StagedModel("Amber", asyncio.Event()), StagedModel("Birch", asyncio.Event())
    async with conducting(record, *models, grace_seconds=0.1) as conductor:
        await conductor.start("Why?", VOTER)
        await until(lambda: conductor.live_battles == 0)
    assert [model.stopped for model in models] == [1, 1]


async def test_giving_up_stops_the_models_at_once(record: Store) -> None:
    models = StagedModel("Amber", asyncio.Event()), StagedModel("Birch", asyncio.Event())
    async with conducting(record, *models, grace_seconds=60) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await until(lambda: all(model.asked for model in models))
        await conductor.leave(battle_id, VOTER)
        assert (await conductor.view(battle_id, VOTER)).status is BattleStatus.ABANDONED
        await conductor.leave(battle_id, VOTER)  # a second click does nothing
    assert [model.stopped for model in models] == [1, 1]


async def test_a_page_that_vanishes_while_it_gives_up_leaves_no_battle_behind(
    record: Store,
) -> None:
    models = StagedModel("Amber", asyncio.Event()), StagedModel("Birch", asyncio.Event())
    async with conducting(record, *models, grace_seconds=60) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await until(lambda: all(model.asked for model in models))
        live = conductor._watching.live[battle_id]
        giving_up = asyncio.create_task(live.stop())
        await asyncio.sleep(0)
        giving_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving_up
        await until(lambda: conductor.live_battles == 0)
        assert (await conductor.view(battle_id, VOTER)).status is BattleStatus.ABANDONED


async def test_answers_on_their_way_to_the_record_survive_giving_up(record: Store) -> None:
    release = asyncio.Event()
    models = StagedModel("Amber", release, "Yes."), StagedModel("Birch", release, "No.")
    async with conducting(record, *models, grace_seconds=60) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await until(lambda: all(model.asked for model in models))
        with holding(record):  # another writer holds the answers up
            release.set()
            await until(lambda: all(draft.is_heard for draft in drafts(conductor, battle_id)))
            leaving = asyncio.create_task(conductor.leave(battle_id, VOTER))
            await asyncio.sleep(0.1)
        await leaving
        view = await conductor.view(battle_id, VOTER)
    assert {row["status"] for row in rows(record, responses)} == {ResponseStatus.COMPLETE}
    assert view.status is BattleStatus.READY


def drafts(conductor: Conductor, battle_id: str) -> Iterable[_Draft]:
    return conductor._watching.live[battle_id]._drafts.values()


async def test_a_page_that_vanishes_while_the_battle_is_stored_leaves_none_unanswered(
    record: Store,
) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(record, *models, grace_seconds=60) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        for step in ("regenerate", "follow_up"):
            asked = sum(len(model.asked) for model in models)
            with holding(record):  # another writer holds the commit up
                if step == "regenerate":
                    going = asyncio.create_task(conductor.regenerate(battle_id, VOTER))
                else:
                    going = asyncio.create_task(conductor.follow_up(battle_id, "And?", VOTER))
                await until(lambda: conductor._asking._arriving)
                going.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await going
            assert (await until_settled(conductor, battle_id)).status is BattleStatus.READY
            assert sum(len(model.asked) for model in models) == asked + 2


async def until_settled(conductor: Conductor, battle_id: str) -> BattleView:
    await until(lambda: not conductor._asking._arriving)
    return await watch(conductor, battle_id)


async def test_closing_stores_how_far_the_answers_came(record: Store) -> None:
    models = StagedModel("Amber", "Half", asyncio.Event()), StagedModel("Birch")
    async with conducting(record, *models, grace_seconds=60) as conductor:
        await conductor.start("Why?", VOTER)
        await until(lambda: len(rows(record, responses)) == 1)
    assert {(row["text"], row["status"]) for row in rows(record, responses)} == {
        ("Half", ResponseStatus.CANCELLED),
        ("Birch says so.", ResponseStatus.COMPLETE),
    }
    assert [row["status"] for row in rows(record, battles)] == [BattleStatus.ABANDONED]
    assert [row["stopped_at"] is None for row in rows(record, workers)] == [False]


async def test_opening_abandons_what_a_dead_process_left(record: Store) -> None:
    gone = record.workers.register()
    left = start(record, worker_id=gone)
    kept = finish(record, start(record, worker_id=gone), worker_id=gone)
    record.workers.sign_off(gone)
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        assert (await conductor.view(left.id, VOTER)).status is BattleStatus.ABANDONED
        assert Action.VOTE in (await conductor.view(kept.id, VOTER)).open
        await conductor.retry(left.id, VOTER)
        assert Action.VOTE in (await watch(conductor, left.id)).open


# Failures, retries, regenerations


async def test_a_retry_asks_only_the_side_that_failed(record: Store) -> None:
    good, bad = StagedModel("Amber"), StagedModel("Birch", "Ha", ModelUnreachable("Birch is down"))
    async with conducting(record, good, bad) as conductor:
        view = await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
        assert view.status is BattleStatus.FAILED
        failed = next(side for side in (view.a, view.b) if side.state is SideState.FAILED)
        assert (failed.answers, failed.problem) == (("Ha",), "ModelUnreachable")
        with pytest.raises(VoteNotOpen):
            await conductor.vote(view.battle_id, VOTER, Outcome.TIE)
        bad.script = ("Birch is back.",)
        again = await conductor.retry(view.battle_id, VOTER)
        assert again.status is BattleStatus.ANSWERING
        ready = await watch(conductor, view.battle_id)
    assert Action.VOTE in ready.open
    assert (len(good.asked), len(bad.asked)) == (1, 2)
    stored = {(row["text"], row["attempt"], row["status"]) for row in rows(record, responses)}
    assert stored == {
        ("Amber says so.", 0, ResponseStatus.COMPLETE),
        ("Ha", 0, ResponseStatus.FAILED),
        ("Birch is back.", 1, ResponseStatus.COMPLETE),
    }
    assert "Birch is down" in {row["error_message"] for row in rows(record, responses)}


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ((RuntimeError("Amber's key sk-123 leaked"),), "ServingError"),
        (("  \n",), "EmptyAnswer"),
        ((Thought("Let me think."),), "EmptyAnswer"),
    ],
)
async def test_what_goes_wrong_is_a_failure_without_words(
    record: Store, script: tuple[object, ...], problem: str
) -> None:
    models = StagedModel("Amber", *script), StagedModel("Birch")
    async with conducting(record, *models) as conductor:
        view = await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
    failed = next(side for side in (view.a, view.b) if side.state is SideState.FAILED)
    assert view.status is BattleStatus.FAILED
    assert failed.problem == problem
    assert "sk-123" not in str(view)
    assert "Amber" not in str(view)


async def test_a_regeneration_keeps_what_was_shown_before(record: Store) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(record, *models) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        for model in models:
            model.script = ("Another.",)
        began = await conductor.regenerate(battle_id, VOTER)
        assert (began.a.answers, began.b.answers) == (("",), ("",))
        view = await watch(conductor, battle_id)
    assert (view.a.answers, view.b.answers) == (("Another.",), ("Another.",))
    assert sorted((row["attempt"], row["text"]) for row in rows(record, responses)) == [
        (0, "Amber says so."),
        (0, "Birch says so."),
        (1, "Another."),
        (1, "Another."),
    ]


async def test_reasoning_is_hidden_until_the_vote(record: Store) -> None:
    release = asyncio.Event()
    models = [
        StagedModel(name, Thought("Hm, secretly."), release, f"{name}.")
        for name in ("Amber", "Birch")
    ]
    async with conducting(record, *models) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await until(lambda: all(model.asked for model in models))
        await asyncio.sleep(0.05)
        thinking = await conductor.view(battle_id, VOTER)
        assert [side.state for side in (thinking.a, thinking.b)] == [SideState.WAITING] * 2
        release.set()
        ready = await watch(conductor, battle_id)
        assert "secretly" not in f"{thinking}{ready}"
        voted = await conductor.vote(battle_id, VOTER, Outcome.TIE)
    for side in (voted.a, voted.b):
        assert side.reveal is not None
        assert side.reveal.reasoning == "Hm, secretly."
    assert {row["reasoning"] for row in rows(record, responses)} == {"Hm, secretly."}


async def test_texts_that_no_database_stores_are_cleaned(store: Store) -> None:
    dirty = "A\0B \ud83dC 🙂"
    models = StagedModel("Amber", Thought(dirty), dirty), StagedModel("Birch", RuntimeError(dirty))
    async with conducting(store, *models) as conductor:
        view = await watch(conductor, (await conductor.start(dirty, VOTER)).battle_id)
    assert view.prompts == ("AB C 🙂",)
    good = next(row for row in rows(store, responses) if row["status"] == ResponseStatus.COMPLETE)
    bad = next(row for row in rows(store, responses) if row["status"] == ResponseStatus.FAILED)
    assert (good["text"], good["reasoning"]) == ("AB C 🙂", "AB C 🙂")
    assert bad["error_message"] == "RuntimeError: AB C 🙂"


async def test_a_vote_after_an_answer_named_its_model_is_excluded(record: Store) -> None:
    models = StagedModel("Amber", "I am Amber."), StagedModel("Birch", "I say yes.")
    async with conducting(record, *models) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        for model in models:  # the name was read, whatever comes after it
            model.script = ("No names.",)
        await conductor.regenerate(battle_id, VOTER)
        await watch(conductor, battle_id)
        voted = await conductor.vote(battle_id, VOTER, Outcome.TIE)
    assert voted.status is BattleStatus.VOTED
    assert [row["reason"] for row in rows(record, exclusions)] == ["identity_revealed"]
    assert record.votes.tally().votes == 0


# Two tabs


async def test_two_tabs_that_regenerate_at_once_ask_once(record: Store) -> None:
    models = [StagedModel(name, 0.3, f"{name} says so.") for name in ("Amber", "Birch")]
    async with conducting(record, *models) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        ended = await asyncio.gather(
            *(conductor.regenerate(battle_id, VOTER) for _ in range(4)), return_exceptions=True
        )
        await watch(conductor, battle_id)
    assert sum(isinstance(end, BattleBusy) for end in ended) == 3
    assert [len(model.asked) for model in models] == [2, 2]
    assert len(rows(record, responses)) == 4


@pytest.mark.parametrize("step", ["regenerate", "follow_up"])
async def test_a_vote_and_another_tabs_step_exclude_each_other(record: Store, step: str) -> None:
    models = [StagedModel(name, 0.1, f"{name} says so.") for name in ("Amber", "Birch")]
    async with conducting(record, *models) as conductor:
        for _ in range(3):
            started = await conductor.start("Why?", VOTER)
            battle_id = (await watch(conductor, started.battle_id)).battle_id
            other = (
                conductor.regenerate(battle_id, VOTER)
                if step == "regenerate"
                else conductor.follow_up(battle_id, "And?", VOTER)
            )
            vote, going_on = await asyncio.gather(
                conductor.vote(battle_id, VOTER, Outcome.TIE), other, return_exceptions=True
            )
            view = await watch(conductor, battle_id)
            if isinstance(vote, VoteNotOpen):
                assert Action.VOTE in view.open
                assert not isinstance(going_on, BaseException)
            else:
                assert isinstance(going_on, BattleClosed)
                assert view.status is BattleStatus.VOTED


async def test_a_tab_goes_on_watching_what_another_tab_regenerates(record: Store) -> None:
    models = StagedModel("Amber", "Amber", 0.3, "."), StagedModel("Birch")
    async with conducting(record, *models, grace_seconds=60) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        async with aclosing(conductor.watch(battle_id, VOTER)) as views:
            await anext(views)
            await until(lambda: conductor.live_battles == 0)
            for model in models:
                model.script = ("Another", 0.5, " one.")
            await conductor.regenerate(battle_id, VOTER)
            seen = [view async for view in views]
    assert any(view.a.answers == ("Another",) for view in seen)
    assert seen[-1].a.answers == ("Another one.",)
    assert Action.VOTE in seen[-1].open


async def test_double_clicks_get_the_same_reveal(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        views = await asyncio.gather(
            *(conductor.vote(battle_id, VOTER, outcome) for outcome in (*Outcome, *Outcome))
        )
    assert len(set(views)) == 1
    assert len(rows(record, votes)) == 1


async def test_nobody_else_can_touch_a_battle(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        before = await conductor.view(battle_id, VOTER)
        for refused in (
            conductor.view(battle_id, "voter-2"),
            conductor.vote(battle_id, "voter-2", Outcome.TIE),
            conductor.follow_up(battle_id, "And?", "voter-2"),
            conductor.regenerate(battle_id, "voter-2"),
            conductor.retry(battle_id, "voter-2"),
            conductor.leave(battle_id, "voter-2"),
            watch(conductor, battle_id, voter_id="voter-2"),
        ):
            with pytest.raises(UnknownBattle):
                await refused
        assert await conductor.view(battle_id, VOTER) == before
    assert rows(record, votes) == []


async def test_a_battle_that_another_process_answers_can_be_watched(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        other = record.workers.register()
        with record.engine.begin() as connection:  # alive, and not this process
            connection.execute(update(workers).where(workers.c.id == other).values(pid=1))
        battle = start(record, worker_id=other)
        watching = asyncio.create_task(watch(conductor, battle.id))
        await asyncio.sleep(0.2)
        assert not watching.done()
        finish(record, battle, worker_id=other)
        assert Action.VOTE in (await watching).open


# What is refused


async def test_a_burst_of_battles_is_let_in_up_to_the_limit(record: Store) -> None:
    release = asyncio.Event()
    models = StagedModel("Amber", release, "A"), StagedModel("Birch", release, "B")
    async with conducting(
        record, *models, crowd=CrowdLimits(live=3), grace_seconds=60
    ) as conductor:
        ended = await asyncio.gather(
            *(conductor.start("Why?", f"voter-{number}") for number in range(8)),
            return_exceptions=True,
        )
        assert sum(isinstance(end, ArenaFull) for end in ended) == 5
        assert conductor.live_battles == 3
        assert len(rows(record, battles)) == 3
        release.set()
        await until(lambda: conductor.live_battles == 0)
        await conductor.start("Why?", VOTER)


async def test_one_voter_has_a_few_battles_at_once_and_takes_none_from_others(
    record: Store,
) -> None:
    release = asyncio.Event()
    models = StagedModel("Amber", release, "A"), StagedModel("Birch", release, "B")
    crowd = CrowdLimits(live=50, of_voter=2, of_address=5)
    async with conducting(record, *models, crowd=crowd) as conductor:
        burst = [conductor.start("Why?", VOTER) for _ in range(6)]
        ended = await asyncio.gather(*burst, return_exceptions=True)
        assert sum(isinstance(end, VoterFull) for end in ended) == 4
        await conductor.start("Why?", "somebody else")
        release.set()
        await until(lambda: conductor.live_battles == 0)
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await watch(conductor, battle_id)
        release.clear()
        await conductor.start("Why?", VOTER)
        await conductor.follow_up(battle_id, "And?", VOTER)
        with pytest.raises(VoterFull):
            await conductor.start("Why?", VOTER)
        # Sent once more, a prompt is no further battle.
        await conductor.follow_up(battle_id, "And?", VOTER, turn=1)
        release.set()


async def test_fresh_cookies_from_one_address_get_no_further_than_its_share(record: Store) -> None:
    release = asyncio.Event()
    models = StagedModel("Amber", release, "A"), StagedModel("Birch", release, "B")
    crowd = CrowdLimits(live=50, of_voter=2, of_address=5)
    async with conducting(record, *models, crowd=crowd) as conductor:
        burst = [conductor.start("Why?", f"v{n}", address="192.0.2.1") for n in range(9)]
        ended = await asyncio.gather(*burst, return_exceptions=True)
        assert sum(isinstance(end, AddressFull) for end in ended) == 4
        await conductor.start("Why?", "v20", address="192.0.2.2")
        for number in range(30, 40):  # where no address is known, nobody shares one
            await conductor.start("Why?", f"v{number}")
        release.set()


async def test_an_answer_without_end_is_cut_and_its_stream_closed(record: Store) -> None:
    going = asyncio.Event()
    endless = StagedModel("Amber", "x" * 700, "y" * 700, going)
    thinking = StagedModel("Birch", Thought("z" * 900), "Yes.", Thought("z" * 900), going)
    lengths = Lengths(text=1_000, reasoning=1_200)
    async with conducting(record, endless, thinking, lengths=lengths) as conductor:
        view = await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
        assert Action.VOTE in view.open
        voted = await conductor.vote(view.battle_id, VOTER, Outcome.TIE)
    by_text = {row["text"]: row for row in rows(record, responses)}
    assert set(by_text) == {"x" * 700 + "y" * 300, "Yes."}
    assert by_text["Yes."]["reasoning"] == "z" * 1_200
    assert {row["finish_reason"] for row in by_text.values()} == {"length"}
    assert (endless.stopped, thinking.stopped) == (1, 1)
    assert voted.a.reveal is not None
    assert voted.a.reveal.was_cut


async def test_a_model_that_only_thinks_without_end_fails(record: Store) -> None:
    models = StagedModel("Amber", Thought("z" * 5_000), asyncio.Event()), StagedModel("Birch")
    lengths = Lengths(text=1_000, reasoning=1_200)
    async with conducting(record, *models, lengths=lengths) as conductor:
        view = await watch(conductor, (await conductor.start("Why?", VOTER)).battle_id)
    assert Action.VOTE not in view.open
    assert {view.a.problem, view.b.problem} == {None, "EmptyAnswer"}


async def test_a_battle_whose_model_is_gone_can_be_voted_on_but_not_continued(
    record: Store,
) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
    async with conducting(record, StagedModel("Amber"), StagedModel("Cedar")) as conductor:
        for refused in (
            conductor.follow_up(battle_id, "And?", VOTER),
            conductor.regenerate(battle_id, VOTER),
        ):
            with pytest.raises(ModelGone):
                await refused
        voted = await conductor.vote(battle_id, VOTER, Outcome.TIE)
    assert voted.a.reveal is not None
    assert voted.b.reveal is not None
    assert {voted.a.reveal.name, voted.b.reveal.name} == {"Amber", "Birch"}


async def test_a_recorded_arena_takes_only_the_prompts_it_has(record: Store) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(record, *models, known_prompts=("Why is  it?", "How?")) as conductor:
        view = await watch(conductor, (await conductor.start(" Why is it? ", VOTER)).battle_id)
        with pytest.raises(InvalidPrompt, match="no_follow_up"):
            await conductor.follow_up(view.battle_id, "How?", VOTER)
        assert Action.VOTE in (await conductor.view(view.battle_id, VOTER)).open
        with pytest.raises(InvalidPrompt) as refused:
            await conductor.start("Why not?", VOTER)
    assert (refused.value.reason, refused.value.limit) == ("not_recorded", 2)
    async with conducting(record, *models, known_prompts=()) as conductor:
        with pytest.raises(InvalidPrompt, match="not_recorded"):
            await conductor.start("How?", VOTER)
    assert len(rows(record, battles)) == 1


async def test_a_prompt_that_cannot_be_sent_leaves_no_trace(record: Store) -> None:
    models = StagedModel("Amber"), StagedModel("Birch")
    async with conducting(record, *models, max_prompt_characters=10, max_turns=2) as conductor:
        for prompt, reason in (("", "empty"), (" \0\n", "empty"), ("x" * 11, "too_long")):
            with pytest.raises(InvalidPrompt) as refused:
                await conductor.start(prompt, VOTER)
            assert refused.value.reason == reason
        assert rows(record, battles) == []
        battle_id = (
            await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
        ).battle_id
        await conductor.follow_up(battle_id, "And?", VOTER)
        await watch(conductor, battle_id)
        with pytest.raises(InvalidPrompt) as refused:
            await conductor.follow_up(battle_id, "And?", VOTER)
        assert refused.value.reason == "too_many_turns"


async def test_voters_learn_how_often_they_pressed_each_button(record: Store) -> None:
    async with conducting(record, StagedModel("Amber"), StagedModel("Birch")) as conductor:
        for outcome in (Outcome.TIE, Outcome.MODEL_A, Outcome.TIE):
            view = await watch(conductor, (await conductor.start("?", VOTER)).battle_id)
            await conductor.vote(view.battle_id, VOTER, outcome)
        said = await conductor.votes_of(VOTER)
    assert said == {
        Outcome.MODEL_A: 1,
        Outcome.MODEL_B: 0,
        Outcome.TIE: 2,
        Outcome.BOTH_BAD: 0,
    }
