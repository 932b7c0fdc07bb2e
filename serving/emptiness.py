"""Whether an answer says anything: characters that nobody sees and bare markup do not."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Letters by their category, but blank on every screen: Hangul fillers, the braille pattern
# without dots; and what only changes how its neighbours look.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\ufffc")
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_FENCED = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_TICKS = re.compile("`+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_EMPTY_LINK = re.compile(r"(?<!!)\[\s*\]\([^()]*\)")
_LIST_NUMBER = re.compile(r"^[ \t]*\d{1,9}[.)][ \t]*$", re.MULTILINE)
_MARKUP_LINE = re.compile(r"^[\s>#*+\-_~`|:=$\\\[\]]*$")
# A line of one such character is an answer ("which operator?") where it would be seen.
_SEEN_ALONE = frozenset("=|~_:$\\[]")
# Looked at piece by piece: the first nearly always decides, and a megabyte of backticks, over
# which such expressions would take their time squared, stays cheap.
_PIECE = 2_000


def says_nothing(text: str) -> bool:
    """Whether a reader of the text, as it is shown, would see nothing in it."""
    return all(_is_blank(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))


def _is_blank(text: str) -> bool:
    for code in (*(found[2] for found in _FENCED.finditer(text)), *_inline_code(text)):
        if _seen(code).strip("`~"):
            return False
    bare = _FENCED.sub("", text)
    for markup in (_COMMENT, _TAG, _EMPTY_LINK):
        bare = markup.sub("", bare)
    bare = _seen(html.unescape(bare), keep="\n")
    if _LIST_NUMBER.fullmatch(bare.strip()) is None:
        bare = _LIST_NUMBER.sub("", bare)
    if bare.strip() in _SEEN_ALONE:
        return False
    return all(_MARKUP_LINE.match(line) for line in bare.split("\n"))


def _inline_code(text: str) -> Iterator[str]:
    """What stands between two rows of equally many backticks, from left to right."""
    bare = _FENCED.sub("", text)
    rows = [found.span() for found in _TICKS.finditer(bare)]
    ends: dict[int, list[int]] = {}  # length → the rows of it, the first one last
    for number in range(len(rows) - 1, -1, -1):
        start, end = rows[number]
        ends.setdefault(end - start, []).append(number)
    number = 0
    while number < len(rows):
        start, end = rows[number]
        later = ends[end - start]
        while later and later[-1] <= number:
            later.pop()
        if later:
            number = later[-1]
            yield bare[end : rows[number][0]]
        number += 1


def _seen(text: str, *, keep: str = "") -> str:
    """The characters that leave a mark on the screen."""
    return "".join(
        letter
        for letter in _SELECTORS.sub("", text)
        if letter in keep
        or (letter not in _BLANK and unicodedata.category(letter) not in _UNSEEN_CATEGORIES)
    )
