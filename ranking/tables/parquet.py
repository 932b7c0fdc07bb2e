"""Columns from Parquet: exact text of numbers, decimals and times, never by way of floats."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ranking.errors import RankingError, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARQUET_MARK", "Parquet"]

PARQUET_MARK = b"PAR1"


class Parquet:
    """A Parquet file, whose columns are read when they are asked for."""

    def __init__(self, data: bytes) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise RankingError("Parquet needs pyarrow: pip install pyarrow") from error
        try:
            schema = pq.read_schema(io.BytesIO(data))
            strings = [field.name for field in schema if pa.types.is_string(field.type)]
            # Strings stay numbers and a list of distinct ones, as they lie in the file.
            self._file = pq.ParquetFile(io.BytesIO(data), read_dictionary=strings)
        except (pa.ArrowInvalid, OSError) as error:
            reason = str(error).splitlines()[0]
            raise UnreadableFile(f"damaged Parquet ({reason}). Fetch the file again.") from None
        nested = [
            f"{field.name}.{inner.name}"
            for field in schema
            if pa.types.is_struct(field.type)
            for inner in field.type
        ]
        self._own = tuple(schema.names)
        self.columns: tuple[str, ...] = (*self._own, *(n for n in nested if n not in self._own))

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def read(self, name: str) -> pd.Series:
        """A column: texts, whole numbers and floats as they are, all else as text.

        Strings come as categories: a table of votes holds few of them many times. The fields
        of a struct are columns of their own, such as vote.winner.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if name in self._own:
            return _to_pandas(self._file.read(columns=[name]).column(name), pa)
        outer, _, inner = name.partition(".")
        whole = self._file.read(columns=[outer]).column(outer)
        return _to_pandas(pc.struct_field(whole, inner), pa)


def _to_pandas(column: Any, pa: Any) -> pd.Series:  # noqa: ANN401  pyarrow has no types
    """Strings as categories; decimals and times as text; nested values as they are."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_string(kind.value_type):
            return _to_categories(column)
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.dictionary_encode().to_pandas()
    if pa.types.is_decimal(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return column.cast(pa.string()).dictionary_encode().to_pandas()
    if pa.types.is_timestamp(kind):
        return _write_times(column, pa)
    if pa.types.is_integer(kind) and column.null_count:
        return column.cast(pa.string()).dictionary_encode().to_pandas()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _read_binary(column, pa)
    return column.to_pandas()


def _to_categories(column: Any) -> pd.Series:  # noqa: ANN401  pyarrow has no types
    """Strings that are numbered in the file, without a check of each number."""
    import numpy as np
    import pandas as pd

    whole = column.unify_dictionaries().combine_chunks()
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    names = whole.dictionary.to_pylist()
    if len(set(names)) < len(names) or None in names:
        return column.cast("string").dictionary_encode().to_pandas()
    numbers = np.asarray(codes, dtype=np.int32)
    return pd.Series(pd.Categorical.from_codes(numbers, names, validate=False))


def _write_times(column: Any, pa: Any) -> pd.Series:  # noqa: ANN401  pyarrow has no types
    """Seconds since 1970 as numbers: what a stamp is, with a zone or without."""
    import pyarrow.compute as pc

    unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    return pc.divide(column.cast(pa.int64()).cast(pa.float64()), unit).to_pandas()


def _read_binary(column: Any, pa: Any) -> pd.Series:  # noqa: ANN401  pyarrow has no types
    try:
        return column.cast(pa.string()).to_pandas()
    except pa.ArrowInvalid:
        return column.to_pandas().map(lambda value: None if value is None else value.hex())
