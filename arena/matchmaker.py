"""Draws the next pair and its sides, and says how likely that draw was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.battles import Pairing
from ranking.design import pair_distribution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ranking.design import PairDistribution

POLICY_VERSION = 1


class Matchmaker:
    """Draws pairs of a fixed set of models under a policy.

    Args:
        models: names that may be drawn, two or more.
        policy: a policy of `ranking.design`.
        exploration: share of uniform drawing in the mixture, in (0, 1].
        seed: repeats the same draws; `None` draws afresh.

    Raises:
        ValueError: fewer than two models, or a policy or exploration that does not exist.
    """

    def __init__(
        self, models: Sequence[str], *, policy: str, exploration: float, seed: int | None = None
    ) -> None:
        self._models = tuple(models)
        self._policy = policy
        self._exploration = exploration
        self._random = np.random.default_rng(seed)
        self._distribution = self._weigh({})

    def learn(self, strengths: Mapping[str, float]) -> None:
        """Takes over newly estimated strengths; models without one count as average.

        Args:
            strengths: Bradley-Terry strengths by model name, centred, natural log-odds.
        """
        self._distribution = self._weigh(strengths)

    def draw(self) -> Pairing:
        """The next pair; which of the two is shown on the left is a fair coin flip."""
        distribution = self._distribution
        pair = self._random.choice(len(distribution.probability), p=distribution.probability)
        names = [
            self._models[distribution.first[pair]],
            self._models[distribution.second[pair]],
        ]
        if self._random.random() < 0.5:
            names.reverse()
        return Pairing(
            model_a=names[0],
            model_b=names[1],
            policy=self._policy,
            policy_version=POLICY_VERSION,
            probability=float(distribution.probability[pair]),
            candidates=len(self._models),
        )

    def _weigh(self, strengths: Mapping[str, float]) -> PairDistribution:
        known = np.array([strengths.get(name, 0.0) for name in self._models])
        return pair_distribution(known, policy=self._policy, exploration=self._exploration)
