"""The arena's record, opened for a command."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.settings import Settings
    from arena.store import Store

__all__ = [
    "ConfigOption",
    "DataDirOption",
    "find_address",
    "opened_arena",
    "opening",
]

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The arena's settings.", show_default="arena.toml"),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(help="The arena's data directory, in place of the settings' (arena demo)."),
]


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
        data_dir: in place of the settings'; alone, that of an arena without a file, such as
            the demo.

    Raises:
        Refusal: the database cannot be opened, or the folder not be written.
        SettingsError: the settings cannot be read.
    """
    from arena.cli.models import DEFAULT_CONFIG
    from arena.cli.preflight import check_data_dir
    from arena.settings import load_settings

    path: Path | None = config or DEFAULT_CONFIG
    overrides = {}
    if data_dir is not None:
        overrides["data_dir"] = str(data_dir.expanduser().absolute())
        if config is None and not DEFAULT_CONFIG.is_file():
            path = None  # an arena without settings of its own, such as the demo
    settings = load_settings(path, overrides=overrides, runnable=False)
    check_data_dir(settings.data_dir)
    with opening(settings) as store:
        yield settings, store


def find_address(url: str | None, settings: Settings) -> str:
    """Where people reach the arena, without a slash at the end.

    Raises:
        Refusal: the address is none.
    """
    from arena.cli.refusals import Refusal

    if url is not None and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
        raise Refusal(
            f'--url "{url}" is no web address. Write for example https://arena.example.org'
        )
    server = settings.server
    return (url or server.public_url or f"http://127.0.0.1:{server.port}").rstrip("/")
