"""Answers that are made to take long: each takes time in proportion to its length."""

from __future__ import annotations

import gc
import math
import time
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

import pytest

from arena.web.markup import writing
from arena.web.markup.colours import LONGEST_COLOURED, colour
from arena.web.markup.parsing import LONGEST_PARAGRAPH
from serving.emptiness import says_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


# Eight times as long is eight times the work in proportion, sixty-four times in its square, and
# this is the middle.
TIMES_AS_LONG, AT_MOST = 8, 23
FEWEST_TURNS, MOST_TURNS = 3, 8
# What is over sooner is taken for that: the clock and the first call cost as much.
OVER_IN_NO_TIME = 0.02


@contextmanager
def without_the_garbage_of_others() -> Iterator[None]:
    """A collection walks over all that earlier tests left, as often as there is much new."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def takes_time_in_proportion(work: Callable[[str], object], *, short: str, long: str) -> bool:
    """Whether the least times of both say so; more are taken while they do not.

    The least is the work's own, the rest is what a machine's neighbours take. In turns, so that
    both are measured in the same weather, by this thread's own time.
    """

    def seconds(text: str) -> float:
        began = time.thread_time()
        work(text)
        return max(OVER_IN_NO_TIME, time.thread_time() - began)

    least_short = least_long = math.inf
    with without_the_garbage_of_others():
        for turn in range(1, MOST_TURNS + 1):
            least_short = min(least_short, seconds(short))
            least_long = min(least_long, seconds(long))
            if turn >= FEWEST_TURNS and least_long < AT_MOST * least_short:
                return True
    return False


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_takes_time_in_proportion_to_its_length(kind: str) -> None:
    begin = "http://a.b/" if kind == "ends of an address" else ""
    short, long = (
        begin + HOSTILE[kind] * (length // len(HOSTILE[kind]))
        for length in (10_000, TIMES_AS_LONG * 10_000)
    )
    assert takes_time_in_proportion(writing._render, short=short, long=long)


@pytest.mark.parametrize("seconds", [lambda n: n / 1e5, lambda n: n * n / 1e10])
def test_the_measure_tells_the_square_from_the_length(seconds: Callable[[int], float]) -> None:
    def work(text: str) -> None:
        until = time.thread_time() + seconds(len(text))
        while time.thread_time() < until:
            pass

    short, long = "a" * 10_000, "a" * 80_000
    linear = seconds(20) == 2 * seconds(10)
    assert takes_time_in_proportion(work, short=short, long=long) is linear


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
    short, long = (piece * (length // len(piece)) for length in (100_000, TIMES_AS_LONG * 100_000))
    assert takes_time_in_proportion(says_nothing, short=short, long=long)


def test_code_that_is_empty_says_nothing_whatever_its_backticks() -> None:
    assert says_nothing("`` ` `` ``` ``")
    assert says_nothing("` `")
    assert not says_nothing("``a``")
    assert not says_nothing("` `` ` `=`")
