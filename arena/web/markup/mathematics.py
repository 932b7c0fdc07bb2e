"""Formulas between dollars or TeX's brackets, told from prices, ranges and shell variables."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# Nobody reads a longer formula, and looking for its end must not take long.
LONGEST_FORMULA = 4_000
_ENDS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_WORD = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ASCII_WORD = re.compile("[A-Za-z0-9_]")


def add_mathematics(parser: MarkdownIt) -> None:
    """Adds the rules to a parser; the tokens are called `math`, their content as it was written."""
    parser.inline.ruler.before("escape", "math", _find_inline)
    parser.block.ruler.before(
        "fence", "math", _find_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def _find_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  the parser's
    start = state.pos
    mark = state.src[start : start + 2]
    if mark in _ENDS:
        end = _end_of(mark, state)
    elif mark.startswith("$"):
        end = _end_of_dollars(state)
    else:
        return False
    if end is None:
        return False
    if not silent:
        token = state.push("math", "span", 0)
        token.content = state.src[start:end]
        token.meta = {"display": mark in {"$$", "\\["}}
    state.pos = end
    return True


def _end_of(mark: str, state: StateInline) -> int | None:
    """Where a formula ends that begins with a mark of two characters."""
    inside = state.pos + 2
    found = state.src.find(_ENDS[mark], inside, min(inside + LONGEST_FORMULA, state.posMax))
    return found + 2 if found > inside and state.src[inside:found].strip() else None


def _end_of_dollars(state: StateInline) -> int | None:
    """Where `$…$` ends: pandoc's rule, and no words after an amount.

    The first dollar stands before no space and after no letter or digit, the second after no
    space and before no letter or digit; so `$5 and $6`, `US$5`, `$5–$6` and `$HOME:$PATH` are
    none. `$5 each (or 9$)` is none as it begins like an amount and has words.
    """
    text, start = state.src, state.pos
    if start and (text[start - 1] == "$" or _ASCII_WORD.match(text[start - 1])):
        return None
    end = text.find("$", start + 1, min(start + LONGEST_FORMULA, state.posMax))
    inside = text[start + 1 : end] if end > 0 else ""
    if not inside or inside != inside.strip() or "\n" in inside or inside.endswith("\\"):
        return None
    after = text[end + 1 : end + 2]
    if after == "$" or _ASCII_WORD.match(after):
        return None
    return None if inside[0].isdigit() and _WORD.search(inside) else end + 1


def _find_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:  # noqa: FBT001
    """A formula of lines of its own, which may look like lists or titles inside."""
    line = _line(state, first)
    mark = line[:2]
    if mark not in {"$$", "\\["} or state.is_code_block(first):
        return False
    end = _last_line(state, first, last, mark=mark)
    if end is None:
        return False
    if not silent:
        token = state.push("math", "div", 0)
        token.block = True
        token.map = [first, end + 1]
        token.content = state.getLines(first, end + 1, state.blkIndent, False).strip()  # noqa: FBT003
        token.meta = {"display": True}
        state.line = end + 1
    return True


def _last_line(state: StateBlock, first: int, last: int, *, mark: str) -> int | None:
    """The line that a formula ends with; nothing may follow on it."""
    inside = state.bMarks[first] + state.tShift[first] + 2
    found = state.src.find(_ENDS[mark], inside, inside + LONGEST_FORMULA)
    if found < 0 and _goes_on(state, inside):
        return last - 1
    number = bisect_left(state.eMarks, found)
    if found < 0 or number >= last or not state.src[inside:found].strip():
        return None
    if state.src[found + 2 : state.eMarks[number]].strip():
        return None
    within = state.sCount[first + 1 : number + 1]
    return None if any(indent < state.blkIndent for indent in within) else number


def _goes_on(state: StateBlock, inside: int) -> bool:
    """Whether the end may still be written: what looks like a list by then must not be one."""
    is_short = len(state.src) - inside < LONGEST_FORMULA
    return is_short and state.level == 0 and bool(state.env.get("open"))


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()
