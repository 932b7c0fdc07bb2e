"""Who listens: an event is worked on only once its session's stream is open.

Gradio runs whatever is put into its queue, also for nobody: some hundred posts without a stream
were as many battles, answered to the end. Here an event waits until its page listens, which a
browser does within milliseconds, and is forgotten where nobody comes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

# Seconds; a page that comes later is told that its session is gone, and sends its events again.
PATIENCE = 5.0
_STREAM = "/gradio_api/queue/data"


class Listeners:
    """The streams that are open in this process, by session."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._awaited: dict[str, asyncio.Event] = {}

    async def is_heard(self, session: str | None, *, patience: float = PATIENCE) -> bool:
        """Waits until somebody listens to a session.

        Args:
            session: as the page names it.
            patience: seconds after which nobody does.
        """
        if session is None:
            return False
        if session in self._open:
            return True
        arrival = self._awaited.setdefault(session, asyncio.Event())
        try:
            async with asyncio.timeout(patience):
                await arrival.wait()
        except TimeoutError:
            return False
        finally:
            self._awaited.pop(session, None)
        return True

    @contextmanager
    def listening(self, session: str) -> Iterator[None]:
        """Somebody listens until the block ends."""
        self._open[session] += 1
        if session in self._awaited:
            self._awaited[session].set()
        try:
            yield
        finally:
            self._open[session] -= 1
            if not self._open[session]:
                del self._open[session]


class ListeningGate:
    """ASGI middleware that notices the streams.

    Args:
        app: what serves them.
        listeners: told of each.
    """

    def __init__(self, app: ASGIApp, listeners: Listeners) -> None:
        self._app = app
        self._listeners = listeners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on."""
        if scope["type"] != "http" or not scope["path"].endswith(_STREAM):
            await self._app(scope, receive, send)
            return
        sent = parse_qs(scope["query_string"].decode("latin-1"))
        with self._listeners.listening(sent.get("session_hash", [""])[-1]):
            await self._app(scope, receive, send)
