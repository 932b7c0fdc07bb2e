"""What is answered while the database is away: a page that says so and tries again by itself."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from arena.web.layout import plain_document
from arena.web.templating import render
from arena.web.texts import LANGUAGES, load_texts

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

_AGAIN_SECONDS = "3"
_PAGES = ("agreement", "expert", "leaderboard")


class AwayGate:
    """ASGI middleware around what asks the database before a page is there.

    Args:
        app: what it guards.
        title: the arena's.
        language: of a page whose address has none.
    """

    def __init__(self, app: ASGIApp, *, title: str, language: str) -> None:
        self._app = app
        self._title = title
        self._language = language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on; where the database did not answer, says so with status 503."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def note(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, note)
        except SQLAlchemyError as error:
            if has_begun:
                raise
            await self.answer(Request(scope), error)(scope, receive, send)

    def answer(self, request: Request, error: Exception) -> Response:
        """The page, or a line for whoever is no browser; the error goes to the log alone."""
        logger.error("%s: the database did not answer: %s", request.url.path, type(error).__name__)
        again = {"retry-after": _AGAIN_SECONDS, "cache-control": "no-store"}
        is_page = "text/html" in request.headers.get("accept", "")
        if request.method not in ("GET", "HEAD") or not is_page:
            words = "The arena cannot read its record at the moment. Please try again.\n"
            return PlainTextResponse(words, status_code=503, headers=again)
        named, page, *_ = (*request.url.path.split("/")[1:], "", "")
        language = named if named in LANGUAGES else self._language
        active = page if page in _PAGES else "arena"
        texts = load_texts(language)
        inside = render(
            "message.html",
            title=texts["connection"]["away_title"],
            text=texts["connection"]["away"],
            role="status",
            id="away",
        )
        document = plain_document(
            inside, texts, title=self._title, language=language, active=active
        )
        # The browser loads the same address again; no script is needed for it.
        return HTMLResponse(document, status_code=503, headers={**again, "refresh": _AGAIN_SECONDS})
