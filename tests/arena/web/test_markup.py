"""Answers as HTML: the same while they are written as once they are complete, and nothing runs."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from hostile_texts import HOSTILE_TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.web.markup import MOST_MARKDOWN, Writing, render_answer
from arena.web.markup import writing as writing_room

if TYPE_CHECKING:
    from collections.abc import Sequence

ELEMENTS = {
    *("a", "blockquote", "br", "code", "details", "div", "em", "h3", "hr", "kbd", "li", "mark"),
    *("ol", "p", "pre", "s", "section", "span", "strong", "sub", "summary", "sup", "table"),
    *("tbody", "td", "th", "thead", "tr", "u", "ul"),
}
ATTRIBUTES = {
    "class",
    "dir",
    "href",
    "title",
    "rel",
    "target",
    "tabindex",
    "start",
    "data-language",
}
PIECES = st.sampled_from(
    [
        *("word", "two words", "**bold**", "*em*", "`code`", "a < b", "<b>x</b>", "$x^2$", "$5"),
        *("\n", "\n\n", "\n- item", "\n1. item", "\n> quote", "\n# title", "\n```py\n", "\n```\n"),
        *(
            "\n|a|b|\n|-|-|\n|1|2|",
            "\n---\n",
            "\n===\n",
            "\n    code",
            "\n  more",
            "\n#",
            "\n-",
            "\\",
        ),
        *("$$", "\n$$\n", "\\[", "\\]", "[^1]", "<details>\n", "</details>", "![a](http://b.c)"),
        *("<br>", "<sub>", "</sub>", "~~s~~", "- [x] done", "&amp;", "**重。**次", "مرحبا", "\t"),
    ]
)
# What is defined below its use is known once the answer is complete.
TEXTS = st.lists(PIECES, max_size=25).map("".join)


async def written(text: str, ends: Sequence[int]) -> tuple[str, ...]:
    writing = Writing()
    for end in sorted(ends):
        await writing.blocks(text[:end])
    return await writing.blocks(text)


async def fresh(text: str) -> tuple[str, ...]:
    return await Writing().blocks(text)


# What has looked like the beginning of a formula and is none may end a paragraph until the end.
PLAIN = TEXTS.filter(lambda text: "$$" not in text and "\\[" not in text)


@settings(max_examples=300)
@given(PLAIN, st.lists(st.integers(0, 300), max_size=12))
async def test_an_answer_in_pieces_is_the_answer(text: str, ends: list[int]) -> None:
    assert await written(text, ends) == await fresh(text)


@given(PLAIN)
async def test_the_complete_answer_is_what_was_written(text: str) -> None:
    if "[^1]" in text or "```" in text:  # numbered, and coloured, at the end
        return
    assert await fresh(text) == await render_answer(text)


@pytest.mark.parametrize("text", ["So\n\n$$\na\n- b\n= c\n$$\n\nand", "\\[\n# x\n\\]\n\nThen"])
async def test_a_formula_that_is_being_written_is_no_list_and_no_title(text: str) -> None:
    writing = Writing()
    for end in range(len(text) + 1):
        blocks = "".join(await writing.blocks(text[:end]))
        assert "<li" not in blocks
        assert "<h3" not in blocks
    assert await writing.blocks(text) == await render_answer(text)


async def test_an_answer_that_is_replaced_is_read_anew() -> None:
    writing = Writing()
    await writing.blocks("# One\n\nTwo\n\nThree")
    assert await writing.blocks("Other") == ('<p dir="auto">Other</p>\n',)


async def test_what_does_not_change_is_not_made_again() -> None:
    text = "# One\n\nA paragraph.\n\n- a list\n\n" + "And words. " * 20
    writing = Writing()
    before = await writing.blocks(text)
    after = await writing.blocks(text + "More.")
    assert all(old is new for old, new in zip(before[:-1], after[:-1], strict=True))
    assert before[-1] != after[-1]


class Elements(HTMLParser):
    """What a browser would make of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def check(html: str) -> Elements:
    elements = Elements(html)
    for tag, attributes in elements.found:
        assert tag in ELEMENTS
        assert set(attributes) <= ATTRIBUTES
        if "href" in attributes:
            assert urlsplit(attributes["href"] or "").scheme in {"http", "https", "mailto"}
            assert attributes["rel"] == "noopener noreferrer nofollow"
            assert attributes["target"] == "_blank"
    return elements


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
async def test_nothing_of_a_hostile_answer_runs_or_asks_anybody(text: str) -> None:
    for shape in (text, f"> {text}", f"- {text}", f"[{text}](http://a.b)", f"|{text}|\n|-|\n|x|"):
        check("".join(await render_answer(shape)))
        check("".join(await written(shape, range(0, len(shape), 3))))


@given(st.text(st.sampled_from("<>/abr !?-`~\n $|\\#.1[]()&;\"'=:x")))
async def test_whatever_is_written_only_known_elements_leave(text: str) -> None:
    check("".join(await render_answer(text)))


@given(st.text(st.characters(categories=("L", "N", "P", "S"))).filter(bool))
async def test_no_letter_is_lost(text: str) -> None:
    shown = check("".join(await render_answer(text))).words
    letters = [c for c in text if c.isalpha()]
    # Entities and the marks of lists, titles and links are Markdown.
    if not set(text) & set("&[]()#*_`~<>\\$|!:.@+-="):
        assert [c for c in shown if c.isalpha()] == letters


HOSTILE_PIECES = [
    *("`", "*a ", "[", "- ", "> ", "\\", "<", "a**", "![", "[a](", "|", "$a ", "$$", "\\(", "\\["),
    *("\\[\n", "$$x\n", "<sub>", "</sub>", "<sub></sup>", "<details>\n", "<details>", "[^1]"),
    *("[^1]: x\n\n", "[^a", "- [ ] x\n", "www.", "http://a", "a@b.c ", "&", "<br", "~~a", "**重。"),
    *("1. ", "#", "\n", "\t- ", "```\n", "<summary>", "a\n\n", "<a", "[](", "[[", "]]", "_a_ "),
]


@pytest.mark.parametrize("piece", HOSTILE_PIECES)
async def test_a_hostile_answer_takes_time_in_proportion_to_its_length(piece: str) -> None:
    seconds = []
    for length in (6_000, 48_000):
        text = piece * (length // len(piece))
        began = time.process_time()
        await render_answer(text)
        seconds.append(time.process_time() - began)
    assert seconds[1] < max(24 * seconds[0], 2.0)


@pytest.mark.parametrize("piece", ["`", "word ", "![", "\n", "a\n\n"])
async def test_a_megabyte_is_shown_as_it_was_written_past_what_anybody_reads(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    blocks = await render_answer(text)
    assert time.process_time() - began < 30
    assert sum(block.count('class="as-written"') for block in blocks) >= 40
    writing = Writing()
    began = time.process_time()
    for end in range(0, len(text), 20_000):
        await writing.blocks(text[:end])
    assert time.process_time() - began < 60
    assert MOST_MARKDOWN == 100_000


async def test_a_long_answer_is_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Mock(wraps=writing_room._READERS.submit)
    monkeypatch.setattr(writing_room._READERS, "submit", submit)
    await render_answer("short")
    assert submit.call_count == 0
    await render_answer("long " * 5_000)
    assert submit.call_count == 1
