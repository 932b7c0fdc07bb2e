"""What could lead to a person is masked in five languages, and what could not is left alone."""

from __future__ import annotations

import pytest

from arena.publishing.redaction import Masker

MASKER = Masker()
# Of our own writing; numbers are those kept for examples, or made by their check digits.
PLANTED = [
    ("en", "Call me at (202) 555-0143 or mail jo.b+x@mail.example.com.", {"phone", "email"}),
    ("en", "My card is 4111 1111 1111 1111, exp 12/29.", {"card"}),
    ("en", "key sk-proj-abcDEF0123456789abcDEF and AKIAIOSFODNN7EXAMPLE", {"key"}),
    ("en", "server 203.0.113.77 and 2001:db8::8a2e:370:7334 answer", {"address"}),
    ("fr", "Joins-moi au 06 12 34 56 78 ou à zoé@exemple.fr", {"phone", "email"}),
    ("fr", "Mon IBAN : FR14 2004 1010 0505 0001 3M02 606.", {"iban"}),
    ("zh", "我的手机号是13812345678，邮箱zhang@example.cn。", {"phone", "email"}),
    ("de", "Ruf an: 030 901820, Konto DE89370400440532013000", {"phone", "iban"}),
    ("hi", "मेरा नंबर 98765 43210 है, ईमेल ravi@example.in", {"phone", "email"}),
    ("hi", "कार्ड 5500 0000 0000 0004", {"card"}),
]
HARMLESS = [
    ("en", "Between 1990 and 2024 version 1.2.3.4.5 took 3.14159 s at 12:30:45."),
    ("en", "std::vector and a::b::c are C++; 127.0.0.1 is everybody's."),
    ("en", "The task-force met; risk-adjusted-returns are 12345678901234567890."),
    ("fr", "En 1789, 25 000 000 d'habitants ; le quotient vaut 0,142857142857."),
    ("zh", "圆周率是3.1415926535897932，共有1234567个。"),
    ("de", "Die Rechnung Nr. 2024-0007 über 1.234,56 Euro."),
    ("hi", "2023 में 140 करोड़ लोग।"),
]


@pytest.mark.parametrize(("language", "text", "kinds"), PLANTED)
def test_what_was_planted_is_masked(language: str, text: str, kinds: set[str]) -> None:
    masked = MASKER.mask(text, language)
    assert set(masked.found) == kinds, masked.text
    assert not any(character.isdigit() for character in masked.text.replace("12/29", ""))
    assert "@" not in masked.text


@pytest.mark.parametrize(("language", "text"), HARMLESS)
def test_what_leads_to_nobody_is_left_alone(language: str, text: str) -> None:
    assert MASKER.mask(text, language).text == text
