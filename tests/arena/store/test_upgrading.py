"""Tables of every version that was, brought to those of this one with all their rows."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from kept_schemas import SCHEMAS, describe, list_kept, load
from sqlalchemy import create_engine, func, inspect, select, text

import arena
from arena.store import StoreError, open_store
from arena.store.tables import metadata
from arena.store.upgrading import LAST_STEP, find_head

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

REPOSITORY = Path(__file__).resolve().parents[3]
KEPT = list_kept()


def backend_of(url: str) -> str:
    return url.split(":", 1)[0].split("+", 1)[0]


def count_rows(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }


def test_the_tables_of_this_version_are_kept() -> None:
    assert arena.__version__ in KEPT


@pytest.mark.parametrize("version", KEPT)
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_migration_that_was_kept_is_never_rewritten(version: str, backend: str) -> None:
    kept = (SCHEMAS / f"{version}.{backend}.sql").read_text(encoding="utf-8")
    stamps = re.findall(r"alembic_version .*'(\w+)'", kept)
    assert describe(backend, stamps[-1]) == kept


@pytest.mark.parametrize("version", KEPT)
def test_a_kept_database_is_upgraded_with_its_rows(database_url: str, version: str) -> None:
    engine = create_engine(database_url)
    load(engine, version)
    before = count_rows(engine)
    assert min(before.values()) >= 1, "a table without a row shows nothing"
    engine.dispose()
    store = open_store(database_url)
    try:
        assert count_rows(store.engine) == before
        with store.engine.connect() as connection:
            options = {"compare_type": True, "compare_server_default": True}
            context = MigrationContext.configure(connection, opts=options)
            assert compare_metadata(context, metadata) == []
            assert context.get_current_revision() == find_head()
            if backend_of(database_url) == "sqlite":
                assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        (counted,) = store.votes.by_outcome()
        assert counted.votes == 1
        battle = store.battles.get("battle-1", voter_id="voter-1")
        assert battle.vote is not None
        assert battle.edition == 2
        assert sum(store.battles.votes_of("voter-1").values()) == 1
    finally:
        store.close()


def test_a_database_of_the_last_unreleased_step_goes_on(database_url: str) -> None:
    engine = create_engine(database_url)
    load(engine, "0.1.0")
    before = count_rows(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :s"), {"s": LAST_STEP})
    engine.dispose()
    for _ in range(2):
        store = open_store(database_url)
        assert count_rows(store.engine) == before
        with store.engine.connect() as connection:
            stamps = connection.scalars(text("SELECT version_num FROM alembic_version")).all()
        store.close()
        assert stamps == [find_head()]


# Nobody has released what these were made by; the commit that the refusal names knows the way.
_OPEN_THERE = """
import sys
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from arena.store.engine import MIGRATIONS
url, step = sys.argv[1:]
config = Config()
config.set_main_option("script_location", str(MIGRATIONS))
engine = create_engine(url)
with engine.begin() as connection:
    config.attributes["connection"] = connection
    command.upgrade(config, step)
"""


@pytest.fixture(scope="module")
def program_of_then(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it was at the commit that knows all steps."""
    from arena.store.upgrading import _COMMIT_OF_THE_STEPS

    git = shutil.which("git")
    if git is None:
        pytest.skip("there is no git to ask for the program of then")
    packed = subprocess.run(
        [git, "archive", _COMMIT_OF_THE_STEPS, "arena", "serving", "ranking", "data"],
        check=False,
        cwd=REPOSITORY,
        capture_output=True,
    )
    if packed.returncode != 0:
        pytest.skip("this copy has no history (a shallow clone, or no repository)")
    folder = tmp_path_factory.mktemp("then")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("step", ["0001", "0002", "0003", "0004", "0005"])
def test_an_earlier_unreleased_step_is_refused_with_a_way_that_works(
    sqlite_database: str, program_of_then: Path, step: str
) -> None:
    def run_then(to: str) -> None:
        subprocess.run(
            [sys.executable, "-c", _OPEN_THERE, sqlite_database, to],
            check=True,
            cwd=program_of_then,
            env={"PYTHONPATH": str(program_of_then)},
        )

    run_then(step)
    with pytest.raises(StoreError) as refused:
        open_store(sqlite_database)
    assert f"before 0.1.0 (step {step})" in str(refused.value)
    assert "git checkout" in str(refused.value)
    run_then("head")
    store = open_store(sqlite_database)
    assert set(metadata.tables) < set(inspect(store.engine).get_table_names())
    store.close()
