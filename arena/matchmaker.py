"""Draws the next pair and its sides, and says how likely that draw was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtr

from arena.battles import Pairing, exclusion_of
from ranking.design import pair_differences, pair_distribution, pair_variances
from ranking.tables import POINTS_PER_LOG_ODDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from arena.battles import Battle
    from arena.standing import Standing
    from ranking.design import PairDistribution

# 2: the covariance of the strengths enters; `uncertainty`, `information`, `variance` are new.
POLICY_VERSION = 2


class TooFewModels(Exception):
    """Fewer than two models can answer now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A pair as it stands, and why it may be drawn.

    Attributes:
        model_a: one of the two, the stronger as far as is known.
        model_b: the other.
        probability: of being drawn next.
        battles: votes on this pair that count.
        win_probability: of `model_a` over `model_b`.
        stronger_probability: that `model_a` is the stronger one.
        standard_error: of the difference of their scores, on the display scale.
    """

    model_a: str
    model_b: str
    probability: float
    battles: int
    win_probability: float
    stronger_probability: float
    standard_error: float


class Matchmaker:
    """Draws pairs under a policy, from what is known of the models.

    Args:
        models: names that may be drawn, two or more.
        standing: what is known of them.
        policy: a policy of `ranking.design`.
        exploration: share of uniform drawing in the mixture, in (0, 1].
        absent: the models that cannot be drawn at the moment.
        seed: repeats the same draws; `None` draws afresh.

    Raises:
        ValueError: fewer than two models, or a policy or exploration that does not exist.
    """

    def __init__(
        self,
        models: Sequence[str],
        standing: Standing,
        *,
        policy: str,
        exploration: float,
        absent: Callable[[], Set[str]] = frozenset,
        seed: int | None = None,
    ) -> None:
        self._models = tuple(models)
        self._standing = standing
        self._policy = policy
        self._exploration = exploration
        self._absent = absent
        self._random = np.random.default_rng(seed)
        self._key: tuple[int, Set[str]] | None = None
        self._candidates, self._distribution = self._weigh(frozenset())

    def draw(self) -> Pairing:
        """The next pair; which of the two is shown on the left is a fair coin flip.

        Raises:
            TooFewModels: fewer than two models can answer now.
        """
        names, distribution = self._current()
        pair = distribution.draw(self._random, 1)[0]
        drawn = [names[distribution.first[pair]], names[distribution.second[pair]]]
        if self._random.random() < 0.5:
            drawn.reverse()
        return Pairing(
            model_a=drawn[0],
            model_b=drawn[1],
            policy=self._policy,
            policy_version=POLICY_VERSION,
            probability=float(distribution.probability[pair]),
            candidates=len(names),
        )

    def learn(self, battle: Battle) -> None:
        """Learns the vote on a battle, if it has one that counts."""
        if battle.vote is not None and exclusion_of(battle) is None:
            self._standing.learn(battle.vote, battle.pairing)

    def outlook(self) -> tuple[Prospect, ...]:
        """Every pair that may be drawn next, the likeliest first.

        Raises:
            TooFewModels: fewer than two models can answer now.
        """
        names, distribution = self._current()
        known = self._standing.of(names)
        differences = pair_differences(known.strengths)
        errors = np.sqrt(pair_variances(known.covariance))
        order = np.argsort(-distribution.probability, kind="stable")
        prospects = []
        for pair in order:
            first, second = distribution.first[pair], distribution.second[pair]
            difference, error = float(differences[pair]), float(errors[pair])
            if difference < 0:
                first, second, difference = second, first, -difference
            prospects.append(
                Prospect(
                    model_a=names[first],
                    model_b=names[second],
                    probability=float(distribution.probability[pair]),
                    battles=round(float(known.counts[first, second])),
                    win_probability=float(expit(difference)),
                    stronger_probability=float(ndtr(difference / error)),
                    standard_error=error * POINTS_PER_LOG_ODDS,
                )
            )
        return tuple(prospects)

    def _current(self) -> tuple[tuple[str, ...], PairDistribution]:
        """The candidates and their distribution, weighed again if anything changed."""
        absent = self._absent()
        key = (self._standing.version, absent)
        if key != self._key:
            self._candidates, self._distribution = self._weigh(absent)
            self._key = key
        return self._candidates, self._distribution

    def _weigh(self, absent: Set[str]) -> tuple[tuple[str, ...], PairDistribution]:
        names = tuple(name for name in self._models if name not in absent)
        if len(names) < 2:
            raise TooFewModels(f"{len(names)} of {len(self._models)} models can answer")
        known = self._standing.of(names)
        distribution = pair_distribution(
            known.strengths,
            known.covariance,
            known.counts,
            policy=self._policy,
            exploration=self._exploration,
        )
        return names, distribution
