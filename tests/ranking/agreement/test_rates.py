"""Agreement against its definition in plain loops, and properties of the report."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranking import Judgements, RankingError, agreement_report
from ranking.agreement.comparisons import Comparison, resample_judges
from ranking.agreement.intervals import FEW_JUDGES, ClusteredResampling
from ranking.agreement.pairs import pair_judgements
from ranking.agreement.rules import follow_majority, follow_others
from ranking.agreement.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from ranking import Agreement, AgreementReport

    Row = tuple[int, str, str, int]

MODELS = ("alpha", "beta", "gamma")
LABELS = ("model_a", "model_b", "tie", "tie (bothbad)")


def make_table(rows: Iterable[Row]) -> Judgements:
    """Item, kind, judge and verdict; the pair of models follows from the item."""
    records = [
        {"item": f"q{item:02d}", "kind": kind, "judge": judge, "model_a": MODELS[item % 2],
         "model_b": "gamma", "winner": LABELS[verdict], "category": ["even", "odd"][item % 2]}
        for item, kind, judge, verdict in rows
    ]  # fmt: skip
    return Judgements.from_frame(pd.DataFrame(records))


def naive_rates(rows: list[Row], first: str, second: str) -> dict[str, Any]:
    """The four rates, straight from their definition."""
    shares: dict[bool, dict[int, list[bool]]] = {False: {}, True: {}}
    for one, other in combinations(rows, 2):
        kinds = {one[1], other[1]} if first != second else {one[1] == other[1] == first}
        wanted = {first, second} if first != second else {True}
        if one[0] != other[0] or kinds != wanted or one[1:3] == other[1:3]:
            continue
        a, b = min(one[3], 2), min(other[3], 2)
        shares[False].setdefault(one[0], []).append(a == b)
        if a < 2 and b < 2:
            shares[True].setdefault(one[0], []).append(a == b)
    found: dict[str, Any] = {}
    for name, by_item in (("with_ties", shares[False]), ("without_ties", shares[True])):
        pairs = [agree for agrees in by_item.values() for agree in agrees]
        found[name] = np.mean(pairs) if pairs else None
        means = [np.mean(agrees) for agrees in by_item.values()]
        found[f"{name}_per_question"] = np.mean(means) if means else None
    return found


rows_of_a_table = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from(["crowd", "expert"]), st.sampled_from("abc"),
        st.integers(0, 3),
    ),
    min_size=2, max_size=40,
)  # fmt: skip


@given(rows_of_a_table)
def test_agreement_is_what_its_definition_says(rows: list[Row]) -> None:
    report = agreement_report(make_table(rows), replicates=2)
    for found in report.agreements:
        for name, value in naive_rates(rows, found.first, found.second).items():
            assert getattr(found, name).value == (
                None if value is None else pytest.approx(value, abs=1e-12)
            )


@settings(max_examples=30)
@given(rows_of_a_table, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_sides_does_not_matter(rows: list[Row], random: Random) -> None:
    turned = [0 if v == 1 else 1 if v == 0 else v for *_, v in rows]
    records = [
        {"item": i, "kind": k, "judge": j, "model_a": "x", "model_b": "y", "winner": LABELS[v],
         "other": LABELS[t]}
        for (i, k, j, v), t in zip(rows, turned, strict=True)
    ]  # fmt: skip
    swapped = [
        {**r, "model_a": "y", "model_b": "x", "winner": r["other"]} if random.random() < 0.5 else r
        for r in records
    ]
    random.shuffle(swapped)
    before, after = (
        agreement_report(Judgements.from_frame(pd.DataFrame(x)), replicates=20).to_dict()
        for x in (records, swapped)
    )
    # Repeats are told apart by their order: the first of a judge is the one that counts.
    if len({r[:3] for r in rows}) == len(rows):
        assert json.dumps(before["agreements"]) == json.dumps(after["agreements"])


def simulate(
    items: int, judges: dict[str, int], *, accuracy: float = 0.8, seed: int = 0
) -> Judgements:
    """Judges who name the better answer with some probability, else anything."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    rows = [
        (i, kind, f"{kind}-{j}", int(truth[i] if rng.random() < accuracy else rng.integers(0, 3)))
        for kind, number in judges.items()
        for j in range(number)
        for i in range(items)
    ]
    return make_table(rows)


