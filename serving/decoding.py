"""JSON as servers really send it: invalid UTF-8, halves of characters, NaN, control characters.

The fast decoder takes nothing but what the standard allows; only what it refuses is looked at
again, by the slow one, after mending.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import orjson

__all__ = ["Decoded", "NotJson", "decode", "join_halves"]


class NotJson(ValueError):
    """Bytes that are no JSON, however kindly they are read."""


class Decoded(NamedTuple):
    """What some bytes say.

    Attributes:
        value: as JSON has it.
        is_mended: whether bytes that are no UTF-8 were replaced.
    """

    value: object
    is_mended: bool = False


def decode(data: bytes) -> Decoded:
    """The value that the bytes hold.

    Raises:
        NotJson: they hold none.
    """
    try:
        return Decoded(orjson.loads(data))
    except orjson.JSONDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    try:
        # Not strict: a line break inside a string is a mistake that hides nothing.
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        raise NotJson(text) from None
    return Decoded(value, is_mended="\N{REPLACEMENT CHARACTER}" in text and not _is_utf8(data))


def join_halves(text: str) -> str:
    """The text with each pair of surrogates made the one character that it stands for."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
