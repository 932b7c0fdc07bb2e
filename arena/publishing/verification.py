"""`arena verify`: every published number once more, from the files of an export alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from arena.leaderboards.recipe import Recipe
from arena.publishing.boards import LEADERBOARDS, rank_export
from arena.publishing.counts import COUNTS, count_buckets, read_counts
from arena.publishing.files import (
    ExportError,
    find_changes,
    import_arrow,
    read_columns,
    read_manifest,
)
from arena.publishing.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.publishing.files import Manifest

_MOST = 10


def verify_export(folder: Path, *, threads: int | None = None) -> list[str]:
    """What differs from what was published, in sentences; nothing if all is equal.

    Args:
        folder: that `arena export` wrote.
        threads: of the bootstrap.

    Raises:
        ExportError: it is no export.
    """
    import_arrow()
    manifest = read_manifest(folder)
    changed = list(_compare_files(folder, manifest))
    if changed:
        return changed  # numbers from files that are others would only tell the same again
    return [
        *_compare_rows(folder, manifest),
        *_compare_votes(folder),
        *_compare_draws(folder),
        *_compare_counts(folder, manifest),
        *_compare_boards(folder, manifest, threads),
    ]


def _compare_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    for name, record in manifest.files.items():
        for change in find_changes(folder / name, record):
            yield f"{name} {change}"


def _compare_rows(folder: Path, manifest: Manifest) -> Iterator[str]:
    import pyarrow.parquet as pq

    for name in TABLES:
        rows = pq.read_metadata(folder / f"{name}.parquet").num_rows
        if rows != manifest.counted[name]:
            yield f"{name}.parquet has {rows:,} rows; {manifest.counted[name]:,} were published"


def _compare_votes(folder: Path) -> Iterator[str]:
    """Whether just those votes count that have no reason against it."""
    keys = ["battle_id", "voter"]
    out = read_columns(folder, "exclusions", [*keys, "lifted_at"]).to_pylist()
    excluded = {(row["battle_id"], row["voter"]) for row in out if row["lifted_at"] is None}
    kinds = read_columns(folder, "voters", ["voter", "kind"])
    others = {row["voter"] for row in kinds.to_pylist() if row["kind"] != "crowd"}
    table = read_columns(folder, "votes", [*keys, "retracted_at", "counts"])
    wrong = 0
    for batch in table.to_batches(max_chunksize=65_536):
        for row in batch.to_pylist():
            is_out = (row["battle_id"], row["voter"]) in excluded or row["voter"] in others
            wrong += row["counts"] != (row["retracted_at"] is None and not is_out)
    if wrong:
        yield f"votes.parquet: {wrong:,} votes count, or do not, against their exclusions"


def _compare_draws(folder: Path) -> Iterator[str]:
    keys = ["policy", "policy_version", "model_a", "model_b"]
    battles = read_columns(folder, "battles", keys).group_by(keys).aggregate([([], "count_all")])
    drawn = {tuple(row[k] for k in keys): row["count_all"] for row in battles.to_pylist()}
    told = read_columns(folder, "draws", [*keys, "battles"]).to_pylist()
    if drawn != {tuple(row[k] for k in keys): row["battles"] for row in told}:
        yield "draws.parquet tells other numbers of battles than battles.parquet has"
    sides: Counter[str] = Counter()
    for (_, _, a, b), number in drawn.items():
        sides.update({a: number, b: number})
    models = read_columns(folder, "models", ["name", "battles"]).to_pylist()
    if dict(sides) != {row["name"]: row["battles"] for row in models}:
        yield "models.parquet tells other numbers of battles than battles.parquet has"


def _compare_counts(folder: Path, manifest: Manifest) -> Iterator[str]:
    counts = count_buckets(folder, manifest.buckets)
    if counts is None:
        if COUNTS in manifest.files:
            yield f"{COUNTS} is there, and nothing to count"
        return
    told = read_counts(folder / COUNTS)
    if told.models != counts.models or (told.count != counts.count).any():
        yield f"{COUNTS} counts other votes than votes.parquet has"


def _compare_boards(folder: Path, manifest: Manifest, threads: int | None) -> Iterator[str]:
    try:
        recipe = Recipe.from_snapshot(manifest.recipe)
        told = json.loads((folder / LEADERBOARDS).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError) as error:
        raise ExportError(f"{folder} cannot be verified ({error}); export again") from None
    again = rank_export(folder, recipe, buckets=manifest.buckets, threads=threads)
    differences = list(_find_differences("", told, json.loads(json.dumps(again))))
    for place, one, two in differences[:_MOST]:
        yield f"{LEADERBOARDS}{place}: published {one!r}, recomputed {two!r}"
    if len(differences) > _MOST:
        yield f"{LEADERBOARDS}: {len(differences) - _MOST:,} more differ"


def _find_differences(place: str, one: object, two: object) -> Iterator[tuple[str, object, object]]:
    """Where two JSON values differ; numbers to the last bit."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted({*one, *two}):
            yield from _find_differences(f"{place}.{key}", one.get(key), two.get(key))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, (first, second) in enumerate(zip(one, two, strict=True)):
            yield from _find_differences(f"{place}[{number}]", first, second)
    elif json.dumps(one) != json.dumps(two):  # NaN is no value that is equal to itself
        yield place, one, two
