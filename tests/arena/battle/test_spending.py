"""Caps of a day: what the record says was read and written, at the prices of the cards."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from battle_steps import answer
from board_votes import cast, register
from sqlalchemy import update

from arena.battle.spending import Spending
from arena.rules.battles import Outcome, ResponseStatus, Side
from arena.store import Store, Tokens
from arena.store.tables import responses
from serving import ModelCard

NAMES = ("Amber", "Birch", "Cedar")
CARDS = {
    "Amber": ModelCard(name="Amber", price_input=1.0, price_output=10.0),
    "Birch": ModelCard(name="Birch", price_input=0.0, price_output=0.0),
}


@pytest.fixture
def store(store: Store) -> Store:
    """With what these tests need, on both databases."""
    register(store, NAMES)
    return store


def answered(store: Store, *, prompt: int, completion: int, when: datetime | None = None) -> None:
    """A battle of Amber (on the right) and Birch that cost both so many tokens."""
    battle_id = cast(store, "Birch", "Amber", Outcome.TIE)
    values: dict[str, object] = {"prompt_tokens": prompt, "completion_tokens": completion}
    values["created_at"] = when or datetime.now(UTC)
    with store.engine.begin() as connection:
        connection.execute(
            update(responses).where(responses.c.battle_id == battle_id).values(values)
        )


def spending(store: Store, **caps: float) -> Spending:
    return Spending(store.tokens, cards=CARDS, caps=caps)


def test_a_cap_on_a_model_without_prices_is_refused_and_not_free(store: Store) -> None:
    cards = {"Amber": replace(CARDS["Amber"], price_output=None)}
    with pytest.raises(ValueError, match="prices: Amber"):
        Spending(store.tokens, cards=cards, caps={"Amber": 1.0})


async def test_answers_without_token_counts_are_not_free_in_silence(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    day = spending(store, Amber=1.0)
    battle_id = cast(store, "Birch", "Amber", Outcome.TIE)
    store.battles.add_response(battle_id, answer(Side.B, attempt=1, text="Because."))
    with caplog.at_level(logging.WARNING):
        await day.count()
        await day.count()
    assert day.spent_out == frozenset()
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("answers of Amber came without token counts: what they cost is not")


async def test_a_model_at_its_cap_rests_and_the_others_do_not(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    day = spending(store, Amber=1.0, Birch=1.0)
    answered(store, prompt=400_000, completion=50_000)
    await day.count()
    assert day.spent_out == frozenset()
    answered(store, prompt=0, completion=10_000)
    with caplog.at_level(logging.WARNING):
        await day.count()
        await day.count()
    assert day.spent_out == {"Amber"}
    assert [record.getMessage() for record in caplog.records] == [
        "Amber has reached its cap of $1 a day"
    ]


async def test_yesterday_does_not_count(store: Store) -> None:
    day = spending(store, Amber=0.01)
    answered(
        store,
        prompt=10**9,
        completion=10**9,
        when=datetime.now(UTC).replace(hour=0, minute=0, second=0) - timedelta(seconds=1),
    )
    await day.count()
    assert day.spent_out == frozenset()


async def test_failed_and_repeated_answers_cost_as_well(store: Store) -> None:
    battle_id = cast(store, "Birch", "Amber", Outcome.TIE)
    for attempt, status in enumerate((ResponseStatus.FAILED, ResponseStatus.COMPLETE), start=1):
        store.battles.add_response(
            battle_id, answer(Side.B, attempt=attempt, status=status, text="")
        )
    with store.engine.begin() as connection:
        connection.execute(update(responses).values(completion_tokens=7))
    assert store.tokens.since(datetime(2020, 1, 1, tzinfo=UTC)) == {
        "Amber": Tokens(0, 21, uncounted=1),  # those without text cannot have cost much
        "Birch": Tokens(0, 7, uncounted=1),
    }


async def test_without_caps_nothing_is_asked(store: Store) -> None:
    store.close()
    day = spending(store)
    await day.count()
    await day.keep_counting()  # and returns
    assert day.spent_out == frozenset()
