from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from serving import (
    Completion,
    Interrupted,
    ModelCard,
    ModelUnreachable,
    RateLimited,
    Refused,
    Sampling,
)
from serving.protocol import FinishReason, TimedOut, generation_speed


def completion(tokens: int | None, *, first: float = 1.0, duration: float = 3.0) -> Completion:
    reason: FinishReason = "stop"
    return Completion(
        text="",
        finish_reason=reason,
        completion_tokens=tokens,
        time_to_first_token=first,
        duration=duration,
        model_id="m",
    )


def test_speed_counts_the_tokens_after_the_first() -> None:
    assert completion(21).tokens_per_second == pytest.approx(10)


@pytest.mark.parametrize(
    "told", [completion(None), completion(1), completion(0), completion(5, first=3.0)]
)
def test_speed_is_not_told_where_it_cannot_be(told: Completion) -> None:
    assert told.tokens_per_second is None


@pytest.mark.parametrize(
    "told",
    [
        {"time_to_first_token": None, "duration": 3.0},
        {"time_to_first_token": 1.0, "duration": None},
    ],
)
def test_speed_needs_both_times(told: dict[str, float | None]) -> None:
    assert generation_speed(11, **told) is None
    assert generation_speed(11, time_to_first_token=1.0, duration=3.0) == 5.0


def test_a_cost_is_tokens_at_the_prices_of_the_card() -> None:
    card = ModelCard(name="Amber", price_input=1.0, price_output=10.0)
    assert card.is_priced
    assert card.cost(500_000, 20_000) == pytest.approx(0.70)
    free = replace(card, price_input=0.0, price_output=0.0)
    assert (free.is_priced, free.cost(500_000, 20_000)) == (True, 0)


@pytest.mark.parametrize("missing", ["price_input", "price_output"])
def test_what_is_not_known_costs_nobody_knows_what(missing: str) -> None:
    card = ModelCard(name="Amber", price_input=1.0, price_output=10.0)
    assert card.cost(None, 1) is None
    assert card.cost(1, None) is None
    changes: dict[str, Any] = {missing: None}
    halved = replace(card, **changes)
    assert (halved.is_priced, halved.cost(1, 1)) == (False, None)


def test_sampling_falls_back_value_by_value() -> None:
    own = Sampling(temperature=0.0, stop=("a",))
    defaults = Sampling(temperature=0.7, top_p=0.9, max_tokens=8, seed=3, stop=("b",))
    assert own.over(defaults) == Sampling(
        temperature=0.0, top_p=0.9, max_tokens=8, seed=3, stop=("a",)
    )
    assert Sampling().over(defaults) == defaults


def test_errors_say_whether_they_may_pass() -> None:
    passing = [ModelUnreachable("x"), RateLimited("x"), Interrupted("x"), TimedOut("x")]
    assert all(error.retryable for error in passing)
    assert not Refused("x").retryable
