"""One reader for every kind of file: columns by name, and a report of how they were read."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.checks import is_table, take_path
from ranking.errors import UnreadableFile
from ranking.tables.cells import as_text, is_missing
from ranking.tables.delimited import read_delimited
from ranking.tables.dialects import name_separator, read_separator
from ranking.tables.encodings import decode
from ranking.tables.json_files import JsonRows, NotJson, read_json
from ranking.tables.parquet import PARQUET_MARK, Parquet
from ranking.tables.sources import Source, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    import pandas as pd

__all__ = [
    "FileFacts",
    "FileOptions",
    "Table",
    "fold_column",
    "open_source",
    "open_table",
    "wrap_frame",
]

_START = 4_096
_DELIMITED = (".csv", ".tsv", ".tab", ".psv", ".txt", ".dat")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """What a person says of a file.

    Attributes:
        encoding: As Python names it.
        separator: Between columns.
        header: Whether the first line names the columns.
    """

    encoding: str | None = None
    separator: str | None = None
    header: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """How a file was read.

    Attributes:
        name: Of the file.
        kind: CSV, JSON Lines and so on.
        packed: How it was packed, "" if it was not.
        encoding: Of the text, "" where there is none.
        separator: Between columns, "" where there is none.
        rows: How many there are.
        notes: What was guessed or made out.
    """

    name: str
    kind: str
    packed: str = ""
    encoding: str = ""
    separator: str = ""
    rows: int = 0
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """All of it but the notes, in one line."""
        parts = [self.kind]
        if self.separator:
            parts.append(f"separator {self.separator}")
        parts += [part for part in (self.encoding, self.packed) if part]
        return f"{self.name}: {', '.join(parts)}; {self.rows:,} row{'s' * (self.rows != 1)}"


@dataclass(frozen=True)
class Table:
    """A file as named columns.

    Attributes:
        columns: Names, each once; a name that stands twice is followed by its place: "vote (3)".
        facts: How it was read.
        broken: What is wrong with a row, by its number from 0.
    """

    columns: tuple[str, ...]
    facts: FileFacts
    broken: dict[int, str]
    _read: Callable[[str], pd.Series] = field(repr=False)
    _text: Callable[[str], pd.Series] = field(repr=False)
    repeated: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.facts.rows

    def read(self, name: str) -> pd.Series:
        """A column as it is: text, numbers, or nested values."""
        return self._read(name)

    def read_text(self, name: str) -> pd.Series:
        """A column as text, exactly as it is written."""
        return self._text(name)

    def list_rows(self) -> list[dict[str, Any]]:
        """Rows by name of column, without the cells that hold nothing; numbers are text."""
        columns = {name: self._list_cells(name) for name in self.columns}
        return [
            {name: cells[row] for name, cells in columns.items() if not is_missing(cells[row])}
            for row in range(len(self))
        ]

    def _list_cells(self, name: str) -> list[Any]:
        column = self.read(name)
        if column.dtype.kind in "iufb":
            column = self.read_text(name)
        cells = [c.tolist() if isinstance(c, np.ndarray) else c for c in column.tolist()]
        return [None if self.facts.separator and cell == "" else cell for cell in cells]

    def find_column(self, name: str) -> str | None:
        """A column by its name, or by its place from 1 on; `None` if there is none."""
        if name in self.columns:
            return name
        if name in self.repeated:
            return None
        if name.isdigit() and 1 <= int(name) <= len(self.columns):
            return self.columns[int(name) - 1]
        return None

    def find_broken(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows could not be read, shape (rows,)."""
        found = np.zeros(len(self), dtype=bool)
        found[list(self.broken)] = True
        return found


def fold_column(name: str) -> str:
    """A name as it is looked up: ModelA, "model a" and MODEL-A are model_a."""
    text = unicodedata.normalize("NFKC", name).strip()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"[\s_\-]+", "_", apart.casefold()).strip("_")


def open_table(
    path: str | Path | pd.DataFrame,
    options: FileOptions | None = None,
    *,
    prefer: str = "",
    texts: Collection[str] = (),
) -> Table:
    """Read a file of whatever kind.

    Args:
        path: Of the file, "-" for standard input; or a table that is already read.
        options: What is known of it.
        prefer: Which list of a JSON object is the table, if there are several.
        texts: Folded names of columns that will be wanted as text. Any can be had as text; a
            long file is read faster where they are known.

    Raises:
        OSError: It cannot be opened.
        UnreadableFile: It is no table, or it is not plain how to read it.
        RankingError: A reader for it is not installed.
    """
    if is_table(path):
        return wrap_frame(path)
    return open_source(read_source(take_path(path)), options, prefer=prefer, texts=texts)


