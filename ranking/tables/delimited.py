"""Columns of text from CSV and its kin, with every line that does not fit told."""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import UnreadableFile
from ranking.tables.dialects import Dialect, find_dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

_NUMBER = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")

__all__ = ["Delimited", "read_delimited"]


@dataclass(frozen=True)
class Delimited:
    """A divided text.

    Attributes:
        frame: Its columns by number, text as it stands ("" where nothing does); columns of
            nothing but numbers may be numbers, `as_text` has their text.
        dialect: How it was divided.
        ragged: Fields of the lines that have too few or too many, by row.
        data: The text.
        exact: Columns of numbers that are text in the frame already.
    """

    frame: pd.DataFrame
    dialect: Dialect
    ragged: dict[int, int]
    data: bytes
    exact: frozenset[int] = frozenset()

    def as_text(self, column: int) -> pd.Series:
        """A column exactly as it is written: 007, 3.10 and 19 digits stay what they are."""
        import pandas as pd

        series = self.frame[column]
        if isinstance(series.dtype, pd.StringDtype) or column in self.exact:
            return series
        return _parse(self.data, self.dialect, dtype={column: object}, only=[column])[column]


def read_delimited(
    data: bytes,
    *,
    separator: str | None = None,
    header: bool = True,
    is_text: Callable[[str], bool] = lambda _: False,
) -> Delimited:
    """Read the lines of a text.

    Args:
        data: UTF-8.
        separator: Where it is known.
        header: Whether the first line names the columns.
        is_text: Whether a column, by its name, will be wanted as text although it holds
            numbers. Any can be had as text; this saves going over the file a second time.

    Raises:
        UnreadableFile: No separator fits, or a quote is never closed.
    """
    import pandas as pd

    dialect = find_dialect(data, separator=separator, header=header)
    if not dialect.sample:
        empty = pd.DataFrame({n: pd.Series(dtype="str") for n in range(len(dialect.columns))})
        return Delimited(empty, dialect, {}, data)
    exact = frozenset(n for n, name in enumerate(dialect.columns) if is_text(name))
    try:
        frame = _parse(data, dialect, dtype=dict.fromkeys(exact & _find_numbers(dialect), object))
        suspect = _has_blanks(frame[frame.columns[-1]])
    except pd.errors.ParserError as error:
        if "EOF inside string" in str(error):
            raise UnreadableFile(_say_open_quote(error)) from None
        frame, suspect = None, True
    if frame is not None and not suspect and not _widths_differ(dialect):
        return Delimited(frame, dialect, {}, data, exact & _find_numbers(dialect))
    if frame is not None and _is_even(data[dialect.start :], dialect, rows=len(frame)):
        return Delimited(frame, dialect, {}, data, exact & _find_numbers(dialect))
    return _read_slowly(data, dialect)


def _find_numbers(dialect: Dialect) -> frozenset[int]:
    """Columns that hold nothing but numbers in the first lines."""
    columns = range(len(dialect.columns))
    return frozenset(
        n
        for n in columns
        if all(
            len(fields) <= n or _NUMBER.fullmatch(fields[n].strip()) for fields in dialect.sample
        )
    )


def _has_blanks(column: pd.Series) -> bool:
    """Whether a line may end early: its last field reads as nothing, as if it were empty."""
    import pandas as pd

    is_text = isinstance(column.dtype, pd.StringDtype) or column.dtype == object
    return is_text and bool((column == "").any())


def _parse(
    data: bytes,
    dialect: Dialect,
    *,
    dtype: dict[int, type] | None = None,
    only: list[int] | None = None,
) -> pd.DataFrame:
    import pandas as pd

    lines = io.BytesIO(data)
    lines.seek(dialect.start)
    with warnings.catch_warnings():
        # Parts of a column that look unlike each other: `as_text` reads it again as it stands.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        return pd.read_csv(
            lines,
            sep=dialect.separator,
            quotechar=dialect.quote,
            header=None,
            names=list(range(len(dialect.columns))),
            usecols=only,
            dtype=dtype,
            index_col=False,
            na_filter=False,
            skipinitialspace=True,
        )


def _widths_differ(dialect: Dialect) -> bool:
    return any(len(fields) != len(dialect.columns) for fields in dialect.sample)


def _say_open_quote(error: Exception) -> str:
    row = str(error).rsplit(" ", 1)[-1]
    return (
        f"a quote opens in row {row} (counted from 0, without a header) and is never closed. "
        "Close it; the file may also be cut off."
    )


def _is_even(lines: bytes, dialect: Dialect, *, rows: int) -> bool:
    """Whether every line has as many fields as there are columns."""
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = np.frombuffer(lines if lines.endswith(b"\n") else lines + b"\n", dtype=np.uint8)
    quote = ord(dialect.quote)
    outside = np.ones(len(text), dtype=bool)
    if dialect.quote.encode() in lines:
        outside = ~np.logical_xor.accumulate(text == quote)
    ends = np.flatnonzero((text == ord("\n")) & outside)
    separators = np.flatnonzero((text == ord(dialect.separator)) & outside)
    fields = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    lengths = np.diff(ends, prepend=-1) - 1
    fields = fields[lengths > 0]
    return len(fields) == rows and bool((fields == len(dialect.columns)).all())


def _read_slowly(data: bytes, dialect: Dialect) -> Delimited:
    """Field by field, where lines differ or the fast reader gave up."""
    import pandas as pd

    width = len(dialect.columns)
    ragged: dict[int, int] = {}
    rows: list[list[str]] = []
    for fields in _list_records(data, dialect):
        extra = fields[width:]
        if len(fields) < width or any(field.strip() for field in extra):
            ragged[len(rows)] = len(fields)
        rows.append([*fields[:width], *[""] * (width - len(fields))])
    columns = zip(*rows, strict=True) if rows else iter([()] * width)
    frame = pd.DataFrame({n: pd.Series(c, dtype="str") for n, c in enumerate(columns)})
    return Delimited(frame, dialect, ragged, data)


def _list_records(data: bytes, dialect: Dialect) -> Iterator[list[str]]:
    text = io.StringIO(data[dialect.start :].decode("utf-8", "replace"), newline="")
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        reader = csv.reader(
            text,
            delimiter=dialect.separator,
            quotechar=dialect.quote,
            skipinitialspace=True,
        )
        for fields in reader:
            if len(fields) > 1 or any(field.strip() for field in fields):
                yield fields
    finally:
        csv.field_size_limit(limit)
