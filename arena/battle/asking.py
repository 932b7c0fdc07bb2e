"""What this process asks of models: recorded first, answered in tasks of its own, and committed."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from arena.battle.answering import Answering
from arena.rules.battles import Battle, BattleStatus, Response, SentTwice, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena.battle.answering import Lengths
    from arena.battle.crowding import Asker, Crowd
    from arena.battle.metrics import Metrics
    from arena.battle.model_health import ModelHealth
    from arena.battle.upkeep import Upkeep
    from arena.battle.views import BattleView
    from arena.battle.watching import Watching
    from arena.store import Store
    from serving.protocol import ChatModel


class Asking:
    """Asks the models of battles, as many at once as this process takes on.

    Args:
        store: the record.
        watching: knows the battles that are being answered.
        upkeep: knows this process.
        health: learns how answers end.
        models: every model that can be asked, by name.
        crowd: knows whose they are, and how many there may be.
        lengths: how much of an answer is read.
        metrics: counts what happens, if anybody reads it.
    """

    def __init__(
        self,
        store: Store,
        *,
        watching: Watching,
        upkeep: Upkeep,
        health: ModelHealth,
        models: Mapping[str, ChatModel],
        crowd: Crowd,
        lengths: Lengths,
        metrics: Metrics | None,
    ) -> None:
        self._store = store
        self._watching = watching
        self._upkeep = upkeep
        self._health = health
        self._models = models
        self._crowd = crowd
        self._lengths = lengths
        self._metrics = metrics
        self._arriving: set[asyncio.Task[BattleView]] = set()

    async def close(self) -> None:
        """Stops all answers, and stores how far they came."""
        await asyncio.gather(*self._arriving, return_exceptions=True)
        await asyncio.gather(*(live.stop() for live in list(self._watching.live.values())))

    async def ask(
        self,
        record: Callable[[], Battle],
        *,
        asker: Asker,
        battle_id: str | None,
        only_unfinished: bool = False,
    ) -> BattleView:
        """Commits what is to be answered, then asks the models; what is on record already is shown.

        In a task of its own: a page that leaves in between must not leave a battle on record
        that nobody is answering.

        Args:
            record: commits it, in another thread.
            asker: who asks.
            battle_id: which battle, where its page has named it.
            only_unfinished: ask only the sides whose answers are not complete.

        Raises:
            BattleError: the record refuses it.
            ArenaFull: too many battles are being answered.
        """
        self._crowd.arrive(asker, battle_id=battle_id)

        async def _arrive() -> BattleView:
            try:
                battle = await asyncio.to_thread(record)
            except SentTwice as known:
                return await self._watching.view(known.battle)
            unfinished = battle.unfinished_sides() if only_unfinished else ()
            return self._begin(battle, unfinished or tuple(Side), asker=asker)

        task = asyncio.create_task(_arrive())
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)
        task.add_done_callback(lambda _: self._crowd.has_arrived(asker))
        return await asyncio.shield(task)

    def _begin(self, battle: Battle, sides: tuple[Side, ...], *, asker: Asker) -> BattleView:
        live = Answering(
            battle,
            models={side: self._models[battle.pairing.model(side)] for side in sides},
            sides=sides,
            heard=partial(self._hear, voter_id=battle.voter_id),
            commit=self._commit,
            settled=self._settled,
            lengths=self._lengths,
        )
        self._watching.live[battle.id] = live
        self._crowd.enter(battle.id, asker)
        if self._metrics is not None:
            self._metrics.asked()
        self._watching.stop_if_left(live)  # the page may be gone before it begins to watch
        return self._watching.live_view(live)

    def _hear(self, model: str, response: Response, *, voter_id: str) -> None:
        """An answer has ended, however it did."""
        self._health.note(model, response, voter_id=voter_id)
        if self._metrics is not None:
            self._metrics.heard(model, response)

    async def _commit(
        self, battle_id: str, response: Response, status: BattleStatus | None
    ) -> bool:
        battles = self._store.battles
        if status is None:
            await asyncio.to_thread(battles.add_response, battle_id, response)
            return False
        return await asyncio.to_thread(
            battles.add_last_response,
            battle_id,
            response,
            status,
            worker_id=self._upkeep.worker_id,
        )

    async def _settled(self, live: Answering) -> None:
        try:
            if live.outcome is None:  # the last answer could not be stored
                await asyncio.to_thread(
                    self._store.battles.settle,
                    live.battle.id,
                    live.status,
                    worker_id=self._upkeep.worker_id,
                )
        finally:
            # A follow-up may have begun the moment the status was on record.
            if self._watching.live.get(live.battle.id) is live:
                del self._watching.live[live.battle.id]
                self._crowd.leave(live.battle.id)
