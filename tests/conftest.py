"""What the tests run on: the model file, a browser, PostgreSQL, the shared data.

A tool that is missing skips the tests that need it, with the reason. With `CI` set, as on a
machine that installs everything, the same is a failure: nothing goes untested unseen.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import hypothesis
import pytest
from sqlalchemy import create_engine, make_url, text

from arena.settings.demo import ModelFileUnavailable, ensure_model_file
from arena.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    Need = Callable[..., str]

REPOSITORY = Path(__file__).resolve().parent.parent

# An example may take as long as an overloaded machine needs for it.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """Lets what a test printed, logged or compared reach the main process, whatever is in it.

    Half a character (a lone surrogate), which tests of dirty texts use, has no bytes: a worker
    that reports one dies of it, and the run with it.
    """
    return make_encodable((yield))


def make_encodable(report: object) -> object:
    """The same nested lists and mappings, with half characters written as their escapes."""
    match report:
        case str():
            return report.encode(errors="backslashreplace").decode()
        case list() | tuple():
            return type(report)(map(make_encodable, report))
        case dict():
            return {make_encodable(key): make_encodable(value) for key, value in report.items()}
    return report


def give_up(reason: str) -> NoReturn:
    """Skips for want of something that CI has; fails in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI must have it", pytrace=False)
    pytest.skip(reason)


def find_tool(names: Sequence[str], *, folders: Sequence[Path] = ()) -> str:
    """The path of the first program found, by name on PATH or in one of the folders."""
    for name in names:
        places = [found] if (found := shutil.which(name)) else []
        places += [str(folder / name) for folder in folders if (folder / name).is_file()]
        if places:
            return places[0]
    give_up(f"{' or '.join(names)} is not installed")


@pytest.fixture(scope="session")
def need() -> Need:
    """`need("nginx")`: its path, or a skip (in CI a failure) that says what is missing."""

    def need_tool(*names: str, folders: Sequence[Path] = ()) -> str:
        return find_tool(names, folders=folders)

    return need_tool


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The small language model's GGUF file, fetched once into the user's cache."""
    try:
        return ensure_model_file()
    except ModelFileUnavailable as reason:
        give_up(f"the model file cannot be had: {reason}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium: the system's, or the one Playwright installed."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    # In a process of its own: Playwright's driver and a test's event loop do not mix.
    ask = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as browsers: print(browsers.chromium.executable_path)"
    )
    done = subprocess.run([sys.executable, "-c", ask], check=False, capture_output=True, text=True)
    if done.returncode == 0 and Path(done.stdout.strip()).is_file():
        return done.stdout.strip()
    give_up("no Chromium is installed (apt-get install chromium, or playwright install chromium)")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public preference data that lies beside the repository, where it does."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder.relative_to(REPOSITORY.parent)} beside the repository")
    return folder


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL cluster of our own, as a SQLAlchemy URL; gone after the tests."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    programs = {name: find_tool([name], folders=folders) for name in ("initdb", "pg_ctl")}
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    scratch = Path(tempfile.mkdtemp(prefix="arena-postgres-"))
    if user is not None:
        shutil.chown(scratch, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = str(scratch / "data")

    def call(name: str, *arguments: str) -> None:
        with (scratch / "output").open("a") as output:
            done = subprocess.run(
                [programs[name], "-D", data, *arguments],
                check=False,
                cwd=scratch,
                user=user,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        if done.returncode != 0:
            pytest.fail(f"{name} failed:\n{(scratch / 'output').read_text()}", pytrace=False)

    try:
        call("initdb", "--username=arena", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-p {port} -k {scratch} -c listen_addresses=127.0.0.1 -c fsync=off"
        call("pg_ctl", "-w", "-o", options, "-l", str(scratch / "log"), "start")
        yield f"postgresql+psycopg://arena@127.0.0.1:{port}/postgres"
        call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture
def sqlite_database(tmp_path: Path) -> str:
    """The URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path}/arena.db"


@pytest.fixture
def postgres_database(postgres_url: str) -> str:
    """The URL of an empty database of its own in the tests' PostgreSQL."""
    name = f"arena_{secrets.token_hex(8)}"
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return make_url(postgres_url).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database: every test that asks for it runs on both engines."""
    url = request.getfixturevalue(f"{request.param}_database")
    assert isinstance(url, str)
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An open store over an empty database, on both engines."""
    opened = open_store(database_url)
    yield opened
    opened.close()
