"""What stands out in one voter's votes, and what does not."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from arena.rules.battles import Outcome
from arena.rules.suspicion import MOST_AN_HOUR, CastVote, Sign, find_signs

BEGIN = datetime(2026, 12, 1, tzinfo=UTC)
ALL = list(Outcome)


def cast(
    number: int, *, every: float = 45.0, read: float | None = 20.0, prompt: str | None = None,
    outcome: Outcome | None = None,
) -> list[CastVote]:  # fmt: skip
    return [
        CastVote(
            model_a="Amber",
            model_b="Birch",
            at=BEGIN + timedelta(seconds=every * each),
            outcome=outcome or ALL[each % 4],
            read_seconds=read,
            prompt=prompt or f"Question {each}",
        )
        for each in range(number)
    ]


@pytest.mark.parametrize(
    ("votes", "signs"),
    [
        ([], ()),
        (cast(500), ()),
        (cast(30, read=0.1), (Sign.FAST,)),
        (cast(9, read=0.1), ()),  # too few to say so
        (cast(30, read=None), ()),
        (cast(12, read=0.1) + cast(40), ()),  # once in a while
        (cast(MOST_AN_HOUR + 1, every=25), (Sign.FLOOD,)),
        (cast(MOST_AN_HOUR, every=25), ()),
        (cast(400, every=31), ()),
        (cast(20, prompt=" Say  hello "), (Sign.REPEATED,)),
        (cast(9, prompt="Say hello"), ()),
        (cast(12, prompt="Say hello") + cast(20), ()),
        (cast(20, outcome=Outcome.MODEL_A), (Sign.ONE_SIDED,)),
        (cast(19, outcome=Outcome.MODEL_A), ()),
        (
            cast(300, every=1, read=0.0, prompt="x", outcome=Outcome.TIE),
            (Sign.FAST, Sign.FLOOD, Sign.REPEATED, Sign.ONE_SIDED),
        ),
    ],
)
def test_what_stands_out(votes: list[CastVote], signs: tuple[Sign, ...]) -> None:
    shuffled = random.Random(1).sample(votes, len(votes))
    assert find_signs(shuffled) == signs


def test_honest_voters_of_every_temper_do_not_stand_out() -> None:
    """A thousand, each with shares of buttons and a pace of their own."""
    dice = random.Random(20261201)
    flagged = 0
    for _ in range(1_000):
        shares = [dice.gammavariate(2, 1) for _ in ALL]
        pace = dice.uniform(30, 300)
        at, votes = BEGIN, []
        for _ in range(dice.randint(1, 200)):
            at += timedelta(seconds=dice.expovariate(1 / pace) + 10)
            votes.append(
                CastVote(
                    model_a="Amber",
                    model_b="Birch",
                    at=at,
                    outcome=dice.choices(ALL, shares)[0],
                    read_seconds=dice.expovariate(1 / 15) + 0.2,
                    prompt=dice.choice(("Hello", f"{dice.random()}", f"{dice.random()}")),
                )
            )
        flagged += bool(find_signs(votes))
    assert flagged <= 5
