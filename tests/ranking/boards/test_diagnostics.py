from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from ranking import (
    InvalidVote,
    RankingError,
    compute_design_weights,
    compute_leaderboard,
    fit_paired,
)
from ranking.boards.diagnostics import measure_calibration, measure_drift, measure_side_bias
from ranking.pairing.simulate import draw_strengths, simulate_adaptive, simulate_votes
from ranking.plots import (
    plot_battle_counts,
    plot_calibration,
    plot_drift,
    plot_intervals,
    plot_rank_ranges,
    plot_win_rates,
    save_picture,
)
from ranking.votes.style import compare_style, count_markdown
from ranking.votes.weights import effective_sample_size

if TYPE_CHECKING:
    from pathlib import Path

    import plotly.graph_objects as go

    from ranking.votes.weights import Weighting


def test_strengths_predict_better_than_win_rates_where_opponents_differ() -> None:
    # Strong models meet strong ones: a win rate does not know whom it was won against.
    strengths = np.linspace(-2, 2, 12)
    close = np.exp(-2.0 * np.abs(strengths[:, None] - strengths[None, :]))
    np.fill_diagonal(close, 0)
    votes = simulate_votes(strengths, 20_000, seed=1, pair_weights=close, tie=0.3).count()
    found = measure_calibration(votes)
    decisive = int(votes.count[votes.outcome < 2].sum())
    assert found.votes == decisive == sum(b.votes for b in found.curve)
    assert found.bradley_terry.log_loss < found.win_rate.log_loss < found.constant.log_loss
    assert found.bradley_terry.brier < found.win_rate.brier
    assert found.bradley_terry.calibration_error < 0.03
    assert found.constant.log_loss == pytest.approx(np.log(2), abs=0.01)
    with pytest.raises(RankingError, match="2 folds"):
        measure_calibration(votes, folds=1)
    with pytest.raises(RankingError, match="no decisive vote"):
        measure_calibration(votes.select(votes.outcome > 1))


def test_side_bias_is_found_and_absent_where_there_is_none() -> None:
    strengths = draw_strengths(8, seed=2)
    biased = measure_side_bias(simulate_votes(strengths, 20_000, seed=3, home=0.3).count())
    assert biased.lower < 0.3 < biased.upper
    assert biased.left_win_rate == pytest.approx(0.574, abs=0.01)
    fair = measure_side_bias(simulate_votes(strengths, 20_000, seed=4).count())
    assert fair.lower < 0 < fair.upper


def test_drift_is_found_in_the_model_that_drifts() -> None:
    strengths = draw_strengths(6, seed=5)
    change = np.zeros(6)
    change[2] = 1.0
    votes = simulate_votes(strengths, 24_000, seed=6, drift=change)
    found = measure_drift(votes, windows=4)
    assert found.strengths.shape == (4, 6)
    assert int(np.argmin(found.p_values)) == 2
    assert found.p_values[2] < 1e-6
    steady = measure_drift(replace(simulate_votes(strengths, 24_000, seed=7), time=votes.time))
    assert steady.p_values.min() > 1e-3
    assert found.edges[0] == 0
    with pytest.raises(RankingError, match="time of every vote"):
        measure_drift(replace(votes, time=None))


def test_a_newcomer_is_blank_where_it_has_no_votes() -> None:
    votes = simulate_votes(draw_strengths(5, seed=8), 8_000, seed=9, drift=np.zeros(5))
    assert votes.time is not None
    late = (votes.time > 0.7) | ((votes.model_a != 4) & (votes.model_b != 4))
    found = measure_drift(votes.select(late), windows=2)
    assert np.isnan(found.strengths[0, 4])
    assert np.isfinite(found.strengths[1]).all()
    assert np.isnan(found.p_values[4])


def test_design_weights_undo_the_matchmaker() -> None:
    strengths = draw_strengths(6, seed=10)
    votes, chance = simulate_adaptive(strengths, 6_000, seed=11)
    weights = compute_design_weights(chance)
    assert weights.weight.mean() == pytest.approx(1)
    assert 1 < weights.effective_votes < 6_000
    # Weighted, every pair counts alike.
    pair = np.minimum(votes.model_a, votes.model_b) * 6 + np.maximum(votes.model_a, votes.model_b)
    totals = np.bincount(pair, weights=weights.weight)
    plain = np.bincount(pair)
    assert totals[totals > 0].std() < 0.5 * plain[plain > 0].std()
    board = compute_leaderboard(
        replace(votes, draw_probability=chance), weights="design", interval="sandwich"
    )
    assert board.diagnostics["effective_votes"] == pytest.approx(weights.effective_votes)
    with pytest.raises(RankingError, match="draw probability"):
        compute_leaderboard(votes, weights="design")
    with pytest.raises(RankingError, match="weights must be"):
        compute_leaderboard(votes, weights=cast("Weighting", "best"))


