"""Signs that votes are cast by a program or to a purpose, from what is on record of a voter.

None is proof: a sign says whose votes a maintainer may want to look at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from arena.rules.battles import Outcome

# Nobody presses a button sooner after it has opened, but for once in a while.
FASTEST_SECONDS = 0.5
FEWEST_FAST = 10
# A person who does nothing else reads and judges one battle in half a minute.
MOST_AN_HOUR = 120
FEWEST_ALIKE = 10
# Sides fall by a coin: whoever reads prefers now the left, now the right.
FEWEST_ONE_SIDED = 20
ONE_SIDED = 0.95
_HOUR = 3600.0


class Sign(StrEnum):
    """What stands out."""

    FAST = "fast"  # most votes within half a second of the later answer's end
    FLOOD = "flood"  # more votes in one hour than a person reads battles
    REPEATED = "repeated"  # most battles began with one and the same prompt
    ONE_SIDED = "one-sided"  # one and the same button, whatever the answers
    UNLIKELY = "unlikely"  # votes against what all others say of the same pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class CastVote:
    """A vote as far as it tells about its voter.

    Attributes:
        model_a: on the left.
        model_b: on the right.
        at: when it was cast.
        outcome: which button, sides as shown.
        read_seconds: from the end of the later answer to the vote, `None` where it is not known.
        prompt: the first of the battle.
    """

    model_a: str
    model_b: str
    at: datetime
    outcome: Outcome
    read_seconds: float | None
    prompt: str


def find_signs(votes: Sequence[CastVote]) -> tuple[Sign, ...]:
    """What stands out in one voter's votes, but for what takes the others' to see.

    Args:
        votes: all of theirs, in any order.
    """
    checks = {
        Sign.FAST: _is_fast(votes),
        Sign.FLOOD: _most_an_hour(votes) > MOST_AN_HOUR,
        Sign.REPEATED: _is_repeated(votes),
        Sign.ONE_SIDED: _is_one_sided(votes),
    }
    return tuple(sign for sign, is_there in checks.items() if is_there)


def _is_fast(votes: Sequence[CastVote]) -> bool:
    known = [vote.read_seconds for vote in votes if vote.read_seconds is not None]
    fast = sum(seconds < FASTEST_SECONDS for seconds in known)
    return fast >= FEWEST_FAST and 2 * fast > len(known)


def _most_an_hour(votes: Sequence[CastVote]) -> int:
    times = sorted(vote.at.timestamp() for vote in votes)
    most = first = 0
    for last, time in enumerate(times):
        while time - times[first] > _HOUR:
            first += 1
        most = max(most, last - first + 1)
    return most


def _is_repeated(votes: Sequence[CastVote]) -> bool:
    prompts = Counter(" ".join(vote.prompt.split()).casefold() for vote in votes)
    most = max(prompts.values(), default=0)
    return most >= FEWEST_ALIKE and 2 * most > len(votes)


def _is_one_sided(votes: Sequence[CastVote]) -> bool:
    said = Counter(vote.outcome for vote in votes)
    most = max(said.values(), default=0)
    return most >= FEWEST_ONE_SIDED and most >= ONE_SIDED * len(votes)
