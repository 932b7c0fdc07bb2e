"""Which edition of the pages a browser has: a page of another one must not press our buttons.

Gradio numbers the events of a page in the order in which they are connected. After an upgrade
the same number may be another button, so a page says which edition it is with every event, and
one of another edition is refused and loads itself again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    import gradio as gr
    from starlette.types import ASGIApp, Receive, Scope, Send

HEADER = "x-arena-layout"
_SCRIPTS = Path(__file__).parents[1]


def fingerprint(pages: Iterable[gr.Blocks]) -> str:
    """What the numbers in a browser's requests depend on, and the scripts that send them.

    The same in every process that runs the same program with the same settings.

    Args:
        pages: all that are mounted, in a fixed order.
    """
    found = hashlib.sha256()
    for page in pages:
        config = page.get_config_file()
        events = [
            (event["id"], event["targets"], event["inputs"], event["outputs"])
            for event in config["dependencies"]
        ]
        parts = [
            (part["id"], part["type"], part["props"].get("elem_id"))
            for part in config["components"]
        ]
        found.update(json.dumps([events, parts]).encode())
    for script in sorted(_SCRIPTS.rglob("*.js")):
        found.update(script.read_bytes())
    return found.hexdigest()[:16]


class LayoutGuard:
    """ASGI middleware that turns the events of other editions' pages away.

    Args:
        app: what it guards.
        layout: the fingerprint of our pages.
    """

    def __init__(self, app: ASGIApp, *, layout: str) -> None:
        self._app = app
        self._layout = layout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what names our edition, or none."""
        sent = Headers(scope=scope).get(HEADER) if scope["type"] == "http" else None
        if sent in (None, self._layout):
            await self._app(scope, receive, send)
            return
        words = "this page belongs to another edition of the arena; load it again"
        refusal = PlainTextResponse(words, status_code=409, headers={HEADER: self._layout})
        await refusal(scope, receive, send)
