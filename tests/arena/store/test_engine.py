"""Opening a database: its tables, its durability, and what is said where it cannot be."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from arena.store import Store, StoreError, open_store
from arena.store.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Inspector

_OPEN = "import sys; from arena.store import open_store; open_store(sys.argv[1]).close()"


def _constraints(inspector: Inspector) -> set[tuple[str, str | None, str]]:
    """What `compare_metadata` does not look at: the checks, table by table."""
    return {
        (
            table,
            check["name"],
            "".join(character for character in check["sqltext"] if character.isalnum()),
        )
        for table in metadata.tables
        for check in inspector.get_check_constraints(table)
    }


def test_the_migrations_make_the_tables_that_the_queries_know(store: Store) -> None:
    with store.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


def test_the_migrations_make_the_checks_that_the_tables_have(
    sqlite_database: str, tmp_path: Path
) -> None:
    # PostgreSQL rewrites the text of a check; SQLite keeps it.
    store = open_store(sqlite_database)
    plain = create_engine(f"sqlite:///{tmp_path}/plain.db")
    metadata.create_all(plain)
    built, described = _constraints(inspect(store.engine)), _constraints(inspect(plain))
    plain.dispose()
    store.close()
    assert built == described
    assert len(built) >= 8


def test_opening_again_changes_nothing(database_url: str) -> None:
    first = open_store(database_url)
    worker_id = first.workers.register()
    first.close()
    again = open_store(database_url)
    with again.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM alembic_version")) == 1
        assert connection.scalar(text("SELECT id FROM workers")) == worker_id
    again.close()


@pytest.mark.slow
def test_processes_that_open_a_new_database_at_once_take_turns(database_url: str) -> None:
    openers = [
        subprocess.Popen([sys.executable, "-c", _OPEN, database_url], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    said = [opener.communicate(timeout=240)[1].decode() for opener in openers]
    assert [opener.returncode for opener in openers] == [0, 0, 0], said
    store = open_store(database_url)
    assert set(metadata.tables) < set(inspect(store.engine).get_table_names())
    store.close()


def test_sqlite_is_opened_durable_and_strict(sqlite_database: str) -> None:
    store = open_store(sqlite_database)
    pragmas = {}
    # Two connections at once: the settings are a connection's, not the file's.
    with store.engine.connect() as one, store.engine.connect() as two:
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout"):
            pragmas[name] = [c.exec_driver_sql(f"PRAGMA {name}").scalar() for c in (one, two)]
    store.close()
    assert pragmas == {
        "journal_mode": ["wal", "wal"],
        "synchronous": [2, 2],
        "foreign_keys": [1, 1],
        "busy_timeout": [30_000, 30_000],
    }


def _refusal(url: str) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(url)
    return str(caught.value)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/nowhere/arena.db"
    message = _refusal(url)
    assert url in message
    assert "writable" in message


def test_a_directory_instead_of_a_file_is_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}"
    message = _refusal(url)
    assert url in message
    assert "writable" in message


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a file that nobody can write")
def test_a_path_that_cannot_be_written_is_named() -> None:
    # Permissions do not stop root; the kernel's own files stop everybody.
    url = "sqlite:////proc/version"
    message = _refusal(url)
    assert url in message
    assert "writable" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not stop root")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    open_store(f"sqlite:///{path}").close()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert "writable" in _refusal(f"sqlite:///{path}")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "holiday.txt"
    path.write_text("We went to the sea. " * 200)
    url = f"sqlite:///{path}"
    message = _refusal(url)
    assert url in message
    assert "not a database" in message
    assert "an arena's database" in message
    assert path.read_text().startswith("We went to the sea.")


def test_a_database_of_a_newer_version_is_named(sqlite_database: str) -> None:
    open_store(sqlite_database).close()
    with closing(sqlite3.connect(sqlite_database.removeprefix("sqlite:///"))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'f00d'")
        connection.commit()
    message = _refusal(sqlite_database)
    assert sqlite_database in message
    assert "newer version" in message


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql+nodriver://arena:hunter2@localhost/arena", "driver"),
        ("mysql+mysqldb://arena:hunter2@localhost/arena", "driver"),
        ("no url at all", "SQLAlchemy URL"),
        ("postgresql:/arena:hunter2@localhost/arena", "SQLAlchemy URL"),
    ],
)
def test_a_driver_that_is_not_there_is_named_without_the_password(url: str, words: str) -> None:
    message = _refusal(url)
    assert url.replace("hunter2", "***") in message
    assert words in message
    assert "hunter2" not in message


def test_a_postgresql_that_does_not_answer_is_named_without_the_password() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    message = _refusal(f"postgresql+psycopg://arena:hunter2@127.0.0.1:{port}/arena")
    assert f"postgresql+psycopg://arena:***@127.0.0.1:{port}/arena" in message
    assert "server is running" in message
    assert "hunter2" not in message