def compare(table: Judgements) -> Comparison:
    one, other = (table.judge_kind == code for code in range(2))
    return Comparison("a", "b", pair_judgements(table).between(one, other), len(table.items))


def test_a_replicate_over_items_is_a_recount_of_resampled_items() -> None:
    table = simulate(12, {"crowd": 3, "expert": 2})
    weights = np.random.default_rng(1).multinomial(12, np.full(12, 1 / 12))
    copies = [
        (copy * 12 + code, table.kinds[k], table.judges[j], int(v))
        for code, k, j, v in zip(table.item, table.kind, table.judge, table.verdict, strict=True)
        for copy in range(weights[code])
    ]
    names = {item: i for i, item in enumerate(sorted({row[0] for row in copies}))}
    again = make_table([(2 * names[i] + i % 2, k, j, v) for i, k, j, v in copies])
    recounted = compare(again).statistics()
    for name, statistic in compare(table).statistics().items():
        value = float(statistic.finish(statistic.terms @ weights.astype(float)))
        assert value == pytest.approx(recounted[name].value), name


def test_a_replicate_over_judges_is_a_recount_without_copies_of_one_person() -> None:
    table = simulate(8, {"crowd": 12})
    resampling = ClusteredResampling(len(table.items), table.judge_kind, 5, 0.95, 3)
    pairs = pair_judgements(table).within(np.ones(12, dtype=bool))
    comparison = Comparison("crowd", "crowd", pairs, len(table.items), symmetric=True)
    same = comparison.same.astype(float)
    found = resample_judges(comparison, resampling)
    pooled, per_question = found["with_ties"], found["with_ties_per_question"]
    for draw in range(5):
        counts = resampling.judge_counts[draw]
        assert counts.sum() == 12
        agree: dict[int, float] = {}
        total: dict[int, float] = {}
        for item, a, b, x in zip(pairs.item, pairs.judge, pairs.judge_too, same, strict=True):
            weight = float(counts[a]) * float(counts[b])
            agree[item] = agree.get(item, 0) + weight * x
            total[item] = total.get(item, 0) + weight
        assert pooled[draw] == pytest.approx(sum(agree.values()) / sum(total.values()))
        means = [agree[i] / total[i] for i in total if total[i]]
        assert per_question[draw] == pytest.approx(np.mean(means))


def test_with_everybody_drawn_once_a_replicate_over_judges_is_the_value() -> None:
    # Twelve of the crowd, of whom three to twelve judge each battle, and two experts.
    rng = np.random.default_rng(2)
    whole = simulate(30, {"crowd": 12, "expert": 2})
    table = whole.select((rng.random(len(whole)) < 0.7) | (whole.kind == 1))
    resampling = ClusteredResampling(len(table.items), table.judge_kind, 2, 0.95, 0)
    vars(resampling)["judge_counts"] = np.ones((2, 14), dtype=np.int16)
    study = Study(table, "tie", 1)
    for one, other in ((0, 0), (0, 1)):
        comparison = study.compare(one, other, study.pairs)
        assert comparison is not None
        values = {name: s.value for name, s in comparison.statistics().items()}
        drawn = resample_judges(comparison, resampling)
        assert set(values) <= set(drawn)
        for name, value in values.items():
            assert drawn[name] == pytest.approx(value, abs=1e-12), name


