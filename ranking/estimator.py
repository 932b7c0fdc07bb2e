"""The strengths as a scikit-learn classifier: cross-validation, pipelines, grid search."""
# ruff: noqa: N803 # X is scikit-learn's name for it, also as a keyword

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

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
        classes_: Labels of the columns of `predict_proba`.
        models_: Names, sorted.
        strengths_: ξ, natural log-odds, sum 0, shape (models,).
        coef_: Effects of the covariates, shape (k,).
        tie_parameter_: ν or θ, None for "half".
        log_likelihood_: At the maximum.
        n_features_in_: Columns of X.
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
        table = _as_table(X)
        extra = {f"x{j}": table[:, j] for j in range(2, table.shape[1])}
        votes = Votes.from_columns(
            table[:, 0], table[:, 1], np.asarray(y, dtype=object),
            weight=sample_weight, covariates=extra,
        )  # fmt: skip
        fit = fit_paired(votes.to_rows(), tie_model=self.tie_model, prior=self.prior)
        outcomes = [MODEL_A, MODEL_B] if self.tie_model == "half" else [MODEL_A, MODEL_B, TIE]
        self.classes_ = np.array([OUTCOMES[i] for i in outcomes], dtype=object)
        self.models_ = np.array(fit.models, dtype=object)
        self.strengths_ = fit.strengths
        self.coef_ = fit.coefficients
        self.tie_parameter_ = fit.tie_parameter
        self.log_likelihood_ = fit.log_likelihood
        self.n_features_in_ = table.shape[1]
        return self

    def decision_function(self, X: Table) -> Floats:
        """Log-odds that the left model wins a decisive battle, shape (rows,)."""
        check_is_fitted(self)
        table = _as_table(X)
        if table.shape[1] != self.n_features_in_:
            raise RankingError(
                f"X has {table.shape[1]} columns; it was fitted with {self.n_features_in_}"
            )
        margin = self._look_up(table[:, 0]) - self._look_up(table[:, 1])
        if table.shape[1] > 2:
            margin = margin + table[:, 2:].astype(float) @ self.coef_
        return np.asarray(margin)

    def predict_proba(self, X: Table) -> Floats:
        """Probability of each of `classes_`, shape (rows, classes)."""
        margin = self.decision_function(X)
        tau = None if self.tie_parameter_ is None else float(np.log(self.tie_parameter_))
        kind: TieModel = "half" if tau is None else self.tie_model
        return predict_outcomes(kind, margin, tau)[:, : len(self.classes_)]

    def predict(self, X: Table) -> NDArray[Any]:
        """The most probable outcome of each battle."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def score(self, X: Table, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Share of outcomes predicted; "half" is not asked about ties."""
        outcome = np.minimum(encode_outcomes(np.asarray(y, dtype=object)), TIE)
        asked = outcome < len(self.classes_)
        right = np.array(OUTCOMES, dtype=object)[outcome[asked]] == self.predict(
            _as_table(X)[asked]
        )
        weight = None if sample_weight is None else np.asarray(sample_weight)[asked]
        return float(np.average(right, weights=weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _look_up(self, names: NDArray[np.object_]) -> Floats:
        codes, labels = factorize(names)
        position = {name: i for i, name in enumerate(self.models_)}
        unknown = [str(label) for label in labels if str(label) not in position]
        if unknown and self.unknown != "average":
            raise InvalidVote(f"model {unknown[0]!r} was not seen in fit", value=unknown[0])
        known = np.append(self.strengths_, 0.0)
        return np.asarray(known[[position.get(str(label), -1) for label in labels]][codes])


def _as_table(data: Table) -> NDArray[np.object_]:
    table = np.asarray(data, dtype=object)
    if table.ndim != 2 or table.shape[1] < 2:
        raise RankingError(
            "X needs two columns of model names (left, right), then covariates; "
            f"its shape is {table.shape}"
        )
    return table
