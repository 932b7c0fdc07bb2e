"""What all pages share: the header, and what goes into their head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import gradio as gr

from arena.web.connection.head import connection_head
from arena.web.templating import render
from arena.web.texts import LANGUAGES

if TYPE_CHECKING:
    from markupsafe import Markup

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


def page_header(texts: Texts, *, title: str, language: str, active: str) -> Markup:
    """The bar on top: title, pages, language switch, light or dark.

    Args:
        texts: of the page's language.
        title: the arena's.
        language: of the page.
        active: `arena`, `leaderboard`, or `expert` and `agreement`, which only those with a
            link find.
    """
    other = next(code for code in LANGUAGES if code != language)
    paths = {"arena": ""} | {page: f"{page}/" for page in ("leaderboard", "expert", "agreement")}
    # Experts judge blind: no way from here to the names and what others think of them.
    pages = ("arena", "leaderboard") if active != "expert" else ()
    return render(
        "header.html",
        texts=texts,
        title=title,
        mark=_mark(),
        active=active,
        content=_CONTENT[active],
        home=f"/{language}/{paths['expert'] if active == 'expert' else ''}",
        pages=[(page, f"/{language}/{paths[page]}") for page in pages],
        other=other,
        other_path=f"/{other}/{paths[active]}",
    )


def plain_document(inside: str, texts: Texts, *, title: str, language: str, active: str) -> str:
    """A page that Gradio has no part in, in the same dress; the shell adds head and styles.

    Args:
        inside: what stands below the header, out of a template.
        texts: of the page's language.
        title: the arena's.
        language: of the page.
        active: as for `page_header`.
    """
    header = page_header(texts, title=title, language=language, active=active)
    document = render(
        "document.html",
        language=language,
        in_the_dark=_IN_THE_DARK,
        header=header,
        inside=inside,
    )
    return str(document)


def page_head(texts: Texts, *, title: str, layout: str) -> str:
    """Metadata and script of every page; names nothing but the arena itself.

    They go into the document itself, not through Gradio's settings, which add them only
    once its own script has run.

    Args:
        texts: of the page's language.
        title: the arena's.
        layout: the edition of the pages.
    """
    return render(
        "head.html",
        title=title,
        icon=quote(_mark("#14786c", "#fff", alone=True)),
        description=texts["battle"]["description"],
        connection=connection_head(texts, layout=layout),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
    )


def no_script(texts: Texts) -> str:
    """What a page that needs scripts says where there are none."""
    return str(render("no_script.html", words=texts["site"]["no_script"]))


def page_styles() -> str:
    """The style sheets of all pages, for the beginning of the body.

    Gradio adds its own sheets to the head while the page loads; what stands in the body
    comes after them and so wins without being shouted.
    """
    sheets = sorted(HERE.rglob("*.css"), key=lambda sheet: sheet.name)
    return f"<style>{''.join(sheet.read_text(encoding='utf-8') for sheet in sheets)}</style>"


def _mark(
    ink: str = "currentColor", paper: str = "var(--site-paper)", *, alone: bool = False
) -> Markup:
    """Two answers side by side, the left one ticked."""
    return render("mark.svg", ink=ink, paper=paper, alone=alone)
