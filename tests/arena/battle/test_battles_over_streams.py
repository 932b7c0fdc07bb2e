"""Battles over a provider that misbehaves: what is stored, and whether the vote opens."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import Provider
from played_apis import KEY, Api, spec_for
from shapes_of_ends import ENDS, REASONING
from shapes_of_errors import ERRORS
from sqlalchemy import select
from staged_models import VOTER, StagedModel, conducting, watch

from arena.battle.views import SideState
from arena.rules.actions import Action
from arena.rules.battles import Outcome, ResponseStatus, VoteNotOpen
from arena.store.tables import responses
from serving import Roster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stream_shapes import ApiName, Shape

    from arena.store import Store

SHAPES = [*ENDS, *REASONING, *ERRORS]
# One API each, in turns: that both read all of them alike is tried without a battle around it.
CASES = [(shape, shape.apis[at % len(shape.apis)]) for at, shape in enumerate(SHAPES)]


@pytest.fixture
def record(store: Store) -> Store:
    """What is stored of the battles, on both databases."""
    return store


@contextlib.asynccontextmanager
async def provider_of(shape: Shape, api: ApiName) -> AsyncIterator[Provider]:
    provider = Provider(script=[shape.play(api)])
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.port = server.sockets[0].getsockname()[1]
    async with server:
        yield provider


@pytest.mark.parametrize(("shape", "api"), CASES, ids=[f"{api}: {s.name}" for s, api in CASES])
async def test_a_vote_opens_on_answers_that_ended_well_and_on_no_other(
    shape: Shape, api: ApiName, record: Store
) -> None:
    async with provider_of(shape, api) as provider:
        spec = spec_for(Api(api), provider.root_url, **shape.settings)
        async with (
            Roster([spec], environ={"IT_KEY": KEY}) as roster,
            conducting(record, roster.models["it"], StagedModel("Birch")) as conductor,
        ):
            battle_id = (await conductor.start("Why?", VOTER)).battle_id
            view = await watch(conductor, battle_id)
            mine = next(side for side in (view.a, view.b) if "Birch" not in side.answers[-1])
            assert (Action.VOTE in view.open) == shape.is_votable
            assert (mine.state is SideState.COMPLETE) == shape.is_votable
            if not shape.is_votable:
                with pytest.raises(VoteNotOpen):
                    await conductor.vote(battle_id, VOTER, Outcome.TIE)
    with record.engine.connect() as connection:
        rows = connection.execute(select(responses)).mappings().all()
    (row,) = (row for row in rows if "Birch" not in row["text"])
    assert row["text"] == shape.text
    assert row["reasoning"] == shape.reasoning
    assert (row["status"] == ResponseStatus.COMPLETE) == shape.is_votable
    expected = None if shape.is_votable else shape.end
    if shape.end in {"stop", "length"} and not shape.is_votable:
        expected = "EmptyAnswer"
    assert row["error_kind"] == expected
    assert shape.says in (row["error_message"] or "")
    assert KEY not in (row["error_message"] or "")
