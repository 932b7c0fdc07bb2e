"""Every public function with every kind of input: a result, or an error that names the remedy."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import ranking
from ranking import (
    OUTCOMES,
    Comparisons,
    Judgements,
    RankingError,
    Reading,
    Rows,
    Votes,
    compute_boards,
    compute_leaderboard,
    fit_bradley_terry,
    fit_paired,
    read_votes,
    sandwich_intervals,
)
from ranking.pairing.simulate import draw_strengths, simulate_votes

if TYPE_CHECKING:
    from collections.abc import Callable

VOTES = replace(
    simulate_votes(draw_strengths(4, seed=1), 300, seed=2, tie=0.4, both_bad=0.2, voters=30),
    time=np.arange(300.0),
)
NAMES = np.array(VOTES.models, dtype=object)


def frame() -> pd.DataFrame:
    assert VOTES.voter is not None
    return pd.DataFrame(
        {
            "model_a": NAMES[VOTES.model_a],
            "model_b": NAMES[VOTES.model_b],
            "winner": np.array(OUTCOMES, dtype=object)[VOTES.outcome],
            "judge": np.array(VOTES.voter.names, dtype=object)[VOTES.voter.codes],
            "tstamp": np.arange(300.0),
        }
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each kind of thing that somebody may pass."""
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    frame().to_csv(path, index=False)
    counts = VOTES.count()
    judged = frame().assign(item=np.arange(300) // 3, kind="crowd")
    return {
        "DataFrame": frame(),
        "Votes": VOTES,
        "Comparisons": counts,
        "Reading": read_votes(path),
        "Rows": VOTES.to_rows(),
        "path": path,
        "text": str(path),
        "list": frame().values.tolist(),
        "dict": frame().to_dict("list"),
        "array": frame().to_numpy(),
        "numbers": np.arange(4.0),
        "None": None,
        "Leaderboard": compute_leaderboard(counts, interval="sandwich"),
        "BradleyTerryFit": fit_bradley_terry(counts),
        "PairedFit": fit_paired(counts),
        "Judgements": Judgements.from_frame(judged),
        "empty DataFrame": frame().head(0),
        "other DataFrame": pd.DataFrame({"x": [1.0, 2.0]}),
        "Series": frame()["winner"],
    }


KINDS = (
    "DataFrame", "Votes", "Comparisons", "Reading", "Rows", "path", "text", "list", "dict", "array",
    "numbers", "None", "Leaderboard", "BradleyTerryFit", "PairedFit", "Judgements",
    "empty DataFrame", "other DataFrame", "Series",
)  # fmt: skip
MANY = {"DataFrame", "Votes", "Comparisons", "Reading"}
SINGLE = MANY - {"Comparisons"}

# Of each public function what it takes; the others must be refused with a remedy.
TAKEN: dict[str, set[str]] = {
    "agreement_report": {"Judgements"},
    "audit_orders": {"numbers"},
    "bootstrap_intervals": MANY,
    "check_voters": SINGLE,
    "cohen_kappa": set(),
    "combine_verdicts": {"None"},
    "compute_boards": SINGLE,
    "compute_design_weights": set(),
    "compute_leaderboard": MANY,
    "compute_rank_ranges": {"numbers"},
    "compute_ranks": {"numbers"},
    "fit_bradley_terry": MANY,
    "fit_paired": {*MANY, "Rows"},
    "fleiss_kappa": set(),
    "gwet_ac1": set(),
    "krippendorff_alpha": set(),
    "measure_fragility": MANY,
    "paired_intervals": {"PairedFit"},
    "read_judgements": set(),
    "read_votes": {"DataFrame", "path", "text"},
    "sandwich_intervals": MANY,
    "sideless_kappa": {"numbers", "empty DataFrame", "other DataFrame"},
    "compare_baselines": MANY,
    "measure_calibration": MANY,
    "measure_drift": SINGLE,
    "measure_side_bias": MANY,
    "plot_battle_counts": {"Leaderboard"},
    "plot_calibration": set(),
    "plot_drift": set(),
    "plot_intervals": {"Leaderboard"},
    "plot_rank_ranges": {"Leaderboard"},
    "plot_win_rates": {"Leaderboard"},
    "save_picture": set(),
    "simulate_votes": {"numbers"},
    "draw_strengths": set(),
}
FIT = fit_bradley_terry(VOTES)
CALLS: dict[str, Callable[[Any], object]] = {
    "audit_orders": lambda x: ranking.audit_orders(x, x),
    "bootstrap_intervals": lambda x: ranking.bootstrap_intervals(x, FIT, replicates=20),
    "combine_verdicts": lambda x: ranking.combine_verdicts(x, x),
    "compute_boards": lambda x: compute_boards(x, interval="sandwich"),
    "compute_leaderboard": lambda x: compute_leaderboard(x, interval="sandwich"),
    "compute_rank_ranges": lambda x: ranking.compute_rank_ranges(x, x),
    "sandwich_intervals": lambda x: sandwich_intervals(x, FIT),
    "sideless_kappa": lambda x: ranking.sideless_kappa(x, x),
    "save_picture": lambda x: ranking.save_picture(x, "board.html"),
    "simulate_votes": lambda x: ranking.simulate_votes(x, 10, seed=1),
    "draw_strengths": lambda x: ranking.draw_strengths(x, seed=1),
}


def find_functions() -> set[str]:
    return {name for name in dir(ranking) if inspect.isfunction(getattr(ranking, name))} - {
        "import_module"
    }


def test_no_public_function_is_forgotten() -> None:
    public = {name for name in find_functions() if not name.startswith("_")}
    assert public == set(TAKEN)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", TAKEN)
def test_it_works_or_names_the_remedy(inputs: dict[str, Any], function: str, kind: str) -> None:
    call = CALLS.get(function, getattr(ranking, function))
    if kind in TAKEN[function]:
        call(inputs[kind])
        return
    with pytest.raises(RankingError) as refused:
        call(inputs[kind])
    said = str(refused.value)
    assert len(said) > 15
    assert "\n" not in said


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("path", "read the file first, read_votes("),
        ("text", "read the file first, read_votes("),
        ("list", "Votes.from_columns(model_a, model_b, outcome)"),
        ("dict", "Votes.from_columns(model_a, model_b, outcome)"),
        ("None", "Votes.from_columns(model_a, model_b, outcome)"),
        ("Rows", "rows are for fit_paired"),
        ("Judgements", "judgements are for agreement_report"),
        ("Leaderboard", "pass the votes that it was made from"),
        ("BradleyTerryFit", "pass the votes that it was made from"),
        ("other DataFrame", "no column for model_a"),
    ],
)
def test_the_remedy_is_of_the_thing(inputs: dict[str, Any], kind: str, remedy: str) -> None:
    with pytest.raises(RankingError) as refused:
        compute_leaderboard(inputs[kind])
    assert remedy in str(refused.value)


