"""Where `arena rank` reads: one of a file, a database, a data directory and an arena's settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arena.cli.arenas import find_config, read_settings
from arena.cli.rank.database import read_database
from arena.cli.rank.votes import read_file
from arena.cli.refusals import Refusal
from arena.leaderboards.recipe import Recipe

if TYPE_CHECKING:
    from arena.cli.rank.votes import Request, Source

__all__ = ["Place", "read_place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the command line names.

    Attributes:
        file: of votes or counts.
        config: settings of an arena.
        database: its URL, or an SQLite file.
        data_dir: a folder with an arena's data, in place of the settings'.
    """

    file: Path | None = None
    config: Path | None = None
    database: str | None = None
    data_dir: Path | None = None


def read_place(place: Place, request: Request) -> Source:
    """The votes, with the recipe of the arena that they are from.

    An arena's settings say how its leaderboards are made; a database without settings says
    it by its latest leaderboard.

    Raises:
        Refusal: several places are named, or the votes cannot be had from it.
        SettingsError: the settings cannot be read.
    """
    _check_one(place)
    _check_file(place, request)
    if place.file is not None:
        return read_file(place.file, request)
    if place.database is not None:
        is_url = "://" in place.database
        path = Path(place.database).absolute()
        return read_database(place.database if is_url else f"sqlite:///{path}", request)
    settings = read_settings(place.config, place.data_dir)
    recipe = None
    if find_config(place.config, place.data_dir) is not None:
        recipe = Recipe.from_settings(settings.leaderboard)
    return read_database(settings.database.url, request, recipe)


def _check_one(place: Place) -> None:
    named = {
        "a file": place.file,
        "--config": place.config,
        "--data-dir": None if place.config is not None else place.data_dir,
        "--database": place.database,
    }
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise Refusal(f"{' and '.join(given)} name different votes. Give one of them.")


def _check_file(place: Place, request: Request) -> None:
    for option, is_given in request.list_file_options().items():
        if place.file is None and is_given:
            raise Refusal(f"{option} speaks of a file, and there is no file. Leave it out.")
    if place.file is not None and request.judge is not None:
        raise Refusal("--judge reads an arena's database, and not a file. Leave one of them out.")
