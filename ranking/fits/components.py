"""Which models the votes tie together, and which only a prior keeps finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Components:
    """Connectivity of the "did not lose to" graph (Ford 1957).

    Attributes:
        weak: Number of each model's island, largest island first, shape (models,).
            Models of different islands never met, even indirectly: nothing orders them.
        strong: Number of each model's strongly connected component, largest first. The
            likelihood has a maximum exactly when there is only one.
        provisional: True for models outside the largest strong component, whose strength
            only a prior keeps finite.
    """

    weak: NDArray[np.int32]
    strong: NDArray[np.int32]
    provisional: NDArray[np.bool_]


def find_components(wins: NDArray[np.floating[Any]]) -> Components:
    """Components from the wins (ties as halves) of row over column, shape (models, models)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array(wins > 0)
    votes = wins.sum(axis=0) + wins.sum(axis=1)
    weak = _number_by_size(connected_components(graph, connection="weak")[1], votes)
    strong = _number_by_size(connected_components(graph, connection="strong")[1], votes)
    alone = (strong == 0).sum() == 1
    return Components(weak=weak, strong=strong, provisional=(strong > 0) | alone)


def _number_by_size(
    labels: NDArray[np.int32], votes: NDArray[np.floating[Any]]
) -> NDArray[np.int32]:
    """Renumber from the component with most models (then votes, then first member) down."""
    sizes = np.bincount(labels)
    weight = np.bincount(labels, weights=votes)
    first = np.unique(labels, return_index=True)[1]
    order = np.lexsort((first, -weight, -sizes))
    number = np.empty(len(sizes), dtype=np.int32)
    number[order] = np.arange(len(sizes), dtype=np.int32)
    return number[labels]
