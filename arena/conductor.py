"""One battle from draw to reveal; the only thing pages call.

Everything that matters is committed before it is shown: the battle before the first
token, each answer when it ends, the vote before the names. What lives in this process
(the answers being written) is lost with it and marked so on record.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from arena.answering import Answering
from arena.battles import (
    Battle,
    BattleStatus,
    InvalidPrompt,
    ModelGone,
    Outcome,
    Response,
    Side,
    clean_prompt,
    settled_status,
)
from arena.upkeep import Upkeep
from arena.views import BattleView, recorded_side, reveal_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping

    from arena.matchmaker import Matchmaker
    from arena.store import Store
    from serving.protocol import ChatModel

# Measured with Gradio 6.31: an update of both panels costs the server one to two
# milliseconds, so 200 a second leave a process most of a core for everything else.
UPDATES_PER_SECOND = 200
SHORTEST_TICK = 0.1
FIRST_TEXT_TICK = 0.05
_LAST_VIEW_TICKS = 40


class ArenaFull(Exception):
    """As many battles are being answered as this process takes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BattleLimits:
    """What a battle may be.

    Attributes:
        max_prompt_characters: longest prompt.
        max_turns: most turns.
        max_live: most battles being answered at once in this process.
        grace_seconds: how long models go on after the last page has left.
    """

    max_prompt_characters: int = 20_000
    max_turns: int = 10
    max_live: int = 400
    grace_seconds: float = 5.0


