"""Answers that are made to take long: each takes time in proportion to its length."""

from __future__ import annotations

import time
from html import escape

import pytest

from arena.web.markup import writing
from arena.web.markup.colours import LONGEST_COLOURED, colour
from arena.web.markup.parsing import LONGEST_PARAGRAPH
from serving.emptiness import says_nothing

# What took the square of its length, or of a part of it.
HOSTILE = {
    "an address after each mark": "<http:",
    "an address after each bracket": "[http:",
    "ends of an address": ")",
    "a mark of a mail": "a@",
    "backticks": "`",
    "backticks of many lengths": "` `` ``` ",
    "brackets": "[",
    "pictures": "![",
    "emphasis": "*a _b ",
    "strong": "**a",
    "dollars": "$",
    "formulas": "$$a\n",
    "brackets of TeX": "\\(",
    "quotes": "> ",
    "nested quotes": "> > > > a\n",
    "lists": "- ",
    "nested lists": "- a\n  - b\n    - c\n",
    "tables": "|a|b|\n|-|-|\n|c|d|\n",
    "pipes": "|",
    "footnotes": "[^a]",
    "references": "[a]: b\n",
    "entities": "&amp",
    "tags": "<b>",
    "comments": "<!--",
    "struck": "~~a",
    "backslashes": "\\",
    "titles": "#\n",
    "fences": "```\n",
}


def seconds_of_rendering(text: str) -> float:
    """Of this thread's own, with what is over in no time counted as that."""
    began = time.thread_time()
    writing._render(text)
    return max(0.05, time.thread_time() - began)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_takes_time_in_proportion_to_its_length(kind: str) -> None:
    begin = "http://a.b/" if kind == "ends of an address" else ""
    short, long = (
        begin + HOSTILE[kind] * (length // len(HOSTILE[kind])) for length in (20_000, 80_000)
    )
    # The least of five is its own cost; the rest is what a machine's neighbours take. In turns, so
    # that both are measured in the same weather.
    took = [(seconds_of_rendering(short), seconds_of_rendering(long)) for _ in range(5)]
    least_short, least_long = map(min, zip(*took, strict=True))
    # Four times as long; the square would be sixteen.
    assert least_long < 10 * least_short


def test_a_short_table_is_not_a_megabyte_of_html() -> None:
    wide = "|".join("a" * 300) + "\n" + "|".join("-" * 300) + "\n" + "|\n" * 2_000
    assert sum(map(len, writing._render(wide))) < 20 * len(wide)


def test_a_paragraph_without_end_is_shown_as_it_was_written() -> None:
    lines = ["**bold** & <b>"] * (LONGEST_PARAGRAPH // 10)
    (block,) = writing._render("\n".join(lines))
    shown = "**bold** &amp; &lt;b&gt;"
    assert block.count(shown) == len(lines)
    assert block.count("<br>") == len(lines) - 1
    assert "<strong>" in writing._render("\n".join(lines[:20]))[0]


@pytest.mark.parametrize(("language", "piece"), [("c#", "a\n"), ("java", "\n")])
def test_code_that_takes_its_lexer_forever_is_not_coloured(language: str, piece: str) -> None:
    code = piece * (LONGEST_COLOURED // len(piece))
    assert colour(code, language) == escape(code)
    assert "hl-" in colour("int a = 1;", language)


@pytest.mark.parametrize("piece", ["`", "~", "``` ", " `", "\u200b", "<!--", "[ ", "1.\n"])
def test_whether_a_megabyte_says_nothing_is_found_in_proportion_to_it(piece: str) -> None:
    took = []
    for length in (200_000, 800_000):
        text = piece * (length // len(piece))
        began = time.thread_time()
        says_nothing(text)
        took.append(max(0.02, time.thread_time() - began))
    assert took[1] < 10 * took[0]


def test_code_that_is_empty_says_nothing_whatever_its_backticks() -> None:
    assert says_nothing("`` ` `` ``` ``")
    assert says_nothing("` `")
    assert not says_nothing("``a``")
    assert not says_nothing("` `` ` `=`")
