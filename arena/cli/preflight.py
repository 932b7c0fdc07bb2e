"""What can be known to fail before a model is loaded: the port, the folder, the database."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from arena.cli.refusals import Refusal

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

    from arena.settings import Settings

__all__ = [
    "check_data_dir",
    "check_database",
    "check_draws",
    "check_port",
    "check_start",
    "explain",
]

_PORTS_TRIED = 50


def check_start(settings: Settings) -> None:
    """All of the checks.

    Raises:
        Refusal: the first that fails, with the value and the remedy.
    """
    check_data_dir(settings.data_dir)
    check_database(settings.database.url)
    check_port(settings.server.host, settings.server.port)
    check_draws(settings)
    check_rates(settings.rates.storage)


def check_rates(storage: str) -> None:
    """Looks for the driver of what counts rates, and asks it once."""
    from limits.errors import ConfigurationError
    from limits.storage import storage_from_string

    try:
        is_there = storage_from_string(storage).check()
    except ConfigurationError:
        raise Refusal(
            f"rates.storage {storage} needs a driver that is not installed. "
            "For Redis: pip install redis. Or leave it out, to count in each process."
        ) from None
    if not is_there:
        raise Refusal(
            f"rates.storage {storage} does not answer. Start it, or leave it out, to count in each "
            "process."
        )


def check_data_dir(folder: Path) -> None:
    """Creates the data directory where it is missing, and writes to it once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Refusal(
            f"the data directory {folder} cannot be written ({explain(error)}). "
            "Name another with --data-dir, or let this user write there."
        ) from None


def check_database(url: str) -> None:
    """Looks for the driver, and takes a SQLite file's write lock once."""
    from sqlalchemy.engine import make_url

    parsed = make_url(url)
    try:
        parsed.get_dialect().import_dbapi()
    except ImportError as error:
        raise Refusal(
            f"the database {parsed.render_as_string()} needs the driver {error.name}, which is not "
            f'installed. Install it (for PostgreSQL: pip install "preference-arena[postgres]").'
        ) from None
    name = parsed.database or ":memory:"
    # A file: URI carries options of its own; SQLite judges those itself.
    if parsed.get_backend_name() == "sqlite" and not name.startswith((":memory:", "file:")):
        _check_sqlite(Path(name), parsed)


def check_port(host: str, port: int) -> None:
    """Binds the address once; port 0 asks the system for any."""
    try:
        _bind(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refusal(
                f"port {port} on {host} is in use. Choose another, for example "
                f"--port {_find_free_port(host, after=port)}, or stop what uses it."
            ) from None
        if error.errno == errno.EACCES:
            raise Refusal(
                f"port {port} on {host} is not allowed to this user. "
                "Choose one above 1023, for example --port 7860."
            ) from None
        raise Refusal(
            f"{host} is not an address of this machine ({explain(error)}). "
            "Use --host 127.0.0.1 for this machine alone, or --host 0.0.0.0 for its network."
        ) from None


def check_draws(settings: Settings) -> None:
    """Looks for rules of matchmaking that no draw could keep."""
    from arena.matchmaking.constraints import read_rules

    names = [model.name for model in settings.models if model.enabled]
    try:
        read_rules(settings.matchmaking, names)
    except ValueError as error:
        raise Refusal(f"the rules under [matchmaking] contradict each other: {error}.") from None


def _check_sqlite(path: Path, url: URL) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except (OSError, sqlite3.Error) as error:
        raise Refusal(
            f"the database {url.render_as_string()} cannot be written ({explain(error)}). "
            "Set database.url (or ARENA_DATABASE__URL) to a file that this user may write, "
            "or --data-dir to another folder."
        ) from None


def _bind(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        # As the server itself binds: a port whose last connections linger is free.
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


def _find_free_port(host: str, *, after: int) -> int:
    for port in range(after + 1, min(after + 1 + _PORTS_TRIED, 65536)):
        try:
            _bind(host, port)
        except OSError:
            continue
        return port
    return 0


def explain(error: Exception) -> str:
    """What the system said, in a few words."""
    if isinstance(error, FileExistsError):
        return "a file has the folder's name"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
