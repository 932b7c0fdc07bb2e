"""Published numbers, each with its source, reproduced to the printed digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import xlogy

from ranking import Comparisons, Rows, Votes, fit_bradley_terry, fit_paired
from ranking.baselines import (
    average_win_rates,
    count_wins,
    rate_elo,
    score_by_eigenvector,
    score_by_pagerank,
)
from ranking.votes.readers import read_votes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ranking import PairedFit
    from ranking.fits.likelihoods import TieModel

# Stigler (1994), citations between statistics journals 1987–88; Agresti (2002), table 10.4.
CITATIONS = [
    ("Biometrika", "Comm Statist", 730, 33), ("Biometrika", "JASA", 498, 320),
    ("Biometrika", "JRSS-B", 221, 284), ("Comm Statist", "JASA", 68, 813),
    ("Comm Statist", "JRSS-B", 17, 276), ("JASA", "JRSS-B", 142, 325),
]  # fmt: skip

# American League East 1987, home team, away team, home wins, away wins; Agresti (2002), 10.6.
BASEBALL_TEAMS = (
    "Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore",
)  # fmt: skip
BASEBALL = {
    "Milwaukee": "4-3 4-2 4-3 6-1 4-2 6-0", "Detroit": "3-3 4-2 4-3 6-0 6-1 4-3",
    "Toronto": "2-5 4-3 2-4 4-3 4-2 6-0", "New York": "3-3 5-1 2-5 4-3 4-2 6-1",
    "Boston": "5-1 2-5 3-3 4-2 5-2 6-0", "Cleveland": "2-5 3-3 3-4 4-3 4-2 2-4",
    "Baltimore": "2-5 1-5 1-6 2-4 1-6 3-4",
}  # fmt: skip

# Davidson (1970), chocolate pudding: i, j, i preferred, j preferred, ties.
PUDDING = [
    (1, 2, 19, 22, 16), (1, 3, 16, 19, 12), (2, 3, 19, 19, 10), (1, 4, 18, 23, 13),
    (2, 4, 23, 19, 9), (3, 4, 19, 20, 15), (1, 5, 13, 19, 18), (2, 5, 16, 20, 12),
    (3, 5, 16, 15, 17), (4, 5, 17, 14, 16), (1, 6, 18, 21, 12), (2, 6, 22, 20, 12),
    (3, 6, 13, 18, 10), (4, 6, 14, 19, 18), (5, 6, 11, 21, 12),
]  # fmt: skip


def count_pairs(table: Sequence[tuple[object, ...]]) -> Comparisons:
    rows = [
        (str(i), str(j), label, count)
        for i, j, *counts in table
        for label, count in zip(("model_a", "model_b", "tie"), counts, strict=False)
    ]
    return Comparisons.from_counts(*(list(column) for column in zip(*rows, strict=True)))


def baseball() -> Comparisons:
    table: list[tuple[object, ...]] = []
    for home, results in BASEBALL.items():
        away = [team for team in BASEBALL_TEAMS if team != home]
        for team, result in zip(away, results.split(), strict=True):
            table.append((home, team, *map(int, result.split("-"))))
    return count_pairs(table)


def contrast(fit: PairedFit, model: str, reference: str) -> tuple[float, float]:
    """Estimate and standard error of a difference of strengths."""
    x = np.zeros(len(fit.parameters))
    x[fit.models.index(model)], x[fit.models.index(reference)] = 1, -1
    return float(x @ fit.parameters), float(np.sqrt(x @ fit.covariance() @ x))


def binomial_deviance(fit: PairedFit) -> float:
    """Twice the log likelihood lost against one free probability a row of the table."""
    rows = fit.rows
    size = len(rows.models)
    won = np.zeros((2, size, size))
    np.add.at(won, (rows.outcome, rows.first, rows.second), rows.weight)
    saturated = float(xlogy(won, won / np.maximum(won.sum(axis=0), 1)).sum())
    return 2 * (saturated - fit.log_likelihood)


def test_citations_of_statistics_journals() -> None:
    # BradleyTerry2 vignette; sum-zero values: BradleyTerryScalable vignette.
    fit = fit_paired(Rows.from_comparisons(count_pairs(CITATIONS)), prior=None)
    printed = {
        "Comm Statist": (-2.9491, 0.10255), "JASA": (-0.4796, 0.06059),
        "JRSS-B": (0.2690, 0.07083),
    }  # fmt: skip
    for journal, (estimate, error) in printed.items():
        got = contrast(fit, journal, "Biometrika")
        assert got[0] == pytest.approx(estimate, abs=5e-5)
        assert got[1] == pytest.approx(error, abs=5e-6)
    centred = dict(zip(fit.models, fit.strengths, strict=True))
    assert centred == pytest.approx(
        {
            "JRSS-B": 1.0604065, "Biometrika": 0.7897537, "JASA": 0.3095638,
            "Comm Statist": -2.1597241,
        },
        abs=2e-3,  # their iteration stops early; the contrasts above are exact
    )  # fmt: skip
    assert binomial_deviance(fit) == pytest.approx(4.293, abs=5e-4)
    fast = fit_bradley_terry(count_pairs(CITATIONS), prior=None)
    assert fast.strengths == pytest.approx(fit.strengths, abs=1e-10)
    assert fast.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)


@pytest.mark.parametrize(
    ("home", "printed", "deviance"),
    [
        (
            False,
            {"Boston": (1.1077, 0.3339), "Cleveland": (0.6839, 0.3319),
             "Detroit": (1.4364, 0.3396), "Milwaukee": (1.5814, 0.3433),
             "New York": (1.2476, 0.3359), "Toronto": (1.2945, 0.3367)},
            44.053,
        ),
        (
            True,
            {"Boston": (1.1438, 0.3378), "Cleveland": (0.7047, 0.3350),
             "Detroit": (1.4754, 0.3446), "Milwaukee": (1.6196, 0.3474),
             "New York": (1.2813, 0.3404), "Toronto": (1.3271, 0.3403)},
            38.643,
        ),
    ],
)  # fmt: skip
def test_baseball_1987_with_and_without_the_home_field(
    home: bool, printed: dict[str, tuple[float, float]], deviance: float
) -> None:
    # BradleyTerry2 vignette, after Agresti (2002), section 10.6.
    games = baseball()
    z = np.ones((len(games), 1)) if home else None
    rows = Rows.from_comparisons(games, covariates=z, names=["home"] if home else [])
    fit = fit_paired(rows, prior=None)
    for team, (estimate, error) in printed.items():
        got = contrast(fit, team, "Baltimore")
        assert got == pytest.approx((estimate, error), abs=5e-5)
    assert binomial_deviance(fit) == pytest.approx(deviance, abs=5e-4)
    if home:
        assert fit.coefficients[0] == pytest.approx(0.3023, abs=5e-5)
        assert np.sqrt(fit.covariance()[-1, -1]) == pytest.approx(0.1309, abs=5e-5)


def test_pudding_with_ties() -> None:
    # PlackettLuce vignette, Davidson's model.
    fit = fit_paired(
        Rows.from_comparisons(count_pairs(PUDDING)),
        tie_model="davidson",
        prior=None,
    )
    printed = {
        "2": (0.2202, 0.1872), "3": (0.1530, 0.1935), "4": (0.1753, 0.1882),
        "5": (0.1339, 0.1927), "6": (0.3771, 0.1924),
    }  # fmt: skip
    for sort, (estimate, error) in printed.items():
        got = contrast(fit, sort, "1")
        # That vignette's iteration stopped early: 5e-4 is what its own ν is away.
        assert got == pytest.approx((estimate, error), abs=2e-4)
    assert fit.tau == pytest.approx(-0.2919, abs=2e-4)
    assert fit.tie_parameter == pytest.approx(0.74682, abs=5e-6)
    assert np.sqrt(fit.covariance()[-1, -1]) == pytest.approx(0.0825, abs=1e-4)
    worth = np.exp(fit.strengths) / np.exp(fit.strengths).sum()
    assert worth[[0, 5]] == pytest.approx([0.1388005, 0.2023855], abs=2e-5)


def test_german_parties_2009(shared_data: Path) -> None:
    # psychotools, btmodel example (psychotools-Ex.Rout.save).
    frame = pd.read_csv(shared_data / "bt_classic/german_parties2009.csv")
    counts: list[tuple[object, ...]] = []
    for column in frame.columns[1:]:
        left, right = column.split(" : ")
        counts.append((left, right, int((frame[column] == 1).sum()),
                       int((frame[column] == -1).sum())))  # fmt: skip
    fit = fit_paired(Rows.from_comparisons(count_pairs(counts)), prior=None)
    printed = {
        "none": (-0.3756, 0.0890), "Linke": (-0.6161, 0.0910), "Gruene": (1.1858, 0.0951),
        "SPD": (0.8131, 0.0907), "CDU/CSU": (0.1756, 0.0875),
    }  # fmt: skip
    for party, (estimate, error) in printed.items():
        got = contrast(fit, party, "FDP")
        assert got == pytest.approx((estimate, error), abs=5e-5)
    assert fit.log_likelihood == pytest.approx(-1720, abs=5)  # three digits


def read_arena_counts(shared_data: Path) -> Comparisons:
    table = pd.read_csv(shared_data / "arena_counts_20240814/pairs.csv")
    parts = [
        (table["model_a"], table["model_b"], [label] * len(table), table[column])
        for label, column in (
            ("model_a", "wins_a"), ("model_b", "wins_b"), ("tie", "ties"),
            ("tie (bothbad)", "both_bad"),
        )
    ]  # fmt: skip
    a, b, outcome, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Comparisons.from_counts(a, b, outcome, count)


@pytest.mark.parametrize(
    ("kind", "column", "loss"),
    [("half", "bt_halftie", 0.6554), ("rao-kupper", "raokupper", 1.0095),
     ("davidson", "davidson", 1.0100)],
)  # fmt: skip
def test_the_public_arena_of_august_2024(
    shared_data: Path, kind: TieModel, column: str, loss: float
) -> None:
    # golden_evaluate.txt: mean negative log-likelihood, 1,374,996 votes without both-bad.
    votes = read_arena_counts(shared_data)
    rows = Rows.from_comparisons(votes, both_bad="drop")
    fit = fit_paired(rows, tie_model=kind, prior=None)
    assert rows.weight.sum() == 1_374_996
    assert -fit.log_likelihood / rows.weight.sum() == pytest.approx(loss, abs=5e-5)
    own = pd.read_csv(shared_data / "arena_counts_20240814/own_fits.csv").set_index("model")
    expected = own.loc[list(fit.models), column].to_numpy()
    assert fit.strengths == pytest.approx(expected - expected.mean(), abs=1e-5)
    if kind == "half":
        fast = fit_bradley_terry(votes, prior=None, both_bad="drop")
        assert fast.strengths == pytest.approx(fit.strengths, abs=1e-9)


def test_decisive_votes_of_the_public_arena(shared_data: Path) -> None:
    votes = read_arena_counts(shared_data)
    fit = fit_bradley_terry(votes.select(votes.outcome < 2), prior=None)
    own = pd.read_csv(shared_data / "arena_counts_20240814/own_fits.csv").set_index("model")
    expected = own.loc[list(fit.models), "bt_decisive"].to_numpy()
    assert fit.strengths == pytest.approx(expected - expected.mean(), abs=1e-5)


def test_the_weak_prior_moves_no_score_of_the_public_arena(shared_data: Path) -> None:
    votes = read_arena_counts(shared_data)
    plain = fit_bradley_terry(votes, prior=None).strengths
    moved = fit_bradley_terry(votes).strengths
    assert np.abs(moved - plain).max() * 400 / np.log(10) < 0.15


def solve_independently(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Newton on numpy alone, from the pair table, first model fixed."""
    size = len(wins)
    xi = np.zeros(size)
    games = wins + wins.T
    for _ in range(60):
        p = 1 / (1 + np.exp(xi[None, :] - xi[:, None]))
        gradient = wins.sum(axis=1) - (games * p).sum(axis=1)
        curve = games * p * (1 - p)
        hessian = np.diag(curve.sum(axis=1)) - curve
        xi[1:] += np.linalg.solve(hessian[1:, 1:], gradient[1:])
    return np.asarray(xi - xi.mean())


