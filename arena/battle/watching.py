"""Those who watch battles: what they see of one, and what happens when they have left."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

from arena.battle.views import BattleView, view_battle
from arena.rules.battles import Battle, BattleError, BattleStatus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from arena.battle.answering import Answering
    from arena.rules.actions import Terms
    from arena.store import Store

# Measured with Gradio 6.31: an update of both panels costs the server one to two
# milliseconds, so 200 a second leave a process most of a core for everything else.
UPDATES_PER_SECOND = 200
SHORTEST_TICK = 0.1
FIRST_TEXT_TICK = 0.05
ELSEWHERE_TICK = 0.5
# For a database that goes away while answers end: what was shown stays meanwhile.
PATIENCE_SECONDS = 60.0
_LAST_VIEW_TICKS = 40


class Watching:
    """The battles that this process is answering, and the pages that look at them.

    Args:
        store: the record.
        terms: of the arena.
        grace_seconds: how long models go on after the last page has left.

    Attributes:
        live: the battles being answered, by id.
    """

    def __init__(self, store: Store, *, terms: Terms, grace_seconds: float) -> None:
        self._store = store
        self._terms = terms
        self._grace_seconds = grace_seconds
        self.live: dict[str, Answering] = {}
        self._watches: Counter[str] = Counter()
        self._leaving: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Nobody is given grace any more."""
        for task in self._leaving:
            task.cancel()

    async def view(self, battle: Battle) -> BattleView:
        """A battle as its voter may see it now."""
        live = self.live.get(battle.id)
        return await self._recorded_view(battle) if live is None else self.live_view(live)

    async def watch(self, battle_id: str, voter_id: str) -> AsyncGenerator[BattleView]:
        """The battle whenever there is something new to show, until it has settled.

        Closing the generator means that the page has left.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        self._watches[battle_id] += 1
        try:
            async with aclosing(self._views(battle_id, voter_id)) as views:
                async for view in views:
                    yield view
        finally:
            self._watches[battle_id] -= 1
            self._watches += Counter()  # drops what has come to nothing

    async def see_off(self, battle_id: str) -> None:
        """Waits for those who watch a battle to have had its last view.

        Whoever leaves it for another would otherwise get that view on top of the new one.
        """
        for _ in range(_LAST_VIEW_TICKS):
            if not self._watches[battle_id]:
                return
            await asyncio.sleep(FIRST_TEXT_TICK)

    def live_view(self, live: Answering) -> BattleView:
        """A battle that is being answered, as far as it has come."""
        return view_battle(live.battle, self._terms, cards={}, drafts=live.drafts())

    def stop_if_left(self, live: Answering) -> None:
        """Stops the models if nobody watches for the length of the grace."""
        if live.watchers or live.done:
            return

        visits = live.visits

        async def _after_grace() -> None:
            await asyncio.sleep(self._grace_seconds)
            # Whoever has been there in the meantime has a grace of their own.
            if not live.watchers and live.visits == visits and not live.done:
                await live.stop()

        task = asyncio.create_task(_after_grace())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _views(self, battle_id: str, voter_id: str) -> AsyncGenerator[BattleView]:
        is_shown = False
        while True:
            live = self.live.get(battle_id)
            if live is not None:
                is_shown = True
                live.battle.check_owner(voter_id)
                with self._watching(live):
                    seen = -1
                    while not live.done:
                        # Slept before the first view too: in a rush it then has text already.
                        await live.rest(self._tick(live))
                        if live.version != seen and not live.done:
                            seen = live.version
                            yield self.live_view(live)
            battle = None if live is None else live.outcome
            if battle is None:
                battle = await self._read(battle_id, voter_id, patient=is_shown)
            if battle_id in self.live:  # asked again in the meantime
                continue
            yield await self._recorded_view(battle)
            is_shown = True
            if battle.status is not BattleStatus.ANSWERING:
                return
            await asyncio.sleep(ELSEWHERE_TICK)  # another process answers it

    async def _recorded_view(self, battle: Battle) -> BattleView:
        cards = {} if battle.vote is None else await asyncio.to_thread(self._store.battles.cards)
        return view_battle(battle, self._terms, cards=cards)

    async def _read(self, battle_id: str, voter_id: str, *, patient: bool) -> Battle:
        """A battle on record; with patience, also once a database that is away has come back."""
        deadline = time.monotonic() + (PATIENCE_SECONDS if patient else 0.0)
        while True:
            try:
                return await asyncio.to_thread(
                    self._store.battles.get, battle_id, voter_id=voter_id
                )
            except BattleError:
                raise
            except Exception:
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(ELSEWHERE_TICK)

    @contextmanager
    def _watching(self, live: Answering) -> Iterator[None]:
        live.watchers += 1
        live.visits += 1
        try:
            yield
        finally:
            live.watchers -= 1
            self.stop_if_left(live)

    def _tick(self, live: Answering) -> float:
        """Seconds to the next update: quick for the first text, slower the more are live."""
        if not live.has_text:
            return FIRST_TEXT_TICK
        return max(SHORTEST_TICK, len(self.live) / UPDATES_PER_SECOND)
