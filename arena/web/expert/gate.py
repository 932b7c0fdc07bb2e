"""The door to the experts' page: a link becomes a cookie, and whoever has neither stays outside.

A link carries its key in the address. It is taken out of there at once: the key would else
stay in the history, and in the address bar for everybody who looks on.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from arena.rules.experts import NotInvited
from arena.web.layout import plain_document
from arena.web.templating import render
from arena.web.texts import LANGUAGES, load_texts

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from arena.experts.panel import ExpertPanel
    from arena.rules.experts import Expert

COOKIE = "arena_expert"
_ENTRANCE = re.compile(rf"/({'|'.join(LANGUAGES)})/expert/")


class ExpertGate:
    """ASGI middleware in front of the experts' page.

    Args:
        app: what it guards; everything else is passed on to it.
        panel: knows who is welcome.
        title: the arena's.
        secure_cookies: send the cookie over HTTPS only, even where the proxy does not say so.
    """

    def __init__(
        self, app: ASGIApp, *, panel: ExpertPanel, title: str, secure_cookies: bool
    ) -> None:
        self._app = app
        self._panel = panel
        self._title = title
        self._secure_cookies = secure_cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through, turns it away, or takes the key out of its address."""
        match = _ENTRANCE.fullmatch(scope["path"]) if scope["type"] == "http" else None
        answer = None if match is None else await self._receive(Request(scope), match[1])
        await (answer or self._app)(scope, receive, send)

    async def _receive(self, request: Request, language: str) -> Response | None:
        """What to answer at the door, `None` for "come in"."""
        key = request.query_params.get("key")
        try:
            expert = await self._panel.admit(read_key(request.cookies) if key is None else key)
        except NotInvited:
            return HTMLResponse(self._refusal(language), status_code=403)
        if key is None:
            return None
        return self._hand_over(key, expert, request)

    def _hand_over(self, key: str, expert: Expert, request: Request) -> Response:
        """The same page without the key in its address, and the key in a cookie."""
        left = expert.expires_at - datetime.now(UTC)
        answer = RedirectResponse(
            request.url.path, status_code=303, headers={"cache-control": "no-store"}
        )
        answer.set_cookie(
            COOKIE,
            key,
            max_age=max(0, int(left.total_seconds())),
            path="/",
            secure=self._secure_cookies or request.url.scheme == "https",
            httponly=True,
            samesite="lax",  # a link in a letter comes from another site
        )
        return answer

    def _refusal(self, language: str) -> str:
        """A page that says no, and not why: it must not tell who is an expert."""
        texts = load_texts(language)
        words = texts["expert"]
        inside = render(
            "message.html",
            title=words["refused_title"],
            text=words["refused"],
            role="",
            id="expert-state",
        )
        return plain_document(inside, texts, title=self._title, language=language, active="expert")


def read_key(cookies: dict[str, str]) -> str:
    """The key that a browser keeps, empty where it has none."""
    return cookies.get(COOKIE, "")
