from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ranking import InvalidVote, Judgements, audit_orders, read_judgements

if TYPE_CHECKING:
    from pathlib import Path

ROW = {
    "item": "q1", "judge": "ann", "kind": "expert", "model_a": "alpha", "model_b": "beta",
    "winner": "model_a",
}  # fmt: skip


def table(
    *rows: dict[str, Any],
    columns: dict[str, str] | None = None,
    groups: list[str] | None = None,
    both_orders: tuple[str, ...] = (),
) -> Judgements:
    frame = pd.DataFrame([{**ROW, **row} for row in rows])
    return Judgements.from_frame(frame, columns=columns, groups=groups, both_orders=both_orders)


def test_the_same_verdict_is_the_same_number_on_either_side() -> None:
    found = table(
        {"winner": "A"},
        {"judge": "bob", "model_a": "beta", "model_b": "alpha", "winner": "right"},
        {"judge": "cy", "model_a": "beta", "model_b": "alpha", "winner": "left"},
        {"judge": "di", "winner": "tie"},
        {"judge": "ed", "model_a": "beta", "model_b": "alpha", "winner": "both_bad"},
    )
    assert found.verdict.tolist() == [0, 0, 1, 2, 3]
    assert len(set(found.battle)) == 1
    assert found.collapse().verdict.tolist() == [0, 0, 1, 2, 2]


def test_a_battle_is_an_item_a_turn_and_a_pair() -> None:
    found = table(
        {"turn": 1}, {"turn": 2}, {"turn": 1, "model_b": "gamma"}, {"turn": 1, "item": "q2"},
        {"turn": 1, "judge": "bob"},
    )  # fmt: skip
    assert len(set(found.battle)) == 4
    assert found.battle[0] == found.battle[4]


def test_one_name_in_two_kinds_is_two_individuals() -> None:
    found = table({}, {"kind": "crowd"})
    assert found.judges == ("ann", "ann")
    assert found.kinds == ("crowd", "expert")
    assert found.judge.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"winner": "draw"}, "row 1: unknown verdict 'draw' in winner"),
        ({"winner": None}, "row 1: unknown verdict"),
        ({"winner": "unparsable"}, "row 1: unknown verdict 'unparsable'"),
        ({"judge": None}, "row 1: the judge is missing"),
        ({"item": " "}, "row 1: the item is missing"),
        ({"model_a": ""}, "row 1: the model name is missing"),
        ({"model_a": "beta"}, "row 1: model 'beta' against itself"),
        ({"seconds": -3}, "row 1: seconds -3.0 must be a number ≥ 0"),
        ({"seconds": "soon"}, "row 1: seconds 'soon' must be a number ≥ 0"),
        ({"shown": "nobody"}, "row 1: unknown verdict 'nobody' in shown"),
    ],
)
def test_a_row_that_cannot_be_counted_is_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidVote) as caught:
        table({}, row)
    assert message in str(caught.value)
    assert caught.value.row == 1


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InvalidVote, match="no column kind or voter_kind for kind"):
        Judgements.from_frame(pd.DataFrame([ROW]).drop(columns="kind"))
    with pytest.raises(InvalidVote, match="no column 'level'"):
        table({}, groups=["level"])
    with pytest.raises(InvalidVote, match="unknown role 'jury'"):
        table({}, columns={"jury": "judge"})
    with pytest.raises(InvalidVote, match="there are no judgements"):
        Judgements.from_frame(pd.DataFrame([ROW]).iloc[:0])


def test_columns_may_have_other_names() -> None:
    frame = pd.DataFrame([ROW]).rename(columns={"judge": "annotator", "item": "question_id"})
    assert Judgements.from_frame(frame).judges == ("ann",)
    frame = pd.DataFrame([ROW]).rename(columns={"kind": "role"})
    assert Judgements.from_frame(frame, columns={"kind": "role"}).kinds == ("expert",)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet", ".csv.gz"])
def test_files_of_every_kind(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame([ROW, {**ROW, "judge": "bob", "winner": "tie (inconsistent)"}])
    path = tmp_path / f"judgements{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix.startswith(".json"):
        records = frame.to_dict(orient="records")
        lines = suffix == ".jsonl"
        path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records))
    else:
        frame.to_csv(path, index=False)
    found = read_judgements(path)
    assert found.verdict.tolist() == [0, 2]
    assert found.inconsistent.tolist() == [False, True]


def both_orders(straight: str | None, turned: str | None, item: str = "q1") -> list[dict[str, Any]]:
    """A machine's two verdicts, each as the winner among the sides of its own row."""
    same = {"judge": "m", "kind": "machine", "item": item}
    return [
        {**same, "winner": straight},
        {**same, "model_a": "beta", "model_b": "alpha", "winner": turned},
    ]


def test_two_orders_become_one_verdict() -> None:
    found = table(
        {},
        *both_orders("model_a", "model_b"),  # alpha both times
        *both_orders("model_a", "model_a", "q2"),  # whatever stands first
        *both_orders("tie", "model_b", "q3"),  # a tie, then alpha in the second place
        *both_orders("unparsable", "model_b", "q4"),
        *both_orders(None, None, "q5"),
        both_orders("model_a", "model_b", "q6")[0],
        both_orders=("machine",),
    )
    assert len(found) == 4
    assert found.verdict.tolist() == [0, 0, 2, 2]
    assert found.inconsistent.tolist() == [False, False, True, True]
    (audit,) = found.orders
    assert (audit.judge, audit.battles, audit.single) == ("m", 5, 1)
    shares = (audit.consistent, audit.first_biased, audit.second_biased, audit.unparsable)
    assert shares == (0.2, 0.2, 0.2, 0.4)


def test_both_bad_against_a_tie_is_no_bias_of_place() -> None:
    found = table(*both_orders("tie", "both_bad"), both_orders=("machine",))
    assert found.verdict.tolist() == [2]
    assert found.inconsistent.tolist() == [False]
    assert found.orders[0].consistent == 1


def test_the_same_order_twice_is_refused() -> None:
    with pytest.raises(InvalidVote, match="row 2: judge 'm' has two verdicts in the same order"):
        table(*both_orders("model_a", "model_b"), both_orders("tie", "tie")[0],
              both_orders=("machine",))  # fmt: skip
    with pytest.raises(InvalidVote, match="no judge of kind 'robot'; there are expert"):
        table({}, both_orders=("robot",))


def test_shares_of_place_as_the_literature_counts_them() -> None:
    # Zheng et al. (2023), table 2: 80 battles of GPT-4, 65.0 / 30.0 / 5.0 / 0 per cent.
    straight = np.repeat([0, 1, 2, 0, 1], [20, 20, 12, 24, 4])
    turned = np.repeat([0, 1, 2, 1, 0], [20, 20, 12, 24, 4])
    found = audit_orders(straight, turned)
    assert (found.consistent, found.first_biased, found.second_biased, found.unparsable) == (
        0.65, 0.3, 0.05, 0.0,
    )  # fmt: skip


def test_lengths_and_what_was_shown_turn_with_the_sides() -> None:
    found = table(
        {"length_a": 10, "length_b": 20, "shown": "A"},
        {"judge": "bob", "model_a": "beta", "model_b": "alpha", "length_a": 20, "length_b": 10,
         "shown": "B"},
        {"judge": "cy", "length_a": 7, "length_b": 7, "shown": None},
        {"judge": "di", "length_a": None, "length_b": 7, "shown": "tie"},
    )  # fmt: skip
    assert found.longer is not None
    assert found.shown is not None
    assert found.longer.tolist() == [1, 1, 2, -1]
    assert found.shown.tolist() == [0, 0, -1, 2]