def test_clipping_and_bad_probabilities() -> None:
    weights = compute_design_weights([0.5] * 99 + [1e-6], clip=10)
    assert weights.clipped_share == pytest.approx(0.01)
    assert weights.weight.max() < 100
    assert effective_sample_size(np.ones(7)) == pytest.approx(7)
    for bad in (0.0, 1.5, np.nan):
        with pytest.raises(InvalidVote, match="row 1"):
            compute_design_weights([0.5, bad])


def test_markdown_outside_code_is_counted() -> None:
    text = (
        "# Title\n\nSome **bold** and __strong__ text, 2 * 3 * 4.\n\n- one\n* two\n  1. three\n"
        "```python\n# not a header\n- not a list\n```\n## End\n#hashtag\n"
    )
    assert count_markdown(text) == (2, 2, 3)
    assert count_markdown("```\n# never closed\n- x") == (0, 0, 0)
    assert count_markdown("") == (0, 0, 0)


def test_style_differences_are_relative_scaled_and_zero_where_alike() -> None:
    left = {"tokens": [100.0, 0.0, 30.0], "lists": [0.0, 0.0, 0.0]}
    right = {"tokens": [50.0, 0.0, 90.0], "lists": [0.0, 0.0, 0.0]}
    z = compare_style(left, right)
    raw = np.array([1 / 3, 0.0, -0.5])
    assert z["tokens"] == pytest.approx(raw / raw.std())
    assert z["lists"].tolist() == [0, 0, 0]
    with pytest.raises(InvalidVote, match="row 0"):
        compare_style({"tokens": [-1.0]}, {"tokens": [1.0]})
    with pytest.raises(InvalidVote, match="one side only"):
        compare_style({"tokens": [1.0]}, {"words": [1.0]})


def test_style_control_separates_style_from_strength() -> None:
    rng = np.random.default_rng(12)
    strengths = np.array([0.5, 0.0, -0.5, 0.0])
    plain = simulate_votes(strengths, 30_000, seed=13, style={"length": 0.4})
    assert plain.covariates is not None
    board = compute_leaderboard(plain, adjust=True, interval="sandwich")
    (effect,) = board.coefficients
    assert effect.name == "length"
    assert effect.lower < 0.4 < effect.upper
    assert board["model-00"].strength == pytest.approx(0.5, abs=0.05)
    shuffled = replace(plain, covariates=rng.permutation(plain.covariates))
    assert fit_paired(shuffled.to_rows()).coefficients[0] == pytest.approx(0, abs=0.05)


def test_every_picture_draws() -> None:
    votes = simulate_votes(draw_strengths(5, seed=1), 2_000, seed=1, tie=0.4, drift=np.zeros(5))
    board = compute_leaderboard(votes, interval="sandwich")
    for figure in (
        plot_intervals(board),
        plot_win_rates(board),
        plot_battle_counts(board),
        plot_rank_ranges(board),
        plot_calibration(measure_calibration(votes.count())),
        plot_drift(measure_drift(votes)),
    ):
        assert len(figure.to_json()) > 200
        assert figure.layout.title.text


@pytest.fixture(scope="module")
def picture() -> go.Figure:
    votes = simulate_votes(draw_strengths(3, seed=1), 300, seed=1)
    return plot_intervals(compute_leaderboard(votes, interval="sandwich"))


def test_a_picture_is_saved_as_a_page(picture: go.Figure, tmp_path: Path) -> None:
    save_picture(picture, tmp_path / "board.html")
    assert "model-00" in (tmp_path / "board.html").read_text(encoding="utf-8")


def test_the_program_that_pictures_need_is_named(
    picture: go.Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranking.plots.find_spec", lambda name: None)
    with pytest.raises(RankingError, match="pip install kaleido"):
        save_picture(picture, tmp_path / "board.svg")


@pytest.mark.browser
def test_pictures_are_saved_as_files(
    picture: go.Figure, tmp_path: Path, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    save_picture(picture, tmp_path / "board.png")
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
    save_picture(picture, tmp_path / "board.svg")
    drawn = (tmp_path / "board.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert all(name in drawn for name in ("model-00", "model-01", "model-02"))
