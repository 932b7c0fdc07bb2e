"""Bytes to text: marks and UTF-8 are trusted, everything else is a guess that is told."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from ranking.errors import UnreadableFile

__all__ = ["Decoded", "decode"]

_MARKS: tuple[tuple[bytes, str, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with a mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
# What a guess may come to beside cp1252 (of which Latin-1 is a part), the likeliest first.
_IN_RUNS = ("gb18030", "big5", "cp932", "cp949", "euc_jp", "cp1251")
_NAMES = {
    "cp1252": "Windows-1252 (Western European)",
    "gb18030": "GB18030 (Chinese)",
    "big5": "Big5 (Chinese)",
    "cp932": "Shift-JIS (Japanese)",
    "cp949": "EUC-KR (Korean)",
    "euc_jp": "EUC-JP (Japanese)",
    "cp1251": "Windows-1251 (Cyrillic)",
}
# Letters, quotation marks and dashes of cp1252.
_WESTERN = re.compile(rb"[\xc0-\xff\x8a\x8c\x8e\x9a\x9c\x9e\x9f\x91-\x97\x85\xa0]+")
_MOSTLY = 0.9
_SAMPLE = 1 << 16
_NOT_ASCII = re.compile(rb"[^\r\n]*[\x80-\xff][^\r\n]*")
# A text is damaged UTF-8, not another encoding, if at most this share of its characters
# beyond ASCII cannot be decoded.
_DAMAGED = 0.1


class Decoded(NamedTuple):
    """A file's text.

    Attributes:
        utf8: The text as UTF-8 bytes, without a mark.
        encoding: What it was, as a person calls it.
        note: What had to be guessed or replaced, "" if nothing.
    """

    utf8: bytes
    encoding: str
    note: str = ""


def decode(data: bytes, encoding: str | None = None) -> Decoded:
    """Turn bytes into UTF-8.

    Args:
        data: Of a file.
        encoding: As Python names it, where it is known.

    Raises:
        UnreadableFile: The encoding is unknown, or the bytes are not in it.
    """
    if encoding is not None:
        return _decode_as(data, encoding)
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            return Decoded(_decode_strictly(data, codec).encode(errors="replace"), name)
    wide = _find_wide(data)
    if wide:
        text = _decode_strictly(data, wide)
        name = wide.upper().replace("LE", "").replace("BE", "").rstrip("-")
        return Decoded(text.encode(errors="replace"), name, _say_guess(name, wide))
    if data.isascii():
        return Decoded(data, "ASCII")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _guess(data)
    return Decoded(data, "UTF-8")


def _decode_as(data: bytes, encoding: str) -> Decoded:
    try:
        codec = codecs.lookup(encoding)
        text = data.decode("utf-8-sig" if codec.name == "utf-8" else encoding)
    except LookupError:
        raise UnreadableFile(
            f'--encoding "{encoding}" is unknown. Write for example utf-8, utf-16, cp1252, '
            "gb18030, big5 or shift_jis."
        ) from None
    except (UnicodeError, AttributeError) as error:
        where = f" at byte {error.start:,}" if isinstance(error, UnicodeDecodeError) else ""
        raise UnreadableFile(
            f"the file is not {encoding}{where}. Name another --encoding, or leave it out."
        ) from None
    return Decoded(text.removeprefix("\ufeff").encode(errors="replace"), codec.name)


def _decode_strictly(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"the file begins as {codec} and is not from byte {error.start:,} on: it may be cut "
            "off. Fetch it again, or name its --encoding."
        ) from None


def _find_wide(data: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of plain text is zero."""
    start = data[:_SAMPLE]
    if not start.count(0) > len(start) / 4:
        return None
    return "utf-16-le" if start[1::2].count(0) >= start[::2].count(0) else "utf-16-be"


def _guess(data: bytes) -> Decoded:
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    beyond = sum(not line.isascii() and sum(c > "\x7f" for c in line) for line in text.splitlines())
    if damaged <= beyond * _DAMAGED:
        note = f"{damaged} bytes are not UTF-8 and were replaced"
        return Decoded(text.encode(), "UTF-8", note)
    codec = _guess_codec(data, b"\n".join(_NOT_ASCII.findall(data))[:_SAMPLE])
    text = data.decode(codec, "replace")
    return Decoded(text.encode(), _NAMES[codec], _say_guess(_NAMES[codec], codec))


def _guess_codec(data: bytes, sample: bytes) -> str:
    """Western letters stand alone among ASCII; in other scripts such bytes come in runs."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    lonely = sum(len(run) == 1 for run in runs) > len(runs) / 2
    western = sum(len(found) for found in _WESTERN.findall(sample))
    if lonely and western > _MOSTLY * sum(map(len, runs)):
        return "cp1252"
    from charset_normalizer import from_bytes

    found = [
        match
        for match in from_bytes(sample, cp_isolation=list(_IN_RUNS))
        if match.encoding in _IN_RUNS and _is_decodable(data, match.encoding)
    ]
    found.sort(key=lambda match: (match.chaos, _IN_RUNS.index(match.encoding)))
    return found[0].encoding if found else "cp1252"


def _is_decodable(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _say_guess(name: str, codec: str) -> str:
    return (
        f"the encoding was guessed: {name}, the same as --encoding {codec}; if names look wrong, "
        "name another"
    )
