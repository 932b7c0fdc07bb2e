"""An export holds what is on record, names nobody, and every number in it can be made again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from published_record import BEGIN, PLANTED, record_arena

from arena.leaderboards.recipe import DEFAULT_RECIPE, Recipe
from arena.publishing.exports import Request, export_record
from arena.publishing.files import ExportError, describe_file, read_manifest, write_manifest
from arena.publishing.tables import TABLES
from arena.publishing.verification import verify_export
from arena.store import Extent, Store

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = Recipe(options=DEFAULT_RECIPE.options.change(replicates=50), min_votes=50)
CUT = datetime(2026, 6, 1, tzinfo=UTC)


def ask(**changes: Any) -> Request:  # noqa: ANN401  fields of a request
    told = {"extent": Extent(cut=CUT), "recipe": RECIPE, "bucket_key": b"k", "salt": b"s" * 32}
    return Request(**{**told, **changes})


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    return list(pq.read_table(folder / f"{name}.parquet").to_pylist())


@pytest.fixture
def recorded(store: Store) -> Store:
    record_arena(store)
    return store


def test_an_export_has_every_row_and_verifies(recorded: Store, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    manifest = export_record(recorded, ask(jsonl=True, texts=True), folder)
    assert {name: len(rows_of(folder, name)) for name in TABLES} == manifest.counted
    assert manifest.counted["battles"] == 600
    assert manifest.counted["responses"] == 1200
    assert manifest.counted["judge_verdicts"] == 6
    assert manifest.counted["expert_verdicts"] == 3
    counted = recorded.votes.tally().votes
    boards = json.loads((folder / "leaderboards.json").read_text())
    assert sum(row["counts"] for row in rows_of(folder, "votes")) == counted
    assert boards["overall"]["diagnostics"]["votes"] == counted
    assert set(boards["categories"]) == {"coding", "writing"}
    assert boards["judges"]["strict"] is not None
    lines = (folder / "votes.jsonl").read_text().splitlines()
    assert [json.loads(line)["winner"] for line in lines] == [
        row["winner"] for row in rows_of(folder, "votes")
    ]
    assert verify_export(folder, threads=1) == []
    assert verify_export(folder, threads=3) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_nobody_is_named_in_an_export(recorded: Store, tmp_path: Path) -> None:
    export_record(recorded, ask(jsonl=True, texts=True), tmp_path / "texts")
    export_record(recorded, ask(jsonl=True), tmp_path / "plain")
    for told in (tmp_path / "texts").glob("*.jsonl"):
        text = told.read_text()
        for name in ("person-", "expert-1", "Ada Roe", "secret-link", "ann.lee"):
            assert name not in text, (told.name, name)
    assert (
        PLANTED.replace("ann.lee@example.org", "[email]")
        in (tmp_path / "texts" / "turns.jsonl").read_text()
    )
    assert read_manifest(tmp_path / "texts").masked["email"] == 603
    for told in (tmp_path / "plain").glob("*.jsonl"):
        assert "因为" not in told.read_text()
        assert "seen twice" not in told.read_text()
    lengths = {row["prompt_characters"] for row in rows_of(tmp_path / "plain", "turns")}
    assert min(lengths) > 20


def test_pseudonyms_of_two_exports_have_nothing_in_common(recorded: Store, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export_record(recorded, ask(salt=None), tmp_path / name)
    one, two = (
        {row["voter"] for row in rows_of(tmp_path / name, "voters")} for name in ("one", "two")
    )
    assert len(one) == len(two) > 180
    assert not one & two


def test_filters_take_what_was_asked_for(recorded: Store, tmp_path: Path) -> None:
    extent = Extent(
        cut=CUT,
        since=BEGIN + timedelta(minutes=100),
        until=BEGIN + timedelta(minutes=300),
        categories=("coding",),
        languages=("zh",),
        kinds=("crowd",),
    )
    manifest = export_record(recorded, ask(extent=extent), tmp_path / "some")
    found = rows_of(tmp_path / "some", "battles")
    assert {(row["category"], row["language"]) for row in found} == {("coding", "zh")}
    assert len(found) == 33
    assert manifest.counted["judge_verdicts"] == manifest.counted["expert_verdicts"] == 0
    assert "verdicts of kind judge" in manifest.left_out
    assert verify_export(tmp_path / "some") == []


def test_what_came_after_the_cut_is_as_if_it_had_not_happened(
    recorded: Store, tmp_path: Path
) -> None:
    cut = BEGIN + timedelta(minutes=7, seconds=45)  # a vote of its minute, not yet excluded
    export_record(recorded, ask(extent=Extent(cut=cut)), tmp_path / "early")
    votes = rows_of(tmp_path / "early", "votes")
    assert len(votes) == 8
    assert [row["counts"] for row in votes] == [True] * 5 + [False] + [True] * 2
    assert rows_of(tmp_path / "early", "exclusions") == []


def test_an_export_that_broke_off_goes_on_and_ends_the_same(
    recorded: Store, tmp_path: Path
) -> None:
    whole = export_record(recorded, ask(), tmp_path / "whole")
    seen: list[str] = []

    def break_off(name: str, *_: int) -> None:
        seen.append(name)
        if name == "votes":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_record(recorded, ask(), tmp_path / "again", break_off)
    assert not (tmp_path / "again").exists()
    later = ask(extent=Extent(cut=CUT + timedelta(days=1)))
    seen.clear()
    again = export_record(recorded, later, tmp_path / "again", lambda name, *_: seen.append(name))
    assert "battles" not in seen
    assert "votes" in seen
    assert {
        name: file.sha256 for name, file in again.files.items() if name != "croissant.json"
    } == {name: file.sha256 for name, file in whole.files.items() if name != "croissant.json"}


def test_a_changed_byte_is_named(recorded: Store, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    export_record(recorded, ask(), folder)
    for name in ("responses.parquet", "leaderboards.json", "counts.parquet"):
        kept = (folder / name).read_bytes()
        place = len(kept) // 2
        (folder / name).write_bytes(kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :])
        (told,) = verify_export(folder)
        assert told.startswith(f"{name} differs between byte ")
        (folder / name).write_bytes(kept)
    (folder / "models.parquet").unlink()
    assert verify_export(folder) == ["models.parquet is missing"]


def test_a_number_that_was_forged_with_its_digest_is_found(recorded: Store, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    manifest = export_record(recorded, ask(), folder)
    path = folder / "leaderboards.json"
    boards = json.loads(path.read_text())
    forged = [boards["overall"], boards["by_bucket"], boards["judges"]["strict"]]
    for board in forged:
        board["models"][0]["score"] += 1e-9
    path.write_text(json.dumps(boards))
    files = {**manifest.files, path.name: describe_file(path)}
    write_manifest(folder, replace(manifest, files=files))
    told = verify_export(folder)
    assert [line.partition(".models")[0] for line in told] == [
        "leaderboards.json.by_bucket",
        "leaderboards.json.judges.strict",
        "leaderboards.json.overall",
    ]
    assert all("score" in line for line in told)


def test_a_folder_that_is_there_and_one_that_is_none_are_refused(
    recorded: Store, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ExportError, match="name another folder"):
        export_record(recorded, ask(), tmp_path / "there")
    with pytest.raises(ExportError, match="is no manifest"):
        verify_export(tmp_path / "there")
    shutil.rmtree(tmp_path / "there")
