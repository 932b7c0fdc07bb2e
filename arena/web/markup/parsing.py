"""The pages' parser: that of the whole project, with what answers have beyond CommonMark."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from arena.web.markup.elements import add_elements
from arena.web.markup.mathematics import add_mathematics
from arena.web.markup.rendering import AnswerRenderer
from ranking.votes.markdown import markdown_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

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
    parser.core.ruler.push("directions", _direct)
    parser.renderer = AnswerRenderer(parser)
    return parser


def _direct(state: StateCore) -> None:
    """Lets each block be written in the direction of its own first letter."""
    for token in state.tokens:
        if token.type in _DIRECTED:
            token.attrSet("dir", "auto")
