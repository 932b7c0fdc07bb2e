"""Cells as text: what a person would read in them, whatever kind of file they come from."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["as_flags", "as_text", "is_missing", "read_counts", "read_numbers", "to_text"]

_TRUE = frozenset({"1", "true", "yes", "t", "y", "1.0", "x"})
_FALSE = frozenset({"0", "false", "no", "f", "n", "0.0", ""})
# 1,234 and 1.234.567 and 1 234 and 1'234: groups of three.
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([,.' \u00a0\u202f])\d{3})(?:\1\d{3})*")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3})+")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:[. \u00a0\u202f]\d{3})+|\d+),\d+(?:[eE][+-]?\d+)?")
_ENGLISH = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+\.\d+")


def is_missing(value: object) -> bool:
    """Whether a cell holds nothing: not whether it says NA, which may be a name."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def to_text(value: object) -> str | None:
    """A cell as text, `None` for nothing: lists are joined, objects are JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return ", ".join(to_text(part) or "" for part in value)
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


def as_text(column: pd.Series) -> pd.Series:
    """A column as text, nothing where there is nothing; whole floats lose their .0.

    A column of whole numbers with gaps is often stored as floats: 7 must not become 7.0.
    """
    import pandas as pd

    if isinstance(column.dtype, (pd.StringDtype, pd.CategoricalDtype)):
        return column
    kind = column.dtype.kind
    if kind in "iubf":
        codes, labels = pd.factorize(column.to_numpy())
        texts = pd.Categorical.from_codes(codes, categories=_write_numbers(labels))
        return pd.Series(texts, index=column.index)
    return pd.Series([to_text(v) for v in column.tolist()], index=column.index, dtype=object)


def _write_numbers(values: NDArray[np.generic]) -> list[str]:
    if values.dtype.kind == "b":
        return ["true" if value else "false" for value in values.tolist()]
    if values.dtype.kind == "f" and bool((values == np.floor(values)).all()):
        # Whole up to infinity, which no whole number is.
        return [str(int(v)) if np.isfinite(v) else repr(float(v)) for v in values.tolist()]
    return [str(value) for value in values.tolist()]


def as_flags(column: pd.Series) -> NDArray[np.int8]:
    """1 where a column says yes, 0 where it says no or nothing, −1 where it is not plain."""
    import pandas as pd

    codes, labels = pd.factorize(as_text(column))
    spelled = [str(label).strip().casefold() for label in labels]
    found = [1 if s in _TRUE else 0 if s in _FALSE else -1 for s in spelled]
    table = np.array([*found, 0], dtype=np.int8)
    return np.asarray(table[codes])


def read_numbers(column: pd.Series) -> tuple[Floats, list[str]]:
    """A column as numbers, NaN where there is none, and what had to be made out.

    Thousands may be set apart (1,234 or 1.234 or 1 234) and decimals may follow a comma,
    where only one reading makes numbers of all values.

    Returns:
        The numbers, shape (rows,); and the texts that are no number, or that could be read
        in two ways ("1,234" among no others that tell).
    """
    import pandas as pd

    if column.dtype.kind in "iufb" and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=float, na_value=np.nan), []
    codes, labels = pd.factorize(as_text(column))
    texts = [str(label).strip() for label in labels]
    plain = np.array([_to_float(text) for text in texts], dtype=float)
    odd = [text for text, value in zip(texts, plain, strict=True) if np.isnan(value) and text]
    odd = [text for text in odd if text.lower() not in ("nan", "na", "null", "none")]
    wrong: list[str] = []
    if odd:
        plain, wrong = _read_marked(texts, plain)
    table = np.append(plain, np.nan)
    return np.asarray(table[codes]), wrong


def read_counts(column: pd.Series) -> tuple[Floats, list[str]]:
    """A column of whole numbers, where 1,234 and 1.234 can only mean one thing.

    Returns:
        As `read_numbers`.
    """
    import pandas as pd

    if column.dtype.kind in "iufb" and not isinstance(column.dtype, pd.CategoricalDtype):
        return read_numbers(column)
    codes, labels = pd.factorize(as_text(column))
    texts = [str(label).strip() for label in labels]
    dotted = [text for text in texts if _DOTTED.fullmatch(text)]
    if dotted and all(text.count(".") == 1 and text.endswith(".000") for text in dotted):
        return np.full(len(column), np.nan), dotted  # 1.000 may be one or a thousand
    plain = [re.sub(r"[,.' \u00a0\u202f]", "", t) if _GROUPED.fullmatch(t) else t for t in texts]
    table = np.append(np.array([_to_float(t) for t in plain], dtype=float), np.nan)
    grouped = any(a != b for a, b in zip(texts, plain, strict=True))
    return (table[codes], []) if grouped else read_numbers(column)


def _to_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _read_marked(texts: list[str], plain: Floats) -> tuple[Floats, list[str]]:
    """Numbers with marks in them, read one way for the whole column."""
    marked = [t for t, value in zip(texts, plain, strict=True) if np.isnan(value) and t]
    commas = [t for t in marked if _DECIMAL_COMMA.fullmatch(t) and not _GROUPED.fullmatch(t)]
    english = [
        t for t in marked if _ENGLISH.fullmatch(t) or re.fullmatch(r"[+-]?\d{1,3}(,\d{3}){2,}", t)
    ]
    both = [t for t in marked if "," in t and _GROUPED.fullmatch(t) and t.count(",") == 1]
    leading_zero = any(t.lstrip("+-").startswith("0,") for t in marked)
    if (commas or leading_zero) and not english:
        found = np.array([_to_float(_drop_groups(t, ".").replace(",", ".")) for t in texts])
    elif both and not english:
        return plain, both
    else:
        found = np.array([_to_float(_drop_groups(t, ",")) for t in texts])
    return found, [t for t, v in zip(texts, found, strict=True) if np.isnan(v) and t in marked]


def _drop_groups(text: str, mark: str) -> str:
    return re.sub(rf"(?<=\d)[{re.escape(mark)}' \u00a0\u202f](?=\d{{3}}(?:\D|$))", "", text)