class Conductor:
    """Runs battles over a store and a set of models.

    Args:
        store: the record.
        matchmaker: draws the pairs.
        models: every model that can be asked, by name.
        limits: what a battle may be.
        known_prompts: the only prompts that the models can answer (recorded arenas), or
            `None` where any prompt will do.
    """

    def __init__(
        self,
        *,
        store: Store,
        matchmaker: Matchmaker,
        models: Mapping[str, ChatModel],
        limits: BattleLimits | None = None,
        known_prompts: tuple[str, ...] | None = None,
    ) -> None:
        self._store = store
        self._matchmaker = matchmaker
        self._models = models
        self._limits = limits or BattleLimits()
        self.known_prompts = known_prompts
        self._recorded = frozenset(map(_single_spaced, known_prompts or ()))
        self._live: dict[str, Answering] = {}
        self._watches: Counter[str] = Counter()
        self._arriving: set[asyncio.Task[BattleView]] = set()
        self._upkeep = Upkeep(store.workers, live=lambda: tuple(self._live))
        self._leaving: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Registers this process and marks what dead ones left behind."""
        cards = [asdict(model.card) for model in self._models.values()]
        await asyncio.to_thread(self._store.battles.register_models, cards)
        await self._upkeep.open()

    async def close(self) -> None:
        """Stops all answers, stores how far they came, and signs off."""
        await self._upkeep.rest()
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._arriving, return_exceptions=True)
        await asyncio.gather(*(live.stop() for live in list(self._live.values())))
        await self._upkeep.sign_off()

    @property
    def live_battles(self) -> int:
        """How many battles are being answered in this process now."""
        return len(self._live)

    async def start(self, prompt: str, voter_id: str) -> BattleView:
        """Draws a pair for a new battle and asks both models.

        Raises:
            InvalidPrompt: the prompt cannot be sent.
            ArenaFull: too many battles are being answered.
        """
        text = self._clean(prompt, turn=0)
        pairing = self._matchmaker.draw()
        return await self._record_and_ask(
            lambda: self._store.battles.start(
                voter_id=voter_id, pairing=pairing, prompt=text, worker_id=self._upkeep.worker_id
            )
        )

    async def follow_up(self, battle_id: str, prompt: str, voter_id: str) -> BattleView:
        """Sends another prompt to both models of a battle.

        Raises:
            BattleError: the battle or the prompt does not allow it.
            ArenaFull: too many battles are being answered.
        """
        battle = await self._battle(battle_id, voter_id)
        text = self._clean(prompt, turn=len(battle.prompts))
        self._check_served(battle)
        return await self._record_and_ask(
            lambda: self._store.battles.add_turn(
                battle_id, voter_id=voter_id, prompt=text, worker_id=self._upkeep.worker_id
            )
        )

    async def regenerate(self, battle_id: str, voter_id: str) -> BattleView:
        """Asks both models for another answer to the last prompt.

        Raises:
            BattleError: the battle does not allow it.
            ArenaFull: too many battles are being answered.
        """
        return await self._reopen(battle_id, voter_id, only_unfinished=False)

    async def retry(self, battle_id: str, voter_id: str) -> BattleView:
        """Asks the sides that did not finish once more.

        Raises:
            BattleError: the battle does not allow it.
            ArenaFull: too many battles are being answered.
        """
        return await self._reopen(battle_id, voter_id, only_unfinished=True)

    async def view(self, battle_id: str, voter_id: str) -> BattleView:
        """The battle as its voter may see it now.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        battle = await self._battle(battle_id, voter_id)
        live = self._live.get(battle_id)
        return await self._recorded_view(battle) if live is None else _live_view(live)

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

    async def leave(self, battle_id: str, voter_id: str) -> None:
        """Gives a battle up: its models are told to stop at once.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        await self._battle(battle_id, voter_id)
        live = self._live.get(battle_id)
        if live is not None:
            await live.stop()
            await self._see_off(battle_id)

    async def vote(
        self, battle_id: str, voter_id: str, outcome: Outcome, *, edition: int | None = None
    ) -> BattleView:
        """Stores a vote, then reveals the names; a second vote gets the first one's reveal.

        Args:
            battle_id: the battle.
            voter_id: who votes.
            outcome: the button.
            edition: of the view that the voter has read, `None` for whichever there is.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
            VoteNotOpen: its answers are not both complete.
            VoteStale: another tab has replaced or continued the answers.
        """
        battle = await asyncio.to_thread(
            self._store.battles.vote,
            battle_id,
            voter_id=voter_id,
            outcome=outcome,
            edition=edition,
        )
        return await self._recorded_view(battle)

    async def votes_of(self, voter_id: str) -> dict[Outcome, int]:
        """How often a voter pressed each button."""
        return await asyncio.to_thread(self._store.battles.votes_of, voter_id)

    async def _views(self, battle_id: str, voter_id: str) -> AsyncGenerator[BattleView]:
        while True:
            live = self._live.get(battle_id)
            if live is not None:
                live.battle.check_owner(voter_id)
                with self._watching(live):
                    seen = -1
                    while not live.done:
                        # Slept before the first view too: in a rush it then has text already.
                        await live.rest(self._tick(live))
                        if live.version != seen and not live.done:
                            seen = live.version
                            yield _live_view(live)
            battle = await self._battle(battle_id, voter_id)
            if battle_id in self._live:  # asked again in the meantime
                continue
            yield await self._recorded_view(battle)
            if battle.status is not BattleStatus.ANSWERING:
                return
            await asyncio.sleep(1)  # another process answers it

    async def _see_off(self, battle_id: str) -> None:
        """Waits for those who watch a battle to have had its last view.

        Whoever leaves it for another would otherwise get that view on top of the new one.
        """
        for _ in range(_LAST_VIEW_TICKS):
            if not self._watches[battle_id]:
                return
            await asyncio.sleep(FIRST_TEXT_TICK)

    def _clean(self, prompt: str, *, turn: int) -> str:
        text = clean_prompt(
            prompt,
            turn=turn,
            max_characters=self._limits.max_prompt_characters,
            max_turns=self._limits.max_turns,
        )
        if self.known_prompts is not None:
            if turn:
                raise InvalidPrompt("no_follow_up", value=turn + 1, limit=1)
            if _single_spaced(text) not in self._recorded:
                raise InvalidPrompt("not_recorded", value=len(text), limit=len(self._recorded))
        return text

    def _check_served(self, battle: Battle) -> None:
        if any(battle.pairing.model(side) not in self._models for side in Side):
            raise ModelGone(battle.id)

    async def _battle(self, battle_id: str, voter_id: str) -> Battle:
        return await asyncio.to_thread(self._store.battles.get, battle_id, voter_id=voter_id)

    async def _reopen(self, battle_id: str, voter_id: str, *, only_unfinished: bool) -> BattleView:
        self._check_served(await self._battle(battle_id, voter_id))
        return await self._record_and_ask(
            lambda: self._store.battles.reopen(
                battle_id, voter_id=voter_id, worker_id=self._upkeep.worker_id
            ),
            only_unfinished=only_unfinished,
        )

    async def _record_and_ask(
        self, record: Callable[[], Battle], *, only_unfinished: bool = False
    ) -> BattleView:
        """Commits what is to be answered, then asks the models.

        In a task of its own: a page that leaves in between must not leave a battle on record
        that nobody is answering.
        """
        if len(self._live) + len(self._arriving) >= self._limits.max_live:
            raise ArenaFull(f"{len(self._live)} battles are being answered")

        async def _arrive() -> BattleView:
            battle = await asyncio.to_thread(record)
            unfinished = battle.unfinished_sides() if only_unfinished else ()
            return self._ask(battle, unfinished or tuple(Side))

        task = asyncio.create_task(_arrive())
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)
        return await asyncio.shield(task)

    def _ask(self, battle: Battle, sides: tuple[Side, ...]) -> BattleView:
        live = Answering(
            battle,
            models={side: self._models[battle.pairing.model(side)] for side in sides},
            sides=sides,
            commit=self._commit,
            settled=self._settled,
        )
        self._live[battle.id] = live
        self._stop_if_left(live)  # the page may be gone before it begins to watch
        return _live_view(live)

    async def _commit(self, battle_id: str, response: Response) -> None:
        await asyncio.to_thread(self._store.battles.add_response, battle_id, response)

    async def _settled(self, live: Answering) -> None:
        try:
            status = settled_status(live.statuses())
            await asyncio.to_thread(
                self._store.battles.settle, live.battle.id, status, worker_id=self._upkeep.worker_id
            )
        finally:
            # A follow-up may have begun the moment the status was on record.
            if self._live.get(live.battle.id) is live:
                del self._live[live.battle.id]

    async def _recorded_view(self, battle: Battle) -> BattleView:
        reveals = {}
        if battle.vote is not None:
            cards = await asyncio.to_thread(self._store.battles.cards)
            last = len(battle.prompts) - 1
            for side in Side:
                card = cards[battle.pairing.model(side)]
                reveals[side] = reveal_of(card, battle.response(last, side))
        return BattleView(
            battle_id=battle.id,
            prompts=battle.prompts,
            status=battle.status,
            edition=battle.edition,
            a=recorded_side(battle, Side.A, reveal=reveals.get(Side.A)),
            b=recorded_side(battle, Side.B, reveal=reveals.get(Side.B)),
            outcome=None if battle.vote is None else battle.vote.outcome,
        )

    @contextmanager
    def _watching(self, live: Answering) -> Iterator[None]:
        live.watchers += 1
        live.visits += 1
        try:
            yield
        finally:
            live.watchers -= 1
            self._stop_if_left(live)

    def _stop_if_left(self, live: Answering) -> None:
        """Stops the models if nobody watches for the length of the grace."""
        if live.watchers or live.done:
            return

        visits = live.visits

        async def _after_grace() -> None:
            await asyncio.sleep(self._limits.grace_seconds)
            # Whoever has been there in the meantime has a grace of their own.
            if not live.watchers and live.visits == visits and not live.done:
                await live.stop()

        task = asyncio.create_task(_after_grace())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def _tick(self, live: Answering) -> float:
        """Seconds to the next update: quick for the first text, slower the more are live."""
        if not live.has_text:
            return FIRST_TEXT_TICK
        return max(SHORTEST_TICK, len(self._live) / UPDATES_PER_SECOND)


def _single_spaced(text: str) -> str:
    """Recorded answers are looked up by words, however they are spaced."""
    return " ".join(text.split())


def _live_view(live: Answering) -> BattleView:
    battle = live.battle
    a, b = (live.draft(side) or recorded_side(battle, side) for side in Side)
    return BattleView(
        battle_id=battle.id,
        prompts=battle.prompts,
        status=BattleStatus.ANSWERING,
        edition=battle.edition,
        a=a,
        b=b,
    )
