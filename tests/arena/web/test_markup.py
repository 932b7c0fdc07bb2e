"""Texts of people and models: what they wrote is what is seen, and their code is untouched.

markdown-it, a CommonMark parser of its own, says what is code and what is HTML.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from arena.web.markup import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")


def tokens(parsed: Sequence[Token]) -> Iterator[Token]:
    for token in parsed:
        yield token
        yield from tokens(token.children or [])


def code_in(text: str) -> list[str]:
    kinds = {"code_inline", "code_block", "fence"}
    return [t.content for t in tokens(PARSER.parse(text)) if t.type in kinds]


def html_in(text: str) -> list[str]:
    return [t.content for t in tokens(PARSER.parse(text)) if t.type.startswith("html_")]


@dataclass(frozen=True)
class Piece:
    """Some Markdown, and the code in it as a reader sees it."""

    text: str
    code: tuple[str, ...] = ()


WORDS = st.sampled_from(
    [
        *("word", "a < b", "x<y>z", "<b>bold</b>", "<script>alert(1)</script>", "<!-- note -->"),
        *("<img src=x onerror=y>", "$5 or $6", "\\", "&lt;", "\\`<i>\\`", "|", "*", "<?php ?>"),
    ]
)
CODE = st.sampled_from(
    ["x", "<b>", "a < b", "$x$ and $y$", "</script>", "<!-- c -->", "| <td> |", "- <li>", "# <h1>"]
)
SPANS = st.builds(
    lambda ticks, code: Piece(f"{ticks}{code}{ticks}", (code,)),
    st.sampled_from(["`", "``", "```"]),
    st.one_of(CODE, CODE.map(lambda code: f"{code} ```` {code}")),
)
# A word first: what begins a line with a tick or a tag may begin another kind of block.
PARAGRAPHS = st.lists(st.one_of(WORDS.map(Piece), SPANS), max_size=6).map(
    lambda pieces: Piece(
        " ".join(["So", *(piece.text for piece in pieces)]),
        tuple(code for piece in pieces for code in piece.code),
    )
)
LINES = st.lists(
    st.one_of(CODE, st.just(""), st.just("    deep <b>"), st.just("`<i>`")), min_size=1
)


def _fenced(mark: str, info: str, lines: list[str]) -> Piece:
    body = "".join(f"{line}\n" for line in lines)
    return Piece(f"{mark}{info}\n{body}{mark}", (body,))


FENCES = st.builds(
    _fenced,
    st.sampled_from(["```", "~~~", "`````"]),
    st.sampled_from(["", "html", " c++ <x>"]),
    LINES,
)
INDENTED = st.lists(CODE, min_size=1, max_size=3).map(
    lambda lines: Piece(
        "\n".join(f"    {line}" for line in lines), ("".join(f"{line}\n" for line in lines),)
    )
)


def _within(first: str, rest: str, pieces: list[Piece]) -> Piece:
    text = "\n\n".join(piece.text for piece in pieces)
    head, *more = text.split("\n")
    lines = [
        f"{first}{head}",
        *(
            f"{rest}{line}".rstrip() if rest.strip() else f"{rest}{line}" if line else ""
            for line in more
        ),
    ]
    return Piece("\n".join(lines), tuple(code for piece in pieces for code in piece.code))


LISTS = st.builds(
    lambda first, pieces: _within(first, " " * len(first), pieces),
    st.sampled_from(["- ", "* ", "1. ", "12) "]),
    st.lists(st.one_of(PARAGRAPHS, FENCES), min_size=1, max_size=3),
)
QUOTES = st.builds(
    lambda pieces: _within("> ", "> ", pieces),
    st.lists(PARAGRAPHS, min_size=1, max_size=2),
)
DOCUMENTS = st.lists(st.one_of(PARAGRAPHS, FENCES, LISTS, QUOTES), min_size=1, max_size=5)


def _joined(pieces: list[Piece]) -> tuple[str, list[str]]:
    return (
        "\n\n".join(piece.text for piece in pieces),
        [code for piece in pieces for code in piece.code],
    )


@given(DOCUMENTS)
def test_code_is_untouched_and_no_tag_outside_it_survives(pieces: list[Piece]) -> None:
    text, code = _joined(pieces)
    result = shown(text)
    assert code_in(result) == code
    assert html_in(result) == []


@given(PARAGRAPHS, INDENTED, PARAGRAPHS)
def test_indented_code_is_untouched(before: Piece, indented: Piece, after: Piece) -> None:
    text, code = _joined([before, indented, after])
    assert code_in(shown(text)) == code
    assert html_in(shown(text)) == []


@given(st.text(st.characters(exclude_characters="<$")))
def test_text_without_tags_and_dollars_is_untouched(text: str) -> None:
    assert shown(text) == text


@given(st.text(st.sampled_from("<>/abr !?-`~\n $|\\#.1")))
def test_nothing_is_lost(text: str) -> None:
    undone = shown(text).replace("&lt;", "<")
    for delimiter in ("\\(", "\\)"):
        undone = undone.replace(delimiter, "$")
    for delimiter in ("\\(", "\\)"):
        text = text.replace(delimiter, "$")
    assert undone == text


@pytest.mark.parametrize("tag", ["<br>", "<br/>", "<sub>", "</sub>", "<sup>", "</sup>"])
def test_tags_that_models_use_for_want_of_markdown_stay(tag: str) -> None:
    assert shown(f"H{tag}2") == f"H{tag}2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so $x^2$ is", "so \\(x^2\\) is"),
        ("$5 or $6", "$5 or $6"),
        ("$5-$6", "$5-$6"),
        ("from $10 to $20.", "from $10 to $20."),
        ("$$x^2$$", "$$x^2$$"),
        ("US$5 and US$6", "US$5 and US$6"),
        ("\\$x$", "\\$x$"),
        ("`$x$`", "`$x$`"),
        ("$a<b$", "\\(a&lt;b\\)"),
        ("$a\nb$", "$a\nb$"),
    ],
)
def test_dollars_are_mathematics_only_where_they_cannot_be_prices(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "A ` alone\n\n<b> and ` another",  # no span reaches into another paragraph
        "- a ` here\n- <b> and ` there",
        "# A ` title\n<b> and ` text",
        "```a``` is a span, not a fence: <b>",
        "- ```\n  code\n\n<b> after the list that the fence was in",
        "> ~~~\n> code\n<b> after the quotation that the fence was in",
        "Text\n    <b> is no code after a line of text",
        "- item\n\n    <b> is a paragraph of the item",
    ],
)
def test_a_tag_outside_code_is_shown(text: str) -> None:
    assert "&lt;b>" in shown(text)
    assert html_in(shown(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "``` \n<b>",  # still being written
        "~~~\n```\n<b>\n~~~",
        "````\n```\n<b>\n````",
        "``a ` <b>``",
        "`a\n<b>`",
        "- item\n\n      <b>\n",
        "1. item\n   ```\n   <b>\n   ```",
        "\t<b>",
    ],
)
def test_a_tag_in_code_is_left_alone(text: str) -> None:
    assert shown(text) == text
    assert any("<b>" in code for code in code_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "`" * 40_000,
        "".join("`" * length + " " for length in range(280)),
        "$a " * 14_000,
        "<" * 40_000,
        "\\" * 40_000 + "`",
        "\\`" * 20_000,
        "- " * 20_000,
        "> " * 20_000 + "```",
        " " * 40_000 + "```",
        "1. " * 13_000 + "`",
        "<br" + " " * 40_000,
        "\n" * 40_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_a_hostile_text_takes_no_longer_than_a_long_one(text: str) -> None:
    plain = "Some words, as many. " * (len(text) // 21)
    seconds = []
    for each in (plain, text):
        began = time.process_time()
        shown(each)
        seconds.append(time.process_time() - began)
    assert seconds[1] < max(100 * seconds[0], 0.5)
