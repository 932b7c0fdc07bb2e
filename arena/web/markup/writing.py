"""An answer as HTML while it is written, and once it is complete.

What follows in an answer can change its last block only, so each update reads that block and
what came after; where a reference is defined below its use, or a formula that was begun does
not end, only the complete answer shows it as it is. The work grows with the length of the text
only: a block that is long is read again when it has grown by a thirtieth, and what is longer
than `MOST_MARKDOWN` is shown as it was written.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from arena.web.markup.parsing import answer_parser
from arena.web.markup.rendering import AnswerRenderer, clean, render_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from markdown_it.token import Token

_T = TypeVar("_T")

MOST_MARKDOWN = 100_000  # characters
# Reading takes about a millisecond a kilobyte; what takes longer than 10 leaves the loop.
_LONG = 10_000
_GROWTH = 30
_PLAIN_PART = 20_000
_REMEMBERED = 512
# Threads of its own: those of the process wait for the database and must not wait for this.
_READERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="markup")


async def render_answer(text: str) -> tuple[str, ...]:
    """The blocks of a complete answer.

    Args:
        text: as the model wrote it.
    """
    if len(text) > _LONG:
        return await _away(_render, text)
    return _render_short(text)


class Writing:
    """An answer that grows."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._closed: list[str] = []  # blocks that cannot change any more
        self._read_from = 0  # where the last block begins in the text
        self._open: tuple[str, ...] = ()
        self._env: dict[str, Any] = {}

    async def blocks(self, text: str) -> tuple[str, ...]:
        """The blocks so far.

        Args:
            text: all of the answer so far; what was there before does not change, else all of
                it is read again.
        """
        if not text.startswith(self._text):
            self._begin()
        if self._is_due(text):
            self._text = text
            if len(text) - self._read_from > _LONG:
                await _away(self._read)
            else:
                self._read()
        return (*self._closed, *self._open)

    def _is_due(self, text: str) -> bool:
        grown = len(text) - len(self._text)
        open_length = len(self._text) - self._read_from
        return grown > 0 and (open_length < _LONG or grown * _GROWTH > open_length)

    def _read(self) -> None:
        if len(self._text) > MOST_MARKDOWN:
            self._open = tuple(_plain_parts(self._text[self._read_from :]))
            return
        read = _parse(self._text[self._read_from :], self._env)
        closed = _count_closed(read)
        self._closed += read.blocks[:closed]
        self._open = tuple(read.blocks[closed:])
        if closed:
            self._read_from += _offset(read.text, read.starts[closed])


async def _away(work: Callable[..., _T], *given: str) -> _T:
    """Does it beside the loop."""
    return await asyncio.get_running_loop().run_in_executor(_READERS, work, *given)


class _Read(NamedTuple):
    """Some Markdown, its blocks as HTML, and the lines on which they begin."""

    text: str
    blocks: list[str]
    starts: list[int]


def _parse(text: str, env: dict[str, Any], *, is_open: bool = True) -> _Read:
    parser = answer_parser()
    env["open"] = is_open
    tokens = parser.parse(text, env)
    renderer = cast("AnswerRenderer", parser.renderer)
    blocks = list(render_blocks(renderer, tokens, parser.options, env))
    return _Read(text, blocks, _starts(tokens))


def _starts(tokens: Sequence[Token]) -> list[int]:
    """The first lines of the blocks of the outermost level."""
    starts, depth = [], 0
    for token in tokens:
        if depth == 0:
            starts.append(token.map[0] if token.map else -1)
        depth = max(0, depth + token.nesting)
    return starts


def _count_closed(read: _Read) -> int:
    """How many blocks cannot change: those before the last that certainly began."""
    lines = read.text.split("\n")
    # A line that is still being written may become a mark of the block before it, unless it
    # begins with a letter below an empty line.
    certain = (
        len(lines) - 1 + (len(lines) > 1 and not lines[-2].strip() and lines[-1][:1].isalpha())
    )
    return max(
        (number for number, start in enumerate(read.starts) if 0 <= start < certain), default=0
    )


def _offset(text: str, line: int) -> int:
    """Where a line begins."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return at


def _render(text: str) -> tuple[str, ...]:
    if len(text) <= MOST_MARKDOWN:
        return tuple(_parse(text, {}, is_open=False).blocks)
    cut = text.rfind("\n", 0, MOST_MARKDOWN) + 1 or MOST_MARKDOWN
    return (*_parse(text[:cut], {}, is_open=False).blocks, *_plain_parts(text[cut:]))


def _plain_parts(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PLAIN_PART):
        part = escape(text[start : start + _PLAIN_PART])
        yield clean(f'<div class="as-written" dir="auto">{part}</div>')


@lru_cache(maxsize=_REMEMBERED)
def _render_short(text: str) -> tuple[str, ...]:
    return _render(text)
