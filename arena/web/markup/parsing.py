"""The pages' parser: that of the whole project, with what answers have beyond CommonMark."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from markdown_it.rules_core import inline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from arena.web.markup.elements import add_elements
from arena.web.markup.mathematics import add_mathematics
from arena.web.markup.rendering import AnswerRenderer
from ranking.votes.markdown import markdown_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

# Characters of one paragraph, title or cell. Marks that may have a partner anywhere in it take the
# square of its length, and no paragraph that somebody reads is as long.
LONGEST_PARAGRAPH = 8_000
# Of a table, which a row of a few characters has as many of as its head has columns.
_MOST_MISSING_CELLS = 500
_DIRECTED = frozenset(
    {
        "paragraph_open", "heading_open", "bullet_list_open", "ordered_list_open",
        "list_item_open", "blockquote_open", "table_open", "th_open", "td_open",
    }
)  # fmt: skip


@cache
def answer_parser() -> MarkdownIt:
    """Formulas, footnotes, task lists, details, bare addresses; a line break is one."""
    parser = markdown_parser()
    parser.options["breaks"] = True
    parser.use(footnote_plugin, inline=False)
    parser.use(gfm_autolink_plugin)
    add_mathematics(parser)
    add_elements(parser)
    parser.core.ruler.at("inline", _read_paragraphs)
    parser.core.ruler.push("directions", _direct)
    parser.renderer = AnswerRenderer(parser)
    return parser


def _read_paragraphs(state: StateCore) -> None:
    """Reads what stands in each block; a paragraph without end is shown as it was written."""
    tokens = state.tokens
    long = [token for token in tokens if token.type == "inline" and _is_long(token)]
    for token in long:
        token.type = "endless"
    inline(state)
    for token in long:
        token.type = "inline"
        token.children = list(_as_written(token.content))


def _is_long(token: Token) -> bool:
    return len(token.content) > LONGEST_PARAGRAPH


def _as_written(text: str) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n")):
        if number:
            yield Token("hardbreak", "br", 0)
        yield Token("text", "", 0, content=line)


# The parser has a constant for it, of 65,536: a megabyte of HTML for seven kilobytes of text.
vars(import_module("markdown_it.rules_block.table"))["MAX_AUTOCOMPLETED_CELLS"] = (
    _MOST_MISSING_CELLS
)


def _direct(state: StateCore) -> None:
    """Lets each block be written in the direction of its own first letter."""
    for token in state.tokens:
        if token.type in _DIRECTED:
            token.attrSet("dir", "auto")
