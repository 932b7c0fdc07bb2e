"""Distinct battles as rows of a likelihood, and the sums every fit takes over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.votes.comparisons import BOTH_BAD, TIE, Comparisons
from ranking.votes.encoding import BothBad, check_both_bad
from ranking.votes.weights import effective_sample_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct battles: how many votes each stands for, and what one of them weighs.

    Attributes:
        models: Names.
        first: Index of the left model, shape (rows,).
        second: Index of the right model, shape (rows,).
        outcome: 0 the left won, 1 the right won, 2 a tie, shape (rows,).
        count: Votes in the row, shape (rows,).
        vote_weight: Weight of each of these votes, 1 unless weighted, shape (rows,).
        covariates: z of each row, left minus right, shape (rows, k).
        names: Of the covariates.
        cluster: Code of the voter of each row, or None.
    """

    models: tuple[str, ...]
    first: NDArray[np.integer[Any]]
    second: NDArray[np.integer[Any]]
    outcome: NDArray[np.int8]
    count: Floats
    vote_weight: Floats
    covariates: Floats = field(default_factory=lambda: np.empty((0, 0)))
    names: tuple[str, ...] = ()
    cluster: NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "covariates", np.empty((len(self.first), 0)))

    @property
    def weight(self) -> Floats:
        """Weight of each row in the likelihood, shape (rows,)."""
        return self.count * self.vote_weight

    @property
    def effective_votes(self) -> float:
        """(Σw)² / Σw² over the votes: how many equally weighted ones they are worth."""
        return float(self.weight.sum() ** 2 / (self.weight @ self.vote_weight))

    @classmethod
    def from_comparisons(
        cls,
        comparisons: Comparisons,
        *,
        both_bad: BothBad = "tie",
        covariates: Floats | None = None,
        names: Sequence[str] = (),
    ) -> Rows:
        """One row a cell of counts; `covariates` has a line for each cell."""
        kept = slice(None) if check_both_bad(both_bad) else comparisons.outcome != BOTH_BAD
        count = comparisons.count[kept].astype(float)
        z = np.empty((len(comparisons), 0)) if covariates is None else np.asarray(covariates)
        return cls(
            models=comparisons.models,
            first=comparisons.model_a[kept],
            second=comparisons.model_b[kept],
            outcome=np.minimum(comparisons.outcome[kept], TIE).astype(np.int8),
            count=count,
            vote_weight=np.ones(len(count)),
            covariates=z[kept].reshape(len(count), len(names)),
            names=tuple(names),
        )

    def select(self, keep: NDArray[np.bool_]) -> Rows:
        """The rows where `keep` is true, over the same models."""
        return replace(
            self,
            first=self.first[keep],
            second=self.second[keep],
            outcome=self.outcome[keep],
            count=self.count[keep],
            vote_weight=self.vote_weight[keep],
            covariates=self.covariates[keep],
            cluster=None if self.cluster is None else self.cluster[keep],
        )

    def add_covariate(self, name: str, values: Floats) -> Rows:
        """The rows with one more covariate, values of shape (rows,)."""
        return replace(
            self,
            covariates=np.column_stack([self.covariates, values]),
            names=(*self.names, name),
        )

    def within(self, label: NDArray[np.integer[Any]]) -> Rows:
        """The rows whose two models have the same label."""
        same = label[self.first] == label[self.second]
        return self if same.all() else self.select(same)

    def number_clusters(self) -> tuple[NDArray[np.intp], int]:
        """Code of each row's cluster from 0 on, and the number of clusters."""
        found, code = np.unique(np.asarray(self.cluster), return_inverse=True)
        return code, len(found)

    @property
    def effective_clusters(self) -> float:
        """How many clusters of equal weight they are worth; 0 without votes."""
        code, clusters = self.number_clusters()
        if not self.weight.any():
            return 0.0
        return effective_sample_size(np.bincount(code, self.weight, clusters).astype(float))

    def collapse(self) -> tuple[Rows, NDArray[np.intp]]:
        """One row a (first, second, outcome), and the new row of each old one.

        The likelihood is the same; weights and voters are summed over. Without
        covariates only.
        """
        size = len(self.models)
        key = (self.outcome.astype(np.intp) * size + self.first) * size + self.second
        found, inverse = _number_distinct(key, 3 * size * size)
        collapsed = Rows(
            models=self.models,
            first=found // size % size,
            second=found % size,
            outcome=(found // (size * size)).astype(np.int8),
            count=np.bincount(inverse, self.weight, len(found)).astype(float),
            vote_weight=np.ones(len(found)),
        )
        return collapsed, inverse

    def wins(self) -> Floats:
        """Weight of wins of row over column, ties as halves, shape (models, models)."""
        size = len(self.models)
        credit = np.array([1.0, 0.0, 0.5])[self.outcome]
        won = scatter(self.first, self.second, self.weight * credit, size)
        return np.asarray(won + scatter(self.second, self.first, self.weight * (1 - credit), size))

    def ties(self) -> Floats:
        """Weight of ties of each pair, symmetric, shape (models, models)."""
        drawn = np.where(self.outcome == TIE, self.weight, 0.0)
        once = scatter(self.first, self.second, drawn, len(self.models))
        return np.asarray(once + once.T)


def _number_distinct(
    key: NDArray[np.intp], possible: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Distinct keys, ascending, and the position of each key among them."""
    if possible > len(key) * 10:
        return np.unique(key, return_inverse=True)
    seen = np.zeros(possible, dtype=bool)
    seen[key] = True
    number = np.cumsum(seen) - 1
    return np.flatnonzero(seen), number[key]


def scatter(
    row: NDArray[np.integer[Any]], column: NDArray[np.integer[Any]], value: Floats, size: int
) -> Floats:
    """Sum values into a (size, size) table."""
    key = row.astype(np.intp) * size + column
    return np.asarray(np.bincount(key, weights=value, minlength=size * size).reshape(size, size))


def sum_scores(rows: Rows, margin: Floats, tie: Floats | None) -> Floats:
    """Σ of (margin·x, margin·z, tie) over the rows, x = e_first − e_second.

    Args:
        rows: The battles.
        margin: Derivative of each row by its margin, shape (rows,).
        tie: Derivative by the tie parameter, or None where there is none.
    """
    size = len(rows.models)
    up = np.bincount(rows.first, weights=margin, minlength=size)
    down = np.bincount(rows.second, weights=margin, minlength=size)
    tail = [] if tie is None else [tie.sum()]
    return np.concatenate([up - down, rows.covariates.T @ margin, tail])


def sum_products(rows: Rows, square: Floats, tie: tuple[Floats, Floats] | None) -> Floats:
    """Σ of square·vvᵀ over the rows, v = (x, z), bordered by the tie parameter.

    Args:
        rows: The battles.
        square: Weight of vvᵀ in each row, shape (rows,).
        tie: Weights of v·τ and of τ·τ in each row, or None where there is no τ.
    """
    size, k = len(rows.models), len(rows.names)
    upper = scatter(rows.first, rows.second, square, size)
    both = upper + upper.T
    laplacian = -both
    np.fill_diagonal(laplacian, both.sum(axis=1))
    z = rows.covariates
    cross = [sum_scores(rows, square * z[:, j], None) for j in range(k)]
    if tie is not None:
        cross.append(sum_scores(rows, tie[0], tie[1]))
    total = size + k + (tie is not None)
    matrix = np.zeros((total, total))
    matrix[:size, :size] = laplacian
    for offset, column in enumerate(cross):
        matrix[size + offset, : len(column)] = column
        matrix[: len(column), size + offset] = column
    return matrix
