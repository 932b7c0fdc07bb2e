"""Draws the next pair and its sides, and says how likely that draw was."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtr

from arena.matchmaking.constraints import read_rules
from arena.rules.battles import Pairing
from ranking.pairing.constraints import PairConstraints, constrain
from ranking.pairing.policies import WELCOMING, pair_distribution
from ranking.scale import POINTS_PER_LOG_ODDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from arena.matchmaking.strengths import Strengths
    from arena.settings import MatchmakingSettings
    from ranking.pairing.policies import PairDistribution
    from ranking.pairing.posterior import Posterior

    # How likely each pair is, and how many models could be drawn.
    _Weighed = tuple[PairDistribution, int]

logger = logging.getLogger(__name__)

# 2: the covariance of the strengths enters; `uncertainty`, `information`, `variance` are new.
# 3: `uncertainty` sets a share aside for models that came late, and drops settled pairs sooner.
# 4: `tempered` is new.
POLICY_VERSION = 4
_EVEN = 1e-9  # relative; what rounding makes of equal chances


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
        votes_a: votes on `model_a` in all.
        votes_b: votes on `model_b` in all.
        win_probability: of `model_a` over `model_b`.
        stronger_probability: that `model_a` is the stronger one.
        standard_error: of the difference of their scores, on the display scale.
        newcomer: which of the two is drawn for having come late and not caught up yet, if
            one is; the one with fewer votes if both are.
        votes_due: with how many votes that one has caught up.
    """

    model_a: str
    model_b: str
    probability: float
    battles: int
    votes_a: int
    votes_b: int
    win_probability: float
    stronger_probability: float
    standard_error: float
    newcomer: str | None
    votes_due: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What may be drawn next.

    Attributes:
        policy: what would draw it.
        prospects: the pairs, the likeliest first.
        pairs: how many there are, shown here or not.
        is_even: whether all are equally likely.
    """

    policy: str
    prospects: tuple[Prospect, ...]
    pairs: int
    is_even: bool


class Matchmaker:
    """Draws pairs under a policy, from what is known of the models.

    Args:
        models: names that may be drawn, two or more; drawing is quickest if they are sorted.
        standing: what is known of them.
        policy: a policy of `ranking.pairing.policies`.
        exploration: share of uniform drawing in the mixture, in (0, 1].
        rules: what maintainers decided about draws, in the order of `models`; nothing if None.
        absent: the models that cannot be drawn at the moment.
        seed: repeats the same draws; `None` draws afresh.

    Raises:
        ValueError: fewer than two models, or a policy or exploration that does not exist.
    """

    def __init__(
        self,
        models: Sequence[str],
        standing: Strengths,
        *,
        policy: str,
        exploration: float,
        rules: PairConstraints | None = None,
        absent: Callable[[], Set[str]] = frozenset,
        seed: int | None = None,
    ) -> None:
        self._models = tuple(models)
        self._standing = standing
        self._policy = policy
        self._exploration = exploration
        self._has_rules = rules is not None
        self._rules = rules or PairConstraints(names=self._models)
        self._absent = absent
        self._random = np.random.default_rng(seed)
        self._weighed: tuple[tuple[int, Set[str]], _Weighed] | None = None
        self._weighed_all: tuple[int, _Weighed] | None = None
        self._weigh(frozenset())

    def draw(self) -> Pairing:
        """The next pair; which of the two is shown on the left is a fair coin flip.

        Raises:
            TooFewModels: fewer than two models can answer now.
        """
        distribution, candidates = self._current()
        pair = distribution.draw(self._random, 1)[0]
        drawn = [self._models[distribution.first[pair]], self._models[distribution.second[pair]]]
        if self._random.random() < 0.5:
            drawn.reverse()
        return Pairing(
            model_a=drawn[0],
            model_b=drawn[1],
            policy=self._policy,
            policy_version=POLICY_VERSION,
            probability=float(distribution.probability[pair]),
            candidates=candidates,
        )

    def outlook(self, most: int | None = None, *, for_all: bool = False) -> Outlook:
        """The pairs that may be drawn next; safe in any thread.

        Args:
            most: how many of the likeliest, `None` for all.
            for_all: as if every model could be drawn now. What voters may see must not tell which
                model has just failed, perhaps in their own battle.

        Raises:
            TooFewModels: fewer than two models can answer now.
        """
        distribution, _ = self._current_of_all() if for_all else self._current()
        known = self._standing.of(self._models)
        due = self._standing.votes_due(self._models)
        if self._policy not in WELCOMING:
            due = (0,) * len(due)
        votes = tuple(zip(self._standing.votes_on(self._models), due, strict=True))
        chances = distribution.probability
        possible = np.flatnonzero(chances)
        order = possible[np.argsort(-chances[possible], kind="stable")]
        return Outlook(
            policy=self._policy,
            prospects=tuple(
                _prospect(self._models, known, votes, distribution, int(pair))
                for pair in order[:most]
            ),
            pairs=len(order),
            is_even=bool(np.ptp(chances[possible]) < _EVEN * chances.max()),
        )

    def _current(self) -> _Weighed:
        """The distribution in force, weighed again if anything changed."""
        key = (self._standing.version, self._absent())
        weighed = self._weighed  # read and replaced as a whole: pages ask from other threads
        if weighed is None or weighed[0] != key:
            weighed = self._weighed = key, self._weigh(key[1])
        return weighed[1]

    def _current_of_all(self) -> _Weighed:
        """The same as if no model were absent."""
        version = self._standing.version
        weighed = self._weighed_all
        if weighed is None or weighed[0] != version:
            weighed = self._weighed_all = version, self._weigh(frozenset())
        return weighed[1]

    def _weigh(self, absent: Set[str]) -> _Weighed:
        enabled = np.array([name not in absent for name in self._models])
        candidates = int(enabled.sum())
        if candidates < 2:
            raise TooFewModels(f"{candidates} of {len(self._models)} models can answer")
        known = self._standing.of(self._models)
        wanted = pair_distribution(
            known.strengths,
            known.covariance,
            known.counts,
            policy=self._policy,
            exploration=self._exploration,
            newcomers=self._standing.newcomers(self._models),
        )
        if absent or self._has_rules:
            wanted = self._constrain(wanted, replace(self._rules, enabled=enabled))
        return wanted, candidates

    def _constrain(self, wanted: PairDistribution, rules: PairConstraints) -> PairDistribution:
        """The distribution under the rules, as far as the models that are here can keep them."""
        try:
            return constrain(wanted, rules)
        except ValueError as error:
            # Of three models with at most half the draws each, two cannot keep that.
            logger.warning("shares of draws are left aside while models are absent: %s", error)
        try:
            return constrain(wanted, replace(rules, largest={}, least={}, pinned={}))
        except ValueError as error:
            raise TooFewModels(str(error)) from None


def _prospect(
    names: Sequence[str],
    known: Posterior,
    votes: Sequence[tuple[int, int]],
    distribution: PairDistribution,
    pair: int,
) -> Prospect:
    a, b = int(distribution.first[pair]), int(distribution.second[pair])
    if known.strengths[a] < known.strengths[b]:
        a, b = b, a
    covariance = known.covariance
    difference = float(known.strengths[a] - known.strengths[b])
    late = sorted((votes[i], names[i]) for i in (a, b) if votes[i][0] < votes[i][1])
    error = sqrt(max(float(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]), 0.0))
    return Prospect(
        model_a=names[a],
        model_b=names[b],
        probability=float(distribution.probability[pair]),
        battles=round(float(known.counts[a, b])),
        votes_a=votes[a][0],
        votes_b=votes[b][0],
        win_probability=float(expit(difference)),
        stronger_probability=float(ndtr(difference / error)) if error else 1.0,
        standard_error=error * POINTS_PER_LOG_ODDS,
        newcomer=late[0][1] if late else None,
        votes_due=late[0][0][1] if late else 0,
    )


def build_matchmaker(
    matchmaking: MatchmakingSettings,
    standing: Strengths,
    names: Sequence[str],
    *,
    absent: Callable[[], Set[str]] = frozenset,
) -> Matchmaker:
    """The matchmaker that the settings describe.

    Args:
        matchmaking: the settings.
        standing: what is known of the models.
        names: of the models that are served.
        absent: those that cannot be drawn at the moment.

    Raises:
        ValueError: the rules cannot all be kept.
    """
    names = sorted(names)
    return Matchmaker(
        names,
        standing,
        policy=matchmaking.policy,
        exploration=matchmaking.exploration,
        rules=read_rules(matchmaking, names),
        absent=absent,
        seed=matchmaking.seed,
    )