def test_arena33k_against_an_independent_solver(shared_data: Path) -> None:
    frame = pd.read_csv(shared_data / "arena33k_en_single/battles.csv")
    votes = Comparisons.from_frame(frame)
    by_outcome = np.bincount(votes.outcome, weights=votes.count)
    assert by_outcome.tolist() == [9_252, 9_068, 2_846, 4_772]
    fit = fit_bradley_terry(votes, prior=None)
    index = {name: i for i, name in enumerate(fit.models)}
    wins = np.zeros((20, 20))
    credit = {"model_a": (1.0, 0.0), "model_b": (0.0, 1.0)}
    for a, b, winner in frame[["model_a", "model_b", "winner"]].itertuples(index=False):
        left, right = credit.get(winner, (0.5, 0.5))
        wins[index[a], index[b]] += left
        wins[index[b], index[a]] += right
    assert fit.strengths == pytest.approx(solve_independently(wins), abs=1e-8)

    reference = pd.read_csv(shared_data / "arena33k_en_single/reference_ratings.csv")
    own = reference.set_index("model").loc[list(fit.models), "own_bt_elo"].to_numpy()
    scores = 1000 + 400 / np.log(10) * fit.strengths
    assert scores == pytest.approx(own - own.mean() + 1000, abs=0.01)