def test_the_wider_interval_is_shown() -> None:
    # Twelve people on sixty battles: some are careful, some press anything.
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60)
    rows = [
        (i, kind, f"{kind}{j}", int(truth[i] if rng.random() < skill else rng.integers(0, 3)))
        for kind, skills in (("crowd", [0.99] * 6 + [0.0] * 6), ("expert", [0.95, 0.95]))
        for j, skill in enumerate(skills)
        for i in range(60)
    ]
    found = agreement_report(make_table(rows), replicates=300).agreement("crowd", "expert")
    assert found.with_ties.clustered_by == "judge"
    assert found.cohen is not None
    assert found.cohen.clustered_by == "judge"
    few = [row for row in rows if row[2] not in {"crowd9", "crowd10", "crowd11"}]
    assert FEW_JUDGES == 10
    found = agreement_report(make_table(few), replicates=300).agreement("crowd", "expert")
    assert found.with_ties.clustered_by == "item"


def test_perfect_agreement_is_not_certain() -> None:
    rows = [(i, kind, kind, i % 2) for i in range(20) for kind in ("crowd", "expert")]
    found = agreement_report(make_table(rows), replicates=50).agreement("crowd", "expert")
    # Clopper and Pearson: 20 of 20 leaves (α/2)^(1/20) possible.
    assert found.with_ties.value == found.with_ties.upper == 1
    assert found.with_ties.lower == pytest.approx(0.025 ** (1 / 20))


def test_both_bad_is_a_tie_or_a_fourth_category() -> None:
    rows = [(0, "crowd", "a", 2), (0, "expert", "b", 3), (1, "crowd", "a", 3),
            (1, "expert", "b", 3), (2, "crowd", "a", 0), (2, "expert", "b", 1)]  # fmt: skip
    table = make_table(rows)
    tie = agreement_report(table, replicates=2).agreement("crowd", "expert")
    keep = agreement_report(table, both_bad="keep", replicates=2).agreement("crowd", "expert")
    assert (tie.with_ties.value, keep.with_ties.value) == (2 / 3, 1 / 3)
    assert tie.confusion == ((0, 1, 0), (0, 0, 0), (0, 0, 2))
    assert keep.confusion == ((0, 1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 1))
    assert tie.pairs_without_ties == keep.pairs_without_ties == 1
    assert agreement_report(table, replicates=2).kinds[0].both_bad == pytest.approx(1 / 3)
    unknown: Any = "drop"
    with pytest.raises(RankingError, match="both_bad must be 'tie' or 'keep', not 'drop'"):
        agreement_report(table, both_bad=unknown, replicates=2)


def test_the_report_is_json_and_the_seed_decides() -> None:
    table = simulate(30, {"crowd": 12, "expert": 2, "machine": 1})
    options: dict[str, Any] = {"by": ["category", "pair"], "replicates": 60}
    first, again, other = (
        json.dumps(agreement_report(table, seed=seed, **options).to_dict(), allow_nan=False)
        for seed in (1, 1, 2)
    )
    assert first == again != other
    with pytest.raises(RankingError, match="no group 'colour' to split by; there are pair"):
        agreement_report(table, by=["colour"], replicates=2)
    with pytest.raises(RankingError, match="level must be between 0 and 1"):
        agreement_report(table, level=95)
    with pytest.raises(RankingError, match="a bootstrap needs 2 replicates"):
        agreement_report(table, replicates=1)


def lines(found: Iterable[Agreement]) -> dict[tuple[str, str], Agreement]:
    return {(a.first, a.second): a for a in found}


@pytest.fixture(scope="module")
def report() -> AgreementReport:
    return agreement_report(
        simulate(40, {"crowd": 12, "expert": 2, "machine": 1}), by=["category"], replicates=100
    )


def test_parts_add_up_to_the_whole(report: AgreementReport) -> None:
    for whole in report.agreements:
        parts = [p for p in report.parts if (p.first, p.second) == (whole.first, whole.second)]
        assert sorted(str(p.label) for p in parts) == ["even", "odd"]
        assert sum(p.pairs for p in parts) == whole.pairs
        assert np.sum([p.confusion for p in parts], axis=0).tolist() == [
            list(row) for row in whole.confusion
        ]


