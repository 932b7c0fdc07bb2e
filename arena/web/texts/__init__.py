"""Everything a visitor reads, a file a language."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# In the order of the language switch; the first is the fallback.
LANGUAGES = ("en", "zh")

Texts = MappingProxyType[str, MappingProxyType[str, str]]


@cache
def load_texts(language: str) -> Texts:
    """The texts of a language as section → key → text.

    Raises:
        KeyError: there is no such language.
    """
    if language not in LANGUAGES:
        raise KeyError(language)
    path = Path(__file__).parent / f"{language}.toml"
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    return MappingProxyType({name: MappingProxyType(texts) for name, texts in sections.items()})


@cache
def load_table_words(code: str) -> MappingProxyType[str, str]:
    """What the tables of an agreement report say in English, in another language.

    Args:
        code: as in the page's `lang`, such as `zh-Hans`.

    Returns:
        The English words to those of the language; nothing where English is spoken.
    """
    path = Path(__file__).parent / f"tables.{code.split('-')[0]}.toml"
    if not path.is_file():
        return MappingProxyType({})
    return MappingProxyType(tomllib.loads(path.read_text(encoding="utf-8")))


def choose_language(accepted: str, *, default: str = LANGUAGES[0]) -> str:
    """The best of our languages for a browser.

    Args:
        accepted: its `Accept-Language` header, such as `zh-CN,zh;q=0.9,en;q=0.8`.
        default: where it accepts none of ours.
    """
    for tag in _by_preference(accepted.split(",")):
        primary = tag.split("-")[0]
        if primary in LANGUAGES:
            return primary
    return default


def _by_preference(ranges: Iterable[str]) -> list[str]:
    weighted = []
    for entry in ranges:
        tag, _, quality = (part.strip() for part in entry.lower().partition(";"))
        try:
            weight = float(quality.removeprefix("q=")) if quality else 1.0
        except ValueError:
            weight = 0.0
        if weight > 0:
            weighted.append((weight, tag))
    return [tag for _, tag in sorted(weighted, key=lambda item: -item[0])]
