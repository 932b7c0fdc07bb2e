"""One vote at a time: what a rank-one step knows, beside a full refit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ranking import fit_bradley_terry
from ranking.errors import RankingError
from ranking.fits.bradley_terry import (
    DEFAULT_PRIOR,
    PairCounts,
    check_prior,
    hessian,
    invert_centred,
)
from ranking.pairing.posterior import Posterior
from ranking.pairing.simulate import draw_strengths, simulate_votes


def count(size: int, votes: list[tuple[int, int, float]]) -> PairCounts:
    wins = np.zeros((size, size))
    for i, j, share in votes:
        wins[i, j] += share
        wins[j, i] += 1 - share
    return PairCounts(games=wins + wins.T, wins=wins)


def draw_votes(strengths: np.ndarray, votes: int, seed: int) -> list[tuple[int, int, float]]:
    drawn = simulate_votes(strengths, votes, seed=seed, tie=0.6)
    share = np.array([1.0, 0.0, 0.5, 0.5])[drawn.outcome]
    return list(zip(drawn.model_a.tolist(), drawn.model_b.tolist(), share.tolist(), strict=True))


def test_before_the_first_vote_it_is_the_prior() -> None:
    prior = Posterior.prior(4, 2.0)
    assert prior.strengths == pytest.approx(np.zeros(4))
    assert prior.covariance == pytest.approx(4.0 * (np.eye(4) - 0.25))
    fitted = Posterior.from_counts(count(4, []), 2.0)
    assert fitted.covariance == pytest.approx(prior.covariance)
    assert fitted.strengths == pytest.approx(prior.strengths)


def test_a_fit_and_its_counts_give_the_same_posterior() -> None:
    votes = simulate_votes(draw_strengths(7, seed=1), 500, seed=2, tie=0.4)
    fit = fit_bradley_terry(votes.count())
    one = Posterior(fit.strengths, fit.covariance(), fit.pairs.games)
    two = Posterior.from_counts(fit.pairs)
    assert one.strengths == pytest.approx(two.strengths, abs=1e-9)
    assert one.covariance == pytest.approx(two.covariance, abs=1e-9)
    assert one.covariance == pytest.approx(fit.covariance())
    assert one.counts.sum() == 1000


@given(st.floats(-4, 4), st.floats(0.05, 12), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 99))
@example(gap=2.34375, spread=2.359375, share=0.0, seed=67)  # a great surprise of a newcomer
@settings(max_examples=60)
def test_a_step_is_the_laplace_step_of_that_vote(
    gap: float, spread: float, share: float, seed: int
) -> None:
    """Beside the same problem in all dimensions: likelihood times normal, by other means."""
    size = 5
    root = np.random.default_rng(seed).normal(size=(size, size)) * spread / 3
    root -= root.mean(axis=1, keepdims=True)
    covariance = root.T @ root + spread * (np.eye(size) - 1 / size)
    strengths = np.array([gap, 0.0, -gap, 0.3, -0.3])
    after = Posterior(strengths, covariance, np.zeros((size, size))).update(0, 2, share)

    x = np.array([1.0, 0.0, -1.0, 0.0, 0.0])
    direction = covariance @ x / (x @ covariance @ x)

    def loss(step: float) -> float:
        d = 2 * gap + step
        likelihood = share * np.logaddexp(0, -d) + (1 - share) * np.logaddexp(0, d)
        return float(likelihood + 0.5 * step**2 / (x @ covariance @ x))

    step = minimize_scalar(loss, tol=1e-12).x
    assert after.strengths == pytest.approx(strengths + step * direction, abs=1e-5)
    p = 1 / (1 + np.exp(-(after.strengths[0] - after.strengths[2])))
    precision = np.linalg.pinv(covariance) + p * (1 - p) * np.outer(x, x)
    assert after.covariance == pytest.approx(np.linalg.pinv(precision), rel=1e-6, abs=1e-8)
    assert after.counts.sum() == 2
    assert after.counts[0, 2] == after.counts[2, 0] == 1


def test_learning_leaves_the_posterior_that_others_read_alone() -> None:
    before = Posterior.prior(3)
    after = before.update(0, 1, 1.0)
    assert before.strengths == pytest.approx(np.zeros(3))
    assert before.counts.sum() == 0
    assert after.strengths[0] > 0 > after.strengths[1]
    assert after.strengths.sum() == pytest.approx(0)


def test_both_sides_tell_the_same_vote_alike() -> None:
    start = Posterior.prior(4).update(0, 1, 1.0).update(1, 2, 0.5)
    one, two = start.update(3, 1, 1.0), start.update(1, 3, 0.0)
    assert one.strengths == pytest.approx(two.strengths)
    assert one.covariance == pytest.approx(two.covariance)


# Measured over ten arenas of 20 models: in the worst, strengths were 0.46 / 0.08 / 0.006 of
# their standard error off, and standard errors 20 / 3.3 / 0.9 %.
@pytest.mark.parametrize(
    ("known", "learned", "strength_error", "spread_error"),
    [(0, 300, 0.6, 0.25), (1_000, 1_000, 0.1, 0.04), (5_000, 500, 0.01, 0.015)],
)
def test_votes_learned_one_by_one_stay_close_to_a_refit(
    known: int, learned: int, strength_error: float, spread_error: float
) -> None:
    size = 20
    votes = draw_votes(draw_strengths(size, seed=3), known + learned, seed=4)
    posterior = Posterior.from_counts(count(size, votes[:known]))
    for vote in votes[known:]:
        posterior = posterior.update(*vote)
    refit = Posterior.from_counts(count(size, votes))
    se = np.sqrt(refit.covariance.diagonal())
    assert np.abs((posterior.strengths - refit.strengths) / se).max() < strength_error
    ratio = np.sqrt(posterior.covariance.diagonal()) / se
    assert np.abs(ratio - 1).max() < spread_error
    assert posterior.counts == pytest.approx(refit.counts)


def test_a_model_that_always_wins_stays_finite() -> None:
    posterior = Posterior.prior(2)
    for _ in range(500):
        posterior = posterior.update(0, 1, 1.0)
    refit = Posterior.from_counts(count(2, [(0, 1, 1.0)] * 500))
    assert np.all(np.isfinite(posterior.covariance))
    assert posterior.strengths == pytest.approx(refit.strengths, rel=0.3)


def test_the_covariance_stays_one_over_many_votes() -> None:
    """Rounding of ten thousand rank-one steps leaves it symmetric, centred and positive."""
    size = 8
    posterior = Posterior.prior(size)
    for vote in draw_votes(draw_strengths(size, seed=5), 10_000, seed=6):
        posterior = posterior.update(*vote)
    covariance = posterior.covariance
    assert covariance == pytest.approx(covariance.T, abs=1e-12)
    assert covariance.sum(axis=0) == pytest.approx(np.zeros(size), abs=1e-9)
    assert np.linalg.eigvalsh(covariance)[1] > 0
    p = 1 / (1 + np.exp(posterior.strengths[None, :] - posterior.strengths[:, None]))
    exact = invert_centred(
        hessian(posterior.counts, p, check_prior(DEFAULT_PRIOR)),
        precision=check_prior(DEFAULT_PRIOR),
    )
    assert covariance == pytest.approx(exact, rel=0.1, abs=1e-5)


@pytest.mark.parametrize(
    ("i", "j", "share", "words"),
    [
        (1, 1, 1.0, r"pair \(1, 1\): need two different indices below 3"),
        (0, 3, 1.0, r"pair \(0, 3\)"),
        (-1, 0, 1.0, r"pair \(-1, 0\)"),
        (0, 1, 1.5, r"outcome_share: 1.5 is not in \[0, 1\]"),
        (0, 1, float("nan"), "outcome_share: nan"),
    ],
)
def test_a_vote_that_cannot_be_is_refused(i: int, j: int, share: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Posterior.prior(3).update(i, j, share)


@pytest.mark.parametrize("prior_sd", [0.0, -1.0, float("nan")])
def test_a_prior_without_a_spread_is_refused(prior_sd: float) -> None:
    with pytest.raises(RankingError, match="standard deviation"):
        Posterior.prior(3, prior_sd)