def open_source(
    source: Source,
    options: FileOptions | None = None,
    *,
    prefer: str = "",
    texts: Collection[str] = (),
) -> Table:
    """The same from bytes that are already there; see `open_table`."""
    given = options or FileOptions()
    if source.data.startswith(PARQUET_MARK):
        return _open_parquet(source)
    decoded = decode(source.data, given.encoding)
    notes = (decoded.note,) if decoded.note else ()
    facts = FileFacts(
        name=source.name, kind="", packed=source.packed, encoding=decoded.encoding, notes=notes
    )
    if decoded.utf8[:_START].lstrip()[:1] in (b"{", b"["):
        try:
            return _open_json(decoded.utf8, facts, prefer)
        except NotJson:
            if source.suffix not in _DELIMITED:
                raise  # in a table the first name may begin with a bracket
    if source.suffix in (".json", ".jsonl", ".ndjson"):
        raise UnreadableFile(
            "this is not JSON: it begins with neither { nor [. Correct the file, or give its name "
            "the ending of what it is, such as .csv."
        )
    if source.suffix == ".parquet":
        raise UnreadableFile("this is not Parquet. Fetch the file again.")
    return _open_delimited(decoded.utf8, facts, given, suffix=source.suffix, texts=texts)


def wrap_frame(frame: pd.DataFrame) -> Table:
    """A table that is already read: names that are numbers become text."""
    columns, repeated = _name_once([str(name) for name in frame.columns])
    place = {name: number for number, name in enumerate(columns)}

    def read(name: str) -> pd.Series:
        return frame.iloc[:, place[name]].reset_index(drop=True)

    facts = FileFacts(name="a DataFrame", kind="pandas", rows=len(frame))
    return Table(columns, facts, {}, read, lambda name: as_text(read(name)), repeated)


def _open_delimited(
    data: bytes, facts: FileFacts, given: FileOptions, *, suffix: str, texts: Collection[str]
) -> Table:
    wanted = None if given.separator is None else read_separator(given.separator)
    if wanted is None and suffix in (".tsv", ".tab") and b"\t" in data:
        wanted = "\t"
    text = read_delimited(
        data,
        separator=wanted,
        header=given.header,
        is_text=lambda name: fold_column(name) in texts,
    )
    columns, repeated = _name_once(text.dialect.columns)
    place = {name: number for number, name in enumerate(columns)}
    width = len(columns)
    broken = {
        row: f"the line has {fields} fields instead of {width}"
        for row, fields in text.ragged.items()
    }
    facts = _add(
        facts,
        kind="CSV" if text.dialect.separator == "," else "text",
        separator=name_separator(text.dialect.separator),
        rows=len(text.frame),
        notes=text.dialect.notes,
    )
    return Table(
        columns, facts, broken,
        lambda name: text.frame[place[name]],
        lambda name: text.as_text(place[name]),
        repeated,
    )  # fmt: skip


def _add(facts: FileFacts, *, notes: Sequence[str] = (), **changes: Any) -> FileFacts:  # noqa: ANN401
    return replace(facts, notes=(*facts.notes, *notes), **changes)


def _name_once(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names, each once, and those that stand more than once."""
    repeated = tuple(dict.fromkeys(n for n in names if names.count(n) > 1 and n))
    found = tuple(
        f"{name} ({place})" if name in repeated else name or f"({place})"
        for place, name in enumerate(names, start=1)
    )
    return found, repeated


def _open_json(data: bytes, facts: FileFacts, prefer: str) -> Table:
    found = read_json(data.decode("utf-8", "replace"), prefer=prefer)
    facts = _add(facts, kind=found.kind, rows=len(found.rows))
    names = dict.fromkeys(name for row in found.rows if row is not None for name in row)
    columns = _flatten_names(found, list(names))

    def read(name: str) -> pd.Series:
        import pandas as pd

        cells = np.empty(len(found.rows), dtype=object)
        cells[:] = [_look_up(row, name) for row in found.rows]
        return pd.Series(cells)

    return Table(columns, facts, found.broken, read, lambda name: as_text(read(name)))


def _flatten_names(found: JsonRows, names: list[str]) -> tuple[str, ...]:
    """The names of columns, those of objects within them too: vote.winner."""
    inner: dict[str, None] = {}
    for row in found.rows[:100]:
        for name in names:
            cell = None if row is None else row.get(name)
            if isinstance(cell, dict):
                inner.update((f"{name}.{key}", None) for key in cell)
    return (*names, *(name for name in inner if name not in names))


def _look_up(row: dict[str, Any] | None, name: str) -> Any:  # noqa: ANN401  any JSON
    if row is None:
        return None
    if name in row or "." not in name:
        return row.get(name)
    outer, _, inner = name.partition(".")
    cell = row.get(outer)
    return cell.get(inner) if isinstance(cell, dict) else None


def _open_parquet(source: Source) -> Table:
    file = Parquet(source.data)
    facts = FileFacts(name=source.name, kind="Parquet", packed=source.packed, rows=len(file))
    columns, repeated = _name_once(file.columns)
    return Table(columns, facts, {}, file.read, lambda name: as_text(file.read(name)), repeated)
