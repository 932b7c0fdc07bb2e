"""One battle from draw to reveal; the only thing pages call.

Everything that matters is committed before it is shown: the battle before the first
token, each answer when it ends, the vote before the names. What lives in this process
(the answers being written) is lost with it and marked so on record.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from arena.battle.answering import Lengths
from arena.battle.asking import Asking
from arena.battle.crowding import Asker, Crowd, CrowdLimits
from arena.battle.quotas import Deed, Quotas, Rates
from arena.battle.upkeep import Upkeep
from arena.battle.views import view_battle
from arena.battle.watching import Watching
from arena.rules.actions import Action, Terms
from arena.rules.battles import (
    Battle,
    BattleClosed,
    InvalidPrompt,
    Outcome,
    check_battle_id,
    clean_prompt,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from arena.battle.metrics import Metrics
    from arena.battle.model_health import ModelHealth
    from arena.battle.views import BattleView
    from arena.matchmaking.matchmaker import Matchmaker
    from arena.matchmaking.strengths import Strengths
    from arena.store import Store
    from serving.protocol import ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class BattleLimits:
    """What a battle may be.

    Attributes:
        max_prompt_characters: longest prompt.
        max_turns: most turns.
        crowd: most battles being answered at once.
        lengths: how much of an answer is read.
        grace_seconds: how long models go on after the last page has left.
    """

    max_prompt_characters: int = 20_000
    max_turns: int = 10
    crowd: CrowdLimits = field(default_factory=CrowdLimits)
    lengths: Lengths = field(default_factory=Lengths)
    grace_seconds: float = 5.0


class Conductor:
    """Runs battles over a store and a set of models.

    Args:
        store: the record.
        matchmaker: draws the pairs.
        strengths: learn the votes.
        health: learns how answers end.
        models: every model that can be asked, by name.
        limits: what a battle may be.
        metrics: counts what happens, if anybody reads it.
        known_prompts: the only prompts that the models can answer (recorded arenas), or
            `None` where any prompt will do.
    """

    def __init__(
        self,
        *,
        store: Store,
        matchmaker: Matchmaker,
        strengths: Strengths,
        health: ModelHealth,
        models: Mapping[str, ChatModel],
        limits: BattleLimits | None = None,
        metrics: Metrics | None = None,
        known_prompts: tuple[str, ...] | None = None,
        quotas: Quotas | None = None,
    ) -> None:
        self._store = store
        self._matchmaker = matchmaker
        self._strengths = strengths
        self._models = models
        self._limits = limits or BattleLimits()
        self._metrics = metrics
        self._quotas = quotas or Quotas(Rates())
        self.known_prompts = known_prompts
        self._recorded = frozenset(map(_single_spaced, known_prompts or ()))
        self._terms = Terms(
            models=frozenset(models),
            max_turns=self._limits.max_turns,
            is_recorded=known_prompts is not None,
        )
        self._watching = Watching(
            store, terms=self._terms, grace_seconds=self._limits.grace_seconds
        )
        self._upkeep = Upkeep(store.workers, live=lambda: tuple(self._watching.live))
        self._asking = Asking(
            store,
            watching=self._watching,
            upkeep=self._upkeep,
            health=health,
            models=models,
            crowd=Crowd(self._limits.crowd),
            lengths=self._limits.lengths,
            metrics=metrics,
        )

    async def open(self) -> None:
        """Registers this process and marks what dead ones left behind."""
        cards = [asdict(model.card) for model in self._models.values()]
        await asyncio.to_thread(self._store.battles.register_models, cards)
        await self._upkeep.open()

    async def close(self) -> None:
        """Stops all answers, stores how far they came, and signs off."""
        await self._upkeep.rest()
        self._watching.close()
        await self._asking.close()
        await self._upkeep.sign_off()

    @property
    def live_battles(self) -> int:
        """How many battles are being answered in this process now."""
        return len(self._watching.live)

    async def send(
        self,
        prompt: str,
        voter_id: str,
        *,
        battle_id: str = "",
        turn: int | None = None,
        new_id: str | None = None,
        address: str = "",
    ) -> BattleView:
        """Goes on with the battle at hand, or begins one: the first, or the next after a vote.

        Args:
            prompt: as typed.
            voter_id: who asks.
            battle_id: the battle at hand, empty where there is none.
            turn: as for `follow_up`.
            new_id: as `battle_id` for `start`.
            address: where from, for the number of battles at once; never on record.

        Raises:
            BattleError: the battle or the prompt does not allow it.
            ArenaFull: too many battles are being answered.
            TooFewModels: fewer than two models can answer now.
        """
        if battle_id:
            with suppress(BattleClosed):
                return await self.follow_up(battle_id, prompt, voter_id, turn=turn, address=address)
        return await self.start(prompt, voter_id, battle_id=new_id, address=address)

    async def start(
        self, prompt: str, voter_id: str, *, battle_id: str | None = None, address: str = ""
    ) -> BattleView:
        """Draws a pair for a new battle and asks both models.

        Args:
            prompt: the first.
            voter_id: who asks.
            battle_id: made by the page, so that it can ask again without asking twice;
                `None` for one made here.
            address: as for `send`.

        Raises:
            InvalidPrompt: the prompt cannot be sent.
            UnknownBattle: the id is none that a page makes, or somebody else's.
            ArenaFull: too many battles are being answered.
            TooFewModels: fewer than two models can answer now.
        """
        if battle_id is not None:
            check_battle_id(battle_id)
        text = self._clean(prompt)
        await self._quotas.spend(Deed.BATTLE, Asker(voter_id, address))
        pairing = self._matchmaker.draw()
        return await self._asking.ask(
            lambda: self._store.battles.start(
                voter_id=voter_id,
                pairing=pairing,
                prompt=text,
                worker_id=self._upkeep.worker_id,
                battle_id=battle_id,
            ),
            asker=Asker(voter_id, address),
            battle_id=battle_id,
        )

    async def follow_up(
        self,
        battle_id: str,
        prompt: str,
        voter_id: str,
        *,
        turn: int | None = None,
        address: str = "",
    ) -> BattleView:
        """Sends another prompt to both models of a battle.

        Args:
            battle_id: the battle.
            prompt: the next.
            voter_id: who asks.
            turn: the index that the page expects it to have; the same prompt sent again as
                the same turn is one prompt. `None` for whichever is next.
            address: as for `send`.

        Raises:
            BattleError: the battle or the prompt does not allow it.
            ArenaFull: too many battles are being answered.
        """
        text = self._clean(prompt)
        await self._quotas.spend(Deed.FOLLOW_UP, Asker(voter_id, address))
        return await self._asking.ask(
            lambda: self._store.battles.add_turn(
                battle_id,
                voter_id=voter_id,
                prompt=text,
                worker_id=self._upkeep.worker_id,
                terms=self._terms,
                turn=turn,
            ),
            asker=Asker(voter_id, address),
            battle_id=battle_id,
        )

    async def regenerate(
        self, battle_id: str, voter_id: str, *, edition: int | None = None, address: str = ""
    ) -> BattleView:
        """Asks both models for another answer to the last prompt.

        Args:
            battle_id: the battle.
            voter_id: who asks.
            edition: of the view that is to be replaced; asked for again, it is replaced once.
                `None` for whichever there is.
            address: as for `send`.

        Raises:
            BattleError: the battle does not allow it.
            ArenaFull: too many battles are being answered.
        """
        asker = Asker(voter_id, address)
        return await self._reopen(battle_id, asker, Action.REGENERATE, edition=edition)

    async def retry(
        self, battle_id: str, voter_id: str, *, edition: int | None = None, address: str = ""
    ) -> BattleView:
        """Asks the sides that did not finish once more.

        Args:
            battle_id: the battle.
            voter_id: who asks.
            edition: as for `regenerate`.
            address: as for `send`.

        Raises:
            BattleError: the battle does not allow it.
            ArenaFull: too many battles are being answered.
        """
        asker = Asker(voter_id, address)
        return await self._reopen(battle_id, asker, Action.RETRY, edition=edition)

    async def view(self, battle_id: str, voter_id: str) -> BattleView:
        """The battle as its voter may see it now.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        return await self._watching.view(await self._battle(battle_id, voter_id))

    def watch(self, battle_id: str, voter_id: str) -> AsyncGenerator[BattleView]:
        """The battle whenever there is something new to show, until it has settled.

        Closing the generator means that the page has left.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        return self._watching.watch(battle_id, voter_id)

    async def leave(self, battle_id: str, voter_id: str) -> None:
        """Gives a battle up: its models are told to stop at once.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        await self._battle(battle_id, voter_id)
        live = self._watching.live.get(battle_id)
        if live is not None:
            await live.stop()
            await self._watching.see_off(battle_id)

    async def vote(
        self,
        battle_id: str,
        voter_id: str,
        outcome: Outcome,
        *,
        edition: int | None = None,
        address: str = "",
    ) -> BattleView:
        """Stores a vote, then reveals the names; a second vote gets the first one's reveal.

        Args:
            battle_id: the battle.
            voter_id: who votes.
            outcome: the button.
            edition: of the view that the voter has read, `None` for whichever there is.
            address: as for `send`.

        Raises:
            QuotaSpent: there were as many votes as there may be in a time.
            UnknownBattle: there is none of that id, or it is somebody else's.
            VoteNotOpen: its answers are not both complete.
            VoteStale: another tab has replaced or continued the answers.
        """
        await self._quotas.spend(Deed.VOTE, Asker(voter_id, address))
        battle = await asyncio.to_thread(
            self._store.battles.vote,
            battle_id,
            voter_id=voter_id,
            outcome=outcome,
            edition=edition,
        )
        self._strengths.learn(battle)
        if self._metrics is not None and battle.vote is not None:
            self._metrics.voted(battle.vote)
        cards = await asyncio.to_thread(self._store.battles.cards)
        return view_battle(battle, self._terms, cards=cards)

    async def votes_of(self, voter_id: str) -> dict[Outcome, int]:
        """How often a voter pressed each button."""
        return await asyncio.to_thread(self._store.battles.votes_of, voter_id)

    def _clean(self, prompt: str) -> str:
        text = clean_prompt(prompt, max_characters=self._limits.max_prompt_characters)
        if self.known_prompts is not None and _single_spaced(text) not in self._recorded:
            raise InvalidPrompt("not_recorded", value=len(text), limit=len(self._recorded))
        return text

    async def _battle(self, battle_id: str, voter_id: str) -> Battle:
        return await asyncio.to_thread(self._store.battles.get, battle_id, voter_id=voter_id)

    async def _reopen(
        self, battle_id: str, asker: Asker, action: Action, *, edition: int | None
    ) -> BattleView:
        await self._quotas.spend(Deed.REGENERATION, asker)
        return await self._asking.ask(
            lambda: self._store.battles.reopen(
                battle_id,
                action,
                voter_id=asker.voter_id,
                worker_id=self._upkeep.worker_id,
                terms=self._terms,
                edition=edition,
            ),
            asker=asker,
            battle_id=battle_id,
            only_unfinished=action is Action.RETRY,
        )


def _single_spaced(text: str) -> str:
    """Recorded answers are looked up by words, however they are spaced."""
    return " ".join(text.split())
