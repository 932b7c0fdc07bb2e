"""The rooms of a running arena, connected and closed in order."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.battle.answering import Lengths
from arena.battle.conductor import BattleLimits, Conductor
from arena.battle.crowding import CrowdLimits
from arena.battle.metrics import Metrics
from arena.battle.model_health import ModelHealth
from arena.battle.quotas import Deed, Quotas, Rates
from arena.battle.spending import Spending
from arena.leaderboards.judges import JudgeBoardKeeper
from arena.leaderboards.keeper import LeaderboardKeeper
from arena.leaderboards.recipe import Recipe
from arena.matchmaking.matchmaker import Matchmaker, build_matchmaker
from arena.matchmaking.strengths import Strengths
from arena.store import open_store
from arena.store.tally import Census
from serving.recorded import RecordedModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from arena.settings import Settings
    from arena.settings.tree import RateSettings
    from arena.store import Store
    from serving.protocol import ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """The rooms of a running arena."""

    settings: Settings
    store: Store
    conductor: Conductor
    boards: LeaderboardKeeper
    judge_boards: JudgeBoardKeeper
    matchmaker: Matchmaker


@asynccontextmanager
async def open_arena(settings: Settings, models: Mapping[str, ChatModel]) -> AsyncIterator[Arena]:
    """Connects the rooms over running models, and closes them in order.

    Raises:
        StoreError: the database cannot be opened.
    """
    store = await asyncio.to_thread(open_store, settings.database.url)
    try:
        async with _connect(settings, store, models) as arena:
            yield arena
    finally:
        store.close()


@asynccontextmanager
async def _connect(
    settings: Settings, store: Store, models: Mapping[str, ChatModel]
) -> AsyncIterator[Arena]:
    names = tuple(models)
    census = Census(store.votes)
    standing = Strengths(names, census)
    await standing.catch_up()
    health = ModelHealth(models)
    spending = _count_spending(settings, store, models)
    await spending.count()
    matchmaker = build_matchmaker(
        settings.matchmaking,
        standing,
        names,
        absent=lambda: health.resting | spending.spent_out,
    )
    metrics = Metrics(
        live_battles=lambda: conductor.live_battles,
        resting=lambda: len(health.resting),
        ask_database=store.ask,
    )
    conductor = Conductor(
        store=store,
        matchmaker=matchmaker,
        strengths=standing,
        health=health,
        models=models,
        metrics=metrics,
        limits=BattleLimits(
            max_prompt_characters=settings.battles.max_prompt_characters,
            max_turns=settings.battles.max_turns,
            crowd=CrowdLimits(
                live=settings.battles.max_live,
                of_voter=settings.battles.max_live_per_voter,
                of_address=settings.battles.max_live_per_address,
            ),
            lengths=Lengths(
                text=settings.battles.max_answer_characters,
                reasoning=settings.battles.max_reasoning_characters,
            ),
            grace_seconds=settings.battles.grace_seconds,
        ),
        known_prompts=_known_prompts(models),
        quotas=_make_quotas(settings.rates),
    )
    boards = await asyncio.to_thread(
        LeaderboardKeeper, store, census, settings=settings.leaderboard, models=names
    )
    judge_boards = JudgeBoardKeeper(
        store.judge_verdicts, Recipe.from_settings(settings.leaderboard)
    )
    await conductor.open()
    port = settings.server.metrics_port
    background = [
        asyncio.create_task(work)
        for work in (
            *(() if port is None else (metrics.keep_serving(port),)),
            boards.keep_fresh(),
            judge_boards.keep_fresh(),
            standing.keep_up(),
            health.keep_probing(),
            spending.keep_counting(),
            metrics.keep_measuring(),
        )
    ]
    try:
        yield Arena(
            settings=settings,
            store=store,
            conductor=conductor,
            boards=boards,
            judge_boards=judge_boards,
            matchmaker=matchmaker,
        )
    finally:
        for task in background:
            task.cancel()
        await asyncio.wait(background)
        await conductor.close()


def _count_spending(settings: Settings, store: Store, models: Mapping[str, ChatModel]) -> Spending:
    caps = {
        name: rule.max_cost_per_day
        for name, rule in settings.matchmaking.models.items()
        if rule.max_cost_per_day is not None and name in models
    }
    cards = {name: models[name].card for name in caps}
    return Spending(store.tokens, cards=cards, caps=caps)


def _make_quotas(rates: RateSettings) -> Quotas:
    return Quotas(
        Rates(
            of_voter={
                Deed.BATTLE: rates.voter_battles,
                Deed.FOLLOW_UP: rates.voter_follow_ups,
                Deed.REGENERATION: rates.voter_regenerations,
                Deed.VOTE: rates.voter_votes,
            },
            of_address={
                Deed.BATTLE: rates.address_battles,
                Deed.FOLLOW_UP: rates.address_follow_ups,
                Deed.REGENERATION: rates.address_regenerations,
                Deed.VOTE: rates.address_votes,
            },
        ),
        rates.storage,
    )


def _known_prompts(models: Mapping[str, ChatModel]) -> tuple[str, ...] | None:
    """The prompts that every model can answer, `None` where any prompt will do.

    Only recorded models are limited.
    """
    limited = [
        model.prompts
        for model in models.values()
        if isinstance(model, RecordedModel) and not model.answers_anything
    ]
    if not limited:
        return None
    shared = set(limited[0]).intersection(*limited[1:])
    return tuple(prompt for prompt in limited[0] if prompt in shared)
