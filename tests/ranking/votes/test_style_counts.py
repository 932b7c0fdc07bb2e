"""What counts as a header, a bold span and a list item is what a reader sees as one."""

from __future__ import annotations

import time

import pytest

from ranking.votes.markdown import markdown_parser
from ranking.votes.style import count_markdown


@pytest.mark.parametrize(
    ("text", "headers", "bold", "lists"),
    [
        ("", 0, 0, 0),
        ("Plain words, 3.5 of them.", 0, 0, 0),
        ("# One\n## Two\n###### Six", 3, 0, 0),
        ("####### Seven", 0, 0, 0),
        ("#hashtag", 0, 0, 0),
        ("Title\n===\n\nOther\n---", 2, 0, 0),
        ("\\# No title", 0, 0, 0),
        ("> # Quoted title", 1, 0, 0),
        ("**bold** and __strong__", 0, 2, 0),
        ("***both***", 0, 1, 0),
        ("*only emphasis* and _this_", 0, 0, 0),
        ("`**not bold**`", 0, 0, 0),
        ("``a ` **not bold**``", 0, 0, 0),
        ("\\*\\*not bold\\*\\*", 0, 0, 0),
        ("\\\\**bold**", 0, 1, 0),
        ("**bold\nover two lines**", 0, 1, 0),
        ("** not bold **", 0, 0, 0),
        ("snake__case__name", 0, 0, 0),
        ("**重要。**以下", 0, 1, 0),
        ("これは**「強調」**です", 0, 1, 0),
        ("[**bold** link](https://example.org)", 0, 1, 0),
        ("| a | b |\n|---|---|\n| **x** | y |", 0, 1, 0),
        ("- one\n- two\n  - three", 0, 0, 3),
        ("1. one\n2) two", 0, 0, 2),
        ("* one\n+ two", 0, 0, 2),
        ("- [x] done\n- [ ] open", 0, 0, 2),
        ("    - code\n    - more code", 0, 0, 0),
        ("\t# code", 0, 0, 0),
        ("Text\n    - no code after a line of text", 0, 0, 0),
        ("```\n- x\n# y\n**z**\n```\n- real", 0, 0, 1),
        ("~~~~\n- x\n~~~\n- y", 0, 0, 0),
        ("```\n- never closed", 0, 0, 0),
        ("- a\n\n      # code in an item", 0, 0, 1),
        ("---", 0, 0, 0),
        ("2 * 3 * 4 and 5 - 2", 0, 0, 0),
        ("1999. was a year", 0, 0, 1),
        ("<b>html</b> **bold**", 0, 1, 0),
    ],
)
def test_markdown_is_counted_as_it_is_seen(text: str, headers: int, bold: int, lists: int) -> None:
    assert count_markdown(text) == (headers, bold, lists)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**重要。**以下", "<strong>重要。</strong>以下"),
        ("重**“引用”**后", "重<strong>“引用”</strong>后"),
        ("**注意:**文本", "<strong>注意:</strong>文本"),
        ("이것은 **중요(重要)**은", "이것은 <strong>중요(重要)</strong>은"),
        ("*「甲」*と", "<em>「甲」</em>と"),
        ("旧~~价。~~新", "旧<s>价。</s>新"),
        # What has nothing to do with these languages is as CommonMark has it.
        ("foo**bar.**baz", "foo**bar.**baz"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("**not closed。", "**not closed。"),
        ("中 ** 文 ** 字", "中 ** 文 ** 字"),
    ],
)
def test_emphasis_works_beside_punctuation_of_texts_without_spaces(text: str, html: str) -> None:
    assert markdown_parser().renderInline(text) == html


@pytest.mark.parametrize(
    "piece", ["`", "**", "*a ", "![", "[a](", "- ", "> ", "|", "**重。", "_a_", "\\*", "<b", "1. "]
)
def test_counting_takes_time_in_proportion_to_the_length(piece: str) -> None:
    def measure(length: int) -> float:
        began = time.process_time()
        count_markdown(piece * (length // len(piece)))
        return time.process_time() - began

    # The best of three: what else the machine does costs processor time, too.
    short, long = (min(measure(length) for _ in range(3)) for length in (20_000, 160_000))
    assert long < max(24 * short, 1.0)
