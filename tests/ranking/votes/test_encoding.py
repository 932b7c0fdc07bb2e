from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranking import Comparisons
from ranking.votes.encoding import factorize

ROWS = 150_000
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 40, ROWS)
SHARED = np.array([f"model {i}" for i in range(40)], dtype=object)[CODES]


def separate(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Equal strings that are objects of their own, as many readers make them."""
    copied = np.empty(len(column), dtype=object)
    copied[:] = ["".join(list(name)) for name in column]
    return copied


COLUMNS: dict[str, Any] = {
    "shared objects": SHARED,
    "separate objects": separate(SHARED),
    "shared first, separate later": np.concatenate([SHARED[:70_000], separate(SHARED[70_000:])]),
    "two objects a name": np.concatenate([SHARED[:60_000], np.array(
        [f"model {i}" for i in range(40)], dtype=object)[CODES[60_000:]]]),
    "every other row of an array": np.repeat(SHARED, 2)[::2],
    "str": pd.array(SHARED, dtype="str"),
    "category": pd.Categorical(SHARED),
    "list": SHARED.tolist(),
    "integers": CODES,
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column_is_numbered_by_value(name: str) -> None:
    codes, labels = factorize(COLUMNS[name])
    assert len(labels) == len(set(labels)) == 40
    assert [str(labels[c]) for c in codes[:200]] == [str(v) for v in COLUMNS[name][:200]]
    expected = pd.factorize(np.asarray(COLUMNS[name], dtype=object))[0]
    assert (codes == expected).all()


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_missing_values_have_no_number(missing: object) -> None:
    column = SHARED.copy()
    column[100_000] = missing
    codes, labels = factorize(column)
    assert codes[100_000] == -1
    assert len(labels) == 40
    assert (codes < 0).sum() == 1


def test_columns_of_different_kinds_give_the_same_counts() -> None:
    other = np.roll(CODES, 1)
    other = np.where(other == CODES, (other + 1) % 40, other)
    names = np.array([f"model {i}" for i in range(40)], dtype=object)
    outcome = np.array(["model_a", "tie"], dtype=object)[RNG.integers(0, 2, ROWS)]
    kinds = {"str": "str", "object": object, "category": "category"}
    found = [
        Comparisons.from_frame(
            pd.DataFrame(
                {"model_a": SHARED, "model_b": names[other], "winner": outcome}, dtype=kind
            )
        )
        for kind in kinds.values()
    ]
    for counts in found[1:]:
        assert counts.models == found[0].models
        assert (counts.outcome_counts == found[0].outcome_counts).all()
