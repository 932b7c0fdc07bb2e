"""Keeps the tables of a version as SQL, so that every later one shows that it upgrades them.

Run as a script it writes those of this version: `python tests/arena/kept_schemas.py`.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

import arena
from arena.store.upgrading import MIGRATIONS, find_head

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

SCHEMAS = Path(__file__).parent / "store" / "schemas"
BACKENDS = ("sqlite", "postgresql")


def describe(backend: str, revision: str) -> str:
    """The statements that make the tables of a revision, and its stamp."""
    written = io.StringIO()
    config = Config(output_buffer=written)
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["dialect"] = backend
    command.upgrade(config, revision, sql=True)
    lines = (line.rstrip() for line in written.getvalue().splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--")) + "\n"


def list_kept() -> list[str]:
    """The versions whose tables are kept."""
    return sorted(path.name.removesuffix(".rows.sql") for path in SCHEMAS.glob("*.rows.sql"))


def load(engine: Engine, version: str) -> None:
    """Makes the database of a version, with rows in every table."""
    backend = engine.dialect.name
    files = (SCHEMAS / f"{version}.{backend}.sql", SCHEMAS / f"{version}.rows.sql")
    with engine.begin() as connection:
        for file in files:
            for statement in file.read_text(encoding="utf-8").split(";\n"):
                told = statement.strip()
                if told and told not in ("BEGIN", "COMMIT"):
                    connection.exec_driver_sql(told)


def keep() -> None:
    """Writes the tables of this version; its rows are written by hand, beside them."""
    for backend in BACKENDS:
        path = SCHEMAS / f"{arena.__version__}.{backend}.sql"
        path.write_text(describe(backend, find_head()), encoding="utf-8")


if __name__ == "__main__":
    keep()
