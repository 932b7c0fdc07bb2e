"""Keys of providers: read from the environment, kept out of everything that is shown."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import SecretStr

from serving.protocol import BadCredentials

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRINTABLE = frozenset(string.printable) - frozenset(string.whitespace)
SCRUBBED = "(key removed)"
# Masked with asterisks or dots; behind "Bearer"; with the beginnings that providers give keys.
_LIKE_A_KEY = re.compile(
    r"[\w-]*\*{3,}[\w-]*|[\w-]{2,}(?:\.{3}|…)[\w-]{2,}|(?<=Bearer )[\w.~+/-]{8,}|"
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|fw|key|AIza)[-_][\w-]{12,}|\bAIza[\w-]{20,}"
)
_WORD = re.compile(r"[^\s\"'`,;:()<>{}\[\]]+")
# As many letters of a key in a row as nobody writes by chance; a shorter key is a word.
_PIECE = 8
_SHORTEST_KEY = 12


def read_key(variable: str, environ: Mapping[str, str], *, model: str) -> SecretStr:
    """The key in an environment variable.

    Raises:
        BadCredentials: the variable is unset, empty, or holds what no key can be; the
            message names the model, the variable and the remedy, never the value.
    """
    value = environ.get(variable, "").strip()
    if not value:
        raise BadCredentials(
            f"model {model!r} needs the environment variable {variable}, which is not set; "
            f"set it to the provider's key (export {variable}=…) and start again, or disable "
            "the model with enabled = false"
        )
    if not set(value) <= _PRINTABLE:
        raise BadCredentials(
            f"model {model!r}: the environment variable {variable} holds characters that no "
            "key has (a space, a line break or a letter outside ASCII); copy the key again"
        )
    return SecretStr(value)


def scrub(text: str, key: SecretStr | None) -> str:
    """The text without the key, and without what looks like a piece of one or like another.

    Providers quote a wrong key whole, masked (`sk-…ab12`) or encoded, and a go-between may quote
    the key that it uses itself.
    """
    secret = key.get_secret_value() if key is not None else ""
    for written in {secret, quote(secret, safe="")} - {""}:
        text = text.replace(written, SCRUBBED)
    text = _LIKE_A_KEY.sub(SCRUBBED, text)
    if len(secret) < _SHORTEST_KEY:
        return text
    pieces = {secret[at : at + _PIECE] for at in range(len(secret) - _PIECE + 1)}
    return _WORD.sub(
        lambda word: SCRUBBED if any(piece in word[0] for piece in pieces) else word[0], text
    )
