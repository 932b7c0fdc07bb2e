"""Tokens of an answer as HTML, block by block, and what of HTML may leave at all."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import nh3
from markdown_it.renderer import RendererHTML

from arena.web.markup.colours import colour

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence
    from typing import Any

    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

# What an answer links to lies elsewhere: an address without a site would be one of ours.
_ELSEWHERE = ("http://", "https://", "mailto:")


def _keep_elsewhere(_tag: str, name: str, value: str) -> str | None:
    return value if name != "href" or value.lower().startswith(_ELSEWHERE) else None


# The renderer escapes all text; this is the second lock on the same door.
_CLEANER = nh3.Cleaner(
    tags={
        "a", "blockquote", "br", "code", "details", "div", "em", "h3", "hr", "kbd", "li", "mark",
        "ol", "p", "pre", "s", "section", "span", "strong", "sub", "summary", "sup", "table",
        "tbody", "td", "th", "thead", "tr", "u", "ul",
    },
    attributes={
        "*": {"class", "dir"},
        "a": {"href", "title"},
        "div": {"tabindex"},
        "ol": {"start"},
        "pre": {"tabindex", "data-language"},
    },
    url_schemes={"http", "https", "mailto"},
    attribute_filter=_keep_elsewhere,
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)  # fmt: skip


class AnswerRenderer(RendererHTML):
    """Renders what the pages' parser finds.

    Titles of all levels are `h3`, below the panel's own: what a model calls its first level
    says nothing about the page's.
    """

    def text(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """Words; quotation marks may stay what they are."""
        return escape(tokens[index].content, quote=False)

    def fence(
        self, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
    ) -> str:
        """Code with its language; coloured once it is complete."""
        token = tokens[index]
        words = token.info.split(maxsplit=1)
        language = words[0][:30] if words else ""
        code = escape(token.content) if env.get("open") else colour(token.content, language)
        named = f' data-language="{escape(language)}"' if language else ""
        return f'<pre tabindex="0"{named}><code>{code}</code></pre>\n'

    def code_block(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """Indented code."""
        return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'

    def image(
        self, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
    ) -> str:
        """A link: a picture would be fetched from a site that then knows who reads."""
        token = tokens[index]
        source = str(token.attrs.get("src", ""))
        words = token.content.strip() or source
        return f'<a class="picture" href="{escape(source)}">🖼 {escape(words)}</a>'

    def math(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """A formula as it was written, which the page's script sets."""
        token = tokens[index]
        tag = "div" if token.block else "span"
        kind = "math math-display" if token.meta["display"] else "math"
        return f'<{tag} class="{kind}">{escape(token.content)}</{tag}>'

    def heading_open(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """A title below the panel's."""
        return f'<h3 class="title-{tokens[index].tag[1:]}" dir="auto">'

    def heading_close(self, *_: object) -> str:
        """Its end."""
        return "</h3>\n"

    def table_open(self, *_: object) -> str:
        """A table scrolls by itself."""
        return '<div class="table-box" tabindex="0"><table dir="auto">\n'

    def table_close(self, *_: object) -> str:
        """Its end."""
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """A cell of the head."""
        return _cell_open(tokens[index])

    def td_open(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """A cell of the body."""
        return _cell_open(tokens[index])

    def footnote_ref(self, tokens: Sequence[Token], index: int, *_: object) -> str:
        """A number; the note of that number stands at the end."""
        return f'<sup class="note">[{tokens[index].meta["id"] + 1}]</sup>'

    def footnote_block_open(self, *_: object) -> str:
        """All notes."""
        return '<section class="notes"><ol>\n'

    def footnote_block_close(self, *_: object) -> str:
        """Their end."""
        return "</ol></section>\n"

    def footnote_open(self, *_: object) -> str:
        """A note."""
        return '<li dir="auto">'

    def footnote_close(self, *_: object) -> str:
        """Its end."""
        return "</li>\n"

    def footnote_anchor(self, *_: object) -> str:
        """No way back: the reference may stand in both panels."""
        return ""


def render_blocks(
    renderer: AnswerRenderer, tokens: Sequence[Token], options: OptionsDict, env: EnvType
) -> Iterator[str]:
    """The HTML of each block of the outermost level, in order.

    Args:
        renderer: of the parser.
        tokens: what it found.
        options: of the parser.
        env: what it learned; `open` marks the last block as one that may go on.
    """
    groups = list(_group(tokens))
    is_open = env.get("open", False)
    for number, group in enumerate(groups, start=1):
        told: MutableMapping[str, Any] = {**env, "open": is_open and number == len(groups)}
        yield _CLEANER.clean(renderer.render(group, options, told))


def clean(html: str) -> str:
    """HTML without anything that is not allowed to leave."""
    return _CLEANER.clean(html)


def _group(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    group: list[Token] = []
    depth = 0
    for token in tokens:
        group.append(token)
        depth += token.nesting
        if depth <= 0:
            yield group
            group, depth = [], 0
    if group:
        yield group


def _cell_open(token: Token) -> str:
    style = str(token.attrs.get("style", ""))
    aligned = f' class="{style.replace("text-align:", "align-")}"' if style else ""
    return f'<{token.tag}{aligned} dir="auto">'
