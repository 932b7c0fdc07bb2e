"""Arenas with known strengths, for tests, documentation and coverage studies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.checks import take_numbers, take_whole
from ranking.errors import RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR, fit_bradley_terry, win_probabilities
from ranking.fits.likelihoods import predict_outcomes
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, TIE
from ranking.votes.votes import Group, Votes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REAL_SPREAD = 0.61
"""Standard deviation of the strengths of the 129 models of the public arena of 2024-08-14."""


def draw_strengths(models: int, *, seed: int, spread: float = REAL_SPREAD) -> Floats:
    """Centred normal strengths, natural log-odds, shape (models,)."""
    size = take_whole(models, "the number of models")
    strengths = np.random.default_rng(seed).normal(0.0, spread, size)
    return np.asarray(strengths - strengths.mean())


def skew_pairs(models: int, *, seed: int, exponent: float = 1.0) -> Floats:
    """Pair weights of an arena with popular and rare models, shape (models, models).

    A model's popularity is rank^−exponent (Zipf) in a random order; a pair's weight is the
    product of its two.
    """
    rank = np.random.default_rng(seed).permutation(models) + 1.0
    popularity = rank**-exponent
    weight = np.outer(popularity, popularity)
    np.fill_diagonal(weight, 0.0)
    return weight


def simulate_votes(
    strengths: Floats,
    votes: int,
    *,
    seed: int,
    pair_weights: Floats | None = None,
    tie: float = 0.0,
    both_bad: float = 0.0,
    home: float = 0.0,
    style: Mapping[str, float] | None = None,
    voters: int | None = None,
    voter_spread: float = 0.0,
    voter_shares: Floats | None = None,
    drift: Floats | None = None,
    names: Sequence[str] | None = None,
) -> Votes:
    """Votes drawn from Davidson's model (Bradley–Terry where `tie` is 0).

    Args:
        strengths: ξ, shape (models,).
        votes: Number of votes.
        seed: The same seed gives the same votes.
        pair_weights: Symmetric weights of the pairs; all alike by default.
        tie: Davidson's ν: the odds of a tie among equals are ν to 2.
        both_bad: Share of ties that are called "both bad".
        home: Advantage of the left side, log-odds.
        style: Effect γ of each of some standard normal covariates.
        voters: Number of voters. None for anonymous votes.
        voter_spread: Standard deviation of a voter's own taste for each model, log-odds.
        voter_shares: How much each voter votes, relative to the others, shape (voters,); all
            alike by default.
        drift: Change of each strength from the first vote to the last, shape (models,).
        names: Of the models; "model-00" and so on by default.
    """
    strengths = take_numbers(strengths, "strengths", "(models,)")
    rng = np.random.default_rng(seed)
    size = len(strengths)
    a, b = _draw_pairs(size, votes, pair_weights, rng)
    margin = strengths[a] - strengths[b] + home
    time = np.linspace(0.0, 1.0, votes) if drift is not None else None
    if drift is not None and time is not None:
        margin += (drift[a] - drift[b]) * time
    z = None
    if style:
        z = rng.normal(size=(votes, len(style)))
        margin += z @ np.array(list(style.values()))
    voter = None
    if voters is not None:
        who = _draw_voters(voters, votes, voter_shares, rng)
        voter = Group(who, tuple(f"voter-{i}" for i in range(voters)))
        taste = rng.normal(0.0, voter_spread, (voters, size))
        margin += taste[voter.codes, a] - taste[voter.codes, b]
    return Votes(
        models=tuple(names) if names else tuple(f"model-{i:02d}" for i in range(size)),
        model_a=a.astype(np.int32),
        model_b=b.astype(np.int32),
        outcome=draw_outcomes(margin, tie, both_bad, rng),
        voter=voter,
        covariates=z,
        covariate_names=tuple(style) if style else (),
        time=time,
    )


def simulate_adaptive(
    strengths: Floats,
    votes: int,
    *,
    seed: int,
    batches: int = 10,
    floor: float = 0.2,
    width: float = 0.1,
    tie: float = 0.0,
) -> tuple[Votes, Floats]:
    """Votes of a matchmaker that prefers pairs it believes to be close.

    Args:
        strengths: ξ, shape (models,).
        votes: Number of votes.
        seed: The same seed gives the same votes.
        batches: The matchmaker refits this often.
        floor: Share of draws that are uniform whatever it believes.
        width: A pair at |p − ½| = `width` gets e⁻¹ of the weight of an even one.
        tie: Davidson's ν.

    Returns:
        The votes, and the probability that each one's pair had of being drawn.
    """
    if batches < 1 or votes < batches:
        raise RankingError(f"{votes} votes cannot be drawn in {batches} batches")
    rng = np.random.default_rng(seed)
    size = len(strengths)
    weight = np.ones((size, size)) - np.eye(size)
    parts: list[Votes] = []
    chances: list[Floats] = []
    for amount in np.diff(np.linspace(0, votes, batches + 1).astype(int)):
        chance = weight / np.triu(weight, 1).sum()
        part = simulate_votes(
            strengths, int(amount), seed=int(rng.integers(2**63)), pair_weights=chance, tie=tie
        )
        parts.append(part)
        chances.append(chance[part.model_a, part.model_b])
        fit = fit_bradley_terry(_join(parts).count(), prior=DEFAULT_PRIOR)
        close = np.exp(-np.abs(win_probabilities(fit.strengths) - 0.5) / width)
        np.fill_diagonal(close, 0.0)
        even = (1 - np.eye(size)) / (size * (size - 1) / 2)
        weight = (1 - floor) * close / np.triu(close, 1).sum() + floor * even
    return _join(parts), np.concatenate(chances)


def draw_outcomes(
    margin: Floats, tie: float, both_bad: float, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Outcomes of battles, as `ranking.votes.encoding` codes them.

    Args:
        margin: ξ_a − ξ_b of each battle, log-odds, shape (votes,).
        tie: Davidson's ν.
        both_bad: Share of ties that are called "both bad".
        rng: Where chance comes from.
    """
    p = predict_outcomes("davidson", margin, np.log(tie) if tie else -np.inf)
    u = rng.random(len(margin))
    outcome = np.where(u < p[:, 0], MODEL_A, np.where(u < p[:, 0] + p[:, 1], MODEL_B, TIE))
    bad = (outcome == TIE) & (rng.random(len(margin)) < both_bad)
    return np.where(bad, BOTH_BAD, outcome).astype(np.int8)


def _draw_voters(
    voters: int, votes: int, shares: Floats | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    if shares is None:
        return rng.integers(0, voters, votes)
    return rng.choice(voters, votes, p=shares / shares.sum())


def _draw_pairs(
    size: int, votes: int, pair_weights: Floats | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs by weight, sides by a fair coin."""
    if pair_weights is None:
        a = rng.integers(0, size, votes)
        return a, (a + rng.integers(1, size, votes)) % size
    first, second = np.triu_indices(size, 1)
    edges = np.cumsum(pair_weights[first, second])
    pair = np.searchsorted(edges, rng.random(votes) * edges[-1], side="right")
    swap = rng.random(votes) < 0.5
    return np.where(swap, second[pair], first[pair]), np.where(swap, first[pair], second[pair])


def _join(parts: list[Votes]) -> Votes:
    return replace(
        parts[0],
        model_a=np.concatenate([part.model_a for part in parts]),
        model_b=np.concatenate([part.model_b for part in parts]),
        outcome=np.concatenate([part.outcome for part in parts]),
    )
