"""Which arena a command is about: its settings, its record, the address it is open at."""

from __future__ import annotations

import re
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.leaderboards.recipe import Recipe
    from arena.settings import Settings
    from arena.store import Store

__all__ = [
    "DEFAULT_CONFIG",
    "ConfigOption",
    "DataDirOption",
    "choose_recipe",
    "find_address",
    "find_config",
    "keep_address",
    "opened_arena",
    "opening",
    "read_settings",
]

DEFAULT_CONFIG = Path("arena.toml")
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The arena's settings.", show_default="arena.toml"),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        help="The arena's data directory, in place of the settings'; alone, that of an arena "
        "without settings here, such as the demo's."
    ),
]
# In the data directory: where the arena was last open.
_ADDRESS_FILE = "address.txt"
_ADDRESS = re.compile(r"https?://[^\s/]+(/\S*)?")


def read_settings(config: Path | None = None, data_dir: Path | None = None) -> Settings:
    """The settings of the arena that the options name.

    Args:
        config: the settings file.
        data_dir: in place of the settings'.

    Raises:
        Refusal: there is no such data directory.
        SettingsError: the settings cannot be read.
    """
    from arena.settings import load_settings

    path = find_config(config, data_dir)
    if data_dir is None:
        return load_settings(path, runnable=False)
    folder = data_dir.expanduser().absolute()
    _check_folder(folder)
    if path not in (None, config, DEFAULT_CONFIG) and DEFAULT_CONFIG.is_file():
        typer.echo(f"arena: read {path}, not the arena.toml here (--config names it)", err=True)
    return load_settings(path, overrides={"data_dir": str(folder)}, runnable=False)


def find_config(config: Path | None, data_dir: Path | None) -> Path | None:
    """The settings file that the options mean.

    Returns:
        The one named; without one, that in the data directory named, as the demo's is; else
        `arena.toml` here. `None` if a data directory is named and neither is there.
    """
    if config is not None or data_dir is None:
        return config or DEFAULT_CONFIG
    near = (data_dir.expanduser() / DEFAULT_CONFIG.name, DEFAULT_CONFIG)
    return next((path for path in near if path.is_file()), None)


def choose_recipe(
    config: Path | None, data_dir: Path | None, settings: Settings, store: Store
) -> Recipe:
    """How the arena's leaderboards are made: by its settings file, else as its latest was."""
    from arena.leaderboards.recipe import Recipe, read_recipe

    if find_config(config, data_dir) is None:
        return read_recipe(store)
    return Recipe.from_settings(settings.leaderboard)


def _check_folder(folder: Path) -> None:
    from arena.cli.refusals import Refusal

    if not folder.is_dir():
        raise Refusal(
            f"--data-dir {folder} is no folder. Name the one in which `arena up` or `arena demo` "
            f"keeps its votes, or begin there: arena demo --data-dir {shlex.quote(str(folder))}"
        )


@contextmanager
def opening(settings: Settings) -> Iterator[Store]:
    """The record of an arena whose settings are read.

    Raises:
        Refusal: the database cannot be opened.
    """
    from arena.cli.preflight import check_database
    from arena.cli.refusals import Refusal
    from arena.store import StoreError, open_store

    check_database(settings.database.url)
    try:
        store = open_store(settings.database.url)
    except StoreError as error:
        raise Refusal(str(error)) from None
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened_arena(config: Path | None, data_dir: Path | None) -> Iterator[tuple[Settings, Store]]:
    """An arena's settings and its record, for commands that need both.

    Args:
        config: the settings file.
        data_dir: in place of the settings'; see `read_settings`.

    Raises:
        Refusal: the database cannot be opened, or the folder not be written.
        SettingsError: the settings cannot be read.
    """
    from arena.cli.preflight import check_data_dir

    settings = read_settings(config, data_dir)
    check_data_dir(settings.data_dir)
    with opening(settings) as store:
        yield settings, store


def keep_address(settings: Settings, line: str) -> None:
    """Keeps the address in a line beside the votes, for links made meanwhile or later."""
    from arena.writing import write_whole

    if found := _ADDRESS.search(line):
        write_whole(settings.data_dir / _ADDRESS_FILE, f"{found[0]}\n")


def find_address(url: str | None, settings: Settings) -> str:
    """Where people reach the arena, without a slash at the end.

    The one given, else the settings' public one, else where it was last open, else where it
    would open.

    Raises:
        Refusal: the address is none.
    """
    from arena.cli.refusals import Refusal

    if url is not None and not _ADDRESS.fullmatch(url):
        raise Refusal(
            f'--url "{url}" is no web address. Write for example https://arena.example.org'
        )
    server = settings.server
    found = url or server.public_url or _last_address(settings.data_dir)
    return found.rstrip("/") if found else server.find_address()


def _last_address(folder: Path) -> str | None:
    try:
        kept = (folder / _ADDRESS_FILE).read_text(encoding="utf-8").strip()
    except OSError:  # it was never open
        return None
    return kept if _ADDRESS.fullmatch(kept) else None
