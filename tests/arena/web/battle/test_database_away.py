"""The database goes away for a moment: what was shown stays, and pressing again works."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from battle_steps import PAIRING, VOTER, make
from sqlalchemy import create_engine, make_url, text
from staged_models import StagedModel, conducting, until, watch

from arena.rules.actions import Action
from arena.rules.battles import BattleStatus, Outcome
from arena.store import transactions as transactions_module
from arena.web.battle.page import BattlePage
from arena.web.identity import COOKIE
from arena.web.listening import Listeners
from arena.web.texts import load_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from arena.battle.conductor import Conductor
    from arena.store import Store

EN = load_texts("en")
REQUEST = SimpleNamespace(session_hash="page", cookies={COOKIE: "signed"}, client=None)
TOKENS = SimpleNamespace(read=lambda _cookies: VOTER)
# What is pressed, where the battle must be for it, and what it leads to.
STEPS = {
    "vote": ("ready", BattleStatus.VOTED),
    "follow-up": ("ready", BattleStatus.READY),
    "regenerate": ("ready", BattleStatus.READY),
    "retry": ("failed", BattleStatus.READY),
    "start": ("voted", BattleStatus.READY),
}


@contextmanager
def away(url: str) -> Iterator[None]:
    """SQLite is locked by another writer; PostgreSQL ends all connections and takes none."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        other = create_engine(url, isolation_level="AUTOCOMMIT")
        with other.connect() as connection:
            connection.exec_driver_sql("BEGIN EXCLUSIVE")
            yield
            connection.exec_driver_sql("ROLLBACK")
    else:
        other = create_engine(parsed.set(database="postgres"), isolation_level="AUTOCOMMIT")
        name = parsed.database
        with other.connect() as connection:
            connection.exec_driver_sql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            gone = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
            connection.execute(text(gone), {"name": name})
            yield
            connection.exec_driver_sql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    other.dispose()


def open_page(conductor: Conductor) -> BattlePage:
    listeners = Listeners()
    listeners._open["page"] = 1  # for as long as the test lasts
    return BattlePage(
        conductor=conductor,
        listeners=listeners,
        tokens=TOKENS,  # type: ignore[arg-type]
        texts=EN,
        language="en",
        title="Arena",
        ideas=(),
    )


def press(page: BattlePage, step: str, battle_id: str) -> Callable[[], Awaitable[list[Any]]]:
    """What pressing does: all the updates that come of it."""
    asks = {
        "vote": (page._vote_as(Outcome.TIE), ("2",)),
        "follow-up": (page._ask, ("And then?", "1", "")),
        "regenerate": (page._regenerate, ("2",)),
        "retry": (page._retry, ("2",)),
        "start": (page._ask, ("Another?", "1", "")),
    }
    handler, values = asks[step]

    async def run() -> list[Any]:
        updates = page._guarded(handler)(REQUEST, *values, battle_id)  # type: ignore[arg-type]
        async with aclosing(updates) as seen:
            return [update async for update in seen]

    return run


@pytest.mark.parametrize("step", STEPS)
async def test_what_was_shown_stays_and_pressing_again_works(
    store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(transactions_module, "WAIT_SECONDS", 0.3)
    models = StagedModel(PAIRING.model_a), StagedModel(PAIRING.model_b)
    state, becomes = STEPS[step]
    async with conducting(store, *models, grace_seconds=60) as conductor:
        battle_id = make(store, state)
        before = await conductor.view(battle_id, VOTER)
        run = press(open_page(conductor), step, battle_id)
        with away(database_url):
            (update,) = await run()
        *kept, notice = update
        assert EN["site"]["failed"] in notice
        for part in kept:
            is_left_alone = part == {"__type__": "update"}
            assert is_left_alone or isinstance(part, list) or f'data-battle="{battle_id}"' in part
        assert len({part == {"__type__": "update"} for part in kept}) == 1
        assert await conductor.view(battle_id, VOTER) == before
        *_, last = await run()
        assert last[3] == ""
        assert f'data-status="{becomes}"' in last[2]


async def test_answers_that_end_while_the_database_is_away_can_be_asked_for_again(
    store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions_module, "WAIT_SECONDS", 0.3)
    release = asyncio.Event()
    models = [StagedModel(name, release, "So.") for name in (PAIRING.model_a, PAIRING.model_b)]
    async with conducting(store, *models, grace_seconds=60) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        watching = asyncio.create_task(watch(conductor, battle_id))
        await asyncio.sleep(0.1)
        with away(database_url):
            release.set()
            await until(lambda: conductor.live_battles == 0, seconds=60)
        view = await watching
        assert Action.RETRY in view.open
        await conductor.retry(battle_id, VOTER)
        assert Action.VOTE in (await watch(conductor, battle_id)).open
