"""Requests from one address in a time: beyond that a short answer that says when to come again."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.responses import PlainTextResponse

from arena.settings.rates import read_rate
from arena.web.intake.visitors import find_network

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# What a page is made of comes from the browser's cache or costs next to nothing.
_CHEAP = ("/assets/", "/static/", "/healthz", "/readyz")


class RateGate:
    """ASGI middleware that refuses an address what it asks for too often.

    Args:
        app: what it guards.
        rate: as `limits` writes it, empty for no limit.
    """

    def __init__(self, app: ASGIApp, *, rate: str) -> None:
        self._app = app
        self._rates = read_rate(rate)
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers 429 with the seconds to wait."""
        network = find_network(scope.get("client")) if scope["type"] == "http" else ""
        if not network or any(part in scope["path"] for part in _CHEAP):
            await self._app(scope, receive, send)
            return
        for rate in self._rates:
            if not self._limiter.hit(rate, network):
                seconds = self._limiter.get_window_stats(rate, network).reset_time - time.time()
                wait = {"retry-after": str(max(1, math.ceil(seconds)))}
                words = "Too many requests from this address; please wait a moment.\n"
                answer = PlainTextResponse(words, status_code=429, headers=wait)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)
