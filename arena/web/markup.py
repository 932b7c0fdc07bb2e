"""Texts of people and models as Markdown that shows what was written and runs nothing.

Models write Markdown. HTML between it is shown as the characters that it is: a tag that the
page's sanitiser would silently drop is text that a voter would not see on one side. Dollar
signs are mathematics only where they cannot be prices (pandoc's rule for `$…$`).

What is code is left alone: fenced and indented blocks, found line by line, and spans within
a paragraph, found as CommonMark says. The work grows with the length of the text only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Fences may stand inside lists and quotations. The rest of a line that opens one of backticks
# holds no backtick: otherwise it is a code span.
_MARGIN = r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(rf"{_MARGIN}(?P<fence>`{{3,}}(?=[^`]*$)|~{{3,}})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+")
# Where a code span cannot go on: the line begins another block.
_BLOCK = re.compile(r"\s*$|[ \t]*(?:[-*+>|]|#{1,6}\s|\d{1,9}[.)]\s)")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_TICKS = re.compile(r"`+")
_TAG = re.compile(r"<(?!(?:br|sub|sup|/sub|/sup)\s*/?>)(?=[A-Za-z/!?])")
# A picture would be fetched from its own site, which the page never does: its link is shown.
_IMAGE = re.compile(r"(?<!\\)!(?=\[)")
_INLINE_MATH = re.compile(r"(?<![\\$\w])\$(?=[^\s$])([^$\n]*?[^\s$\\])\$(?![\d$])")


def shown(text: str) -> str:
    """A prompt or an answer as the panels render it."""
    if "<" not in text and "$" not in text:
        return text
    return "".join(part if is_code else _block(part) for part, is_code in _parts(text))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of whole lines that render alike, in order, and whether each is code."""
    block: list[str] = []
    fence: _Fence | None = None
    home = 0  # how far the text of the list item that we are in is indented
    after_empty = True
    for line in text.splitlines(keepends=True):
        is_empty = not line.strip()
        depth = _depth(line)
        if fence is not None and fence.is_left_by(line):
            fence = None
        opened = _FENCE.match(line) if fence is None else None
        is_indented = after_empty and not is_empty and depth >= home + 4
        if fence is not None or opened or is_indented:
            yield "".join(block), False
            yield line, True
            block = []
            if opened:
                fence = _Fence.opened_by(opened, home=home)
                home = fence.home
            elif fence is not None and fence.is_closed_by(line):
                fence = None
            after_empty = is_indented
            continue
        if _BLOCK.match(line):
            yield "".join(block), False
            block = []
        block.append(line)
        if _HEADING.match(line):
            yield "".join(block), False
            block = []
        if item := _ITEM.match(line):
            home = len(item.group().expandtabs(4))
        elif not is_empty and after_empty and depth < home:
            home = 0
        after_empty = is_empty
    yield "".join(block), False


def _depth(line: str) -> int:
    if line[0] not in " \t":
        return 0
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open fenced block: its mark, and the list item or quotation that it ends with."""

    mark: str
    home: int
    is_quoted: bool

    @classmethod
    def opened_by(cls, match: re.Match[str], *, home: int) -> _Fence:
        margin = match.string[: match.start("fence")].expandtabs(4)
        if margin.strip():
            home = len(margin)
        elif len(margin) < home:
            home = 0
        return cls(match["fence"], home, is_quoted=">" in margin)

    def is_left_by(self, line: str) -> bool:
        if self.is_quoted:
            return not line.lstrip().startswith(">")
        return bool(line.strip()) and _depth(line) < self.home

    def is_closed_by(self, line: str) -> bool:
        mark = line.strip(" \t>\r\n")
        return len(mark) >= len(self.mark) and not mark.strip(self.mark[0])


def _block(text: str) -> str:
    """Prose of one block, in which code spans are left alone."""
    parts: list[str] = []
    end = 0
    for start, stop in _spans(text):
        parts += (_prose(text[end:start]), text[start:stop])
        end = stop
    parts.append(_prose(text[end:]))
    return "".join(parts)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Code spans: from a run of backticks to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    closers: dict[int, list[int]] = defaultdict(list)
    for number, (start, end) in reversed(list(enumerate(runs))):
        closers[end - start].append(number)
    next_run = 0
    for number, (start, end) in enumerate(runs):
        if number < next_run:
            continue
        backslashes = start - len(text[:start].rstrip("\\"))
        opening = start + backslashes % 2
        candidates = closers[end - opening]
        while candidates and candidates[-1] <= number:
            candidates.pop()
        if candidates:
            next_run = candidates[-1] + 1
            yield opening, runs[candidates[-1]][1]


def _prose(text: str) -> str:
    harmless = _IMAGE.sub(r"\!", _TAG.sub("&lt;", text))
    return _INLINE_MATH.sub(r"\\(\1\\)", harmless)
