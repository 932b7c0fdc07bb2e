from __future__ import annotations

import pytest

from serving import Completion, Interrupted, ModelUnreachable, RateLimited, Refused, Sampling
from serving.protocol import FinishReason, TimedOut


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
