"""One arena with known strengths, played from its first vote under a drawing policy.

What is drawn follows a posterior that lags: it is refitted every so many votes, and the
pairs of a batch all come from the fit before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR, PairCounts, maximise
from ranking.fits.likelihoods import predict_outcomes
from ranking.fits.threads import one_blas_thread
from ranking.pairing.constraints import PairConstraints, constrain, model_shares
from ranking.pairing.policies import (
    find_games_due,
    pair_differences,
    pair_distribution,
    pair_variances,
)
from ranking.pairing.posterior import Posterior
from ranking.pairing.simulate import draw_outcomes
from ranking.scale import POINTS_PER_LOG_ODDS
from ranking.votes.encoding import MODEL_A, MODEL_B
from ranking.votes.votes import Votes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ranking.pairing.policies import PairDistribution

    Floats = NDArray[np.float64]

RESOLVED = 1.96
"""A pair's order counts as resolved where |Δ| exceeds this many of its standard errors."""

KNOWN = 2.0
"""A newcomer counts as known when its standard error is within this many medians."""

_SHARE_OF_A = np.array([1.0, 0.0, 0.5, 0.5])


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Who votes.

    Attributes:
        tie: Davidson's ν: the odds of a tie among equals are ν to 2.
        careless: Share of votes that are coin flips.
        fans: Share of votes by people who recognise the favourite and always vote for it;
            battles without it they judge like everyone else.
        favourite: Index of that model.
    """

    tie: float = 0.0
    careless: float = 0.0
    fans: float = 0.0
    favourite: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tie) and self.tie >= 0):
            raise RankingError(f"tie must be 0 or more, not {self.tie!r}")
        for name, share in {"careless": self.careless, "fans": self.fans}.items():
            if not 0 <= share < 1:
                raise RankingError(f"{name} must be a share in [0, 1), not {share!r}")

    def vote(
        self, strengths: Floats, a: NDArray[np.intp], b: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.int8]:
        """Outcomes of battles of a against b."""
        outcome = draw_outcomes(strengths[a] - strengths[b], self.tie, 0.0, rng)
        if self.careless:
            coin = np.where(rng.random(len(a)) < 0.5, MODEL_A, MODEL_B)
            outcome = np.where(rng.random(len(a)) < self.careless, coin, outcome)
        if self.fans:
            fan = rng.random(len(a)) < self.fans
            outcome = np.where(fan & (a == self.favourite), MODEL_A, outcome)
            outcome = np.where(fan & (b == self.favourite), MODEL_B, outcome)
        return outcome.astype(np.int8)

    def expect_strengths(self, strengths: Floats) -> Floats:
        """What infinitely many votes on uniformly drawn pairs would say, without the fans.

        Ties counted as halves and coin flips pull strengths together without changing their
        order; scores are compared with these, so that an error is one of drawing.
        """
        if not (self.tie or self.careless):
            return np.asarray(strengths - strengths.mean())
        size = len(strengths)
        margin = (strengths[:, None] - strengths[None, :]).ravel()
        chance = predict_outcomes("davidson", margin, np.log(self.tie) if self.tie else -np.inf)
        share = (chance @ _SHARE_OF_A[:3]).reshape(size, size)
        wins = (1.0 - self.careless) * share + 0.5 * self.careless
        np.fill_diagonal(wins, 0.0)
        return maximise(PairCounts(games=wins + wins.T, wins=wins), precision=0.0)[0]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How pairs are drawn.

    Attributes:
        policy: A key of `ranking.design.POLICIES`.
        exploration: Share of uniform drawing, in (0, 1].
        refit_every: Votes from one fit to the next.
        constraints: Bounds on what is drawn.
    """

    policy: str = "tempered"
    exploration: float = 0.1
    refit_every: int = 100
    constraints: PairConstraints | None = None

    def __post_init__(self) -> None:
        if self.refit_every < 1:
            raise RankingError(f"refit_every must be 1 vote or more, not {self.refit_every!r}")

    def weigh(self, posterior: Posterior, due: Floats | None = None) -> PairDistribution:
        """The distribution that a posterior leads to.

        Args:
            posterior: What is known.
            due: Games that each model is to catch up with; none by default.
        """
        wanted = pair_distribution(
            posterior.strengths,
            posterior.covariance,
            posterior.counts,
            policy=self.policy,
            exploration=self.exploration,
            newcomers=None if due is None else posterior.counts.sum(axis=1) < due,
        )
        return wanted if self.constraints is None else constrain(wanted, self.constraints)


