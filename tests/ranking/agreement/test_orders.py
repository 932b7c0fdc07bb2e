"""Two orders, one verdict: every pair of verdicts, in plain words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ranking import OUTCOMES, Consistency, InvalidVote, audit_orders, combine_verdicts

# What each verdict gives the first model: a win, a loss, or neither.
MARGINS = {"model_a": 1, "model_b": -1, "tie": 0, "tie (bothbad)": 0}
PAIRS = list(product([*OUTCOMES, None], repeat=2))


def classify(straight: str | None, swapped: str | None) -> Consistency:
    """After Zheng et al. (2023), whose four shares sum to one."""
    if straight is None or swapped is None:
        return Consistency.UNPARSABLE
    # In the other order the place shown first is the second model's.
    gained = MARGINS[straight] - MARGINS[swapped]
    if gained > 0:
        return Consistency.FIRST_BIASED
    return Consistency.SECOND_BIASED if gained < 0 else Consistency.CONSISTENT


@pytest.mark.parametrize(("straight", "swapped"), PAIRS)
def test_a_verdict_counts_only_if_both_orders_agree(
    straight: str | None, swapped: str | None
) -> None:
    found = combine_verdicts(straight, swapped)
    assert found.consistency is classify(straight, swapped)
    if found.consistency is Consistency.UNPARSABLE:
        assert found.verdict is None
    else:
        assert found.verdict == (straight if straight == swapped else "tie")


def test_the_shares_are_those_of_the_single_verdicts_and_sum_to_one() -> None:
    codes = [[-1 if said is None else OUTCOMES.index(said) for said in pair] for pair in PAIRS]
    straight, swapped = np.array(codes).T
    found = audit_orders(straight, swapped)
    shares = (found.consistent, found.first_biased, found.second_biased, found.unparsable)
    each = [classify(*pair) for pair in PAIRS]
    assert shares == pytest.approx([each.count(how) / len(PAIRS) for how in Consistency])
    assert sum(shares) == pytest.approx(1.0)


def test_exchanging_the_models_exchanges_nothing_but_the_verdict() -> None:
    mirrored = {"model_a": "model_b", "model_b": "model_a"}
    turn: dict[str | None, str | None] = {name: mirrored.get(name, name) for name in OUTCOMES}
    turn[None] = None
    for straight, swapped in PAIRS:
        one = combine_verdicts(straight, swapped)
        other = combine_verdicts(turn[swapped], turn[straight])
        assert (other.verdict, other.consistency) == (turn[one.verdict], one.consistency)


def test_a_label_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidVote, match="unknown verdict 'draw'; expected one of model_a"):
        combine_verdicts("draw", "tie")
