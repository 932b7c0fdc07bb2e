"""The files of an export: written whole, with their digests; and the manifest that lists them."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson

from arena.writing import draft_of, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    import pyarrow as pa

    from arena.publishing.tables import Column

MANIFEST = "manifest.json"
FORMAT = 1
_BLOCK = 1 << 16
# Rows of a row group: with answers of a few thousand characters some tens of megabytes.
_GROUP = 8_192


class ExportError(Exception):
    """An export cannot be written or read; the message names what and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """A file of an export.

    Attributes:
        rows: how many, `None` for what is no table.
        size: bytes.
        sha256: of the whole.
        blocks: the first 8 hexadecimal digits of the SHA-256 of each 64 KiB.
    """

    rows: int | None
    size: int
    sha256: str
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an export is, and all that it takes to make its numbers again.

    Attributes:
        files: by name.
        recipe: `ranking.Options` of every board, the seed included.
        extent: which part of the record, and the time from which on nothing is in it.
        counted: votes, battles, voters, models.
        buckets: of the counts, 0 where voters are too few for them.
        texts: whether texts are in it.
        masked: how many places were masked, by kind.
        left_out: what is not in it, and why.
        versions: of the program and of the libraries that wrote it.
        created_at: when.
    """

    files: Mapping[str, FileRecord]
    recipe: Mapping[str, Any]
    extent: Mapping[str, Any]
    counted: Mapping[str, int]
    buckets: int
    texts: bool
    masked: Mapping[str, int]
    left_out: Mapping[str, str]
    versions: Mapping[str, str]
    created_at: str
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"format": FORMAT, **asdict(self)}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an export.

    Raises:
        ExportError: the folder has none, or one of another kind.
    """
    path = folder / MANIFEST
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        number = told.pop("format")
        if number != FORMAT:
            raise ExportError(
                f"{path} is of format {number}, and this version reads {FORMAT}; use the version "
                f"that wrote it ({told.get('versions', {}).get('preference-arena', 'unknown')})"
            )
        files = {
            _plain_name(name): FileRecord(**{**record, "blocks": tuple(record["blocks"])})
            for name, record in told.pop("files").items()
        }
        return Manifest(files=files, **{**told, "notes": tuple(told["notes"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExportError(
            f"{path} is no manifest ({error}); name a folder that `arena export` wrote"
        ) from None


def _plain_name(name: str) -> str:
    """A file's name, and no way out of the folder: a manifest may come from a stranger."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise ValueError(f"it names {name!r}, which is no plain file")
    return name


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes it last: a folder without one is no export.

    Raises:
        OSError: the folder cannot be written.
    """
    text = json.dumps(manifest.to_dict(), ensure_ascii=False, indent=1, sort_keys=True)
    write_whole(folder / MANIFEST, text + "\n")


def describe_file(path: Path, rows: int | None = None) -> FileRecord:
    """Reads a file once for its digests.

    Raises:
        OSError: it cannot be read.
    """
    whole, blocks, size = hashlib.sha256(), [], 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            whole.update(block)
            blocks.append(hashlib.sha256(block).hexdigest()[:8])
            size += len(block)
    return FileRecord(rows=rows, size=size, sha256=whole.hexdigest(), blocks=tuple(blocks))


def find_changes(path: Path, record: FileRecord) -> list[str]:
    """In which bytes a file differs from what its manifest says, in words; nothing if equal."""
    if not path.is_file():
        return ["is missing"]
    found = describe_file(path)
    if found.sha256 == record.sha256:
        return []
    told = [] if found.size == record.size else [f"has {found.size:,} bytes, not {record.size:,}"]
    edges = [*range(0, max(found.size, record.size), _BLOCK), max(found.size, record.size)]
    for number, (start, end) in enumerate(pairwise(edges)):
        here = found.blocks[number : number + 1]
        if here != record.blocks[number : number + 1]:
            told.append(f"differs between byte {start:,} and {end - 1:,}")
    return told[:5] + (["and further on"] if len(told) > 5 else [])


def make_schema(columns: Sequence[Column], described: Mapping[str, str] | None = None) -> pa.Schema:
    """Arrow's types of a published table.

    Raises:
        ExportError: pyarrow is not installed.
    """
    pa = import_arrow()
    kinds = {
        "text": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "time": pa.timestamp("us", tz="UTC"),
        "truth": pa.bool_(),
        "list": pa.list_(pa.string()),
    }
    fields = [
        pa.field(column.name, kinds[column.kind], metadata={"description": column.told})
        for column in columns
    ]
    return pa.schema(fields, metadata=dict(described or {}))


def import_arrow() -> ModuleType:
    """Pyarrow.

    Raises:
        ExportError: it is not installed.
    """
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ExportError(
            "exports need pyarrow: pip install 'preference-arena[publishing]'"
        ) from None


@contextmanager
def writing_table(
    folder: Path, name: str, schema: pa.Schema, *, jsonl: bool
) -> Iterator[Callable[[Sequence[Sequence[Any]]], None]]:
    """Writes a table piece by piece, as Parquet and as JSON Lines if asked for.

    Args:
        folder: where.
        name: of the table.
        schema: of its columns.
        jsonl: also as JSON Lines.

    Yields:
        What takes the columns of the next rows.

    Raises:
        OSError: the folder cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        draft = stack.enter_context(draft_of(folder / f"{name}.parquet"))
        lines = None
        if jsonl:
            text = stack.enter_context(draft_of(folder / f"{name}.jsonl"))
            lines = stack.enter_context(text.open("wb"))
        writer = stack.enter_context(
            pq.ParquetWriter(draft, schema, compression="zstd", use_dictionary=True)
        )

        def write(columns: Sequence[Sequence[Any]]) -> None:
            arrays = [
                pa.array(values, type=field.type)
                for values, field in zip(columns, schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema), row_group_size=_GROUP)
            if lines is not None:
                for row in zip(*columns, strict=True):
                    line = dict(zip(schema.names, row, strict=True))
                    lines.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

        yield write


def read_columns(folder: Path, name: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a table of an export.

    Raises:
        ExportError: the file cannot be read.
    """
    pa = import_arrow()
    import pyarrow.parquet as pq

    path = folder / f"{name}.parquet"
    try:
        return pq.read_table(path, columns=list(columns), memory_map=True)
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise ExportError(f"{path} cannot be read ({reason}); export again") from None