@dataclass(frozen=True, eq=False)
class Course:
    """An arena from its first vote to its last; one entry a fit, shape (fits,), unless said.

    Attributes:
        votes: Votes so far.
        resolved: Share of pairs whose order is resolved.
        wrong: Share of pairs that are resolved the wrong way round.
        tau: Kendall's τ between the estimated and the true order.
        error: Root mean square error of the scores, points.
        posterior: After the last vote.
        covered: Share of models whose 95 % interval by the posterior holds the truth.
        least_share: Smallest share of draws that a distribution gave each model, (models,).
        largest_share: Largest.
        record: The votes themselves with their draw probabilities, where asked for.
    """

    votes: Floats
    resolved: Floats
    wrong: Floats
    tau: Floats
    error: Floats
    posterior: Posterior
    covered: float
    least_share: Floats
    largest_share: Floats
    record: Votes | None


class SimulatedArena:
    """Strengths, a crowd, and the votes cast so far."""

    def __init__(self, strengths: Floats, crowd: Crowd, rng: np.random.Generator) -> None:
        self.strengths = strengths - strengths.mean()
        self.target = crowd.expect_strengths(self.strengths)
        self.crowd = crowd
        self.posterior = Posterior.prior(len(strengths))
        self._rng = rng
        self._wins = np.zeros((len(strengths), len(strengths)))

    def cast(self, distribution: PairDistribution, votes: int) -> Votes:
        """Draw pairs, let the crowd vote on them, and refit."""
        pair = distribution.draw(self._rng, votes)
        first, second = distribution.first[pair], distribution.second[pair]
        swap = self._rng.random(votes) < 0.5
        a, b = np.where(swap, second, first), np.where(swap, first, second)
        outcome = self.crowd.vote(self.strengths, a, b, self._rng)
        share = _SHARE_OF_A[outcome]
        size = len(self.strengths)
        for row, column, won in ((a, b, share), (b, a, 1.0 - share)):
            wins = np.bincount(row * size + column, won, size * size)
            self._wins = self._wins + wins.reshape(size, size)
        counts = PairCounts(games=self._wins + self._wins.T, wins=self._wins)
        self.posterior = Posterior.from_counts(
            counts, DEFAULT_PRIOR, start=self.posterior.strengths
        )
        return Votes(
            models=tuple(f"model-{i:02d}" for i in range(size)),
            model_a=a.astype(np.int32),
            model_b=b.astype(np.int32),
            outcome=outcome,
            draw_probability=distribution.probability[pair],
        )

    def measure(self) -> tuple[float, float, float, float]:
        """Resolved, wrong, τ and error, as in `Course`."""
        difference = pair_differences(self.posterior.strengths)
        resolved = np.abs(difference) > RESOLVED * np.sqrt(
            pair_variances(self.posterior.covariance)
        )
        agrees = np.sign(difference) * np.sign(pair_differences(self.strengths))
        error = np.sqrt(np.mean((self.posterior.strengths - self.target) ** 2))
        return (
            float(resolved.mean()),
            float((resolved & (agrees < 0)).mean()),
            float(agrees.mean()),
            float(POINTS_PER_LOG_ODDS * error),
        )

    def count_covered(self) -> float:
        """Share of 95 % intervals that hold what infinitely many votes would say."""
        error = np.abs(self.posterior.strengths - self.target)
        return float((error <= RESOLVED * np.sqrt(self.posterior.covariance.diagonal())).mean())


