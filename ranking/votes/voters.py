"""Voters whose votes do not look like those of the others on the same pairs.

After Chiang et al. (2024): each vote gets a p-value against the history of its pair, and
Fisher's combination of a voter's first votes is looked at a few times. A flag is a reason
to look, to be kept as a reason code on votes; it deletes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from ranking.errors import InvalidVote, RankingError
from ranking.votes.inputs import take_single_votes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.votes.inputs import VotesLike
    from ranking.votes.votes import Votes

    Floats = NDArray[np.float64]

__all__ = ["Look", "VoterTest", "check_voters", "compute_vote_p_values"]

# Twice what the first model won, by outcome: a loss 0, a tie 1, a win 2.
_DOUBLED = np.array([2, 0, 1, 1])


@dataclass(frozen=True)
class Look:
    """One look at a voter.

    Attributes:
        votes: How many of the first votes were looked at, j.
        statistic: Fisher's M_j = −2 Σ log p_i over them.
        threshold: The quantile of χ²(2j) above which it is too much.
    """

    votes: int
    statistic: float
    threshold: float


@dataclass(frozen=True)
class VoterTest:
    """What the test says of one voter.

    Attributes:
        voter: Name.
        votes: All of theirs.
        looks: At those of the chosen numbers of votes that the voter has reached.
        flagged: Whether any look was too much.
    """

    voter: str
    votes: int
    looks: tuple[Look, ...]
    flagged: bool


def check_voters(
    votes: VotesLike,
    *,
    alpha: float = 0.1,
    looks: int = 5,
    first: int = 100,
    smoothed: bool = False,
    seed: int = 0,
) -> tuple[VoterTest, ...]:
    """Test every voter at a few random places among their first votes.

    Args:
        votes: A table, single votes, or a file as read, with voters; in order of time where it
            is known, else as they stand.
        alpha: Chance to flag an honest voter, at most; each look has `alpha / looks` of it.
        looks: How many.
        first: Only so many first votes are looked at.
        smoothed: Break ties with the history at random. The published p-values of a vote with
            three possible results are far from uniform, so that few are ever flagged.
        seed: With the voter's name it decides where (and how ties are broken), whoever else
            votes.

    Raises:
        InvalidVote: The votes name no voters.
        RankingError: An option is unusable.
    """
    from scipy.special import chdtri

    if not 0 < alpha < 1:
        raise RankingError(f"alpha must be between 0 and 1, not {alpha!r}")
    if not 1 <= looks <= first:
        raise RankingError(f"{looks} looks at {first} votes are not possible")
    cast = take_single_votes(votes, "testing voters")
    if cast.voter is None:
        raise InvalidVote("the votes name no voters to test", value=None)
    time = np.arange(len(cast)) if cast.time is None else cast.time
    order = np.lexsort((time, cast.voter.codes))
    edges = np.searchsorted(cast.voter.codes[order], np.arange(len(cast.voter.names) + 1))
    streams = [np.random.default_rng([seed, crc32(name.encode())]) for name in cast.voter.names]
    places = [np.sort(rng.choice(first, looks, replace=False)) + 1 for rng in streams]
    tie = np.ones(len(cast))
    if smoothed:
        for rng, start, stop in zip(streams, edges, edges[1:], strict=False):
            # In (0, 1]: a p-value is never 0.
            tie[order[start:stop]] = 1 - rng.random(stop - start)
    surprise = -2 * np.log(compute_vote_p_values(cast, tie=tie))
    found: list[VoterTest] = []
    for code, name in enumerate(cast.voter.names):
        mine = order[edges[code] : edges[code + 1]]
        total = np.cumsum(surprise[mine[:first]])
        seen = tuple(
            Look(int(j), float(total[j - 1]), float(chdtri(2 * j, alpha / looks)))
            for j in places[code]
            if j <= len(total)
        )
        flagged = any(look.statistic >= look.threshold for look in seen)
        found.append(VoterTest(name, len(mine), seen, flagged))
    return tuple(found)


def compute_vote_p_values(votes: Votes, *, tie: Floats | None = None) -> Floats:
    """p_i = (1 + #{h ≥ x_i}) / (1 + |H|) of each vote, shape (votes,).

    H are the votes of all other voters on the same pair. x is 1 where the model that H has
    losing more often won, ½ for a tie (or both bad) and 0 where it lost, so that what is
    unusual for the pair is large. H decides which model that is, never the vote itself.

    Args:
        votes: With voters.
        tie: Uniform numbers u in (0, 1] for p_i = (#{h > x_i} + u(1 + #{h = x_i})) / (1 + |H|),
            which is uniform for exchangeable votes; 1 by default, the published p-value.

    Raises:
        InvalidVote: The votes name no voters.
    """
    if votes.voter is None:
        raise InvalidVote("the votes name no voters to test", value=None)
    swapped = votes.model_a > votes.model_b
    size = len(votes.models)
    key = np.minimum(votes.model_a, votes.model_b).astype(np.int64) * size
    _, pair = np.unique(key + np.maximum(votes.model_a, votes.model_b), return_inverse=True)
    won = _DOUBLED[votes.outcome]
    won = np.where(swapped, 2 - won, won)
    _, own = np.unique(pair * len(votes.voter.names) + votes.voter.codes, return_inverse=True)
    history = _count(pair, won)[pair] - _count(own, won)[own]
    turned = history[:, 2] > history[:, 0]  # the first model wins more often: look at its losses
    history[turned] = history[turned][:, ::-1]
    x = np.where(turned, 2 - won, won)
    equal = np.take_along_axis(history, x[:, None], axis=1)[:, 0]
    above = np.where(np.arange(3) > x[:, None], history, 0).sum(axis=1)
    u = np.ones(len(votes)) if tie is None else tie
    return np.asarray((above + u * (1 + equal)) / (1 + history.sum(axis=1)))


def _count(code: NDArray[np.intp], won: NDArray[np.intp]) -> NDArray[np.int64]:
    """Votes by code and result, shape (codes, 3)."""
    size = int(code.max(initial=-1)) + 1
    return np.bincount(code * 3 + won, minlength=size * 3).reshape(size, 3)
