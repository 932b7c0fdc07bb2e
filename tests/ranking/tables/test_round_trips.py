"""A table written in any dialect is read back as it was."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from ranking.tables.table import FileOptions, open_table

# Printable cells, among them those that a reader may take for something else.
TRICKY = st.sampled_from(
    ["007", "7", "3.10", "1e5", "NA", "null", "True", "-", "1,5", 'say "hi"', "a;b", "a|b", "é",
     "汉", "line\nbreak", "9007199254740993", "0x1F", "inf", "2024-01-01", "'x'", "#no", "{}",
     "[1]"]
)  # fmt: skip
WORD = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters='"\x7f\x85\xa0\xad'),
    min_size=1,
    max_size=8,
)
CELL = TRICKY | WORD
NAMES = ("model_a", "model_b", "winner", "note")
ROWS = st.lists(st.tuples(CELL, CELL, CELL, CELL), min_size=1, max_size=12)


def read(name: str, data: bytes, options: FileOptions | None = None) -> list[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        table = open_table(path, options)
        assert table.columns == NAMES
        assert table.broken == {}
        columns = [table.read_text(column).tolist() for column in NAMES]
    return list(zip(*columns, strict=True))


@settings(max_examples=150, deadline=None)
@given(
    rows=ROWS,
    separator=st.sampled_from([",", ";", "\t", "|"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_a_table_in_any_dialect_is_read_back(
    rows: list[tuple[str, ...]], separator: str, ending: str, quoting: Literal[0, 1], encoding: str
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=ending, quoting=quoting)
    writer.writerows([NAMES, *rows])
    data = text.getvalue().encode(encoding)
    named = FileOptions(separator=separator)
    assert read("votes.csv", data, named) == rows


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, separator=st.sampled_from([",", ";", "\t", "|"]))
def test_a_quoted_table_is_read_back_without_being_told_its_separator(
    rows: list[tuple[str, ...]], separator: str
) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([NAMES, *rows])
    assert read("votes.txt", text.getvalue().encode()) == rows


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, shape=st.sampled_from(["list", "lines", "columns", "cells"]))
def test_json_in_any_shape_is_read_back(rows: list[tuple[str, ...]], shape: str) -> None:
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    written = {
        "list": json.dumps(records),
        "lines": "\n".join(map(json.dumps, records)),
        "columns": json.dumps({name: [r[name] for r in records] for name in NAMES}),
        "cells": json.dumps([NAMES, *rows]),
    }[shape]
    assert read("votes.json", written.encode()) == rows
