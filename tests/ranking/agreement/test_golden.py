"""Published agreements, reproduced from the public votes beside the checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ranking import Judgements, agreement_report, audit_orders, sideless_kappa
from ranking.agreement.comparisons import Comparison
from ranking.agreement.intervals import ClusteredResampling
from ranking.agreement.pairs import pair_judgements
from ranking.agreement.rankings import compare_boards
from ranking.agreement.rates import measure_agreements

if TYPE_CHECKING:
    from pathlib import Path

    from ranking import Agreement, AgreementReport
    from ranking.agreement.pairs import Individuals


def find(report: AgreementReport, first: str, second: str, *, turn: str) -> Agreement:
    (found,) = [
        a
        for a in report.parts
        if {a.first, a.second} == {first, second} and (a.group, a.label) == ("turn", turn)
    ]
    return found


def percent(agreement: Agreement) -> tuple[float, float]:
    with_ties, without = agreement.with_ties.value, agreement.without_ties.value
    assert with_ties is not None
    assert without is not None
    return round(100 * with_ties, 1), round(100 * without, 1)


def expand_mtbench(path: Path) -> pd.DataFrame:
    """One row a vote; nobody knows who cast it, so everybody is somebody else."""
    counts = pd.read_csv(path)
    place = counts[["question_id", "turn", "model_a", "model_b"]]
    parts = [place.assign(kind="gpt-4", judge="gpt-4", winner=counts["gpt4_winner"])]
    voters = 0
    for column, label in (("n_human_a", "A"), ("n_human_b", "B"), ("n_human_ties", "tie")):
        votes = place.loc[place.index.repeat(counts[column])].assign(kind="human", winner=label)
        votes["judge"] = [f"voter-{voters + i}" for i in range(len(votes))]
        voters += len(votes)
        parts.append(votes)
    return pd.concat(parts)


def test_mtbench_all_votes(shared_data: Path) -> None:
    # Zheng et al. (2023), tables 5 and 6, print 66/66, 85/85 and 63/67, 81/82 from the same
    # votes; the first digits are those of data/README.md.
    table = Judgements.from_frame(expand_mtbench(shared_data / "mtbench/labels_full.csv"))
    report = agreement_report(table, by=["turn"], replicates=2)
    assert percent(find(report, "gpt-4", "human", turn="1")) == (66.6, 85.9)
    assert percent(find(report, "gpt-4", "human", turn="2")) == (65.7, 85.3)
    assert percent(find(report, "human", "human", turn="1")) == (64.1, 82.0)
    assert percent(find(report, "human", "human", turn="2")) == (67.0, 83.4)


def test_mtbench_votes_with_names(shared_data: Path) -> None:
    humans = pd.read_csv(shared_data / "mtbench/human_votes_partial.csv").assign(kind="human")
    machine = pd.read_csv(shared_data / "mtbench/gpt4_pair_partial.csv").assign(kind="gpt-4")
    table = Judgements.from_frame(pd.concat([humans, machine]))
    report = agreement_report(table, by=["turn"], replicates=2)
    people = {turn: find(report, "human", "human", turn=turn) for turn in ("1", "2")}
    gpt4 = {turn: find(report, "gpt-4", "human", turn=turn) for turn in ("1", "2")}
    assert percent(people["1"]) == (64.7, 82.8)
    assert (people["1"].pairs, people["1"].pairs_without_ties) == (334, 203)
    assert percent(gpt4["1"]) == (66.8, 85.8)
    assert (gpt4["1"].pairs, gpt4["1"].pairs_without_ties) == (882, 549)
    assert percent(people["2"]) == (66.1, 82.8)
    assert percent(gpt4["2"]) == (67.9, 85.4)
    assert report.kinds[0].inconsistent == pytest.approx(196 / 1240)


def test_pandalm_annotators(shared_data: Path) -> None:
    wide = pd.read_csv(shared_data / "pandalm/test999.csv")
    winner = {0: "tie", 1: "model_a", 2: "model_b"}
    long = pd.concat(
        pd.DataFrame({
            "item": wide["idx"], "model_a": wide["model_1"], "model_b": wide["model_2"],
            "judge": name, "kind": name, "winner": wide[name].map(winner),
        })
        for name in ("annotator1", "annotator2", "annotator3")
    )  # fmt: skip
    report = agreement_report(Judgements.from_frame(long), replicates=2)
    kappas = {}
    for first, second in (("1", "2"), ("1", "3"), ("2", "3")):
        found = report.agreement(f"annotator{first}", f"annotator{second}").cohen
        assert found is not None
        kappas[first + second] = found.value
    assert kappas == pytest.approx({"12": 0.852, "13": 0.879, "23": 0.862}, abs=5e-4)


def read_wmt(path: Path) -> Judgements:
    frame = pd.read_csv(path)
    # WMT compares judgements of the same segment and *ordered* pair of systems.
    item = frame["segment"].astype(str) + "|" + frame["system_a"] + "|" + frame["system_b"]
    long = frame.rename(columns={"system_a": "model_a", "system_b": "model_b"})
    return Judgements.from_frame(
        long.assign(item=item, kind="human", segment=frame["segment"].astype(str)),
        groups=["segment"],
    )


def count_agreeing(table: Judgements, individuals: Individuals) -> tuple[int, int]:
    members = np.ones(len(table.judges), dtype=bool)
    pairs = pair_judgements(table).within(members, individuals=individuals)
    comparison = Comparison("human", "human", pairs, len(table.items), symmetric=True)
    (found,) = measure_agreements(
        [comparison], ClusteredResampling(len(table.items), table.judge_kind, 2, 0.95, 0)
    )
    assert found.with_ties.value is not None
    return round(found.with_ties.value * found.pairs), found.pairs


@pytest.mark.parametrize("language_pair", ["deu-eng", "eng-fin", "ron-eng"])
def test_wmt16_annotators_from_their_judgements(shared_data: Path, language_pair: str) -> None:
    printed = pd.read_csv(shared_data / "wmt16/summary.csv", index_col=0).loc[language_pair]
    table = read_wmt(shared_data / f"wmt16/{language_pair}.collapsed.csv.gz")
    # Published inter-annotator figures include a judge's agreement with himself.
    agree, comparable = count_agreeing(table, "any")
    assert (agree, comparable) == (printed["inter_agree"], printed["inter_comparable"])
    kappa = sideless_kappa(agree / comparable, np.mean(table.verdict == 2))
    assert kappa == pytest.approx(printed["inter_kappa"], abs=6e-4)
    agree, comparable = count_agreeing(table, "same")
    assert (agree, comparable) == (printed["intra_agree"], printed["intra_comparable"])
    # Ties are counted over all judgements of a segment by a judge who repeated any of it.
    segment = table.groups["segment"].codes * len(table.judges) + table.judge
    repeated = np.bincount(table.battle * len(table.judges) + table.judge)[
        table.battle * len(table.judges) + table.judge
    ] > 1  # fmt: skip
    ties = np.mean(table.verdict[np.isin(segment, segment[repeated])] == 2)
    kappa = sideless_kappa(agree / comparable, ties)
    assert kappa == pytest.approx(printed["intra_kappa"], abs=6e-4)


def test_wmt16_annotators_of_all_twelve_language_pairs(shared_data: Path) -> None:
    printed = pd.read_csv(shared_data / "wmt16/summary.csv")
    assert len(printed) == 12
    for kind in ("inter", "intra"):
        agreement = printed[f"{kind}_agree"] / printed[f"{kind}_comparable"]
        ties = printed[f"{kind}_ties"] / printed[f"{kind}_total"]
        np.testing.assert_allclose(agreement, printed[f"{kind}_pA"], atol=6e-4)
        kappa = sideless_kappa(agreement, ties)
        np.testing.assert_allclose(kappa, printed[f"{kind}_kappa"], atol=1.1e-3)


def test_vicuna80_win_rates(shared_data: Path) -> None:
    frame = pd.read_csv(shared_data / "vicuna80_prd/ratings.csv")
    five = ["gpt4", "claude", "vicuna-13b", "gpt35", "bard"]
    frame = frame[frame["model_a"].isin(five) & frame["model_b"].isin(five)]
    machine = frame[frame["reviewer"] == "gpt4"].assign(kind="gpt4", judge="gpt4")
    # The people of a cell speak with one voice: whom more of them preferred.
    balance = frame["winner"].map({"A": 1, "B": -1, "tie": 0})
    cells = ["model_a", "model_b", "question_id"]
    people = frame.assign(balance=balance)[frame["reviewer"] == "human"]
    people = people.groupby(cells)["balance"].sum().reset_index()
    voice = np.select([people["balance"] > 0, people["balance"] < 0], ["A", "B"], "tie")
    people = people.assign(kind="human", judge="people", winner=voice)
    table = Judgements.from_frame(pd.concat([machine, people]))
    boards, _ = compare_boards(
        table, ClusteredResampling(len(table.items), table.judge_kind, 2, 0.95, 0)
    )
    rates = {b.kind: dict(zip(b.models, b.win_rates, strict=True)) for b in boards}
    assert rates["human"] == pytest.approx({
        "gpt4": .821875, "claude": .6890625, "vicuna-13b": .3890625, "gpt35": .3140625,
        "bard": .2859375,
    }, abs=1e-9)  # fmt: skip
    assert rates["gpt4"] == pytest.approx({
        "gpt4": .85625, "claude": .70859, "vicuna-13b": .34844, "gpt35": .34219, "bard": .24453,
    }, abs=6e-6)  # fmt: skip


# Zeng et al. (2024), "Evaluating large language models at evaluating instruction following":
# share of items on which GPT-4, prompted with rules, chose the same answer in both orders.
LLMBAR_GPT4 = {
    "LLMBar/Natural": 95.0, "LLMBar/Adversarial/Neighbor": 93.3,
    "LLMBar/Adversarial/GPTInst": 94.6, "LLMBar/Adversarial/GPTOut": 93.6,
    "LLMBar/Adversarial/Manual": 82.6,
}  # fmt: skip


def test_llmbar_position_consistency(shared_data: Path) -> None:
    verdicts = pd.read_csv(shared_data / "llmbar/judge_verdicts.csv.gz")
    mine = verdicts[(verdicts["judge"] == "GPT-4") & (verdicts["strategy"] == "Vanilla")]
    for subset, published in LLMBAR_GPT4.items():
        rows = mine[mine["subset"] == subset]
        codes = [
            rows[c].map({1: 0, 2: 1}).fillna(-1) for c in ("winner_order_ab", "winner_order_ba")
        ]
        assert round(100 * audit_orders(*codes).consistent, 1) == published


def test_llmbar_orders_of_every_judge(shared_data: Path) -> None:
    verdicts = pd.read_csv(shared_data / "llmbar/judge_verdicts.csv.gz")
    verdicts["judge"] += " " + verdicts["strategy"]
    verdicts["item"] = verdicts["subset"] + " " + verdicts["i"].astype(str)
    labels = {1: "model_a", 2: "model_b"}
    straight = verdicts.assign(
        model_a="one", model_b="two", winner=verdicts["winner_order_ab"].map(labels)
    )
    turned = verdicts.assign(
        model_a="two", model_b="one", winner=verdicts["winner_order_ba"].map({1: "B", 2: "A"})
    )
    long = pd.concat([straight, turned]).assign(kind="machine")
    audits = {a.judge: a for a in Judgements.from_frame(long, both_orders=["machine"]).orders}
    assert len(audits) == verdicts["judge"].nunique()
    for judge, rows in verdicts.groupby("judge"):
        same = (rows["winner_order_ab"] == rows["winner_order_ba"]).mean()
        found = audits[str(judge)]
        assert found.battles == len(rows)
        assert found.consistent == pytest.approx(same)
        shares = found.consistent + found.first_biased + found.second_biased + found.unparsable
        assert shares == pytest.approx(1)
    weakest = min(audits.values(), key=lambda a: a.consistent)
    assert weakest.judge.startswith("Falcon")