def test_the_same_votes_in_any_form_give_the_same_board(inputs: dict[str, Any]) -> None:
    boards = [compute_leaderboard(inputs[kind], replicates=50) for kind in sorted(MANY)]
    assert all(board.entries == boards[0].entries for board in boards)
    fits = [fit_bradley_terry(inputs[kind]).strengths for kind in sorted(MANY)]
    pairs = [fit_paired(inputs[kind]).strengths for kind in sorted({*MANY, "Rows"})]
    for strengths in (*fits, *pairs):
        assert strengths == pytest.approx(fits[0], abs=1e-9)


def test_a_table_with_columns_of_other_names_is_read_as_a_file_of_it() -> None:
    renamed = frame().rename(columns={"model_a": "left", "model_b": "right", "winner": "verdict"})
    assert compute_leaderboard(renamed, cluster=True, interval="sandwich") == compute_leaderboard(
        frame(), cluster=True, interval="sandwich"
    )


def test_weighted_votes_are_not_counted_as_equal_in_silence() -> None:
    weighted = Votes.from_columns(["a", "b"], ["b", "a"], ["tie", "model_a"], weight=[1.0, 2.0])
    with pytest.raises(RankingError, match="fit_paired and compute_leaderboard heed weights"):
        fit_bradley_terry(weighted)
    assert fit_paired(weighted).strengths[1] > 0


def test_a_table_of_another_library_is_told_how_to_pass() -> None:
    class Polars:
        def to_pandas(self) -> pd.DataFrame:
            return frame()

    with pytest.raises(RankingError, match=r"not Polars: pass its to_pandas\(\)"):
        compute_leaderboard(Polars())


def test_kinds_are_all_there(inputs: dict[str, Any]) -> None:
    assert tuple(inputs) == KINDS
    assert isinstance(inputs["Reading"], Reading)
    assert isinstance(inputs["Comparisons"], Comparisons)
    assert isinstance(inputs["Rows"], Rows)
