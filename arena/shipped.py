"""Finds the data that the program ships: `data/` in a checkout, `arena/data/` once installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["find_shipped_data"]


@cache
def find_shipped_data() -> Path:
    """The folder of shipped data.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "data", package.parent / "data"):
        if (folder / "README.md").is_file():
            return folder
    raise FileNotFoundError(
        f"the data folder is missing beside {package}: install preference-arena again"
    )
