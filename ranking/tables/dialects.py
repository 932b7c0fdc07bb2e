"""How a text is divided: separator, quotes, where the header is, what stands before it."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from ranking.errors import UnreadableFile

__all__ = ["SEPARATORS", "Dialect", "find_dialect", "name_separator", "read_separator"]

SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|"}
_NAMED = {**SEPARATORS, "space": " ", "\\t": "\t", "colon": ":"}
_SAMPLE_BYTES = 1 << 16
_SAMPLE_RECORDS = 200
_EXCEL_HINT = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


class _Record(NamedTuple):
    fields: list[str]
    start: int  # bytes from the beginning of the text
    end: int


@dataclass(frozen=True)
class Dialect:
    """How a file is divided into lines and columns.

    Attributes:
        separator: Between fields, one character.
        quote: Around fields.
        columns: Names as they stand, the n-th is "n" where there is no header.
        start: Byte at which the first line of values begins.
        sample: The first lines of values.
        notes: What was not plain to see.
    """

    separator: str
    quote: str
    columns: tuple[str, ...]
    start: int
    sample: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def read_separator(text: str) -> str:
    """A separator by its name, or itself.

    Raises:
        UnreadableFile: It is no single character.
    """
    found = _NAMED.get(text.strip().lower() or " ", text)
    if len(found) != 1 or found in '\r\n"':
        raise UnreadableFile(
            f'--separator "{text}" is no single character. Write for example '
            f"{', '.join(_NAMED)} or the character itself."
        )
    return found


def name_separator(separator: str) -> str:
    """What a person calls it."""
    names = {character: name for name, character in _NAMED.items() if name != "\\t"}
    return names.get(separator, f'"{separator}"')


def find_dialect(data: bytes, *, separator: str | None = None, header: bool = True) -> Dialect:
    """Find out how a text is divided.

    Args:
        data: UTF-8.
        separator: Where it is known.
        header: Whether the first line names the columns.

    Raises:
        UnreadableFile: No separator fits, or there is no line of values.
    """
    whole = len(data) <= _SAMPLE_BYTES
    text = data[:_SAMPLE_BYTES].decode("utf-8", "ignore")
    notes: list[str] = []
    lines = list(io.StringIO(text, newline=""))
    if not whole and len(lines) > 1:
        lines.pop()
    skipped, hinted = _read_excel_hint(lines)
    quote = _find_quote(lines[skipped:])
    if quote != '"':
        notes.append("fields are quoted by '")
    found = separator or hinted or _choose_separator(lines[skipped:], quote)
    offset = sum(len(line.encode()) for line in lines[:skipped])
    records = _split(lines[skipped:], found, quote, offset=offset)
    if not whole and len(records) > 1:
        records.pop()  # may be cut
    place, width = _find_header(records)
    if place:
        before = "; ".join(found.join(record.fields) for record in records[:place])[:80]
        notes.append(f'left out {place} line(s) before the names of the columns: "{before}"')
    columns, values, more = _name_columns(records[place:], width, header=header)
    start = records[place].end if header else records[place].start
    sample = tuple(tuple(record.fields) for record in values)
    return Dialect(found, quote, columns, start, sample, (*notes, *more))


def _read_excel_hint(lines: list[str]) -> tuple[int, str | None]:
    """Excel's own first line, such as sep=; before the names of the columns."""
    for number, line in enumerate(lines):
        if line.strip():
            match = _EXCEL_HINT.fullmatch(line.strip("\r\n"))
            return (number + 1, match[1]) if match else (0, None)
    return 0, None


def _find_quote(lines: list[str]) -> str:
    """Single quotes only where every field of the first line has them."""
    first = next((line.strip() for line in lines if line.strip()), "")
    parts = re.split(r"[,;\t|]", first)
    quoted = [re.fullmatch(r"\s*'[^']*'\s*", part) for part in parts]
    return "'" if len(parts) > 1 and all(quoted) else '"'


def _split(lines: list[str], separator: str, quote: str, *, offset: int = 0) -> list[_Record]:
    reader = csv.reader(lines, delimiter=separator, quotechar=quote, skipinitialspace=True)
    ends = [offset]
    for line in lines:
        ends.append(ends[-1] + len(line.encode()))
    records, before = [], 0
    for fields in reader:
        if any(field.strip() for field in fields):
            records.append(_Record(fields, ends[before], ends[reader.line_num]))
        before = reader.line_num
        if len(records) >= _SAMPLE_RECORDS:
            break
    return records


def _choose_separator(lines: list[str], quote: str) -> str:
    """The one that divides most lines alike into at least two fields."""
    best: tuple[float, int] = (0.0, 1)
    found = None
    for separator in SEPARATORS.values():
        widths = Counter(len(record.fields) for record in _split(lines, separator, quote))
        width, times = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        # The header of R's tables has one field less than their lines.
        near = times + sum(widths[w] for w in (width - 1, width + 1) if w > 1)
        fit = (round(near / max(sum(widths.values()), 1), 1), width)
        if width > 1 and fit > best:
            best, found = fit, separator
    if found is None:
        raise UnreadableFile(
            "no separator divides the lines into columns (looked for "
            f"{', '.join(SEPARATORS)}). Name it, such as --separator space."
        )
    return found


def _find_header(records: list[_Record]) -> tuple[int, int]:
    """Which record names the columns, and how many fields most lines have."""
    if not records:
        raise UnreadableFile("there are no lines. Name a file that holds a table.")
    widths = Counter(len(record.fields) for record in records)
    width = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
    fitting = (
        number
        for number, record in enumerate(records)
        if abs(len(record.fields) - width) <= 1 and len(record.fields) > 1
    )
    place = next(fitting, 0)
    # A line that begins with # is a remark, unless it names the columns itself.
    later = [r for r in records[place + 1 :] if len(r.fields) == width]
    if len(records[place].fields) != width and later and records[place].fields[0].startswith("#"):
        place = next(fitting, place)
    return place, width


def _name_columns(
    records: list[_Record], width: int, *, header: bool
) -> tuple[tuple[str, ...], list[_Record], list[str]]:
    values = records[1:] if header else records
    widest = max((len(record.fields) for record in values), default=0)
    if not header:
        return tuple(str(n + 1) for n in range(width)), values, ["no line names the columns"]
    names = [name.strip().strip("\ufeff") for name in records[0].fields]
    notes = []
    full = [record.fields for record in values if len(record.fields) >= width]
    if len(names) == width - 1 == widest - 1:
        if all(not fields[-1].strip() for fields in full):
            notes.append("lines end with a separator")
            names.append("")
        else:
            notes.append("the first column has no name (names of rows)")
            names.insert(0, "")
    elif names and not names[-1] and all(not f[-1].strip() for f in full if len(f) == len(names)):
        notes.append("lines end with a separator")
    return tuple(names), values, notes
