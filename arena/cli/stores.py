"""The arena's record, opened for a command."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.settings import Settings
    from arena.store import Store

__all__ = ["opened_store", "opening"]


@contextmanager
def opened_store(config: Path | None) -> Iterator[Store]:
    """The record of the arena that a settings file describes.

    Raises:
        Refusal: the database cannot be opened.
        SettingsError: the settings cannot be read.
    """
    from arena.cli.models import DEFAULT_CONFIG
    from arena.settings import load_settings

    with opening(load_settings(config or DEFAULT_CONFIG, runnable=False)) as store:
        yield store


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
