"""Which models the votes tie together, and which only a prior keeps finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Components:
    """Connectivity of the "did not lose to" graph (Ford 1957).

    Attributes:
        weak: Number of each model's connected component, largest first, shape (models,).
            Models of different ones never met, even indirectly.
        strong: Number of each model's strongly connected component, largest first. The
            likelihood has a maximum exactly when there is only one.
        provisional: True for models that won or lost every game against the others, whose
            strength only a prior keeps finite.
        island: Number of each model's island, largest first: models that are compared with
            each other. Two strong components of several models are two islands, whether they
            never met or one won every game against the other: by how much it is stronger
            nothing tells. A provisional model is of the island that it met most often.
        reference: The models at whose mean strength an island's zero is: those that are not
            provisional, or all of an island where every one is.
    """

    weak: Integers
    strong: Integers
    provisional: NDArray[np.bool_]
    island: Integers
    reference: NDArray[np.bool_]

    @property
    def held(self) -> Integers:
        """Label of models whose games with each other are fitted together, shape (models,).

        That of the island, but a provisional model of an island with others that are not is
        by itself: it would pull those it met towards where the prior keeps it.
        """
        number = self.islands + np.arange(len(self.island), dtype=np.int32)
        return np.where(self.reference, self.island, number)

    @property
    def outsiders(self) -> NDArray[np.intp]:
        """Indices of those that are by themselves."""
        return np.flatnonzero(~self.reference)

    @property
    def islands(self) -> int:
        """How many there are."""
        return int(self.island.max()) + 1

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Models of each island, shape (islands,)."""
        return np.bincount(self.island, minlength=self.islands)

    def average(self, over: NDArray[np.bool_] | None = None) -> Floats:
        """Matrix that takes means within islands, shape (models, islands).

        Args:
            over: The models that are averaged, some of every island; `reference` by default.
        """
        chosen = self.reference if over is None else over
        member = (self.island[:, None] == np.arange(self.islands)) & chosen[:, None]
        return np.asarray(member / member.sum(axis=0))

    def centre(self, values: Floats) -> Floats:
        """Values less their islands' reference means, shape (..., models)."""
        return np.asarray(values - (values @ self.average())[..., self.island])

    def centre_all(self, values: Floats) -> Floats:
        """Values less their islands' means over all models, shape (..., models)."""
        everyone = np.ones(len(self.island), dtype=np.bool_)
        return np.asarray(values - (values @ self.average(everyone))[..., self.island])

    def centred_variances(self, matrix: Floats) -> Floats:
        """Diagonals of A·matrix·Aᵀ, A being `centre`, for matrices of shape (..., M, M)."""
        half = self.centre(matrix)
        means = np.swapaxes(self.average(), 0, 1) @ half
        own = np.arange(len(self.island))
        variance = half[..., own, own] - means[..., self.island, own]
        return np.asarray(np.maximum(variance, 0.0))


def find_components(wins: NDArray[np.floating[Any]]) -> Components:
    """Components from the wins (ties as halves) of row over column, shape (models, models)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array(wins > 0)
    votes = wins.sum(axis=0) + wins.sum(axis=1)
    weak = _number_by_size(connected_components(graph, connection="weak")[1], votes)
    strong = _number_by_size(connected_components(graph, connection="strong")[1], votes)
    held = np.bincount(strong)[strong] > 1
    island = weak if not held.any() else _find_islands(wins, weak, np.where(held, strong, -1))
    has_held = np.bincount(island, weights=held)[island] > 0
    return Components(
        weak=weak,
        strong=strong,
        provisional=~held,
        island=_number_by_size(island, votes),
        reference=held | ~has_held,
    )


def _find_islands(wins: NDArray[np.floating[Any]], weak: Integers, core: Integers) -> Integers:
    """Label of each model's island.

    Args:
        wins: Of row over column.
        weak: As in `Components`.
        core: The strong component of a model that is in one with others, else −1.
    """
    cores = int(core.max()) + 1
    without = ~np.isin(weak, weak[core >= 0])
    label = np.where(without, cores + weak, core)
    while (left := np.flatnonzero(label < 0)).size:
        member = (label[:, None] == np.arange(cores)).astype(float)
        games = (wins[left] + wins[:, left].T) @ member
        met = games.max(axis=1) > 0
        label[left[met]] = games[met].argmax(axis=1)
    return label.astype(np.int32)


def _number_by_size(labels: Integers, votes: NDArray[np.floating[Any]]) -> Integers:
    """Renumber from the component with most models (then votes, then first member) down."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    sizes = np.bincount(labels)
    weight = np.bincount(labels, weights=votes)
    first = np.unique(labels, return_index=True)[1]
    order = np.lexsort((first, -weight, -sizes))
    number = np.empty(len(sizes), dtype=np.int32)
    number[order] = np.arange(len(sizes), dtype=np.int32)
    return number[labels]
