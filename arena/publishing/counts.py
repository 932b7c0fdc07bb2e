"""counts.parquet: votes by bucket of voters, one column of whole numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.publishing.files import ExportError, import_arrow, read_columns
from arena.writing import draft_of
from ranking.votes.buckets import BucketedCounts
from ranking.votes.comparisons import OUTCOMES

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

COUNTS = "counts.parquet"
_ORDER = "bucket, model_a, model_b, outcome; the last varies fastest"


def count_buckets(folder: Path, buckets: int) -> BucketedCounts | None:
    """Counts the votes of an export by the buckets of its voters.

    Args:
        folder: of the export.
        buckets: how many.

    Returns:
        The counts; `None` where there are no buckets, or no vote.
    """
    if not buckets:
        return None
    voters = read_columns(folder, "voters", ["voter", "bucket"])
    votes = read_columns(folder, "votes", ["voter", "model_a", "model_b", "winner", "counts"])
    votes = votes.filter(votes["counts"])
    if not votes.num_rows:
        return None
    bucket = _look_up(votes["voter"], voters["voter"], voters["bucket"])
    models = sorted(
        {*votes["model_a"].unique().to_pylist(), *votes["model_b"].unique().to_pylist()}
    )
    codes = [_encode(votes[name], models) for name in ("model_a", "model_b")]
    outcome = _encode(votes["winner"], list(OUTCOMES))
    return BucketedCounts.from_cells(models, buckets, (bucket, codes[0], codes[1], outcome))


def write_counts(folder: Path, counts: BucketedCounts) -> int:
    """Writes them, a row group a bucket; returns the number of rows.

    Raises:
        OSError: the folder cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    told = {
        "models": json.dumps(counts.models, ensure_ascii=False),
        "outcomes": json.dumps(OUTCOMES),
        "buckets": str(counts.buckets),
        "order": _ORDER,
    }
    schema = pa.schema([pa.field("count", pa.int64())], metadata=told)
    with (
        draft_of(folder / COUNTS) as draft,
        pq.ParquetWriter(
            draft, schema, compression="zstd", compression_level=9, use_dictionary=False
        ) as writer,
    ):
        for bucket in counts.count:
            values = pa.array(bucket.reshape(-1), type=pa.int64())
            writer.write_table(pa.table([values], schema=schema))
    return int(counts.count.size)


def read_counts(path: Path) -> BucketedCounts:
    """Reads what `write_counts` wrote.

    Raises:
        ExportError: it is something else, or damaged.
    """
    pa = import_arrow()
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        told: dict[bytes, Any] = table.schema.metadata or {}
        models = tuple(json.loads(told[b"models"]))
        if json.loads(told[b"outcomes"]) != list(OUTCOMES):
            raise ExportError(f"{path} counts other outcomes: {told[b'outcomes'].decode()}")
        shape = (int(told[b"buckets"]), len(models), len(models), len(OUTCOMES))
        return BucketedCounts(models, table["count"].to_numpy().reshape(shape))
    except (OSError, KeyError, ValueError, pa.ArrowInvalid) as error:
        raise ExportError(
            f"{path} holds no bucketed counts ({error}); name a counts.parquet of an export"
        ) from None


def _encode(column: pa.ChunkedArray, names: list[str]) -> NDArray[np.intp]:
    """The place of each name in a list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.index_in(column, value_set=pa.array(names)), dtype=np.intp)


def _look_up(
    column: pa.ChunkedArray, keys: pa.ChunkedArray, values: pa.ChunkedArray
) -> NDArray[np.intp]:
    """The value that stands beside each key."""
    import pyarrow.compute as pc

    places = pc.index_in(column, value_set=keys.combine_chunks())
    return np.asarray(values.take(places), dtype=np.intp)
