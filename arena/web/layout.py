"""What all pages share: the header, and what goes into their head."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import gradio as gr

from arena.web.texts import LANGUAGES

if TYPE_CHECKING:
    from arena.web.texts import Texts

HERE = Path(__file__).parent
# What the skip link leads to.
_CONTENT = {
    "arena": "prompt",
    "leaderboard": "board",
    "expert": "expert-state",
    "agreement": "agreement",
}
# The theme's colours for a page that Gradio has no part in.
_IN_THE_DARK = (
    "if (matchMedia('(prefers-color-scheme: dark)').matches) document.body.classList.add('dark');"
)


def html_part(
    value: str = "", *, elem_id: str | None = None, elem_classes: str | None = None
) -> gr.HTML:
    """A piece of our own HTML, styled by our own sheets only."""
    return gr.HTML(value, elem_id=elem_id, elem_classes=elem_classes, apply_default_css=False)


def page_header(texts: Texts, *, title: str, language: str, active: str) -> str:
    """The bar on top: title, pages, language switch, light or dark.

    Args:
        texts: of the page's language.
        title: the arena's.
        language: of the page.
        active: `arena`, `leaderboard`, or `expert` and `agreement`, which only those with a
            link find.
    """
    site = texts["site"]
    other = next(code for code in LANGUAGES if code != language)
    paths = {"arena": ""} | {page: f"{page}/" for page in ("leaderboard", "expert", "agreement")}
    links = "".join(
        f'<a href="/{language}/{paths[page]}"{_current(page == active)}>{escape(site[page])}</a>'
        for page in ("arena", "leaderboard")
        # Experts judge blind: no way from here to the names and what others think of them.
        if active != "expert"
    )
    home = f"/{language}/{paths['expert'] if active == 'expert' else ''}"
    return (
        f'<a class="skip-link" href="#{_CONTENT[active]}">{escape(site["skip"])}</a>'
        '<header class="site-header">'
        f'<a class="site-title" href="{home}">{_mark()}<span>{escape(title)}</span></a>'
        f'<nav aria-label="{escape(site["nav"])}">{links}</nav>'
        '<div class="site-tools">'
        f'<a id="language-switch" href="/{other}/{paths[active]}" hreflang="{other}"'
        f' lang="{other}" title="{escape(texts["language"]["switch_label"])}">'
        f"{escape(texts['language']['switch'])}</a>"
        f'<button type="button" id="theme-switch" aria-label="{escape(site["theme"])}"'
        f' title="{escape(site["theme"])}">◐</button>'
        "</div></header>"
    )


def plain_document(inside: str, texts: Texts, *, title: str, language: str, active: str) -> str:
    """A page that Gradio has no part in, in the same dress; the shell adds head and styles.

    Args:
        inside: what stands below the header.
        texts: of the page's language.
        title: the arena's.
        language: of the page.
        active: as for `page_header`.
    """
    header = page_header(texts, title=title, language=language, active=active)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="stylesheet" href="/{language}/theme.css"></head>'
        f'<body class="plain-page"><script>{_IN_THE_DARK}</script>'
        f'<div class="gradio-container"><main class="main fillable">{header}{inside}</main></div>'
        "</body></html>"
    )


def page_head(texts: Texts, *, title: str) -> str:
    """Metadata and script of every page; names nothing but the arena itself.

    They go into the document itself, not through Gradio's settings, which add them only
    once its own script has run.
    """
    description = escape(texts["battle"]["description"])
    name = escape(title)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    icon = quote(
        _mark("#14786c", "#fff").replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    )
    return (
        f"<title>{name}</title>"
        f'<link rel="icon" href="data:image/svg+xml,{icon}">'
        f'<meta name="description" content="{description}">'
        f'<meta property="og:title" content="{name}">'
        f'<meta property="og:description" content="{description}">'
        f"<script>{script}</script>"
    )


def page_styles() -> str:
    """The style sheets of all pages, for the beginning of the body.

    Gradio adds its own sheets to the head while the page loads; what stands in the body
    comes after them and so wins without being shouted.
    """
    sheets = sorted(HERE.rglob("*.css"), key=lambda sheet: sheet.name)
    return f"<style>{''.join(sheet.read_text(encoding='utf-8') for sheet in sheets)}</style>"


def _current(active: object) -> str:
    return ' aria-current="page"' if active else ""


def _mark(ink: str = "currentColor", paper: str = "var(--site-paper)") -> str:
    """Two answers side by side, the left one ticked."""
    return (
        '<svg viewBox="0 0 28 28" width="26" height="26" aria-hidden="true">'
        f'<rect x="2" y="5" width="11" height="18" rx="3" fill="{ink}"/>'
        '<rect x="16" y="6" width="10" height="16" rx="2.5" fill="none"'
        f' stroke="{ink}" stroke-width="2"/>'
        f'<path d="M5 14l2 2.5L10.5 11" fill="none" stroke="{paper}" stroke-width="2"/>'
        "</svg>"
    )
