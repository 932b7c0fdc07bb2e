"""`arena export`: the record as files that anybody can read and recompute."""

from __future__ import annotations

import json
import platform
import secrets
import shutil
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import arena
from arena.publishing.boards import LEADERBOARDS, rank_export
from arena.publishing.card import write_descriptions
from arena.publishing.counts import COUNTS, count_buckets, write_counts
from arena.publishing.files import (
    MANIFEST,
    ExportError,
    FileRecord,
    Manifest,
    describe_file,
    import_arrow,
    make_schema,
    write_manifest,
    writing_table,
)
from arena.publishing.pseudonyms import SAFE_VOTERS, choose_buckets, find_bucket, name_voter
from arena.publishing.public_files import write_public
from arena.publishing.redaction import Masker
from arena.publishing.tables import NEVER, TABLES
from arena.rules.battles import VoterKind
from arena.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.leaderboards.recipe import Recipe
    from arena.publishing.tables import Column
    from arena.store import Store
    from arena.store.published_rows import Extent

    Progress = Callable[[str, int, int], None]

__all__ = ["Export", "Request", "export_record"]

_PLAN = "unfinished.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be exported.

    Attributes:
        extent: which part of the record.
        recipe: how its leaderboards are made.
        bucket_key: one for the arena's life.
        texts: with prompts, answers and comments, masked.
        jsonl: also as JSON Lines.
        salt: of the pseudonyms; drawn anew if not told.
        threads: of the leaderboards.
        layouts: also the votes in these public layouts.
    """

    extent: Extent
    recipe: Recipe
    bucket_key: bytes
    texts: bool = False
    jsonl: bool = False
    salt: bytes | None = None
    threads: int | None = None
    layouts: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """All that decides what the files hold, but for the salt and the cut."""
        extent = _plain(asdict(self.extent))
        del extent["cut"]
        return {
            "extent": extent, "recipe": self.recipe.to_dict(), "texts": self.texts,
            "jsonl": self.jsonl, "code_version": arena.__version__,
        }  # fmt: skip


@dataclass(slots=True)
class Export:
    """An export that is being written.

    Attributes:
        store: the record.
        request: what of it.
        folder: where the files are until they are all there.
        salt: of the pseudonyms.
        progress: told the table, the rows written and their number.
        done: files that are written, and what was masked in each.
        buckets: of the counts, 0 for none.
        masker: of texts.
    """

    store: Store
    request: Request
    folder: Path
    salt: bytes
    progress: Progress
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    buckets: int = 0
    masker: Masker = field(default_factory=Masker)

    def write_table(self, name: str) -> None:
        """Writes one table, unless an earlier run already has."""
        if name in self.done:
            return
        columns = TABLES[name]
        masked: Counter[str] = Counter()
        total = self.store.published.count(name, self.request.extent)
        rows = 0
        told = {"table": name, "arena": arena.__version__}
        pieces = self.store.published.stream(name, self.request.extent)
        schema = make_schema(columns, told)
        with (
            closing(pieces),
            writing_table(self.folder, name, schema, jsonl=self.request.jsonl) as write,
        ):
            for piece in pieces:
                write(self._carry_over(name, columns, list(zip(*piece, strict=True)), masked))
                rows += len(piece)
                self.progress(name, rows, total)
        self.done[name] = {"rows": rows, "masked": dict(masked)}
        self.keep_plan()

    def keep_plan(self) -> None:
        """Writes down what is done, for a run that goes on."""
        plan = {
            "asked": self.request.describe(), "cut": self.request.extent.cut.isoformat(),
            "salt": self.salt.hex(), "done": self.done,
            "forgotten": self.store.published.count_forgotten(), "buckets": self.buckets,
        }  # fmt: skip
        write_whole(self.folder / _PLAN, json.dumps(plan))
        (self.folder / _PLAN).chmod(0o600)  # who knows the salt can follow pseudonyms back

    def _carry_over(
        self,
        table: str,
        columns: Sequence[Column],
        read: list[tuple[Any, ...]],
        masked: Counter[str],
    ) -> list[Sequence[Any]]:
        """The columns as they are published."""
        places = {column.name: number for number, column in enumerate(columns)}
        given: list[Sequence[Any]] = []
        for number, column in enumerate(columns):
            if column.way == "length":
                told = (given if self.request.texts else read)[places[column.of]]
                given.append([None if text is None else len(text) for text in told])
            elif column.way == "voter":
                given.append(self._name_voters(table, read, places))
            elif column.name == "bucket":
                given.append(self._find_buckets(read[places["voter"]], read[number]))
            elif column.way == "said":
                given.append(self._tell(read[number], read[-1], masked))
            else:
                given.append(read[number])
        return given

    def _name_voters(
        self, table: str, read: list[tuple[Any, ...]], places: dict[str, int]
    ) -> list[str]:
        """Pseudonyms; those of imported voters are some already."""
        known = "bucket" if table == "voters" else "source"
        marks = read[places[known]] if known in places else [None] * len(read[0])
        return [
            voter if mark is not None else name_voter(voter, self.salt)
            for voter, mark in zip(read[places["voter"]], marks, strict=True)
        ]

    def _find_buckets(self, voters: Sequence[str], marks: Sequence[int | None]) -> list[int | None]:
        if not self.buckets:
            return [None] * len(voters)
        key = self.request.bucket_key
        return [
            (find_bucket(voter, key) if mark is None else mark) % self.buckets
            for voter, mark in zip(voters, marks, strict=True)
        ]

    def _tell(
        self, texts: Sequence[str | None], languages: Sequence[str | None], masked: Counter[str]
    ) -> list[str | None]:
        if not self.request.texts:
            return [None] * len(texts)
        told: list[str | None] = []
        for text, language in zip(texts, languages, strict=True):
            if not text:
                told.append(text)
                continue
            found = self.masker.mask(text, language)
            masked.update(found.found)
            told.append(found.text)
        return told


def export_record(
    store: Store, request: Request, folder: Path, progress: Progress | None = None
) -> Manifest:
    """Writes an export; the folder is there whole, or not at all.

    An export that was broken off goes on where it was, if the same is asked for, nobody asked
    to be forgotten since, and its files are still there.

    Args:
        store: the record.
        request: what of it, and how.
        folder: that must not exist yet.
        progress: told the table, the rows written and their number.

    Raises:
        ExportError: the folder is there already, or pyarrow is missing.
        OSError: the folder cannot be written.
    """
    import_arrow()
    if folder.exists():
        raise ExportError(f"{folder} is there already; name another folder")
    draft = folder.parent / f".{folder.name}.unfinished"
    draft.mkdir(parents=True, exist_ok=True)
    export = _begin(store, request, draft, progress or (lambda *_: None))
    for name in TABLES:
        if name == "voters":
            export.buckets = export.buckets or _plan_buckets(export)
        export.write_table(name)
    manifest = _finish(export)
    (draft / _PLAN).unlink()
    draft.replace(folder)
    return manifest


def _begin(store: Store, request: Request, draft: Path, progress: Progress) -> Export:
    """Takes up what an earlier run has left, or begins anew."""
    salt = request.salt or secrets.token_bytes(32)
    fresh = Export(store, request, draft, salt, progress)
    try:
        plan = json.loads((draft / _PLAN).read_text(encoding="utf-8"))
        alike = (
            plan["asked"] == json.loads(json.dumps(request.describe()))
            and plan["forgotten"] == store.published.count_forgotten()
            and (request.salt is None or request.salt.hex() == plan["salt"])
            and all((draft / f"{name}.parquet").is_file() for name in plan["done"])
        )
    except (OSError, ValueError, KeyError):
        alike = False
    if not alike:
        shutil.rmtree(draft)
        draft.mkdir()
        return fresh
    extent = replace(request.extent, cut=datetime.fromisoformat(plan["cut"]))
    return Export(
        store, replace(request, extent=extent), draft, bytes.fromhex(plan["salt"]), progress,
        done=plan["done"], buckets=plan["buckets"],
    )  # fmt: skip


def _plan_buckets(export: Export) -> int:
    """By the number of people whose votes may be counted."""
    extent = replace(export.request.extent, kinds=(VoterKind.CROWD,))
    return choose_buckets(export.store.published.count_voters(extent))


def _finish(export: Export) -> Manifest:
    """What is made from the tables, and the manifest."""
    folder, request = export.folder, export.request
    boards = rank_export(folder, request.recipe, buckets=export.buckets, threads=request.threads)
    write_whole(folder / LEADERBOARDS, json.dumps(boards, ensure_ascii=False, sort_keys=True))
    rows: dict[str, int | None] = {LEADERBOARDS: None}
    for name, told in export.done.items():
        rows[f"{name}.parquet"] = told["rows"]
        if request.jsonl:
            rows[f"{name}.jsonl"] = told["rows"]
    rows |= dict(write_public(folder, layout) for layout in request.layouts)
    counts = count_buckets(folder, export.buckets)
    if counts is not None:
        rows[COUNTS] = write_counts(folder, counts)
    manifest = _describe(export, {})
    write_descriptions(folder, manifest, {name: told["rows"] for name, told in export.done.items()})
    rows |= {path.name: None for path in folder.iterdir() if path.name not in (*rows, _PLAN)}
    rows.pop(MANIFEST, None)
    files = {name: describe_file(folder / name, rows[name]) for name in sorted(rows)}
    manifest = replace(manifest, files=files)
    write_manifest(folder, manifest)
    return manifest


def _describe(export: Export, files: dict[str, FileRecord]) -> Manifest:
    request = export.request
    masked: Counter[str] = Counter()
    for told in export.done.values():
        masked.update(told["masked"])
    return Manifest(
        files=files,
        recipe=request.recipe.to_dict(),
        extent=_plain(asdict(request.extent)),
        counted={name: told["rows"] for name, told in export.done.items()},
        buckets=export.buckets,
        texts=request.texts,
        masked=dict(masked),
        left_out=_tell_left_out(export),
        versions={
            "preference-arena": arena.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "pyarrow")},
        },
        created_at=datetime.now(UTC).isoformat(),
        notes=_tell_notes(export),
    )


def _tell_left_out(export: Export) -> dict[str, str]:
    request, left_out = export.request, dict(NEVER)
    left_out["boards at equal style"] = "they are made from the texts of all answers"
    if not request.texts:
        left_out["texts"] = "they were not asked for (--with-text)"
    if not request.extent.imported:
        left_out["imported battles"] = "they were not asked for (--imported)"
    for kind in (VoterKind.CROWD, VoterKind.EXPERT, VoterKind.JUDGE):
        if kind not in request.extent.kinds:
            left_out[f"verdicts of kind {kind}"] = "they were not asked for (--kind)"
    if not export.buckets:
        left_out[COUNTS] = "fewer than 160 voters: a part of them would be a person"
    return left_out


def _tell_notes(export: Export) -> tuple[str, ...]:
    notes = []
    if export.request.texts:
        notes.append("Names of people in texts are not masked.")
        if not export.masker.finds_phones:
            notes.append("Phone numbers are not masked: phonenumbers is not installed.")
    voters = export.done["voters"]["rows"]
    if export.buckets and voters < SAFE_VOTERS:
        notes.append(
            f"Of {voters:,} voters in {export.buckets} buckets, some buckets are a single person."
        )
    return tuple(notes)


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in told.items()
    }
