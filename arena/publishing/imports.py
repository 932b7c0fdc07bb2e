"""`arena import`: battles of public data sets and of exports, into a database of our own."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from arena.publishing.files import import_arrow, read_columns, read_manifest
from arena.publishing.layouts import BadRow, PublicRow, find_layout, read_rows
from arena.publishing.tables import TABLES
from arena.store.imported_rows import ImportedBattle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from arena.store import Store

__all__ = ["ImportReport", "import_file", "read_battles"]

_UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_TOLD = 1_000


@dataclass(slots=True)
class ImportReport:
    """What became of the rows of a file.

    Attributes:
        layout: how it was read.
        source: what its battles are marked with.
        added: battles that are new.
        known: battles that were there already.
        rejected: number of rows by reason.
        rows: the first thousand of them: the row, from 1, and the reason.
    """

    layout: str
    source: str
    added: int = 0
    known: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[int, str]] = field(default_factory=list)

    def reject(self, row: int, reason: str) -> None:
        """Notes a row that cannot be a battle."""
        self.rejected[reason] += 1
        if len(self.rows) < _MOST_TOLD:
            self.rows.append((row, reason))


def import_file(
    store: Store,
    path: Path,
    *,
    source: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> ImportReport:
    """Records the battles of a file; those that are there already are left as they are.

    Args:
        store: the record.
        path: a file in a public layout, or the folder of an export.
        source: what they are marked with; the name of the layout if not told.
        progress: told the rows read so far.

    Raises:
        ExportError: the file cannot be read, or is of no layout that is known.
    """
    if path.is_dir():
        return _import_export(store, path, source or "export")
    layout = find_layout(path)
    report = ImportReport(layout=layout.name, source=source or layout.name)
    seen: Counter[bytes] = Counter()
    names: set[str] = set()

    def read() -> Iterator[ImportedBattle]:
        for number, row in enumerate(read_rows(path, layout), 1):
            progress(number)
            try:
                found = layout.read(row)
            except BadRow as error:
                report.reject(number, str(error))
                continue
            new = {found.model_a, found.model_b} - names
            if new:
                store.imported.register_models(map(_describe_model, sorted(new)))
                names.update(new)
            yield _make_battle(found, _name_row(report.source, row, seen))

    report.added, report.known = store.imported.add(report.source, read())
    return report


def _describe_model(name: str) -> dict[str, Any]:
    return {"name": name, "organisation": "", "license": "", "description": "",
            "price_input": None, "price_output": None}  # fmt: skip


def _name_row(source: str, row: Mapping[str, Any], seen: Counter[bytes]) -> str:
    """The same for the same row of the same file; equal rows are told apart by their order."""
    # As ASCII, for a text may have half a character; the rest of a line of CSV has no name.
    fields = sorted((str(name), value) for name, value in row.items())
    told = json.dumps([source, fields], default=str, sort_keys=True)
    digest = hashlib.sha256(told.encode()).digest()
    seen[digest] += 1
    numbered = hashlib.sha256(digest + str(seen[digest]).encode()).digest()
    return urlsafe_b64encode(numbered[:16]).decode().rstrip("=")


def _make_battle(row: PublicRow, battle_id: str) -> ImportedBattle:
    at = row.time or _UNKNOWN_TIME
    voter = _name_voter(row.voter) if row.voter else battle_id
    return ImportedBattle(
        battle={
            "id": battle_id, "voter_id": voter, "model_a": row.model_a, "model_b": row.model_b,
            "policy": "unknown", "policy_version": 0, "probability": 1.0, "candidates": 2,
            "category": row.category, "language": row.language, "created_at": at,
        },
        turns=[
            {"turn": number, "prompt": prompt, "reference": None, "created_at": at}
            for number, prompt in enumerate(row.prompts)
        ],
        responses=[
            _make_response(number, side, text, at)
            for side, answers in (("a", row.answers_a), ("b", row.answers_b))
            for number, text in enumerate(answers)
        ],
        votes=[
            {
                "voter_id": voter, "outcome": row.winner, "created_at": at, "retracted_at": None,
                "exclusions": (),
            }
        ],
    )  # fmt: skip


def _name_voter(name: str) -> str:
    return hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:20]


def _make_response(turn: int, side: str, text: str, at: datetime) -> dict[str, Any]:
    return {"turn": turn, "side": side, "attempt": 0, "status": "complete", "text": text,
            "reasoning": "", "created_at": at}  # fmt: skip


def _import_export(store: Store, folder: Path, source: str) -> ImportReport:
    """An export of ours: everything but the verdicts of experts and judges."""
    import_arrow()
    read_manifest(folder)
    report = ImportReport(layout="export", source=source)
    cards = ("name", "organisation", "license", "price_input", "price_output", "description")
    store.imported.register_models(read_columns(folder, "models", cards).to_pylist())
    people = _read(folder, "voters").to_pylist()
    store.imported.register_voters(
        {**{k: v for k, v in row.items() if k != "voter"}, "id": row["voter"],
         "bucket": row["bucket"] or 0}
        for row in people
    )  # fmt: skip
    report.added, report.known = store.imported.add(source, read_battles(folder, source))
    return report


def _read(folder: Path, name: str) -> pa.Table:
    columns = [column.name for column in TABLES[name] if column.way != "length"]
    return read_columns(folder, name, columns)


def read_battles(folder: Path, source: str) -> Iterator[ImportedBattle]:
    """Battles of an export with all that belongs to each, in the order of its tables.

    Args:
        folder: of the export.
        source: of battles that have none of their own.

    Raises:
        ExportError: a file cannot be read.
    """
    parts = {name: _Follower(folder, name) for name in ("turns", "responses")}
    cast, reasons = _group(folder, "votes"), _group(folder, "exclusions")
    for batch in _read(folder, "battles").to_batches(max_chunksize=4_096):
        for row in batch.to_pylist():
            key = row.pop("battle_id")
            own = row.pop("source")
            battle = {"id": key, "voter_id": row.pop("voter"), **row, "source": own or source}
            yield ImportedBattle(
                battle=battle,
                turns=[
                    {**turn, "prompt": turn["prompt"] or ""} for turn in parts["turns"].take(key)
                ],
                responses=[
                    {**part, "text": part["text"] or "", "reasoning": part["reasoning"] or ""}
                    for part in parts["responses"].take(key)
                ],
                votes=[_read_vote(vote, reasons[key]) for vote in cast[key]],
            )


def _read_vote(vote: Mapping[str, Any], reasons: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "voter_id": vote["voter"], "outcome": vote["winner"], "created_at": vote["created_at"],
        "retracted_at": vote["retracted_at"], "counts": vote["counts"],
        "exclusions": [
            {
                "reason": one["reason"], "note": one["note"] or "",
                "created_at": one["created_at"], "lifted_at": one["lifted_at"],
            }
            for one in reasons
            if one["voter"] == vote["voter"]
        ],
    }  # fmt: skip


def _group(folder: Path, name: str) -> Mapping[str, list[dict[str, Any]]]:
    grouped: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for batch in _read(folder, name).to_batches(max_chunksize=4_096):
        for row in batch.to_pylist():
            grouped[row["battle_id"]].append(row)
    return grouped


class _Follower:
    """Rows of a table that is in the order of the battles, a battle at a time."""

    def __init__(self, folder: Path, name: str) -> None:
        batches = _read(folder, name).to_batches(max_chunksize=4_096)
        self._rows = (row for batch in batches for row in batch.to_pylist())
        self._next: dict[str, Any] | None = next(self._rows, None)

    def take(self, battle_id: str) -> list[dict[str, Any]]:
        """Those of a battle; battles are asked for in order."""
        taken = []
        while self._next is not None and self._next["battle_id"] == battle_id:
            row = self._next
            taken.append({key: value for key, value in row.items() if key != "battle_id"})
            self._next = next(self._rows, None)
        return taken
