"""What an answer says and what is seen of it in a real browser, by the page's own script."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile_texts import HOSTILE_TEXTS

import arena.web
from arena.web.markup import render_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from serving_arena import RunningArena

pytestmark = pytest.mark.browser

SCRIPT = (Path(arena.web.__file__).parent / "panel.js").read_text(encoding="utf-8")
# Puts turns into a panel of the open page, by the script that the page itself runs.
SHOW = """async ([script, turns]) => {
  const column = document.querySelector("#panel-a");
  document.querySelector(".tried")?.remove();
  const element = document.createElement("div");
  element.className = "tried";
  element.append(document.querySelector("#panel-a .panel-log").cloneNode(true));
  element.querySelector(".panel-turns").replaceChildren();
  column.querySelector(".html-container").append(element);
  new Function("element", "props", "watch", script)(element, { value: turns }, () => {});
  for (let wait = 0; wait < 400; wait += 1) {
    const formulas = [...element.querySelectorAll(".math")];
    if (formulas.every((one) => one.querySelector(".katex") || one.matches(".math-plain"))) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}"""


@dataclass(frozen=True)
class Row:
    """An answer, and what is seen.

    Attributes:
        text: as a model writes it.
        seen: the words in view, lines and runs of spaces joined.
        counts: a selector → how many of it there are.
    """

    text: str
    seen: str
    counts: dict[str, int] = field(default_factory=dict)


PICTURE = "http://127.0.0.1:9/x.png"
ROWS = [
    # Pictures are links, whatever else the text has or has not.
    Row(f"![A cat]({PICTURE})", "🖼 A cat", {"img": 0, "a.picture": 1}),
    Row(f"Words ![A cat]({PICTURE}) words", "Words 🖼 A cat words", {"img": 0, "a.picture": 1}),
    Row(f"![]({PICTURE})", f"🖼 {PICTURE}", {"img": 0, "a.picture": 1}),
    Row(f"<b> ![A cat]({PICTURE})", "<b> 🖼 A cat", {"img": 0, "a.picture": 1}),
    Row(f"![A][1]\n\n[1]: {PICTURE}", "🖼 A", {"img": 0, "a.picture": 1}),
    Row(f"\\![A cat]({PICTURE})", "!A cat", {"img": 0, "a": 1, "a.picture": 0}),
    Row(f"\\\\![A cat]({PICTURE})", "\\🖼 A cat", {"img": 0, "a.picture": 1}),
    Row(f"<img src={PICTURE}>", f"<img src={PICTURE}>", {"img": 0}),
    Row("![x](javascript:alert(1))", "![x](javascript:alert(1))", {"img": 0, "a": 0}),
    # Backslashes escape by parity.
    Row("\\*not emphasis\\*", "*not emphasis*", {"em": 0}),
    Row("\\\\*emphasis*", "\\emphasis", {"em": 1}),
    Row("\\<foo\\>", "<foo>"),
    Row("\\\\<foo>", "\\<foo>"),
    Row("\\`no code\\`", "`no code`", {"code": 0}),
    Row("\\\\`code`", "\\code", {"code": 1}),
    Row("\\# no title", "# no title", {"h3": 0}),
    Row("1\\. no list", "1. no list", {"li": 0}),
    Row("\\$5 and \\$6", "$5 and $6", {".katex": 0}),
    Row("C:\\new\\table", "C:\\new\\table"),
    # Tags are text, but for the few that stand in for Markdown.
    Row("a <b>bold</b> c", "a <b>bold</b> c", {"b": 0}),
    Row("a < b and c > d", "a < b and c > d"),
    Row("vector<int> x", "vector<int> x"),
    Row("H<sub>2</sub>O", "H2O", {"sub": 1}),
    Row("x<sup>2</sup>", "x2", {"sup": 1}),
    Row("lone </sub> and <sup>", "lone </sub> and <sup>", {"sub": 0, "sup": 0}),
    Row("one<br>two", "one two", {"br": 1}),
    Row("<kbd>Ctrl</kbd>+<kbd>C</kbd>", "Ctrl+C", {"kbd": 2}),
    Row("<!-- note -->", "<!-- note -->"),
    Row("<think>hm</think>", "<think>hm</think>"),
    Row("&lt;b&gt; &amp; &copy;", "<b> & ©"),
    Row("`&lt;b&gt;`", "&lt;b&gt;", {"code": 1}),
    # Emphasis beside the punctuation of languages without spaces.
    Row("**重要。**以下", "重要。以下", {"strong": 1}),
    Row("**注意:**文本", "注意:文本", {"strong": 1}),
    Row("重**“引用”**后", "重“引用”后", {"strong": 1}),
    Row("これは**「強調」**です", "これは「強調」です", {"strong": 1}),
    Row("*「甲」*と", "「甲」と", {"em": 1}),
    Row("**중요(重要)**은", "중요(重要)은", {"strong": 1}),
    Row("旧~~价。~~新", "旧价。新", {"s": 1}),
    Row("2 * 3 * 4", "2 * 3 * 4", {"em": 0}),
    Row("snake_case_name", "snake_case_name", {"em": 0}),
    # Dollars are mathematics only where they cannot be prices, ranges or variables.
    Row("$5 or $6", "$5 or $6", {".katex": 0}),
    Row("$5-$6, $10–$20, US$5 and US$6", "$5-$6, $10–$20, US$5 and US$6", {".katex": 0}),
    Row("$1,000 to $2,000.50", "$1,000 to $2,000.50", {".katex": 0}),
    Row("$5 each (or 9$)", "$5 each (or 9$)", {".katex": 0}),
    Row("**$5**–**$6**", "$5–$6", {".katex": 0, "strong": 2}),
    Row("$HOME/bin:$PATH", "$HOME/bin:$PATH", {".katex": 0}),
    Row("价格$5到$10之间", "价格$5到$10之间", {".katex": 0}),
    Row("| a | b |\n|---|---|\n| $5 | $6 |", "a b $5 $6", {".katex": 0, "td": 2}),
    Row("`$x$`", "$x$", {".katex": 0, "code": 1}),
    Row("so $x^2$ is", "", {".katex": 1, ".katex-display": 0}),
    Row("公式$x^2$是", "", {".katex": 1}),
    Row("$2x+1$ and $3$", "", {".katex": 2}),
    Row("\\(x\\) and \\[y\\]", "", {".katex": 2, ".katex-display": 1}),
    Row("\\\\(x\\\\)", "\\(x\\)", {".katex": 0}),
    Row("$$\na\n- b\n= c\n$$", "", {".katex-display": 1, "li": 0, "h3": 0}),
    Row("$$x$$ at once", "", {".katex-display": 1}),
    Row("- item\n\n  $$\n  x\n  $$", "", {".katex-display": 1, "li": 1}),
    # Lists of tasks look done or open; a list's number is kept.
    Row("- [x] done\n- [ ] open", "☑ done ☐ open", {"li.task": 2, "input": 0}),
    Row("1. [X] first", "☑ first", {"ol li.task": 1}),
    Row("- [x]nothing", "[x]nothing", {"li.task": 0}),
    Row("3. three\n4. four", "three four", {"ol[start='3']": 1, "li": 2}),
    # What is folded away, and notes.
    Row("<details><summary>More</summary>\n\n**Inside**\n</details>", "More", {"details": 1}),
    Row("<details open>\nInside\n</details>\n\nAfter", "… After", {"details": 1}),
    Row("Said[^1].\n\n[^1]: The source.", "Said[1]. The source.", {"sup.note": 1, ".notes li": 1}),
    Row("Said[^9].", "Said[^9].", {"sup": 0}),
    # Code stays code.
    Row("```mermaid\ngraph TD; A-->B\n```", "graph TD; A-->B Copy", {"pre code": 1, "svg": 0}),
    Row("```mermaid\nbroken [[[\n```", "broken [[[ Copy", {"pre code": 1, "svg": 0}),
    Row("```\n**no** $x$ <b>\n```", "**no** $x$ <b> Copy", {"strong": 0, ".katex": 0}),
    Row("    indented **code**", "indented **code** Copy", {"pre code": 1}),
    Row("```python\ndef f(): pass", "def f(): pass Copy", {"pre code": 1}),
    Row("~~~\n```\n~~~", "``` Copy", {"pre": 1}),
    # Tables, titles, addresses.
    Row("| Price | Model |\n|--:|:-:|\n| 1 | M |", "Price Model 1 M", {"td.align-right": 1}),
    Row("# One\n### Three", "One Three", {"h3.title-1": 1, "h3.title-3": 1, "h1": 0}),
    Row("see https://example.org/a_b_c.", "see https://example.org/a_b_c.", {"a": 1, "em": 0}),
    Row("[x](/en/leaderboard/)", "x", {"a[href]": 0}),
    Row("line one\nline two", "line one line two", {"br": 1}),
    Row("> quoted", "quoted", {"blockquote": 1}),
]  # fmt: skip


@pytest.fixture(scope="module")
def page(browser: Browser, arena: RunningArena) -> Iterator[Page]:
    """One page of the arena, in which all rows are tried."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    opened.goto(f"{arena.address}/en/")
    opened.wait_for_selector("#panel-a .panel-log", state="attached")
    yield opened
    context.close()


def blocks_of(text: str) -> list[str]:
    return list(asyncio.run(render_answer(text)))


def show(page: Page, *turns: tuple[str, str]) -> None:
    rendered = [{"prompt": prompt, "text": text, "blocks": BLOCKS[text]} for prompt, text in turns]
    page.evaluate(SHOW, [SCRIPT, rendered])


LONG = (
    "| Model | Price |\n|---|---|\n| " + "Antidisestablishmentarianism" + " words" * 60 + " | 1 |"
)
WIDE = "|" + " Heading |" * 30 + "\n|" + "---|" * 30 + "\n|" + " cell |" * 30
ARABIC = "مرحبا بالعالم"
TEXTS = [row.text for row in ROWS] + [*HOSTILE_TEXTS, LONG, WIDE, ARABIC, "An answer", "$\\frac{$"]
# Before a browser runs: while Playwright does, no other event loop can.
BLOCKS = {text: blocks_of(text) for text in TEXTS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text[:40])
def test_what_is_written_is_what_is_seen(page: Page, row: Row) -> None:
    show(page, ("Asked", row.text))
    answer = page.locator(".tried .message.bot")
    if row.seen:
        assert " ".join(answer.inner_text().split()) == row.seen
    for selector, count in row.counts.items():
        assert answer.locator(selector).count() == count, selector


def test_there_are_enough_rows() -> None:
    assert len(ROWS) >= 60


PROMPTS = [
    *("100*100/400*56", "**bold**", "# title", "- list\n  - nested", "$x$ and $5", "<b>x</b>"),
    *("`code`", "two  spaces\n\n\nand lines", "![x](http://127.0.0.1:9/x.png)", "a\tb", "\\*"),
    *("&lt;", "https://example.org", "1. one\n1. two", "~~gone~~", "{{ 7 * 7 }} ${7 * 7}"),
]


@pytest.mark.parametrize("prompt", [*PROMPTS, *HOSTILE_TEXTS[:40]])
def test_a_prompt_is_shown_as_it_was_typed(page: Page, prompt: str) -> None:
    show(page, (prompt, "An answer"))
    asked = page.locator(".tried .message.user")
    assert asked.evaluate("part => part.textContent") == prompt
    assert asked.evaluate("part => getComputedStyle(part).whiteSpace").startswith("pre")
    assert asked.locator("*").count() == 0


def test_no_hostile_answer_runs_or_asks_anybody(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for text in HOSTILE_TEXTS:
        show(page, (text, text))
        page.evaluate("document.querySelectorAll('.tried details').forEach(one => one.open = true)")
        for link in page.locator(".tried .message.bot a[href]").all():
            assert (link.get_attribute("href") or "").startswith(("http://", "https://"))
    assert page.evaluate("window.__xss") is None
    assert not [url for url in asked if not url.startswith((page.url.split("/en/")[0], "data:"))]


def test_what_katex_cannot_set_stays_as_it_was_written(page: Page) -> None:
    show(page, ("Asked", "$\\frac{$"))
    assert page.locator(".tried .math").inner_text() == "$\\frac{$"


def test_a_table_scrolls_by_itself_and_breaks_no_word(page: Page) -> None:
    for text in (LONG, WIDE):
        show(page, ("Asked", text))
        box, log = page.locator(".tried .table-box"), page.locator(".tried .panel-log")
        fits = "part => part.scrollWidth <= part.clientWidth + 1"
        assert log.evaluate(fits)
        assert page.locator(".tried th").first.evaluate("part => part.offsetHeight") < 60
        if text == WIDE:
            assert not box.evaluate(fits)


def test_right_to_left_text_begins_at_the_right(page: Page) -> None:
    show(page, (ARABIC, ARABIC))
    for part in (".message.user", ".message.bot p"):
        style = page.locator(f".tried {part}").evaluate("part => getComputedStyle(part).direction")
        assert style == "rtl"


def test_copying_gives_the_models_own_text(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = "**注意:**文本"
    show(page, ("Asked", text))
    page.locator(".tried .message-tools .copy").click()
    page.locator(".tried .message-tools .copy", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text
