"""Habits of judges, leaderboards of kinds, and rubber stamps, against counts by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau, spearmanr, weightedtau

from ranking import InvalidVote, Judgements, RankingError, agreement_report
from ranking.agreement.habits import audit_self_preference
from ranking.agreement.intervals import ClusteredResampling
from ranking.agreement.rankings import compare_boards, kendall_tau, spearman_rho, weighted_tau
from ranking.agreement.rubber_stamp import measure_arms, select_blind
from ranking.pairing.simulate import draw_strengths, simulate_votes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def resample(table: Judgements, replicates: int = 200) -> ClusteredResampling:
    return ClusteredResampling(len(table.items), table.judge_kind, replicates, 0.95, 0)


def test_a_judge_that_favours_its_own_answers() -> None:
    rows = [
        # item, kind, judge, first, second, winner
        ("1", "machine", "gpt", "gpt", "llama", "A"), ("1", "human", "ann", "gpt", "llama", "B"),
        ("2", "machine", "gpt", "llama", "gpt", "tie"), ("2", "human", "ann", "llama", "gpt", "A"),
        ("2", "human", "bob", "llama", "gpt", "B"),
        ("3", "machine", "gpt", "gpt", "mistral", "A"),  # judged by nobody else
        ("4", "machine", "gpt", "llama", "mistral", "A"),
        ("4", "human", "ann", "llama", "mistral", "A"),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["item", "kind", "judge", "model_a", "model_b", "winner"])
    table = Judgements.from_frame(frame)
    (found,) = audit_self_preference(table, resample(table))
    assert (found.judge, found.reference, found.battles) == ("gpt", "human", 2)
    assert [found.own, found.others] == pytest.approx([0.75, 1 / 3])
    assert found.difference.value == pytest.approx(0.75 - 1 / 3)
    families = {"gpt": "openai", "mistral": "openai", "ann": "openai"}
    both = audit_self_preference(table, resample(table), families=families)
    # Now battle 4 is one of the family's as well, and battle 3 is within the family.
    assert [(f.judge, f.battles) for f in both] == [("ann", 3), ("gpt", 3)]


def judge_votes(votes: int, *, seed: int, turn: float = 1.0, kind: str = "crowd") -> pd.DataFrame:
    strengths = turn * draw_strengths(8, seed=1, spread=1.5)
    found = simulate_votes(strengths, votes, seed=seed)
    names = np.array(found.models, dtype=object)
    return pd.DataFrame({
        "item": [f"{seed}-{i}" for i in range(votes)], "judge": kind, "kind": kind,
        "model_a": names[found.model_a], "model_b": names[found.model_b],
        "winner": np.array(["model_a", "model_b"])[found.outcome],
    })  # fmt: skip


def test_leaderboards_of_like_and_opposite_minds() -> None:
    parts = [
        judge_votes(3000, seed=1), judge_votes(3000, seed=2, kind="expert"),
        judge_votes(3000, seed=3, kind="contrary", turn=-1.0),
    ]  # fmt: skip
    table = Judgements.from_frame(pd.concat(parts))
    boards, agreements = compare_boards(table, resample(table, 100))
    assert [b.kind for b in boards] == ["contrary", "crowd", "expert"]
    found = {(a.first, a.second): a for a in agreements}
    alike, opposed = found["crowd", "expert"], found["contrary", "crowd"]
    strengths = [dict(zip(b.models, b.strengths, strict=True)) for b in boards[1:]]
    names = sorted(strengths[0])
    tau = kendalltau(*([s[name] for name in names] for s in strengths)).statistic
    assert tau > 0.8
    assert alike.kendall.value == pytest.approx(tau)
    assert alike.spearman.value is not None
    assert alike.kendall.lower is not None
    assert alike.spearman.value > 0.9
    assert alike.kendall.lower > 0.5
    assert opposed.kendall.upper is not None
    assert opposed.kendall.upper < -0.5
    assert opposed.weighted_tau.value is not None
    assert opposed.weighted_tau.value < 0


@given(arrays(float, (3, 5), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])),
       arrays(float, (3, 5), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])))  # fmt: skip
def test_rank_correlations_are_those_of_scipy(one: Floats, other: Floats) -> None:
    for ours, theirs in (
        (kendall_tau, kendalltau), (spearman_rho, spearmanr), (weighted_tau, weightedtau),
    ):  # fmt: skip
        for row, found in enumerate(ours(one, other)):
            constant = 0 in (np.ptp(one[row]), np.ptp(other[row]))
            expected = float("nan") if constant else theirs(one[row], other[row]).statistic
            assert found == pytest.approx(expected, abs=1e-12, nan_ok=True), ours.__name__


def test_boards_of_kinds_that_share_one_model_are_not_compared() -> None:
    frame = pd.DataFrame([
        ("1", "a", "crowd", "x", "y", "A"), ("2", "b", "expert", "y", "z", "A"),
    ], columns=["item", "judge", "kind", "model_a", "model_b", "winner"])  # fmt: skip
    table = Judgements.from_frame(frame)
    boards, agreements = compare_boards(table, resample(table, 10))
    assert len(boards) == 2
    assert agreements == ()


ARM_COLUMNS = ["item", "judge", "arm", "winner", "shown"]


def make_study(rows: list[tuple[Any, ...]]) -> Judgements:
    frame = pd.DataFrame(rows, columns=ARM_COLUMNS)
    return Judgements.from_frame(frame.assign(kind="expert", model_a="x", model_b="y"))


STUDY = [
    ("1", "ann", "blind", "A", None), ("1", "bob", "planted", "B", "B"),
    ("2", "ann", "planted", "B", "B"), ("2", "bob", "blind", "B", None),
    ("3", "ann", "planted", "A", "B"), ("3", "bob", "blind", "A", None),
    ("4", "ann", "shown", "A", "A"), ("4", "bob", "blind", "A", None),
    ("5", "ann", "blind", "B", None), ("6", "ann", "blind", "tie", "A"),
]  # fmt: skip


def test_the_effect_of_a_planted_verdict() -> None:
    table = make_study(STUDY)
    shown, planted = measure_arms(table, resample(table))
    assert (planted.arm, planted.judgements, planted.blind_judgements) == ("planted", 3, 4)
    # Blind: battles 1 to 3 against what was planted on somebody else, 6 against its own.
    assert planted.unmatched == 2
    assert planted.agreement.value == pytest.approx(2 / 3)
    assert planted.chance.value == pytest.approx(1 / 4)
    assert planted.effect.value == pytest.approx(2 / 3 - 1 / 4)
    assert (shown.arm, shown.judgements, shown.blind_judgements, shown.unmatched) == (
        "shown", 1, 1, 5,
    )  # fmt: skip
    assert shown.effect.value == 0


def test_exposed_judgements_enter_no_agreement() -> None:
    table = make_study(STUDY)
    assert len(select_blind(table)) == 6
    report = agreement_report(table, arms=True, replicates=20)
    assert report.kinds[0].judgements == 6
    assert [found.arm for found in report.arms] == ["shown", "planted"]
    assert report.method["judgements"] == 10
    assert report.method["blind_judgements"] == 6


def test_the_effect_is_found_with_its_interval() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for i in range(600):
        truth = rng.integers(0, 2)
        arm = ("blind", "planted")[i % 2]
        wrong = 1 - truth
        verdict = truth if rng.random() < 0.8 else wrong
        if arm == "planted" and rng.random() < 0.4:  # gives in
            verdict = wrong
        rows.append((str(i), f"e{i % 4}", arm, "AB"[verdict], "AB"[wrong]))
    (found,) = measure_arms(make_study(rows), resample(make_study(rows)))
    # Gives in with 0.4, else errs like the blind: 0.4 + 0.6 × 0.2 − 0.2 = 0.32.
    assert found.effect.lower is not None
    assert found.effect.upper is not None
    assert found.effect.lower < 0.32 < found.effect.upper
    assert found.effect.upper - found.effect.lower < 0.2


def test_arms_that_cannot_be_read_are_named() -> None:
    table = make_study([*STUDY, ("7", "ann", "warned", "A", "A")])
    with pytest.raises(InvalidVote, match="row 10: unknown arm 'warned'; expected blind"):
        agreement_report(table, replicates=2)
    table = make_study([*STUDY, ("7", "ann", "planted", "A", None)])
    with pytest.raises(InvalidVote, match="row 10: no verdict shown in the arm 'planted'"):
        measure_arms(table, resample(table))
    frame = pd.DataFrame(STUDY, columns=ARM_COLUMNS).drop(columns=["arm"])
    table = Judgements.from_frame(frame.assign(kind="expert", model_a="x", model_b="y"))
    with pytest.raises(InvalidVote, match="arms need the columns arm and shown"):
        agreement_report(table, arms=True, replicates=2)
    exposed = make_study([row for row in STUDY if row[2] != "blind"])
    with pytest.raises(RankingError, match="no battle was judged blind"):
        agreement_report(exposed, arms=True, replicates=2)


def test_self_preference_of_the_models_of_vicuna80(shared_data: Path) -> None:
    frame = pd.read_csv(shared_data / "vicuna80_prd/ratings.csv")
    is_human = frame["reviewer"] == "human"
    frame = frame.assign(
        kind=np.where(is_human, "human", "machine"), judge=frame["reviewer"]
    ).rename(columns={"question_id": "item"})
    # Nobody knows the annotators: each row is somebody's.
    frame.loc[is_human, "judge"] = "person " + frame.index[is_human].astype(str)
    table = Judgements.from_frame(frame, both_orders=["machine"])
    found = {a.judge: a for a in audit_self_preference(table, resample(table, 100))}
    assert set(found) == {"bard", "claude", "gpt35", "gpt4", "vicuna-13b"}
    code = table.models.index("vicuna-13b")
    share = {True: [1.0, 0.0, 0.5], False: [0.0, 1.0, 0.5]}
    won: dict[str, list[float]] = {"machine": [], "human": []}
    judged = set(table.battle[table.judge == table.judges.index("vicuna-13b")].tolist())
    for row in range(len(table)):
        kind = table.kinds[table.kind[row]]
        asked = kind == "human" or table.judges[table.judge[row]] == "vicuna-13b"
        if asked and code in (table.first[row], table.second[row]) and table.battle[row] in judged:
            won[kind].append(share[table.first[row] == code][table.verdict[row]])
    ours = found["vicuna-13b"]
    assert [ours.own, ours.others] == pytest.approx([np.mean(won[k]) for k in won])
    assert ours.difference.value == pytest.approx(ours.own - ours.others)
