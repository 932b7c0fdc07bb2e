"""The few HTML elements that models use for want of Markdown: everything else is text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_DEEPEST_DETAILS = 4
_LONGEST_PAIR = 100  # tokens between the two
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_PAIRED = re.compile(r"<(/?)(sub|sup|kbd|u|mark)>", re.IGNORECASE)
_DETAILS = re.compile(r"<details(?:\s+open)?\s*>(.*)", re.IGNORECASE | re.DOTALL)
_DETAILS_MARKS = re.compile(r"<(/?)details\b[^>\n]{0,99}>", re.IGNORECASE)
_SUMMARY = re.compile(r"\s*<summary>(.{0,500}?)</summary>", re.IGNORECASE | re.DOTALL)
_TASK = re.compile(r"\[([ xX])\](?=\s)")


def add_elements(parser: MarkdownIt) -> None:
    """Adds line breaks, sub- and superscript, keys, details and task lists to a parser."""
    parser.inline.ruler.before("autolink", "element", _find_inline)
    parser.block.ruler.before(
        "fence", "details", _find_details, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.core.ruler.after("inline", "tasks", _mark_tasks)


def _find_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  the parser's
    if state.src[state.pos] != "<":
        return False
    if found := _BREAK.match(state.src, state.pos):
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = found.end()
        return True
    found = _PAIRED.match(state.src, state.pos)
    if found is None or not _is_in_a_pair(state, found):
        return False
    if not silent:
        tag = found[2].lower()
        token = state.push(f"{tag}_close" if found[1] else f"{tag}_open", tag, 0)
        token.nesting = -1 if found[1] else 1
    state.pos = found.end()
    return True


def _is_in_a_pair(state: StateInline, found: re.Match[str]) -> bool:
    """Whether an element that begins here ends, or one that ends here began."""
    tag = found[2].lower()
    if not found[1]:
        return state.html_terminator_last(f"</{tag}>") > state.pos
    recent = reversed(state.tokens[-_LONGEST_PAIR:])
    nearest = next((token.type for token in recent if token.tag == tag), "")
    return nearest == f"{tag}_open"


def _find_details(state: StateBlock, first: int, last: int, silent: bool) -> bool:  # noqa: FBT001
    """A part that is folded away until it is asked for; without its end tag, all that follows."""
    begin = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith("<", begin) or state.is_code_block(first):
        return False
    depth = state.env.get("details", 0)
    if depth >= _DEEPEST_DETAILS or not _DETAILS.match(state.src, begin, state.eMarks[first]):
        return False
    if silent:
        return True
    end = _last_line(state, first, last)
    inside = state.getLines(first, end, state.blkIndent, False).strip()  # noqa: FBT003
    opened = _DETAILS.match(inside)
    content = opened[1] if opened else inside
    head, closing, _rest = content.rpartition("</details>")
    _push_details(state, head if closing else content, depth=depth, lines=[first, end])
    state.line = end
    return True


def _last_line(state: StateBlock, first: int, last: int) -> int:
    """The line after the one with the end tag that belongs to the first line's."""
    depth = 0
    for number in range(first, last):
        line = state.src[state.bMarks[number] : state.eMarks[number]]
        for mark in _DETAILS_MARKS.finditer(line):
            depth += -1 if mark[1] else 1
            if depth <= 0:
                return number + 1
    return last


def _push_details(state: StateBlock, content: str, *, depth: int, lines: list[int]) -> None:
    summary = _SUMMARY.match(content)
    opened = state.push("details_open", "details", 1)
    opened.map = lines
    opened.block = True
    state.push("summary_open", "summary", 1)
    inline = state.push("inline", "", 0)
    inline.content = " ".join(summary[1].split()) if summary else "…"
    inline.map, inline.children = lines, []
    state.push("summary_close", "summary", -1)
    state.env["details"] = depth + 1
    inside: list[Token] = []
    state.md.block.parse(
        content[summary.end() :] if summary else content, state.md, state.env, inside
    )
    state.env["details"] = depth
    state.tokens.extend(inside)
    state.push("details_close", "details", -1)


def _mark_tasks(state: StateCore) -> None:
    """Makes `[ ]` and `[x]` at the beginning of a list item boxes that look it in any colours."""
    for number, token in enumerate(state.tokens[2:], start=2):
        before = [one.type for one in state.tokens[number - 2 : number]]
        if token.type != "inline" or before != ["list_item_open", "paragraph_open"]:
            continue
        first = token.children[0] if token.children else None
        found = _TASK.match(first.content) if first is not None and first.type == "text" else None
        if first is not None and found:
            state.tokens[number - 2].attrSet("class", "task")
            first.content = ("☐" if found[1] == " " else "☑") + first.content[found.end() :]
