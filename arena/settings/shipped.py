"""The data that the program ships: `data/` in a checkout, `arena/data/` once installed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Prompt", "find_shipped_data", "read_prompts"]


class Prompt(NamedTuple):
    """A prompt that the program offers.

    Attributes:
        category: what it asks for, such as coding.
        language: its code, such as zh-Hans.
    """

    category: str
    language: str


@cache
def find_shipped_data() -> Path:
    """The folder of shipped data.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data", package.parent / "data"):
        if (folder / "README.md").is_file():
            return folder
    raise FileNotFoundError(
        f"the data folder is missing beside {package}: install preference-arena again"
    )


@cache
def read_prompts() -> dict[str, Prompt]:
    """What is known of each shipped prompt, by its text.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    with (find_shipped_data() / "prompts.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["text"]: Prompt(row["category"], row["language"]) for row in rows}
