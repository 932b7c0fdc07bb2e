"""Colours for code, by Pygments; the style sheet says which."""

from __future__ import annotations

import time
from functools import cache
from html import escape
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING

from pygments.formatters.html import HtmlFormatter
from pygments.lexers import LEXERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygments.lexer import Lexer
    from pygments.token import _TokenType

# Colouring takes a millisecond a kilobyte.
LONGEST_COLOURED = 10_000
# Of this thread's own time. Some lexers take the square of the length over code that nobody writes,
# and no other thread goes on meanwhile.
MOST_SECONDS = 0.1
_LANGUAGES = frozenset(
    {
        "bash", "c", "c++", "c#", "clojure", "cmake", "css", "dart", "diff", "docker",
        "elixir", "erlang", "fortran", "go", "graphql", "haskell", "html", "ini",
        "java", "javascript", "json", "julia", "kotlin", "lua", "make", "matlab",
        "objective-c", "ocaml", "perl", "php", "powershell", "python", "r", "ruby",
        "rust", "scala", "scss", "sql", "swift", "tex", "toml", "typescript", "xml",
        "yaml", "zig",
    }
)  # fmt: skip
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="hl-")


def colour(code: str, language: str) -> str:
    """Code as HTML, coloured where its language is known.

    Args:
        code: as it was written.
        language: what the fence calls it.
    """
    lexer = _lexer(language.lower()) if len(code) <= LONGEST_COLOURED else None
    if lexer is None:
        return escape(code)
    coloured = StringIO()
    try:
        _FORMATTER.format(_lex(lexer, code), coloured)
    except _TooSlow:
        return escape(code)
    return coloured.getvalue()


class _TooSlow(Exception):
    """The colours are not worth the time."""


def _lex(lexer: Lexer, code: str) -> Iterator[tuple[_TokenType, str]]:
    deadline = time.thread_time() + MOST_SECONDS
    for token in lexer.get_tokens(code):
        if time.thread_time() > deadline:
            raise _TooSlow
        yield token


@cache
def _modules() -> dict[str, tuple[str, str]]:
    """Every name of the languages → the module and class of its lexer."""
    return {
        alias: (module, name)
        for name, (module, _title, aliases, _files, _types) in LEXERS.items()
        if _LANGUAGES & set(aliases)
        for alias in aliases
    }


@cache
def _lexers() -> dict[str, Lexer]:
    return {}


def _lexer(language: str) -> Lexer | None:
    """Pygments' own search would ask every installed package for further lexers."""
    known = _lexers()
    if language not in known and language in _modules():
        module, name = _modules()[language]
        # As it was written: no line is taken from its ends, none is added.
        known[language] = getattr(import_module(module), name)(stripnl=False, ensurenl=False)
    return known.get(language)
