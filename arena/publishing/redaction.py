"""What could lead to a person is masked: addresses, phones, cards, accounts, keys.

Names of people are not: no small program finds them.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# As many as are spoken where most of its phone numbers are written without a country's code.
_REGIONS = {
    "en": ("US", "GB"), "fr": ("FR",), "zh": ("CN",), "de": ("DE",), "hi": ("IN",), "es": ("ES",),
    "it": ("IT",), "pt": ("BR", "PT"), "ja": ("JP",), "ko": ("KR",), "ru": ("RU",), "nl": ("NL",),
    "pl": ("PL",), "tr": ("TR",), "sv": ("SE",), "ar": ("EG", "SA"), "uk": ("UA",), "vi": ("VN",),
}  # fmt: skip
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]*\d)")
_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{16}|ASIA[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})",
    re.DOTALL,
)
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}"
    r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?![\w:])"
)
_MAC = re.compile(
    r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})"
    r"(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])"
)
# Nobody's in particular.
_NOBODYS = {"0.0.0.0", "127.0.0.1", "255.255.255.255", "::1", "::"}  # noqa: S104

KINDS = ("key", "email", "iban", "card", "address", "phone")
"""What is found, in the order of the search: what is masked is no longer searched."""


class Masked(NamedTuple):
    """A text without what could lead to a person.

    Attributes:
        text: with `[email]` and the like in place of what was found.
        found: how many, by kind.
    """

    text: str
    found: Counter[str]


class Masker:
    """Masks texts; says once if phone numbers cannot be found.

    Attributes:
        finds_phones: whether the library that knows them is installed.
    """

    def __init__(self) -> None:
        try:
            import phonenumbers
        except ImportError:
            self._phones = None
        else:
            self._phones = phonenumbers
        self.finds_phones = self._phones is not None

    def mask(self, text: str, language: str | None = None) -> Masked:
        """Masks what is found.

        Args:
            text: what somebody wrote.
            language: of it, which tells how phone numbers without a country's code look.
        """
        found: Counter[str] = Counter()
        for kind, pattern, is_one in _SEARCHES:
            text = pattern.sub(partial(_replace, kind, is_one, found), text)
        return Masked(self._mask_phones(text, language, found), found)

    def _mask_phones(self, text: str, language: str | None, found: Counter[str]) -> str:
        if self._phones is None or sum(character.isdigit() for character in text) < 7:
            return text
        base = (language or "en").lower().replace("_", "-").split("-")[0]
        for region in _REGIONS.get(base, (None,)):
            matches = list(self._phones.PhoneNumberMatcher(text, region))
            for match in reversed(matches):
                text = f"{text[: match.start]}[phone]{text[match.end :]}"
                found["phone"] += 1
        return text


def _replace(
    kind: str, is_one: Callable[[str], bool], found: Counter[str], match: re.Match[str]
) -> str:
    if not is_one(match[0]):
        return match[0]
    found[kind] += 1
    return f"[{kind}]"


def _any(_: str) -> bool:
    return True


def _is_iban(text: str) -> bool:
    """By its check digits (ISO 13616): the number, turned round, leaves 1 modulo 97."""
    plain = re.sub(r"[ -]", "", text)
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    """By its check digit (Luhn), and by the digit that cards begin with."""
    digits = [int(c) for c in text if c.isdigit()]
    if digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return text not in _NOBODYS


_SEARCHES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("key", _KEYS, _any),
    ("email", _EMAIL, _any),
    ("iban", _IBAN, _is_iban),
    ("card", _CARD, _is_card),
    ("address", _MAC, _any),
    ("address", _IPV4, _is_address),
    ("address", _IPV6, _is_address),
)
