"""Markdown as every part of the project reads it, for what is shown and what is counted.

CommonMark with tables and strikethrough. HTML is text. Emphasis works beside Chinese, Japanese
and Korean text: CommonMark asks for a space between a closing `**` that follows punctuation and
a letter, and these languages have none there.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import emphasis, strikethrough

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it.rules_inline import StateInline

    Rule = Callable[[StateInline, bool], bool]

_WIDE = ("W", "F", "H")  # how Unicode calls the widths that only these languages have


def markdown_parser() -> MarkdownIt:
    """A parser of its own, to which rules may be added."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    parser.inline.ruler.at("emphasis", _beside_wide_text(emphasis.tokenize, "*"))
    parser.inline.ruler.at("strikethrough", _beside_wide_text(strikethrough.tokenize, "~"))
    return parser


def _beside_wide_text(tokenize: Rule, mark: str) -> Rule:
    """A rule whose delimiters open and close beside text without spaces, too."""

    def rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  as the parser calls it
        start, known = state.pos, len(state.delimiters)
        if not tokenize(state, silent):
            return False
        if state.src[start] == mark and len(state.delimiters) > known:
            before = state.src[start - 1] if start else " "
            after = state.src[state.pos] if state.pos < state.posMax else " "
            if _is_wide(before) or _is_wide(after):
                for delimiter in state.delimiters[known:]:
                    delimiter.open = delimiter.open or _opens(before, after)
                    delimiter.close = delimiter.close or _opens(after, before)
        return True

    return rule


def _opens(outside: str, inside: str) -> bool:
    """Whether a mark between two characters, one of them wide, may belong to the inner one."""
    if _is_space(inside):
        return False
    return _is_wide(inside) or not _is_punctuation(inside) or _is_wide(outside)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in _WIDE and not _is_space(character)


def _is_space(character: str) -> bool:
    return isWhiteSpace(ord(character))


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)
