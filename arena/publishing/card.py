"""What an export says of itself: a dataset card, and Croissant metadata for machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from arena.publishing.files import describe_file
from arena.publishing.tables import TABLES
from arena.writing import format_markdown, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from arena.publishing.files import Manifest

CARD = "README.md"
CROISSANT = "croissant.json"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"),
          (10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B"))  # fmt: skip
_TYPES = {
    "text": "sc:Text", "whole": "sc:Integer", "number": "sc:Float", "time": "sc:DateTime",
    "truth": "sc:Boolean", "list": "sc:Text",
}  # fmt: skip


def write_descriptions(folder: Path, manifest: Manifest, rows: Mapping[str, int]) -> None:
    """Writes the card and the metadata beside the tables.

    Raises:
        OSError: the folder cannot be written.
    """
    write_whole(folder / CARD, describe_dataset(manifest, rows))
    told = describe_croissant(folder, manifest, rows)
    write_whole(folder / CROISSANT, json.dumps(told, ensure_ascii=False, indent=1) + "\n")


def describe_dataset(manifest: Manifest, rows: Mapping[str, int]) -> str:
    """A dataset card: front matter for the hub, then words and the data dictionary."""
    size = next((name for most, name in _SIZES if rows["votes"] < most), "n>1B")
    front = ["---", "license: other", "pretty_name: Votes of a preference arena",
             f"size_categories: [{size}]", "configs:"]  # fmt: skip
    for name in TABLES:
        front += [f"- config_name: {name}", "  data_files:", "  - split: train"]
        front += [f"    path: {name}.parquet", *(["  default: true"] if name == "votes" else [])]
    lines = [*front, "---", "", "# Votes of a preference arena", ""]
    counted = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in rows.items())
    lines += [
        f"{counted}. All that came before {manifest.extent['cut']}.",
        "",
        (
            "Every published number can be made again from these files: `arena verify` with the "
            "name of this folder does, without a database."
        ),
        "",
        *(f"- {note}" for note in manifest.notes),
        *(f"- Without {what}: {why}." for what, why in manifest.left_out.items()),
        *(f"- Masked: {number:,} of kind {kind}." for kind, number in manifest.masked.items()),
        "",
    ]
    for name, columns in TABLES.items():
        lines += [f"## {name}.parquet", ""]
        cells = [[f"`{column.name}`", column.kind, column.told] for column in columns]
        titles = ["column", "kind", "what"]
        lines += [*format_markdown(titles, cells, left=titles), ""]
    return "\n".join(lines)


def describe_croissant(folder: Path, manifest: Manifest, rows: Mapping[str, int]) -> dict[str, Any]:
    """Croissant 1.1 metadata (mlcommons.org/croissant)."""
    return {
        "@context": {
            "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/",
            "conformsTo": "dct:conformsTo", "recordSet": "cr:recordSet", "field": "cr:field",
            "source": "cr:source", "fileObject": "cr:fileObject", "extract": "cr:extract",
            "column": "cr:column", "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        },
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": "preference-arena",
        "description": "Votes on pairs of answers by chat models, and their leaderboards.",
        "datePublished": manifest.created_at,
        "version": manifest.versions["preference-arena"],
        "distribution": [
            {
                "@type": "cr:FileObject", "@id": f"{name}.parquet", "name": f"{name}.parquet",
                "contentUrl": f"{name}.parquet", "encodingFormat": "application/x-parquet",
                "sha256": describe_file(folder / f"{name}.parquet").sha256,
            }
            for name in rows
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet", "@id": name, "name": name,
                "field": [
                    {
                        "@type": "cr:Field", "@id": f"{name}/{column.name}", "name": column.name,
                        "description": column.told, "dataType": _TYPES[column.kind],
                        "source": {
                            "fileObject": {"@id": f"{name}.parquet"},
                            "extract": {"column": column.name},
                        },
                    }
                    for column in TABLES[name]
                ],
            }
            for name in rows
        ],
    }  # fmt: skip
