from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ranking import OUTCOMES, InvalidVote, RankingError, fit_bradley_terry, fit_paired
from ranking.estimator import PairedComparisonClassifier
from ranking.pairing.simulate import draw_strengths, simulate_votes

if TYPE_CHECKING:
    from ranking.fits.likelihoods import TieModel

VOTES = simulate_votes(draw_strengths(6, seed=1), 3_000, seed=2, tie=0.5, style={"length": 0.3})
NAMES = np.array(VOTES.models, dtype=object)
X = np.column_stack([NAMES[VOTES.model_a], NAMES[VOTES.model_b]])
Y = np.array(OUTCOMES, dtype=object)[VOTES.outcome]


def test_it_is_the_library_under_another_interface() -> None:
    estimator = PairedComparisonClassifier().fit(X, Y)
    fit = fit_bradley_terry(VOTES.count())
    assert estimator.strengths_ == pytest.approx(fit.strengths, abs=1e-9)
    p = estimator.predict_proba(X[:1])[0]
    difference = fit.strengths[VOTES.model_a[0]] - fit.strengths[VOTES.model_b[0]]
    assert p == pytest.approx([1 / (1 + np.exp(-difference)), 1 / (1 + np.exp(difference))])
    assert estimator.predict(X[:1])[0] == estimator.classes_[p.argmax()]


@pytest.mark.parametrize("kind", ["davidson", "rao-kupper"])
def test_tie_models_predict_ties(kind: TieModel) -> None:
    estimator = PairedComparisonClassifier(tie_model=kind).fit(X, Y)
    p = estimator.predict_proba(X)
    assert list(estimator.classes_) == ["model_a", "model_b", "tie"]
    assert p.sum(axis=1) == pytest.approx(1)
    assert p[:, 2].mean() == pytest.approx((VOTES.outcome == 2).mean(), abs=0.01)


def test_scikit_learns_own_tools_work_with_it() -> None:
    estimator = PairedComparisonClassifier(tie_model="davidson")
    assert clone(estimator).get_params() == estimator.get_params()
    decisive = VOTES.outcome < 2
    scores = cross_val_score(
        PairedComparisonClassifier(), X[decisive], Y[decisive], cv=4, scoring="neg_log_loss"
    )
    assert (scores > -np.log(2)).all()
    search = GridSearchCV(PairedComparisonClassifier(), {"prior": [0.1, 3.0]}, cv=3).fit(X, Y)
    assert search.best_params_["prior"] in (0.1, 3.0)
    pipeline = make_pipeline(FunctionTransformer(), PairedComparisonClassifier()).fit(X, Y)
    assert 0.5 < pipeline.score(X, Y) < 1


def test_covariates_and_weights_from_a_data_frame() -> None:
    assert VOTES.covariates is not None
    frame = pd.DataFrame({"left": X[:, 0], "right": X[:, 1], "length": VOTES.covariates[:, 0]})
    weight = np.random.default_rng(0).uniform(0.5, 2, len(frame))
    estimator = PairedComparisonClassifier().fit(frame, Y, sample_weight=weight)
    assert estimator.coef_.shape == (1,)
    assert estimator.n_features_in_ == 3
    plain = fit_paired(VOTES.to_rows())
    unweighted = PairedComparisonClassifier().fit(frame, Y)
    assert unweighted.coef_ == pytest.approx(plain.coefficients, abs=1e-9)
    assert 0.5 < estimator.score(frame, Y, sample_weight=weight) < 1
    with pytest.raises(RankingError, match="2 columns"):
        estimator.predict(X)


def test_unseen_models_are_an_error_unless_asked_for() -> None:
    new = np.array([["model-00", "newcomer"]], dtype=object)
    with pytest.raises(InvalidVote, match="'newcomer' was not seen"):
        PairedComparisonClassifier().fit(X, Y).predict_proba(new)
    estimator = PairedComparisonClassifier(unknown="average").fit(X, Y)
    assert estimator.decision_function(new)[0] == pytest.approx(estimator.strengths_[0])
    with pytest.raises(RankingError, match="two columns"):
        estimator.predict(np.array(["model-00"], dtype=object))
