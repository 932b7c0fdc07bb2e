"""Times as seconds since 1970: stamps in any unit, ISO, dates; what is not plain is said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ranking.tables.cells import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Times", "read_times"]

# Sizes of stamps since 1973 in each unit, and what divides them to seconds.
_UNITS: tuple[tuple[float, float, str, float], ...] = (
    (1e8, 1e11, "seconds", 1.0),
    (1e11, 1e14, "milliseconds", 1e3),
    (1e14, 1e17, "microseconds", 1e6),
    (1e17, 1e20, "nanoseconds", 1e9),
)
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(.*)", re.DOTALL)
_SHORT_YEAR = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{2}(?!\d).*", re.DOTALL)
_COMPACT = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_ZONE = re.compile(r"(?:Z|UTC|GMT|[+-]\d\d:?\d\d)$", re.IGNORECASE)
_NOTHING = frozenset({"", "na", "nan", "none", "null", "nat", "n/a", "-"})


class Times(NamedTuple):
    """A column of times.

    Attributes:
        seconds: Since 1970, NaN where there is none, shape (rows,); `None` where the column
            is no column of times.
        kind: How it was read, such as "seconds since 1970".
        trouble: Why it was not read, "" if it was.
        doubt: Why it may be no time after all.
    """

    seconds: Floats | None
    kind: str = ""
    trouble: str = ""
    doubt: str = ""


def read_times(column: pd.Series) -> Times:
    """Read a column of times; nothing is guessed that could be two things."""
    import pandas as pd

    if column.dtype.kind in "iuf" and not isinstance(column.dtype, pd.CategoricalDtype):
        return _read_stamps(column.to_numpy(dtype=float))
    codes, labels = pd.factorize(as_text(column))
    texts = [str(label).strip() for label in labels]
    known = np.array([text.casefold() not in _NOTHING for text in texts], dtype=bool)
    numbers = np.array([_to_number(text) for text in texts])
    is_number = known & ~np.isnan(numbers)
    if not known.any():
        return Times(None, trouble="no row has a time")
    if is_number[known].all():
        found = _read_compact(texts, known) or _read_stamps(np.where(known, numbers, np.nan))
        return _spread(found, codes)
    written = [text for text, is_date in zip(texts, known & ~is_number, strict=True) if is_date]
    dates, kind, trouble = _read_dates(written)
    if trouble:
        return Times(None, trouble=trouble)
    seconds = np.full(len(texts), np.nan)
    seconds[known & ~is_number] = dates
    if is_number.any():
        stamps = _read_stamps(numbers[is_number])
        if stamps.seconds is None or stamps.doubt:
            return Times(None, trouble=stamps.trouble or stamps.doubt)
        seconds[is_number] = stamps.seconds
        kind = f"{kind}, and {stamps.kind}"
    return _spread(Times(seconds, kind), codes)


def _spread(found: Times, codes: NDArray[np.intp]) -> Times:
    if found.seconds is None:
        return found
    return found._replace(seconds=np.append(found.seconds, np.nan)[codes])


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _read_compact(texts: Sequence[str], known: NDArray[np.bool_]) -> Times | None:
    """20240814, if all are such."""
    dates = [text for text, is_known in zip(texts, known, strict=True) if is_known]
    if not all(_COMPACT.fullmatch(text) for text in dates):
        return None
    seconds = np.full(len(texts), np.nan)
    days = [f"{text[:4]}-{text[4:6]}-{text[6:]}" for text in dates]
    try:
        seconds[known] = np.array(days, dtype="datetime64[s]").astype(np.int64)
    except ValueError:
        return None
    return Times(seconds, "dates as YYYYMMDD, UTC")


def _read_stamps(values: Floats) -> Times:
    """Numbers whose size tells their unit."""
    size = np.abs(values)
    known = np.isfinite(values)
    seconds = np.full(len(values), np.nan)
    units = []
    for least, most, name, per_second in _UNITS:
        inside = known & (size >= least) & (size < most)
        if inside.any():
            units.append(name)
            seconds[inside] = values[inside] / per_second
    outside = known & np.isnan(seconds)
    if not known.any():
        return Times(None, trouble="no row has a time")
    if not units:
        example = f"{values[known][-1]:g} is no time since 1973 in any unit"
        return Times(values, "numbers that tell the order only", doubt=example)
    if outside.any():
        # Beside stamps of a known unit a small number is an early time in the same unit.
        if len(units) > 1:
            return Times(None, trouble=f"{values[outside][0]:g} may be of several units")
        seconds[outside] = values[outside] / next(u[3] for u in _UNITS if u[2] == units[0])
    return Times(seconds, f"{' and '.join(units)} since 1970")


def _read_dates(texts: Sequence[str]) -> tuple[Floats, str, str]:
    """Dates and times as people and programs write them; without a zone they are UTC."""
    import pandas as pd

    short = next((text for text in texts if _SHORT_YEAR.fullmatch(text)), None)
    if short is not None:
        return np.empty(0), "", f'"{short}" has a year of two digits'
    slashed = [_SLASHED.fullmatch(text) for text in texts]
    kind = "ISO 8601"
    if any(slashed):
        order = _find_order([m for m in slashed if m is not None])
        if order is None:
            return (
                np.empty(0),
                "",
                (f'"{next(m[0] for m in slashed if m is not None)}" may be day/month or month/day'),
            )
        texts = [t if m is None else _turn(m, order) for t, m in zip(texts, slashed, strict=True)]
        kind = f"{order}/year"
    zones = [bool(_ZONE.search(text)) for text in texts]
    try:
        stamps = pd.to_datetime(pd.Series(texts, dtype="str"), utc=True, format="ISO8601")
    except (ValueError, OverflowError):
        try:
            stamps = pd.to_datetime(pd.Series(texts, dtype="str"), utc=True, format="mixed")
        except (ValueError, OverflowError):
            return np.empty(0), "", f'"{_find_bad(texts)}" is no time'
        kind = "times in several forms"
    seconds = (stamps - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    zone = "" if all(zones) else ", UTC where no zone is named" if any(zones) else ", taken for UTC"
    return seconds.to_numpy(dtype=float), kind + zone, ""


def _find_order(matches: list[re.Match[str]]) -> str | None:
    first = max(int(match[1]) for match in matches)
    second = max(int(match[3]) for match in matches)
    if first > 12 >= second:
        return "day/month"
    return "month/day" if second > 12 >= first else None


def _turn(match: re.Match[str], order: str) -> str:
    first, second, year, rest = int(match[1]), int(match[3]), match[4], match[5].strip()
    day, month = (first, second) if order == "day/month" else (second, first)
    return f"{year}-{month:02d}-{day:02d}{f' {rest}' if rest else ''}"


def _find_bad(texts: Sequence[str]) -> str:
    import pandas as pd

    parsed = pd.to_datetime(
        pd.Series(texts, dtype="str"), utc=True, format="mixed", errors="coerce"
    )
    return next((t for t, bad in zip(texts, parsed.isna(), strict=True) if bad), texts[0])
