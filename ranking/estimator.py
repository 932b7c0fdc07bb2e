"""The strengths as a scikit-learn classifier: cross-validation, pipelines, grid search."""
# ruff: noqa: N803 # X is scikit-learn's name for it, also as a keyword

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ranking.errors import InvalidVote, RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR
from ranking.fits.likelihoods import TieModel, predict_outcomes
from ranking.fits.paired import fit_paired
from ranking.votes.encoding import MODEL_A, MODEL_B, OUTCOMES, TIE, encode_outcomes, factorize
from ranking.votes.votes import Votes

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Self, TypeAlias

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    Floats = NDArray[np.float64]
    Table: TypeAlias = pd.DataFrame | NDArray[Any] | Sequence[Sequence[Any]]
    Labels: TypeAlias = pd.Series | NDArray[Any] | Sequence[Hashable]


class PairedComparisonClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # untyped base
    """Predicts who wins a battle from the names of the two models.

    X has the left model's name in its first column, the right model's in its second, and
    covariates (left minus right) in any others; y holds outcomes in any known spelling.
    Both-bad votes count as ties.

    Args:
        tie_model: "half" predicts who wins a decisive battle; "davidson" and "rao-kupper"
            predict ties as well.
        prior: Standard deviation of the Gaussian prior on each strength, or None.
        unknown: What to do with a model not seen in `fit`: "error", or "average" for a
            strength of 0, as the prior has it.

    Attributes:
        classes_: Labels of the columns of `predict_proba`, sorted: those that y has for a win of
            the left model, one of the right and, with a tie model, a tie.
        models_: Names, sorted.
        strengths_: ξ, natural log-odds, sum 0, shape (models,).
        coef_: Effects of the covariates, shape (k,).
        tie_parameter_: ν or θ, None for "half".
        log_likelihood_: At the maximum.
        n_features_in_: Columns of X.
        feature_names_in_: Their names, where X is a DataFrame.
    """

    def __init__(
        self,
        tie_model: TieModel = "half",
        prior: float | None = DEFAULT_PRIOR,
        unknown: Literal["error", "average"] = "error",
    ) -> None:
        self.tie_model = tie_model
        self.prior = prior
        self.unknown = unknown

    def fit(self, X: Table, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        """Fit strengths to battles.

        Raises:
            InvalidVote: A row cannot be counted; it is named with its value.
            NoMaximum: Without a prior, the votes do not tie all models together.
        """
        table, told = validate_data(
            self,
            X,
            y,
            dtype=None,
            ensure_min_features=2,
        )
        check_classification_targets(told)
        outcome = encode_outcomes(np.asarray(told, dtype=object))
        weight = _check_weights(sample_weight, len(outcome))
        _check_outcomes(outcome, weight)
        names = np.asarray(table, dtype=object)
        votes = Votes.from_columns(
            names[:, 0], names[:, 1], np.array(OUTCOMES, dtype=object)[outcome],
            weight=weight, covariates={f"x{j}": names[:, j] for j in range(2, names.shape[1])},
        )  # fmt: skip
        fit = fit_paired(votes.to_rows(), tie_model=self.tie_model, prior=self.prior)
        outcomes = [MODEL_A, MODEL_B] if self.tie_model == "half" else [MODEL_A, MODEL_B, TIE]
        labels = _name_classes(np.asarray(told), np.minimum(outcome, TIE), outcomes)
        order = np.argsort(labels)
        self.classes_ = labels[order]
        self._outcomes = np.array(outcomes)[order]
        self.models_ = np.array(fit.models, dtype=object)
        self.strengths_ = fit.strengths
        self.coef_ = fit.coefficients
        self.tie_parameter_ = fit.tie_parameter
        self.log_likelihood_ = fit.log_likelihood
        return self

    def decision_function(self, X: Table) -> Floats:
        """Log-odds of `classes_[1]` in a decisive battle, shape (rows,).

        With a tie model the logarithms of all probabilities, shape (rows, classes).
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            return np.log(self.predict_proba(X))
        margin = self._find_margin(X)
        return margin if self._outcomes[1] == MODEL_A else -margin

    def predict_proba(self, X: Table) -> Floats:
        """Probability of each of `classes_`, shape (rows, classes)."""
        check_is_fitted(self)
        tau = None if self.tie_parameter_ is None else float(np.log(self.tie_parameter_))
        kind: TieModel = "half" if tau is None else self.tie_model
        return np.asarray(predict_outcomes(kind, self._find_margin(X), tau)[:, self._outcomes])

    def predict(self, X: Table) -> NDArray[Any]:
        """The most probable outcome of each battle."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def score(self, X: Table, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Share of outcomes predicted; "half" is not asked about ties."""
        outcome = np.minimum(encode_outcomes(np.asarray(y, dtype=object)), TIE)
        asked = np.isin(outcome, self._outcomes)
        found = self._outcomes[self.predict_proba(X).argmax(axis=1)]
        weight = None if sample_weight is None else np.asarray(sample_weight)[asked]
        return float(np.average(found[asked] == outcome[asked], weights=weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        # It reads ties as halves then, and predicts who wins.
        tags.classifier_tags.multi_class = self.tie_model != "half"
        return tags

    def _find_margin(self, X: Table) -> Floats:
        """Log-odds that the left model wins a decisive battle, shape (rows,)."""
        table = validate_data(self, X, dtype=None, reset=False)
        names = np.asarray(table, dtype=object)
        margin = self._look_up(names[:, 0]) - self._look_up(names[:, 1])
        if names.shape[1] > 2:
            margin = margin + names[:, 2:].astype(float) @ self.coef_
        return np.asarray(margin)

    def _look_up(self, names: NDArray[np.object_]) -> Floats:
        codes, labels = factorize(names)
        position = {name: i for i, name in enumerate(self.models_)}
        unknown = [str(label) for label in labels if str(label) not in position]
        if unknown and self.unknown != "average":
            raise InvalidVote(f"model {unknown[0]!r} was not seen in fit", value=unknown[0])
        known = np.append(self.strengths_, 0.0)
        return np.asarray(known[[position.get(str(label), -1) for label in labels]][codes])


def _check_weights(sample_weight: ArrayLike | None, rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != (rows,):
        raise RankingError(f"sample_weight has shape {weight.shape} for {rows} battles")
    if not weight.any():
        raise RankingError("every sample_weight is zero: there is nothing to fit")
    return weight


def _check_outcomes(outcome: NDArray[np.int8], weight: Floats | None) -> None:
    seen = np.unique(outcome if weight is None else outcome[weight > 0])
    if len(seen) < 2:
        raise RankingError(
            f"only one class of outcome, {OUTCOMES[seen[0]]!r}: a classifier needs two"
        )


def _name_classes(
    y: NDArray[Any], outcome: NDArray[np.int8], outcomes: Sequence[int]
) -> NDArray[Any]:
    """The labels of y, one an outcome; the usual names where y has several or none for one."""
    spelled = [np.unique(y[outcome == code].astype(object)) for code in outcomes]
    if all(len(labels) == 1 for labels in spelled):
        return np.array([labels[0] for labels in spelled], dtype=y.dtype)
    return np.array([OUTCOMES[code] for code in outcomes], dtype=object)
