"""`arena db`: a record copied in use, brought back equal, and called damaged when it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from counting_judge import record_battles
from sqlalchemy import create_engine
from typer.testing import CliRunner

from arena.cli import app
from arena.store import open_store
from arena.store.backups import count_rows, read_backup
from arena.store.tables import metadata

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


class Place:
    """An arena's settings over a database of either kind."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "arena.toml"
        self.config.write_text(
            f"data_dir = {json.dumps(str(folder))}\n[database]\nurl = {json.dumps(url)}\n",
            encoding="utf-8",
        )
        for key in ("secret", "bucket-key"):
            (folder / key).write_text(f"the {key} of {folder.name}", encoding="ascii")

    def call(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["db", *arguments, "--config", str(self.config)])

    def content(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row of every table."""
        engine = create_engine(self.url)
        try:
            with engine.connect() as connection:
                return {
                    table.name: sorted(
                        (tuple(row) for row in connection.execute(table.select())), key=repr
                    )
                    for table in metadata.sorted_tables
                }
        finally:
            engine.dispose()


@pytest.fixture
def place(tmp_path: Path, database_url: str) -> Place:
    made = Place(tmp_path / "first", database_url)
    store = open_store(database_url)
    record_battles(store, 6, turns_each=2)
    store.close()
    return made


@pytest.fixture
def empty(request: pytest.FixtureRequest, place: Place, tmp_path: Path) -> Place:
    """Another arena, of the same kind of database, that nobody has voted in."""
    if place.url.startswith("sqlite"):
        return Place(tmp_path / "second", f"sqlite:///{tmp_path}/second/arena.db")
    url = request.getfixturevalue("postgres_database")
    # The fixture's database is the first arena's: make one more beside it.
    other = re.sub(r"[^/]+$", lambda name: f"{name[0]}_second", url)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {other.rsplit('/', 1)[1]}")
    engine.dispose()
    return Place(tmp_path / "second", other)


def test_a_backup_brings_every_row_and_the_keys_to_an_empty_place(
    place: Place, empty: Place, tmp_path: Path
) -> None:
    made = place.call("backup", str(tmp_path / "copy"))
    assert made.exit_code == 0, made.stderr
    assert "6 votes, 6 battles" in made.stdout
    assert {path.name for path in (tmp_path / "copy").iterdir()} >= {"manifest.json", "secret"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "copy").glob("[!m]*"))
    done = empty.call("restore", str(tmp_path / "copy"))
    assert done.exit_code == 0, done.stderr
    assert empty.content() == place.content()
    for key in ("secret", "bucket-key"):
        assert (empty.folder / key).read_text() == f"the {key} of first"
        assert (empty.folder / key).stat().st_mode & 0o077 == 0


def test_votes_are_not_replaced_unasked_and_are_kept_aside(place: Place, tmp_path: Path) -> None:
    before = place.content()
    assert place.call("backup", str(tmp_path / "copy")).exit_code == 0
    store = open_store(place.url)
    record_battles(store, 3, category="later")
    store.close()
    refused = place.call("restore", str(tmp_path / "copy"))
    assert refused.exit_code == 2
    assert "--replace" in refused.stderr
    done = place.call("restore", str(tmp_path / "copy"), "--replace")
    assert done.exit_code == 0, done.stderr
    assert place.content() == before
    if place.url.startswith("sqlite"):
        (aside,) = re.findall(r"kept as (\S+)\.\n", done.stdout)
        with closing(sqlite3.connect(aside)) as connection:
            assert connection.execute("SELECT count(*) FROM votes").fetchone() == (9,)


def test_a_running_arena_is_not_replaced(place: Place, tmp_path: Path) -> None:
    assert place.call("backup", str(tmp_path / "copy")).exit_code == 0
    code = (
        "import sys; from arena.store import open_store; "
        "open_store(sys.argv[1]).workers.register(); print('up', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, place.url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        refused = place.call("restore", str(tmp_path / "copy"), "--replace")
        assert refused.exit_code == 2
        assert f"process {running.pid}" in refused.stderr
        running.communicate()
    done = place.call("restore", str(tmp_path / "copy"), "--replace")
    assert done.exit_code == 0, done.stderr


def test_a_copy_made_while_people_vote_is_sound(place: Place, tmp_path: Path) -> None:
    store = open_store(place.url)
    stop = threading.Event()

    def vote() -> None:
        number = 0
        while not stop.is_set():
            record_battles(store, 1, category=f"during-{number}")
            number += 1

    voting = threading.Thread(target=vote)
    voting.start()
    try:
        copies = [tmp_path / f"copy{number}" for number in range(3)]
        for copy in copies:
            done = place.call("backup", str(copy))
            assert done.exit_code == 0, done.stderr
    finally:
        stop.set()
        voting.join()
        store.close()
    if place.url.startswith("sqlite"):
        for copy in copies:
            found = read_backup(copy)
            with closing(sqlite3.connect(found.database)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                votes = connection.execute("SELECT count(*) FROM votes").fetchone()
            assert votes == (found.rows["votes"],)


def test_a_changed_backup_is_named(place: Place, tmp_path: Path) -> None:
    assert place.call("backup", str(tmp_path / "copy")).exit_code == 0
    database = read_backup(tmp_path / "copy").database
    with database.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    refused = place.call("restore", str(tmp_path / "copy"), "--replace")
    assert refused.exit_code == 2
    assert f"{database} is not what was backed up" in refused.stderr
    assert "6 votes" in place.call("check").stdout


def test_what_is_no_backup_or_is_there_already_is_refused(place: Place, tmp_path: Path) -> None:
    nothing = place.call("restore", str(tmp_path))
    assert nothing.exit_code == 2
    assert "is no backup" in nothing.stderr
    taken = place.call("backup", str(tmp_path))
    assert taken.exit_code == 2
    assert "name another folder" in taken.stderr


def test_without_a_name_it_goes_beside_the_votes(place: Place) -> None:
    assert place.call("backup").exit_code == 0
    (folder,) = (place.folder / "backups").iterdir()
    assert read_backup(folder).rows["votes"] == 6


def test_a_sound_record_is_called_sound(place: Place) -> None:
    done = place.call("check")
    assert done.exit_code == 0, done.stderr
    assert "is sound: 6 votes, 6 battles" in done.stdout
    assert "up to date" in place.call("upgrade").stdout
    assert ": 6 votes, 6 battles" in place.call().stdout


def test_a_damaged_file_is_called_damaged_with_the_way_back(tmp_path: Path) -> None:
    place = Place(tmp_path / "arena", f"sqlite:///{tmp_path}/arena/arena.db")
    store = open_store(place.url)
    record_battles(store, 60, turns_each=2)
    store.close()
    assert place.call("backup", str(tmp_path / "copy")).exit_code == 0
    with closing(sqlite3.connect(tmp_path / "arena/arena.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'responses'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with (tmp_path / "arena/arena.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(os.urandom(size))
    found = place.call("check")
    assert found.exit_code == 1
    assert "is damaged" in found.stderr
    assert "arena db restore FOLDER --replace" in found.stderr
    done = place.call("restore", str(tmp_path / "copy"), "--replace")
    assert done.exit_code == 0, done.stderr
    assert place.call("check").exit_code == 0


def test_a_backup_of_another_kind_of_database_is_refused(place: Place, tmp_path: Path) -> None:
    assert place.call("backup", str(tmp_path / "copy")).exit_code == 0
    manifest = tmp_path / "copy/manifest.json"
    told = json.loads(manifest.read_text())
    other = {"sqlite": "postgresql", "postgresql": "sqlite"}[told["dialect"]]
    manifest.write_text(json.dumps({**told, "dialect": other}))
    refused = place.call("restore", str(tmp_path / "copy"), "--replace")
    assert refused.exit_code == 2
    assert "restore it into one of its own kind" in refused.stderr


def test_rows_are_those_of_the_tables(place: Place) -> None:
    engine = create_engine(place.url)
    rows = count_rows(engine)
    engine.dispose()
    assert (rows["votes"], rows["turns"]) == (6, 12)
    assert set(rows) == set(metadata.tables)


def test_the_folder_is_there_whole_or_not_at_all(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", fail)
    refused = place.call("backup", str(tmp_path / "copy"))
    assert refused.exit_code == 2
    assert "No space left" in refused.stderr
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []
