"""A copy of the whole record while it is in use, the way back, and whether it is sound.

A backup is a folder: the database (a SQLite file, or what `pg_dump` writes), the secret that
signs cookies, and a manifest with a digest of each and the number of rows of every table.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

import arena
from arena.store.errors import StoreError
from arena.store.tables import metadata
from arena.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import URL, Connection, Engine

__all__ = ["Backup", "check_record", "count_rows", "make_backup", "read_backup", "restore_backup"]

_MANIFEST = "manifest.json"
_SECRET = "secret"  # noqa: S105  a file's name
# What an arena has beside its database and cannot draw again.
_KEYS = (_SECRET, "bucket-key")
_DATABASES = {"sqlite": "arena.db", "postgresql": "arena.dump"}
_FOLDERS_OF_POSTGRES = "/usr/lib/postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup as its manifest describes it.

    Attributes:
        folder: where it is.
        created_at: when it was made.
        code_version: of the program that made it.
        dialect: `sqlite` or `postgresql`.
        rows: of every table.
        digests: SHA-256 of each file.
    """

    folder: Path
    created_at: datetime
    code_version: str
    dialect: str
    rows: Mapping[str, int]
    digests: Mapping[str, str]

    @property
    def database(self) -> Path:
        """Its copy of the database."""
        return self.folder / _DATABASES[self.dialect]

    @property
    def secret(self) -> Path:
        """Its copy of the signing secret, which may be missing."""
        return self.folder / _SECRET


def count_rows(engine: Engine) -> dict[str, int]:
    """How many rows each table of the arena has; tables that are not there are left out."""
    there = set(inspect(engine).get_table_names())
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
            if table.name in there
        }


def check_record(engine: Engine) -> list[str]:
    """What is wrong with the database, in words; reads every row of every table.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: the database does not answer at all.
    """
    found: list[str] = []
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            found += _check_sqlite(connection)
        for table in metadata.sorted_tables:
            try:
                for _ in connection.execute(select(table)).yield_per(1000):
                    pass
            except (SQLAlchemyError, StoreError, ValueError, TypeError) as error:
                found.append(f"{table.name} cannot be read to its end: {_first_line(error)}")
                connection.rollback()
    return found


def _check_sqlite(connection: Connection) -> list[str]:
    """What SQLite's own checks say of the file and of the references in it."""
    found: list[str] = []
    try:
        said = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        found += [line for line in said if line != "ok"]
        broken = connection.execute(text("PRAGMA foreign_key_check")).all()
        found += [f"{name}: row {row} points to no row of {to}" for name, row, to, _ in broken]
    except (SQLAlchemyError, StoreError) as error:
        found.append(_first_line(error))
        connection.rollback()
    return found


