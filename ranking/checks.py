"""Whether an argument is what a function works on; if not, an error that names the remedy."""

from __future__ import annotations

import operator
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, TypeVar

import numpy as np

from ranking.errors import RankingError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["check_kind", "is_table", "take_numbers", "take_path", "take_whole"]

Kind = TypeVar("Kind")


def take_numbers(
    data: object, name: str, shape: str, *, dimensions: int | None = 1
) -> NDArray[np.float64]:
    """Numbers of a known number of dimensions.

    Args:
        data: Anything.
        name: What it is called.
        shape: What it should look like, such as "(models,)".
        dimensions: How many, None for any.

    Raises:
        RankingError: They are no numbers, or of another shape.
    """
    wanted = f"{name} must be numbers of shape {shape}"
    if data is None:
        raise RankingError(f"{wanted}, not None")
    try:
        values = np.asarray(data, dtype=float)
    except (TypeError, ValueError):
        raise RankingError(f"{wanted}, not {type(data).__name__}") from None
    if dimensions is not None and values.ndim != dimensions:
        raise RankingError(f"{wanted}; theirs is {values.shape}")
    return values


def check_kind(value: object, kind: type[Kind], name: str, remedy: str) -> Kind:
    """The value itself if it is what a function works on.

    Args:
        value: Anything.
        kind: What it should be.
        name: What it is called.
        remedy: A call that makes one.

    Raises:
        RankingError: It is something else.
    """
    if isinstance(value, kind):
        return value
    raise RankingError(
        f"{name} must be a {kind.__name__}, not {type(value).__name__}: make one by {remedy}"
    )


def take_whole(data: object, name: str) -> int:
    """A whole number.

    Raises:
        RankingError: It is something else.
    """
    try:
        return operator.index(data)  # type: ignore[arg-type] # what it may be is asked here
    except TypeError:
        raise RankingError(f"{name} must be a whole number, not {type(data).__name__}") from None


def is_table(data: object) -> TypeGuard[pd.DataFrame]:
    """Whether it is a pandas DataFrame; asks without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def take_path(path: object) -> Path:
    """Where a file is.

    Raises:
        RankingError: It is no path.
    """
    if isinstance(path, (str, Path)):
        return Path(path)
    raise RankingError(f"a path or a DataFrame can be read, not {type(path).__name__}")