@one_blas_thread
def play_arena(
    strengths: Floats,
    votes: int,
    *,
    seed: int | Sequence[int],
    drawing: Drawing | None = None,
    crowd: Crowd | None = None,
    record: bool = False,
) -> Course:
    """Play an arena in which all models start together.

    Args:
        strengths: ξ, natural log-odds, shape (models,).
        votes: Number of votes.
        seed: The same seed gives the same votes.
        drawing: How pairs are drawn; by default as a new arena draws them.
        crowd: Who votes; by default voters who follow Bradley and Terry.
        record: Whether to keep the votes.

    Raises:
        ValueError: An unknown policy, or constraints that cannot be kept.
    """
    drawing, crowd = drawing or Drawing(), crowd or Crowd()
    arena = SimulatedArena(strengths, crowd, np.random.default_rng(seed))
    least, largest = np.full(len(strengths), np.inf), np.zeros(len(strengths))
    parts: list[Votes] = []
    rows: list[tuple[float, ...]] = []
    for step in _split(votes, drawing.refit_every):
        distribution = drawing.weigh(arena.posterior)
        shares = model_shares(distribution, len(strengths))
        least, largest = np.minimum(least, shares), np.maximum(largest, shares)
        part = arena.cast(distribution, step)
        rows.append((len(rows) * drawing.refit_every + step, *arena.measure()))
        if record:
            parts.append(part)
    when, resolved, wrong, tau, error = np.array(rows).T
    return Course(
        votes=when,
        resolved=resolved,
        wrong=wrong,
        tau=tau,
        error=error,
        posterior=arena.posterior,
        covered=arena.count_covered(),
        least_share=least,
        largest_share=largest,
        record=_join(parts) if record else None,
    )


@one_blas_thread
def play_newcomer(
    strengths: Floats,
    head_start: int,
    *,
    seed: int | Sequence[int],
    drawing: Drawing,
    crowd: Crowd | None = None,
    known: float = KNOWN,
    most: int = 50_000,
) -> int:
    """Votes from the arrival of a new model until it is known about as well as the others.

    Args:
        strengths: ξ, shape (models,); the newcomer is the last.
        head_start: Votes cast on the others before, drawn in the same way.
        seed: The same seed gives the same votes.
        drawing: How pairs are drawn.
        crowd: Who votes.
        known: How large its standard error may be, as a multiple of the median that the
            others' had when it came.
        most: Votes after which to give up.

    Returns:
        Votes on all pairs; `most` where it takes longer.
    """
    models = len(strengths)
    arena = SimulatedArena(strengths, crowd or Crowd(), np.random.default_rng(seed))
    others = PairConstraints(
        names=[f"model-{i:02d}" for i in range(models)], enabled=np.arange(models) < models - 1
    )
    before = replace(drawing, constraints=others, refit_every=max(1, head_start // 100))
    for step in _split(head_start, before.refit_every):
        arena.cast(before.weigh(arena.posterior), step)
    # Centred without the newcomer: of that one nothing is known, and it would be in the mean.
    covariance = arena.posterior.covariance[:-1, :-1]
    centre = np.eye(models - 1) - 1.0 / (models - 1)
    goal = known * np.median(np.sqrt((centre @ covariance @ centre).diagonal()))
    due = find_games_due(np.append(np.zeros(models - 1), head_start))
    cast = 0
    for step in _split(most, drawing.refit_every):
        arena.cast(drawing.weigh(arena.posterior, due), step)
        cast += step
        if arena.posterior.covariance[-1, -1] <= goal**2:
            break
    return cast


def _split(votes: int, size: int) -> list[int]:
    """Batches of a size, the last with what is left."""
    return [min(size, votes - done) for done in range(0, votes, size)]


def _join(parts: list[Votes]) -> Votes:
    chances = [part.draw_probability for part in parts if part.draw_probability is not None]
    return replace(
        parts[0],
        model_a=np.concatenate([part.model_a for part in parts]),
        model_b=np.concatenate([part.model_b for part in parts]),
        outcome=np.concatenate([part.outcome for part in parts]),
        draw_probability=np.concatenate(chances),
    )