def make_backup(engine: Engine, data_dir: Path, folder: Path) -> Backup:
    """Copies the record of a running arena; the folder is there whole, or not at all.

    Args:
        engine: of the database.
        data_dir: has the files that sign cookies and part voters into buckets; what is not
            there the backup lacks.
        folder: that must not exist yet.

    Raises:
        StoreError: the folder is there already, or PostgreSQL's programs are missing or fail.
        OSError: the folder cannot be written.
    """
    if folder.exists():
        raise StoreError(f"{folder} is there already; name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        dialect = engine.dialect.name
        _copy_out(engine, draft / _DATABASES[dialect])
        for name in _KEYS:
            if (data_dir / name).is_file():
                shutil.copyfile(data_dir / name, draft / name)
        for path in draft.iterdir():
            path.chmod(0o600)  # it holds what people wrote, and whoever has the secret is anybody
        _write_manifest(draft, dialect, _count_copied(engine, draft / _DATABASES[dialect]))
        _sync(draft)
        draft.replace(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return read_backup(folder)


def read_backup(folder: Path) -> Backup:
    """A backup, after its files were compared with their digests.

    Raises:
        StoreError: it is none, or a file was changed; the message names it.
    """
    try:
        told = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        backup = Backup(
            folder=folder,
            created_at=datetime.fromisoformat(told["created_at"]),
            code_version=told["code_version"],
            dialect=told["dialect"],
            rows=told["rows"],
            digests=told["sha256"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{folder} is no backup ({_first_line(error)}); name a folder that "
            "`arena db backup` made"
        ) from None
    for name, digest in backup.digests.items():
        path = folder / name
        if not path.is_file() or _digest(path) != digest:
            raise StoreError(f"{path} is not what was backed up; use another backup")
    return backup


def restore_backup(backup: Backup, url: str, data_dir: Path) -> Path | None:
    """Puts a backup in the place of a database that nobody uses.

    Args:
        backup: which.
        url: of the database; of the kind that was backed up.
        data_dir: where its keys belong.

    Returns:
        Where the database that was there lies now, `None` if there was none.

    Raises:
        StoreError: it is of another kind of database, or PostgreSQL's programs fail.
        OSError: the place cannot be written.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != backup.dialect:
        raise StoreError(
            f"{backup.folder} is of {backup.dialect}, and the database is "
            f"{parsed.get_backend_name()}; restore it into one of its own kind"
        )
    aside = None
    if backup.dialect == "sqlite":
        aside = _restore_sqlite(backup, Path(parsed.database or ""))
    else:
        _restore_postgresql(backup, parsed)
    data_dir.mkdir(parents=True, exist_ok=True)
    for name in _KEYS:
        if (backup.folder / name).is_file():
            draft = data_dir / f".{name}-{os.getpid()}"
            shutil.copyfile(backup.folder / name, draft)
            draft.chmod(0o600)
            draft.replace(data_dir / name)
    return aside


def _copy_out(engine: Engine, path: Path) -> None:
    if engine.dialect.name != "sqlite":
        _run_postgres("pg_dump", engine.url, "--format=custom", f"--file={path}")
        return
    with closing(sqlite3.connect(path)) as copy, engine.connect() as connection:
        # SQLite's online backup: a snapshot, whatever is written meanwhile.
        connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
        copy.execute("PRAGMA journal_mode = DELETE")


def _count_copied(engine: Engine, path: Path) -> dict[str, int]:
    """Rows of the copy itself where it can be asked, since the arena goes on."""
    if engine.dialect.name != "sqlite":
        return count_rows(engine)
    from sqlalchemy import create_engine

    copied = create_engine(f"sqlite:///{path}")
    try:
        return count_rows(copied)
    finally:
        copied.dispose()


def _write_manifest(folder: Path, dialect: str, rows: Mapping[str, int]) -> None:
    manifest: dict[str, Any] = {
        "format": 1,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "code_version": arena.__version__,
        "dialect": dialect,
        "rows": dict(rows),
        "sha256": {path.name: _digest(path) for path in sorted(folder.iterdir())},
    }
    write_whole(folder / _MANIFEST, json.dumps(manifest, indent=2) + "\n")


def _restore_sqlite(backup: Backup, place: Path) -> Path | None:
    """Moves what is there aside, then puts the copy in its place in one step."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}-{os.getpid()}")
    shutil.copyfile(backup.database, draft)
    aside = None
    if place.exists():
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = place.with_name(f"{place.name}.replaced-{stamp}")
        for suffix in ("", "-wal", "-shm"):
            part = place.with_name(place.name + suffix)
            if part.exists():
                part.replace(aside.with_name(aside.name + suffix))
    draft.replace(place)
    return aside


def _restore_postgresql(backup: Backup, url: URL) -> None:
    _run_postgres(
        "pg_restore", url, "--clean", "--if-exists", "--no-owner", "--single-transaction",
        "--exit-on-error", f"--dbname={url.database}", str(backup.database),
    )  # fmt: skip


def _run_postgres(program: str, url: URL, *arguments: str) -> None:
    """Runs one of PostgreSQL's programs on a database.

    Raises:
        StoreError: it is missing, or says what is wrong.
    """
    newest = sorted(Path(_FOLDERS_OF_POSTGRES).glob("*/bin"), reverse=True)
    found = shutil.which(program, path=os.pathsep.join([*map(str, newest), os.environ["PATH"]]))
    if found is None:
        raise StoreError(
            f"{program} is not installed; on Debian and Ubuntu: apt-get install postgresql-client"
        )
    place = {"PGHOST": url.host, "PGPORT": url.port, "PGUSER": url.username}
    place |= {"PGDATABASE": url.database, "PGPASSWORD": url.password}
    told = {name: str(value) for name, value in place.items() if value is not None}
    done = subprocess.run(
        [found, *arguments],
        check=False,
        env={**os.environ, **told},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise StoreError(f"{program} failed: {done.stderr.strip()}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    """Waits until the files of a folder are on the disk."""
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _first_line(error: Exception) -> str:
    lines: Sequence[str] = str(error).splitlines() or [type(error).__name__]
    return lines[0]
