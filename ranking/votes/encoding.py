"""Names and labels to integers, the part that dominates the time of a whole ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ranking.errors import InvalidVote, RankingError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Codes = NDArray[np.signedinteger[Any]]
    Column = Sequence[Hashable] | NDArray[Any]

BothBad = Literal["tie", "keep", "drop"]

OUTCOMES = ("model_a", "model_b", "tie", "tie (bothbad)")
MODEL_A, MODEL_B, TIE, BOTH_BAD = range(4)

_SPELLINGS: dict[str, int] = {
    "model_a": MODEL_A, "model_b": MODEL_B, "tie": TIE, "tie (bothbad)": BOTH_BAD,
    "a": MODEL_A, "b": MODEL_B, "left": MODEL_A, "right": MODEL_B,
    "both_bad": BOTH_BAD, "bothbad": BOTH_BAD, "both bad": BOTH_BAD,
    "tie_bothbad": BOTH_BAD, "tie (both_bad)": BOTH_BAD,
    "1": MODEL_A, "0": MODEL_B, "0.5": TIE, "1.0": MODEL_A, "0.0": MODEL_B,
}  # fmt: skip

# Rows numbered at a time: their codes fit a core's cache.
_PIECE = 1 << 16
# With more distinct objects than this, names are hardly shared.
_MOST_ADDRESSES = 20_000
# Rows looked at to decide whether equal strings are shared objects.
_SAMPLE = 4_096


class _Addresses:
    """An object array seen as the addresses of its elements."""

    def __init__(self, column: NDArray[np.object_]) -> None:
        described = column.__array_interface__
        self.__array_interface__ = {**described, "typestr": "<i8", "descr": [("", "<i8")]}
        self.owner = column


def check_columns(frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Refuse a table that lacks a column.

    Raises:
        InvalidVote: One is missing; it is named.
    """
    for name in names:
        if name not in frame.columns:
            raise InvalidVote(
                f"no column {name!r}; the table has {list(frame.columns)}", value=name
            )


def factorize(column: Column) -> tuple[Codes, list[Hashable]]:
    """Number the distinct values of a column, −1 where one is missing.

    A table of names holds few strings many times. Where they are shared objects (as pandas
    reads them from a file) their addresses are numbered instead: 14 ms instead of 77 to
    165 ms for a million names in an object or `str` column.

    Returns:
        The code of each row, shape (rows,), and the value of each code.
    """
    import pandas as pd

    if isinstance(column, (list, tuple)):
        listed = np.empty(len(column), dtype=object)
        listed[:] = column
        column = listed
    plain = _as_objects(column)
    if plain is None or not _shares_objects(plain):
        codes, labels = pd.factorize(column if plain is None else plain)
        return codes, labels.tolist()
    numbered = _number_addresses(np.asarray(_Addresses(plain)))
    if numbered is None:
        codes, labels = pd.factorize(plain)
        return codes, list(labels)
    codes, first = numbered
    # Equal values may still be separate objects: number the few distinct ones by value.
    merged, labels = pd.factorize(plain[first])
    if (merged == np.arange(len(first))).all():
        return codes, list(labels)
    return merged.astype(np.int32)[codes], list(labels)


def _number_addresses(addresses: NDArray[np.int64]) -> tuple[Codes, NDArray[np.intp]] | None:
    """Number addresses in the order they appear; also where each is first seen.

    In pieces, so that the hash table's 64-bit output never exists for the whole column.
    None where there turn out to be too many for this to pay.
    """
    import pandas as pd

    codes = np.empty(len(addresses), dtype=np.int32)
    known: dict[int, int] = {}
    first: list[int] = []
    for start in range(0, len(addresses), _PIECE):
        local, distinct = pd.factorize(addresses[start : start + _PIECE])
        if len(known) + len(distinct) > _MOST_ADDRESSES:
            return None
        seen = np.empty(len(distinct), dtype=np.intp)
        seen[local[::-1]] = np.arange(start + len(local) - 1, start - 1, -1)
        number = np.empty(len(distinct), dtype=np.int32)
        for i, address in enumerate(distinct.tolist()):
            if address not in known:
                known[address] = len(first)
                first.append(int(seen[i]))
            number[i] = known[address]
        codes[start : start + _PIECE] = number[local]
    return codes, np.array(first, dtype=np.intp)


def _as_objects(column: Column) -> NDArray[np.object_] | None:
    """The column as an array of Python objects where that costs no copy, else None."""
    if isinstance(column, np.ndarray):
        return column if column.dtype == object else None
    values = getattr(column, "dtype", None)
    if getattr(values, "storage", None) == "python" or str(values) == "object":
        return np.asarray(column, dtype=object)
    return None


def _shares_objects(plain: NDArray[np.object_]) -> bool:
    sample = np.asarray(_Addresses(plain))[:_SAMPLE]
    return len(plain) > _SAMPLE and len(np.unique(sample)) < _SAMPLE // 4


def encode_models(
    model_a: Column, model_b: Column
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]:
    """Give every model name an integer, by sorted name.

    Raises:
        InvalidVote: A name is missing or empty.
    """
    coded = [factorize(model_a), factorize(model_b)]
    for (codes, labels), column in zip(coded, (model_a, model_b), strict=True):
        empty = [code for code, label in enumerate(labels) if not str(label).strip()]
        wrong = np.flatnonzero((codes < 0) | np.isin(codes, empty) if empty else codes < 0)
        if wrong.size:
            row = int(wrong[0])
            raise InvalidVote("the model name is missing", row=row, value=column[row])
    models = tuple(sorted({str(label) for _, labels in coded for label in labels}))
    position = {name: i for i, name in enumerate(models)}
    a, b = (
        np.array([position[str(label)] for label in labels], dtype=np.int32)[codes]
        if len(codes)
        else np.empty(0, np.int32)
        for codes, labels in coded
    )
    return models, a, b


def spell_outcome(value: object) -> int | None:
    """The code of one outcome label, or None when it is not one."""
    if isinstance(value, (bool, np.bool_)):
        return None
    return _SPELLINGS.get(str(value).strip().lower())


def encode_outcomes(outcome: Column) -> NDArray[np.int8]:
    """Give every outcome label its index in `OUTCOMES`.

    Raises:
        InvalidVote: A label is missing or unknown.
    """
    codes, labels = factorize(outcome)
    meaning = [spell_outcome(label) for label in labels]
    table = np.array([-1 if m is None else m for m in [*meaning, None]], dtype=np.int8)
    result = table[codes]
    wrong = np.flatnonzero(result < 0)
    if wrong.size:
        row = int(wrong[0])
        value = outcome[row]
        raise InvalidVote(
            f"unknown outcome {value!r}; expected one of {', '.join(OUTCOMES)}",
            row=row,
            value=value,
        )
    return result


def check_both_bad(both_bad: str) -> bool:
    """Whether both-bad votes enter the strengths: as "tie" they do.

    "keep" makes them an outcome of its own, which says nothing of who is stronger, and "drop"
    takes them for not cast: a fit is the same, but a leaderboard counts them or does not.

    Raises:
        RankingError: The option is unknown.
    """
    if both_bad not in get_args(BothBad):
        raise RankingError(f"both_bad must be one of {list(get_args(BothBad))}, not {both_bad!r}")
    return both_bad == "tie"
