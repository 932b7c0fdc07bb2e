from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranking import OUTCOMES, Comparisons, InvalidVote


def cells(comparisons: Comparisons) -> dict[tuple[str, str, str], int]:
    names = comparisons.models
    return {
        (names[a], names[b], OUTCOMES[o]): int(n)
        for a, b, o, n in zip(
            comparisons.model_a,
            comparisons.model_b,
            comparisons.outcome,
            comparisons.count,
            strict=True,
        )
    }


def test_equal_votes_become_one_count() -> None:
    got = Comparisons.from_counts(
        ["x", "y", "x", "x"], ["y", "x", "y", "y"], ["model_a", "tie", "model_a", "tie"]
    )
    assert cells(got) == {
        ("x", "y", "model_a"): 2,
        ("x", "y", "tie"): 1,
        ("y", "x", "tie"): 1,
    }
    assert got.votes == 4


def test_counts_and_repeated_rows_are_the_same() -> None:
    columns = (["x", "z"], ["y", "x"], ["model_b", "tie (bothbad)"])
    counted = Comparisons.from_counts(*columns, [3, 2])
    repeated = Comparisons.from_counts(*(np.repeat(np.array(c), [3, 2]) for c in columns))
    assert cells(counted) == cells(repeated)


def test_many_models_take_the_sorted_path_and_agree_with_the_dense_one() -> None:
    names = [f"model {i:05d}" for i in range(2_000)]
    got = Comparisons.from_counts(names[:-1], names[1:], ["left"] * 1_999, [2] * 1_999)
    assert got.votes == 3_998
    assert cells(got)["model 00000", "model 00001", "model_a"] == 2


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        ("model_a", "model_a"), ("model_b", "model_b"), ("tie", "tie"),
        ("tie (bothbad)", "tie (bothbad)"), ("both_bad", "tie (bothbad)"),
        ("bothbad", "tie (bothbad)"), ("left", "model_a"), ("right", "model_b"),
        ("A", "model_a"), ("B", "model_b"), (1, "model_a"), (0, "model_b"), (0.5, "tie"),
        (1.0, "model_a"),
    ],
)  # fmt: skip
def test_known_spellings(label: object, meaning: str) -> None:
    got = Comparisons.from_counts(["x"], ["y"], [label])
    assert OUTCOMES[got.outcome[0]] == meaning


@pytest.mark.parametrize(
    ("columns", "row", "value"),
    [
        ((["x", "y"], ["y", "y"], ["tie", "tie"]), 1, "y"),
        ((["x", None], ["y", "y"], ["tie", "tie"]), 1, None),
        ((["x", "y"], ["y", "x"], ["tie", "draw"]), 1, "draw"),
        ((["x", "y"], ["y", "x"], ["tie", True]), 1, True),
        ((["x", "y"], ["y", "x"], ["tie", None]), 1, None),
        ((["x", ""], ["y", "x"], ["tie", "tie"]), 1, ""),
        ((["x", "y"], ["y", "x"], ["tie", "tie"], [1, -2]), 1, -2),
        ((["x", "y"], ["y", "x"], ["tie", "tie"], [1, 0.5]), 1, 0.5),
    ],
)
def test_an_unusable_row_is_named_with_its_value(
    columns: tuple[Any, ...], row: int, value: object
) -> None:
    with pytest.raises(InvalidVote) as caught:
        Comparisons.from_counts(*columns)
    assert caught.value.row == row
    assert caught.value.value == value
    assert f"row {row}" in str(caught.value)


@pytest.mark.parametrize("column", [["x", float("nan")], pd.array(["x", pd.NA])])
def test_a_missing_name_is_never_credited_to_a_model(column: Sequence[Hashable]) -> None:
    with pytest.raises(InvalidVote, match="row 1: the model name is missing"):
        Comparisons.from_counts(column, ["y", "y"], ["tie", "tie"])


def test_infinite_and_missing_counts_are_refused() -> None:
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidVote, match="row 0"):
            Comparisons.from_counts(["x"], ["y"], ["tie"], [bad])


def test_empty_input_and_zero_votes_are_refused() -> None:
    with pytest.raises(InvalidVote, match="two models"):
        Comparisons.from_counts([], [], [])
    with pytest.raises(InvalidVote, match="no votes"):
        Comparisons.from_counts(["x"], ["y"], ["tie"], [0])


def test_indices_into_given_models() -> None:
    got = Comparisons.from_counts([0, 2], [1, 0], ["a", "b"], models=("p", "q", "r"))
    assert cells(got) == {("p", "q", "model_a"): 1, ("r", "p", "model_b"): 1}
    with pytest.raises(InvalidVote, match="no model number 3"):
        Comparisons.from_counts([0], [3], ["a"], models=("p", "q", "r"))


def test_columns_of_a_table_are_chosen_by_name() -> None:
    frame = pd.DataFrame({"left": ["x"], "right": ["y"], "verdict": ["tie"], "n": [7]})
    got = Comparisons.from_frame(
        frame, model_a="left", model_b="right", outcome="verdict", count="n"
    )
    assert cells(got) == {("x", "y", "tie"): 7}
    with pytest.raises(InvalidVote, match="no column 'winner'"):
        Comparisons.from_frame(frame, model_a="left", model_b="right")


def test_merging_is_counting_all_together() -> None:
    old = (["x", "y"], ["y", "x"], ["a", "tie"], [3, 2])
    new = (["x", "z"], ["y", "x"], ["a", "b"], [1, 1])
    together = Comparisons.from_counts(
        ["x", "y", "x", "z"], ["y", "x", "y", "x"], ["a", "tie", "a", "b"], [3, 2, 1, 1]
    )
    merged = Comparisons.from_counts(*old).merge(Comparisons.from_counts(*new))
    assert cells(merged) == cells(together)
    assert merged.models == ("x", "y", "z")