@pytest.fixture(scope="module")
def llmfao(shared_data: Path) -> tuple[Comparisons, pd.DataFrame]:
    frame = pd.read_csv(shared_data / "llmfao/crowd_votes.csv")
    votes = Comparisons.from_frame(frame, model_a="left", model_b="right")
    golden = pd.read_csv(shared_data / "llmfao/golden_evalica.csv")
    return votes, golden.pivot(index="item", columns="algorithm", values="score")


def test_llmfao_bradley_terry(llmfao: tuple[Comparisons, pd.DataFrame]) -> None:
    # evalica's published golden values: worths that sum to 1.
    votes, golden = llmfao
    fit = fit_bradley_terry(votes, prior=None)
    worth = np.exp(fit.strengths)
    expected = golden.loc[list(fit.models), "bradley_terry"].to_numpy()
    assert worth / worth.sum() == pytest.approx(expected / expected.sum(), rel=1e-9)


def test_llmfao_davidson_against_a_general_optimiser(
    llmfao: tuple[Comparisons, pd.DataFrame],
) -> None:
    votes, _ = llmfao
    rows = Rows.from_comparisons(votes)
    fit = fit_paired(rows, tie_model="davidson", prior=None)

    def loss(theta: NDArray[np.float64]) -> float:
        pi = np.exp(theta[:-1])
        a, b = pi[rows.first], pi[rows.second]
        tie = np.exp(theta[-1]) * np.sqrt(a * b)
        chosen = np.choose(rows.outcome, [a, b, tie])
        return float(-(rows.weight @ np.log(chosen / (a + b + tie))) / rows.weight.sum())

    found = minimize(loss, np.zeros(60), method="BFGS", options={"gtol": 1e-7})
    strengths = found.x[:-1] - found.x[:-1].mean()
    assert fit.strengths == pytest.approx(strengths, abs=2e-4)
    assert fit.tau == pytest.approx(found.x[-1], abs=2e-5)


def test_llmfao_the_other_algorithms(
    shared_data: Path, llmfao: tuple[Comparisons, pd.DataFrame]
) -> None:
    # evalica's published golden values; its "newman" (Newman 2023) is Davidson's model.
    votes, golden = llmfao
    single = read_votes(shared_data / "llmfao/crowd_votes.csv").votes
    assert isinstance(single, Votes)
    davidson = fit_paired(Rows.from_comparisons(votes), tie_model="davidson", prior=None)
    newman = np.log(golden.loc[list(votes.models), "newman"].to_numpy())
    assert davidson.strengths == pytest.approx(newman - newman.mean(), abs=1e-9)
    for name, got in {
        "counting": count_wins(votes),
        "average_win_rate": average_win_rates(votes),
        "elo": rate_elo(single),
        "pagerank": score_by_pagerank(votes),
        "eigen": score_by_eigenvector(votes),
    }.items():
        expected = golden.loc[list(votes.models), name].to_numpy()
        assert got == pytest.approx(expected, rel=1e-9), name
