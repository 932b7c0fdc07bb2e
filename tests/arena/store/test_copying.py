"""A record copied into a database of the other kind is equal row for row, and goes on there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from battle_steps import make_ready
from published_record import record_arena
from sqlalchemy import select
from typer.testing import CliRunner

from arena.cli import app
from arena.rules.battles import Outcome
from arena.store import Store, StoreError, open_store
from arena.store.backups import count_rows
from arena.store.copying import copy_record
from arena.store.tables import metadata

if TYPE_CHECKING:
    from pathlib import Path


def content(store: Store) -> dict[str, list[tuple[object, ...]]]:
    with store.engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def test_a_copy_there_and_back_is_equal(store: Store, tmp_path: Path) -> None:
    kept = open_store(f"sqlite:///{tmp_path}/kept.db")
    record_arena(kept, 60)
    copied = copy_record(kept.engine, store.engine)
    assert copied == count_rows(store.engine)
    assert content(store) == content(kept)
    back = open_store(f"sqlite:///{tmp_path}/back.db")
    copy_record(store.engine, back.engine)
    assert content(back) == content(kept)
    # New rows get numbers of their own.
    battle = make_ready(store, voter_id="new")
    store.battles.vote(battle.id, voter_id="new", outcome=Outcome.TIE)
    assert store.votes.last_id() == 61
    with pytest.raises(StoreError, match="the target has rows in"):
        copy_record(kept.engine, store.engine)
    kept.close()
    back.close()


def test_the_command_copies_and_says_how_many(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    store = open_store(f"sqlite:///{tmp_path}/data/arena.db")
    record_arena(store, 20)
    whole = sum(count_rows(store.engine).values())
    store.close()
    url = f"sqlite:///{tmp_path}/other.db"
    done = CliRunner().invoke(app, ["db", "copy", url, "--data-dir", str(tmp_path / "data")])
    assert done.exit_code == 0, done.output
    assert f"Copied {whole:,} rows, every one equal." in done.output
    again = CliRunner().invoke(app, ["db", "copy", url, "--data-dir", str(tmp_path / "data")])
    assert again.exit_code == 2
    assert "name an empty database" in again.output
