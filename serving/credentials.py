"""Keys of providers: read from the environment, kept out of everything that is shown."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from pydantic import SecretStr

from serving.protocol import BadCredentials

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRINTABLE = frozenset(string.printable) - frozenset(string.whitespace)
SCRUBBED = "(key removed)"


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
    """The text without the key, should a provider have quoted it."""
    secret = key.get_secret_value() if key is not None else ""
    return text.replace(secret, SCRUBBED) if secret else text
