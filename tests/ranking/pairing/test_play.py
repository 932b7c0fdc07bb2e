"""Simulated arenas: what they report is true, and what adaptive drawing does can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from ranking import compute_leaderboard
from ranking.errors import RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR
from ranking.pairing.constraints import PairConstraints
from ranking.pairing.play import Course, Crowd, Drawing, play_arena, play_newcomer
from ranking.pairing.simulate import draw_strengths
from ranking.pairing.study import Spread, Study, compare_policies
from ranking.scale import POINTS_PER_LOG_ODDS
from ranking.votes.encoding import MODEL_A, MODEL_B, TIE
from ranking.votes.weights import compute_design_weights

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = tuple(f"model-{i:02d}" for i in range(8))
STRENGTHS = draw_strengths(8, seed=1, spread=1.0)


def play(drawing: Drawing | None = None, crowd: Crowd | None = None) -> Course:
    return play_arena(STRENGTHS, 2_000, seed=3, drawing=drawing, crowd=crowd, record=True)


def test_a_course_says_what_its_votes_say() -> None:
    course = play(drawing=Drawing(refit_every=150), crowd=Crowd(tie=0.5))
    assert course.record is not None
    assert course.votes[-1] == len(course.record) == 2_000
    board = compute_leaderboard(course.record, interval="sandwich", prior=DEFAULT_PRIOR)
    scores = np.array([board[name].score for name in NAMES])
    fitted = 1000 + POINTS_PER_LOG_ODDS * course.posterior.strengths
    assert scores == pytest.approx(fitted, abs=1e-4)
    target = Crowd(tie=0.5).expect_strengths(STRENGTHS)
    error = np.sqrt(np.mean((scores - 1000 - POINTS_PER_LOG_ODDS * target) ** 2))
    assert course.error[-1] == pytest.approx(error, rel=1e-6)
    assert course.tau[-1] == pytest.approx(kendalltau(scores, STRENGTHS).statistic)
    first, second = np.triu_indices(8, 1)
    covariance = course.posterior.covariance
    spread = np.sqrt(
        covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
    )
    resolved = np.abs(fitted[first] - fitted[second]) / POINTS_PER_LOG_ODDS > 1.96 * spread
    assert course.resolved[-1] == pytest.approx(resolved.mean())
    assert course.wrong[-1] <= course.resolved[-1]


def test_the_same_seed_plays_the_same_arena() -> None:
    one, two = play(), play()
    assert one.error.tolist() == two.error.tolist()
    assert play_arena(STRENGTHS, 2_000, seed=4).error.tolist() != one.error.tolist()


def test_logged_probabilities_match_what_is_drawn() -> None:
    """Over all votes of an adaptive arena: Σ (drawn − expected) is noise for every pair."""
    course = play_arena(STRENGTHS, 100_000, seed=5, drawing=Drawing(refit_every=1_000), record=True)
    votes = course.record
    assert votes is not None
    assert votes.draw_probability is not None
    low = np.minimum(votes.model_a, votes.model_b)
    pair = low * 8 + np.maximum(votes.model_a, votes.model_b)
    chance = votes.draw_probability.reshape(100, 1_000)
    for which in np.unique(pair):
        mine = (pair == which).reshape(100, 1_000)
        # Where a batch drew the pair its logged probability is known; it is one a batch.
        known = mine.any(axis=1)
        p = np.array([chance[k][mine[k]][0] for k in np.flatnonzero(known)])
        assert all(len(set(chance[k][mine[k]])) == 1 for k in np.flatnonzero(known))
        surplus = mine[known].sum() - (1_000 * p / (1 - (1 - p) ** 1_000)).sum()
        assert abs(surplus) < 4.5 * np.sqrt((1_000 * p * (1 - p)).sum())
    assert (1 / votes.draw_probability).mean() == pytest.approx(28, rel=0.05)


def test_ties_and_careless_voters_come_as_often_as_asked() -> None:
    rng = np.random.default_rng(1)
    a, b = np.zeros(40_000, dtype=np.intp), np.ones(40_000, dtype=np.intp)
    equal = np.zeros(2)
    ties = (Crowd(tie=0.5).vote(equal, a, b, rng) == TIE).mean()
    assert ties == pytest.approx(0.5 / 2.5, abs=0.01)
    sure = np.array([50.0, -50.0])
    lost = (Crowd(careless=0.3).vote(sure, a, b, rng) == MODEL_B).mean()
    assert lost == pytest.approx(0.15, abs=0.01)


def test_fans_vote_for_their_favourite_and_like_others_elsewhere() -> None:
    rng = np.random.default_rng(1)
    sure = np.array([-50.0, 50.0, 0.0])
    crowd = Crowd(fans=0.4, favourite=0)
    zero, one, two = (np.full(40_000, i, dtype=np.intp) for i in range(3))
    assert (crowd.vote(sure, zero, one, rng) == MODEL_A).mean() == pytest.approx(0.4, abs=0.01)
    assert (crowd.vote(sure, one, zero, rng) == MODEL_B).mean() == pytest.approx(0.4, abs=0.01)
    assert (crowd.vote(sure, one, two, rng) == MODEL_A).all()


def test_what_a_crowd_would_say_in_the_end_is_what_many_votes_say() -> None:
    crowd = Crowd(tie=0.8, careless=0.1)
    course = play_arena(
        STRENGTHS,
        400_000,
        seed=6,
        drawing=Drawing(policy="uniform", refit_every=400_000),
        crowd=crowd,
    )
    target = crowd.expect_strengths(STRENGTHS)
    assert np.abs(target).max() < 0.9 * np.abs(STRENGTHS).max()
    error = np.abs(course.posterior.strengths - target)
    assert np.all(error < 4 * np.sqrt(course.posterior.covariance.diagonal()))


def win_rates(course: Course, weight: np.ndarray) -> np.ndarray:
    votes = course.record
    assert votes is not None
    share = np.array([1.0, 0.0, 0.5])[votes.outcome]
    won = np.bincount(votes.model_a, weight * share, 8)
    won += np.bincount(votes.model_b, weight * (1 - share), 8)
    played = np.bincount(votes.model_a, weight, 8) + np.bincount(votes.model_b, weight, 8)
    return np.asarray(won / played)


def test_design_weights_remove_the_bias_of_adaptive_drawing_from_win_rates() -> None:
    """Strong models meet strong ones: plain win rates are pulled to a half, weighted are not."""
    wins = 1 / (1 + np.exp(STRENGTHS[None, :] - STRENGTHS[:, None]))
    truth = (wins.sum(axis=1) - 0.5) / 7
    plain, weighted = [], []
    for seed in range(20):
        course = play_arena(STRENGTHS, 3_000, seed=[7, seed], record=True)
        assert course.record is not None
        assert course.record.draw_probability is not None
        design = compute_design_weights(course.record.draw_probability)
        assert design.clipped_share == 0  # the exploration floor bounds them
        plain.append(win_rates(course, np.ones(3_000)))
        weighted.append(win_rates(course, design.weight))
    bias, left = (np.mean(rates, axis=0) - truth for rates in (plain, weighted))
    noise = np.std(weighted, axis=0, ddof=1) / np.sqrt(20)
    assert np.abs(bias).max() > 0.08
    assert np.abs(bias).max() > 8 * noise.max()
    assert np.all(np.abs(left) < 4 * noise)


def test_a_newcomer_is_known_sooner_than_by_uniform_drawing() -> None:
    strengths = np.append(draw_strengths(7, seed=2), 0.1)
    uniform, adaptive = (
        play_newcomer(strengths, 2_000, seed=1, drawing=Drawing(policy=policy, refit_every=10))
        for policy in ("uniform", "uncertainty")
    )
    assert adaptive < uniform / 2
    # Twice the standard error takes a quarter of the battles that each of the others had.
    assert uniform == pytest.approx(2_000 / 4, rel=0.4)


def test_a_newcomer_is_followed_until_it_has_caught_up() -> None:
    strengths = np.append(draw_strengths(7, seed=2), 0.1)
    uniform, adaptive = (
        play_newcomer(
            strengths, 2_000, seed=1, drawing=Drawing(policy=policy, refit_every=10), known=1.0
        )
        for policy in ("uniform", "uncertainty")
    )
    assert adaptive < uniform / 2
    # Each of the seven had 571 games; of eight models one is in a quarter of even draws.
    assert uniform == pytest.approx(4 * 571, rel=0.25)


@pytest.mark.parametrize("favourite", [0, 7])
def test_fans_can_neither_flood_nor_starve_a_model_beyond_its_bounds(favourite: int) -> None:
    """A fifth of the votes always for one model, the best or the worst of eight."""
    strengths = np.sort(STRENGTHS)[::-1]
    bounds = PairConstraints(
        names=NAMES,
        largest=dict.fromkeys(range(8), 0.35),
        least=dict.fromkeys(range(8), 0.15),
    )
    crowd = Crowd(fans=0.2, favourite=favourite)
    free, bound = (
        play_arena(strengths, 4_000, seed=9, crowd=crowd, drawing=Drawing(constraints=constraints))
        for constraints in (None, bounds)
    )
    assert free.least_share.min() < 0.12  # without bounds some model is out of them
    assert free.largest_share.max() > 0.4
    assert bound.least_share.min() >= 0.15 - 1e-8
    assert bound.largest_share.max() <= 0.35 + 1e-8
    shares = bound.posterior.counts.sum(axis=1) / 4_000
    assert shares.min() > 0.13
    assert shares.max() < 0.37


STUDY = Study(
    drawings=(Drawing(policy="uniform"), Drawing()),
    votes=600,
    arenas=3,
    models=5,
    goals=(("resolved", 0.2), ("resolved", 1.1)),
    head_start=200,
    seed=2,
)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing() -> None:
    seen: list[tuple[int, int]] = []
    alone = compare_policies(STUDY, processes=1, progress=lambda *done: seen.append(done))
    assert seen == [(i, 9) for i in range(1, 10)]
    assert compare_policies(STUDY, processes=3) == alone


def test_a_comparison_says_what_uniform_drawing_would_have_needed() -> None:
    uniform, adaptive = compare_policies(STUDY, processes=1)
    assert (uniform.policy, adaptive.policy) == ("uniform", "tempered")
    assert 0.4 < uniform.uniform_needs["error"].median < 2.5
    assert uniform.goals["resolved 0.2"].median <= 600
    assert uniform.goals["resolved 1.1"].median == np.inf
    assert adaptive.to_dict()["goals"]["resolved 1.1"]["median"] is None
    assert adaptive.newcomer is not None
    assert uniform.newcomer is not None
    assert adaptive.newcomer.median < uniform.newcomer.median
    assert adaptive.course["votes"][-1] == 600
    assert uniform.least_share == pytest.approx(0.4) == uniform.largest_share


def test_a_policy_does_as_well_in_any_company() -> None:
    from dataclasses import replace

    alone = compare_policies(replace(STUDY, drawings=(Drawing(),)), processes=1)
    assert alone[0] == compare_policies(STUDY, processes=1)[1]


def test_medians_count_what_never_happened() -> None:
    assert Spread.over([1.0, 2.0, 3.0, 4.0, np.inf]) == Spread(median=3.0, lower=2.0, upper=4.0)
    assert Spread.over([np.inf, 5.0, np.inf]).median == np.inf


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": 1}, "1 models: need 2 or more"),
        ({"models": 2, "head_start": 10}, "2 models: need 3 or more"),
        ({"models": 4, "pool": (0.0, 1.0)}, "4 models cannot be taken from 2 strengths"),
        ({"arenas": 0}, "0 arenas of 100 votes"),
    ],
)
def test_a_study_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RankingError, match=words):
        Study(drawings=(Drawing(),), **{"votes": 100, **options})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Crowd(tie=-1.0), "tie must be 0 or more, not -1.0"),
        (lambda: Crowd(fans=1.0), r"fans must be a share in \[0, 1\), not 1.0"),
        (lambda: Crowd(careless=-0.1), "careless must be"),
        (lambda: Drawing(refit_every=0), "refit_every must be 1 vote or more"),
    ],
)
def test_a_crowd_or_a_drawing_that_cannot_be_is_refused(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(RankingError, match=words):
        make()
