"""What goes into the head of every page, before Gradio's own script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arena.web.templating import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from arena.web.texts import Texts

# In this order: each uses what those before it have made.
_SCRIPTS = ("line.js", "connection.js", "arrival.js", "drafts.js")


def connection_head(texts: Texts, *, layout: str) -> Markup:
    """The scripts with their words.

    Args:
        texts: of the page's language.
        layout: the edition of the pages, see `layout.fingerprint`.
    """
    words = texts["connection"]
    told = {
        "layout": layout,
        "lost": words["lost"],
        "slow": words["slow"],
        "back": words["back"],
        "full": texts["notice"]["full"],
        "many": texts["notice"]["requests"],
        "failed": texts["site"]["failed"],
    }
    folder = Path(__file__).parent
    scripts = "\n".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return render("connection.html", told=told, scripts=scripts)
