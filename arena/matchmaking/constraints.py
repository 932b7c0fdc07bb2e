"""What the settings say about draws, as constraints on a distribution over pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.pairing.constraints import PairConstraints, constrain
from ranking.pairing.policies import pair_distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.settings import MatchmakingSettings


def read_rules(matchmaking: MatchmakingSettings, names: Sequence[str]) -> PairConstraints | None:
    """The rules about models that are served, `None` if there are none; those on others rest.

    Args:
        matchmaking: the settings.
        names: the models that are served, in the order of the constraints' indices.

    Raises:
        ValueError: two rules contradict each other, or no draw could keep them all; the
            message names the value and the remedy.
    """
    index = {name: number for number, name in enumerate(names)}
    models = {index[name]: rule for name, rule in matchmaking.models.items() if name in index}
    pairs = {
        (index[rule.models[0]], index[rule.models[1]]): rule
        for rule in matchmaking.pairs
        if set(rule.models) <= set(index)
    }
    if not models and not pairs:
        return None
    rules = PairConstraints(
        names=tuple(names),
        largest={i: rule.max_share for i, rule in models.items() if rule.max_share is not None},
        least={i: rule.min_share for i, rule in models.items() if rule.min_share is not None},
        pinned={pair: rule.share for pair, rule in pairs.items() if rule.share is not None},
        apart=frozenset(pair for pair, rule in pairs.items() if rule.never),
    )
    even = pair_distribution(np.zeros(len(names)), policy="uniform", exploration=1.0)
    constrain(even, rules)
    return rules
