"""`arena export` and `arena verify` as a person calls them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from published_record import record_arena
from typer.testing import CliRunner

from arena.cli import app
from arena.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


@pytest.fixture
def config(tmp_path: Path, sqlite_database: str) -> Path:
    store = open_store(sqlite_database)
    record_arena(store, 200)
    store.close()
    path = tmp_path / "arena.toml"
    path.write_text(
        f"data_dir = {json.dumps(str(tmp_path))}\n[database]\nurl = {json.dumps(sqlite_database)}\n"
        "[leaderboard]\nreplicates = 100\n"
    )
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_an_export_is_written_verified_and_called_changed_when_it_is(
    config: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    done = call("export", folder, "--with-text", "--config", config)
    assert done.exit_code == 0, done.output
    assert "Wrote" in done.output
    assert "200 votes" in done.output
    assert "of kind email" in done.output
    assert "Names of people in texts are not masked." in done.output
    assert call("verify", folder).exit_code == 0
    with (folder / "votes.parquet").open("ab") as file:
        file.write(b"x")
    found = call("verify", folder, "--threads", "1")
    assert found.exit_code == 1
    assert "votes.parquet has " in found.output


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--since", "soon"], '--since "soon" is not a time'),
        (["--kind", "cat"], '--kind "cat" is none. There are: crowd, expert, judge.'),
    ],
)
def test_what_cannot_be_is_refused(
    config: Path, tmp_path: Path, wrong: list[str], told: str
) -> None:
    done = call("export", tmp_path / "published", *wrong, "--config", config)
    assert done.exit_code == 2
    assert told in done.output
    assert not (tmp_path / "published").exists()


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path) -> None:
    done = call("verify", tmp_path)
    assert done.exit_code == 2
    assert "name a folder that `arena export` wrote" in done.output
