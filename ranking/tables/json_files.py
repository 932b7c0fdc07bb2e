"""Rows from JSON in the shapes that programs write, numbers kept as they are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ranking.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["JsonRows", "NotJson", "read_json"]

_WHITESPACE = " \t\r\n,"


class NotJson(UnreadableFile):
    """A text that is no JSON at all."""


class JsonRows(NamedTuple):
    """Rows of a JSON file.

    Attributes:
        rows: By name of column; numbers as text, `None` for a line that could not be read.
        kind: Which shape the file has, as a person calls it.
        broken: What is wrong with a line, by row.
    """

    rows: list[dict[str, Any] | None]
    kind: str
    broken: dict[int, str]


def read_json(text: str, *, prefer: str = "") -> JsonRows:
    """Read a file of JSON, or of a JSON value a line.

    Args:
        text: Of the file.
        prefer: Which list of an object is the table, if there are several.

    Raises:
        UnreadableFile: It is not JSON, or it is not plain which part of it is the table.
    """
    try:
        content = _load(text)
    except ValueError as error:
        return _read_lines(text, error)
    if isinstance(content, list):
        return _read_list(content, "JSON")
    if isinstance(content, dict):
        return _read_object(content, prefer)
    raise UnreadableFile(_say_shape("a single value"))


def _load(text: str) -> Any:  # noqa: ANN401  any JSON
    return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)


def _say_shape(what: str) -> str:
    return (
        f"this JSON is {what}, not a table. Write a list of objects, or an object a line "
        "(JSON Lines)."
    )


def _read_lines(text: str, error: ValueError) -> JsonRows:
    """JSON Lines; where the values are spread over lines, one after the other."""
    lines = [line for line in text.split("\n") if line.strip()]
    first = _try(lines[0])
    if first is None:
        values = _read_spread(text, error)
        return _read_list(values, "JSON values in a row")
    found: list[Any] = []
    broken: dict[int, str] = {}
    for line in lines:
        try:
            value = _load(line)
        except ValueError as wrong:
            broken[len(found)] = f"the line is not JSON ({wrong})"
            value = None
        found.append(value)
    if len(broken) > len(found) / 2:
        return _read_list(_read_spread(text, error), "JSON values in a row")
    return _read_list(found, "JSON Lines", broken)


def _try(line: str) -> Any:  # noqa: ANN401  any JSON
    try:
        return _load(line)
    except ValueError:
        return None


def _say_not_json(error: ValueError) -> str:
    return f"this is not JSON ({error}). Correct the file, or fetch it again if it was cut off."


def _read_spread(text: str, error: ValueError) -> list[Any]:
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    values: list[Any] = []
    place = 0
    while True:
        while place < len(text) and text[place] in _WHITESPACE:
            place += 1
        if place == len(text):
            return values
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            raise NotJson(_say_not_json(error)) from None
        values.append(value)


def _read_list(
    values: Sequence[Any], kind: str, broken: Mapping[int, str] | None = None
) -> JsonRows:
    bad = dict(broken or {})
    kept = [value for number, value in enumerate(values) if number not in bad]
    if not kept:
        raise UnreadableFile("the list is empty. Name a file that holds a table.")
    if all(isinstance(value, dict) for value in kept):
        return JsonRows(list(values), f"{kind}, an object a row", bad)
    if all(isinstance(value, list) for value in kept):
        if len(kept) == 1 and kind == "JSON Lines":
            return _read_list(kept[0], kind)
        return JsonRows(list(_name_cells(values)), f"{kind}, a list a row", bad)
    if len(kept) == 1 and isinstance(kept[0], dict):
        return _read_object(kept[0])
    raise UnreadableFile(_say_shape("a list of different things"))


def _name_cells(values: Sequence[Any]) -> Iterator[dict[str, Any] | None]:
    """Rows of cells; the first row names them where all its cells are texts."""
    first = values[0]
    names = [str(n + 1) for n in range(max(len(v) for v in values if v is not None))]
    if all(isinstance(cell, str) and not _is_number(cell) for cell in first):
        names, values = first, values[1:]
    for value in values:
        yield None if value is None else dict(zip(names, value, strict=False))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_object(content: dict[str, Any], prefer: str = "") -> JsonRows:
    """An object: of columns, of rows, of parts as pandas writes it, or around a list."""
    if {"columns", "data"} <= set(content) and isinstance(content["data"], list):
        rows = [dict(zip(content["columns"], row, strict=False)) for row in content["data"]]
        return JsonRows(list(rows), "JSON, columns and data", {})
    lists = {
        name: value
        for name, value in content.items()
        if isinstance(value, list) and value and all(isinstance(v, dict) for v in value)
    }
    if len(lists) == 1 or prefer in lists:
        name = prefer if prefer in lists else next(iter(lists))
        return JsonRows(list(lists[name]), f'JSON, the list "{name}"', {})
    if len(lists) > 1:
        names = ", ".join(lists)
        raise UnreadableFile(f"this JSON holds several lists: {names}. Write one to a file.")
    values = list(content.values())
    if values and all(isinstance(value, list) for value in values):
        return _turn_columns({name: dict(enumerate(v)) for name, v in content.items()})
    if values and all(isinstance(value, dict) for value in values):
        return _read_nested(content)
    if any(isinstance(value, (str, list, dict)) for value in values):
        return JsonRows([content], "JSON, one object", {})
    raise UnreadableFile(_say_shape("an object"))


def _read_nested(content: dict[str, dict[str, Any]]) -> JsonRows:
    """Objects in an object: columns of rows (their keys are alike and numbers) or rows."""
    outer, inner = list(content), list(next(iter(content.values())))
    if len(content) == 1 and all(isinstance(v, (list, dict)) for v in content[outer[0]].values()):
        deeper = _read_object(content[outer[0]])
        return deeper._replace(kind=f'{deeper.kind} in "{outer[0]}"')
    numbered = all(_is_number(name) for name in inner)
    if numbered and not all(_is_number(name) for name in outer):
        return _turn_columns(content)
    return JsonRows(list(content.values()), "JSON, an object a row under its name", {})


def _turn_columns(columns: Mapping[str, Mapping[Any, Any]]) -> JsonRows:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise UnreadableFile(f"columns of different lengths: {lengths}. Correct the file.")
    keys = list(next(iter(columns.values())))
    rows = [{name: column.get(key) for name, column in columns.items()} for key in keys]
    return JsonRows(list(rows), "JSON, a list a column", {})
