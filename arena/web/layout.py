"""What all pages share: the header, and what goes into their head."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from arena.web.texts import LANGUAGES

if TYPE_CHECKING:
    from arena.web.texts import Texts

HERE = Path(__file__).parent


def page_header(texts: Texts, *, title: str, language: str, active: str) -> str:
    """The bar on top: title, pages, language switch, light or dark.

    Args:
        texts: of the page's language.
        title: the arena's.
        language: of the page.
        active: `arena` or `leaderboard`.
    """
    site = texts["site"]
    other = next(code for code in LANGUAGES if code != language)
    paths = {"arena": "", "leaderboard": "leaderboard/"}
    links = "".join(
        f'<a href="/{language}/{path}"{_current(page == active)}>{escape(site[page])}</a>'
        for page, path in paths.items()
    )
    return (
        f'<a class="skip-link" href="#prompt">{escape(site["skip"])}</a>'
        '<header class="site-header">'
        f'<a class="site-title" href="/{language}/">{_mark()}<span>{escape(title)}</span></a>'
        f'<nav aria-label="{escape(site["nav"])}">{links}</nav>'
        '<div class="site-tools">'
        f'<a id="language-switch" href="/{other}/{paths[active]}" hreflang="{other}"'
        f' lang="{other}" aria-label="{escape(texts["language"]["switch_label"])}">'
        f"{escape(texts['language']['switch'])}</a>"
        f'<button type="button" id="theme-switch" aria-label="{escape(site["theme"])}"'
        f' title="{escape(site["theme"])}">◐</button>'
        "</div></header>"
    )


def page_head(texts: Texts, *, title: str) -> str:
    """Metadata and the pages' script; names nothing but the arena itself."""
    description = escape(texts["battle"]["description"])
    script = (HERE / "page.js").read_text(encoding="utf-8")
    return (
        f'<meta name="description" content="{description}">'
        f'<meta property="og:title" content="{escape(title)}">'
        f'<meta property="og:description" content="{description}">'
        f"<script>{script}</script>"
    )


def page_styles() -> str:
    """The style sheets beside this module, in the order of their names."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.css")))


def _current(active: object) -> str:
    return ' aria-current="page"' if active else ""


def _mark() -> str:
    """Two answers side by side, the left one ticked."""
    return (
        '<svg viewBox="0 0 28 28" width="26" height="26" aria-hidden="true">'
        '<rect x="2" y="5" width="11" height="18" rx="3" fill="currentColor"/>'
        '<rect x="16" y="6" width="10" height="16" rx="2.5" fill="none"'
        ' stroke="currentColor" stroke-width="2"/>'
        '<path d="M5 14l2 2.5L10.5 11" fill="none" stroke="var(--site-paper)" stroke-width="2"/>'
        "</svg>"
    )