def test_each_judge_is_left_out_of_the_rest(report: AgreementReport) -> None:
    judges = lines(report.judges)
    assert judges["expert-0", "expert"].pairs == 40
    assert judges["crowd-3", "crowd"].pairs == 40 * 11
    assert ("machine-0", "machine") not in judges
    assert ("expert-0", "majority of expert") not in judges  # one other is no majority
    majority = judges["machine-0", "majority of crowd"]
    assert majority.pairs == 40
    mean = judges["machine-0", "crowd"]
    assert majority.with_ties.value is not None
    assert mean.with_ties.value is not None
    assert majority.with_ties.value > mean.with_ties.value


def test_the_ceiling_is_paired_item_by_item(report: AgreementReport) -> None:
    ceilings = {(c.kind, c.other): c for c in report.ceilings}
    assert set(ceilings) == {
        ("crowd", "expert"), ("crowd", "machine"), ("expert", "crowd"), ("expert", "machine"),
    }  # fmt: skip
    found = ceilings["expert", "crowd"]
    difference = found.differences["with_ties"]
    assert found.agreement.with_ties.value is not None
    assert found.ceiling.with_ties.value is not None
    assert difference.value == pytest.approx(
        found.agreement.with_ties.value - found.ceiling.with_ties.value
    )
    bounds = [difference.lower, difference.value, difference.upper]
    assert bounds == sorted(bound for bound in bounds if bound is not None)


def test_a_difference_of_a_comparison_with_itself_is_nothing() -> None:
    rows = [
        (i, kind, judge, verdict)
        for i, verdict in enumerate(np.random.default_rng(0).integers(0, 3, 30).tolist())
        for kind, judge in (("crowd", "c"), ("expert", "e1"), ("expert", "e2"))
    ]
    (found,) = agreement_report(make_table(rows), replicates=50).ceilings
    assert found.differences["with_ties"].value == 0


def test_the_majority_of_other_items() -> None:
    table = make_table([(0, "crowd", "a", 0), (2, "crowd", "a", 0), (4, "crowd", "a", 1),
                        (1, "crowd", "a", 1)])  # fmt: skip
    # Items 0, 2 and 4 share a pair of models; item 1 has one of its own.
    assert follow_majority(table).tolist() == [2, 2, 0, -1]
    assert table.items == ("q00", "q01", "q02", "q04")


def test_the_majority_of_the_others_on_a_battle() -> None:
    table = make_table([(0, "crowd", "a", 0), (0, "crowd", "b", 1), (0, "crowd", "c", 1),
                        (1, "crowd", "a", 0), (2, "crowd", "b", 0)])  # fmt: skip
    everybody = np.ones(3, dtype=bool)
    assert follow_others(table, 0, everybody).tolist() == [1, 1, 1, -1, 0]
    assert follow_others(table, 1, everybody).tolist() == [2, 2, 2, 0, -1]


def test_the_longer_answer_is_a_judge_of_its_own() -> None:
    frame = pd.DataFrame(
        [("q1", "model_a", 9, 5), ("q2", "model_b", 9, 5), ("q3", "model_a", 9, 5),
         ("q4", "tie", 5, 5), ("q5", "model_a", None, 5)],
        columns=["item", "winner", "length_a", "length_b"],
    ).assign(judge="a", kind="crowd", model_a="x", model_b="y")  # fmt: skip
    report = agreement_report(Judgements.from_frame(frame), replicates=50)
    found = lines(report.baselines)["crowd", "longer answer"]
    assert (found.pairs, found.pairs_without_ties) == (4, 3)
    assert found.with_ties.value == 3 / 4
    assert found.without_ties.value == pytest.approx(2 / 3)
    (verbosity,) = report.verbosity
    assert verbosity.judgements == 3
    assert verbosity.longer_chosen.value == pytest.approx(2 / 3)


def test_repeated_judgements_are_self_agreement_only() -> None:
    rows = [(i, "crowd", judge, v) for i in range(4) for judge, v in (("a", 0), ("a", i % 2),
                                                                      ("b", 0))]  # fmt: skip
    report = agreement_report(make_table(rows), replicates=2)
    (repeats,) = report.repeats
    assert (repeats.pairs, repeats.with_ties.value) == (4, 0.5)
    assert report.agreement("crowd", "crowd").pairs == 8
