"""A prior as wide as the strengths: found from the votes, and what it is good for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ranking import Comparisons, RankingError, compute_leaderboard, fit_bradley_terry
from ranking.fits.bradley_terry import DEFAULT_PRIOR
from ranking.fits.prior import estimate_prior
from ranking.pairing.play import Drawing, play_arena
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE

if TYPE_CHECKING:
    from ranking.boards.options import Prior


def votes_on(strengths: np.ndarray, votes: int, seed: int) -> Comparisons:
    return simulate_votes(strengths, votes, seed=seed).count()


@pytest.mark.parametrize("spread", [0.3, 0.6, 1.2])
def test_many_votes_tell_how_far_apart_models_are(spread: float) -> None:
    strengths = draw_strengths(60, spread=spread, seed=1)
    fit = fit_bradley_terry(votes_on(strengths, 60_000, seed=2))
    assert estimate_prior(fit) == pytest.approx(strengths.std(ddof=1), rel=0.05)


def test_few_votes_leave_it_weak() -> None:
    one = Comparisons.from_counts(["a"], ["b"], ["model_a"])
    assert estimate_prior(fit_bradley_terry(one)) > 1.2
    strangers = Comparisons.from_counts(["a", "c"], ["b", "d"], ["model_a", "model_b"])
    assert estimate_prior(fit_bradley_terry(strangers)) > 1.5
    assert estimate_prior(fit_bradley_terry(strangers)) <= DEFAULT_PRIOR


def test_of_models_that_are_alike_it_knows_no_more_than_the_votes_do() -> None:
    fit = fit_bradley_terry(votes_on(np.zeros(20), 4_000, seed=3))
    error = float(np.sqrt(fit.covariance().diagonal().mean()))
    assert error <= estimate_prior(fit) < 2 * error


def test_a_board_says_which_prior_it_was_and_can_be_made_again_with_it() -> None:
    votes = votes_on(draw_strengths(12, spread=0.6, seed=4), 900, seed=5)
    fitted = compute_leaderboard(votes, prior="fitted", replicates=100)
    width = fitted.method["prior_sd"]
    assert 0.3 < width < 1.2
    again = compute_leaderboard(votes, prior=width, replicates=100)
    assert again.entries == fitted.entries
    assert again.method == {**fitted.method, "prior": width}


def test_a_prior_of_another_word_is_refused() -> None:
    votes = Comparisons.from_counts(["a"], ["b"], ["model_a"])
    unknown: Any = "wide"
    with pytest.raises(RankingError, match="'wide'"):
        compute_leaderboard(votes, prior=unknown)


@pytest.mark.slow
def test_with_it_intervals_hold_where_pairs_were_drawn_by_the_votes_so_far() -> None:
    """Over 1,200 intervals: 88 to 91 % with the weak prior, 94 to 96 % with the fitted one.

    More arenas, sizes and policies: tests/benchmarks/pairing.py.
    """
    drawing = Drawing(policy="uncertainty", exploration=0.1, refit_every=6)
    held: dict[Prior, list[bool]] = {DEFAULT_PRIOR: [], "fitted": []}
    for seed in range(60):
        strengths = draw_strengths(20, spread=0.61, seed=seed)
        course = play_arena(strengths, 1_000, seed=[seed, 1], drawing=drawing, record=True)
        assert course.record is not None
        truth = SCORE_CENTRE + POINTS_PER_LOG_ODDS * (strengths - strengths.mean())
        for prior, found in held.items():
            board = compute_leaderboard(course.record, interval="sandwich", prior=prior)
            entries = [board[name] for name in course.record.models]
            found += [e.lower <= t <= e.upper for e, t in zip(entries, truth, strict=True)]
    assert np.mean(held["fitted"]) > 0.93
    assert np.mean(held[DEFAULT_PRIOR]) < np.mean(held["fitted"]) - 0.02
