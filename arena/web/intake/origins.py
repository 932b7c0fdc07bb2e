"""Which sites' pages may speak to the arena in a visitor's name: its own, and those allowed.

A browser sends a visitor's cookies along with what any page asks for, and those of a sibling
subdomain are of the same site. What changes something, and every stream, is therefore refused
unless the browser says that a page of ours asks, or nothing at all, as programs do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
_EVENTS = "/gradio_api/"
_OURS = frozenset({"same-origin", "none"})
_PORTS = {"http": 80, "https": 443}
_CORS = "access-control-"


class OriginGate:
    """ASGI middleware that keeps other sites out.

    Args:
        app: what it guards.
        allowed: further origins, such as `https://www.example.org`.
    """

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str] = ()) -> None:
        self._app = app
        self._allowed = frozenset(map(_normalise, allowed))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, answers a browser's question whether it may send one, or refuses."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        is_guest = origin is not None and _normalise(origin) in self._allowed
        if scope["method"] == "OPTIONS" and origin is not None:
            await _answer_preflight(origin if is_guest else None)(scope, receive, send)
            return
        if _matters(scope) and not is_guest and not _is_ours(scope, headers):
            words = "This arena answers its own pages only.\n"
            await PlainTextResponse(words, status_code=403)(scope, receive, send)
            return
        await self._app(scope, receive, _Answer(send, origin if is_guest else None))


class _Answer:
    """An answer that says who may read it: nobody but us, and the guest who asked."""

    def __init__(self, send: Send, guest: str | None) -> None:
        self._send = send
        self._guest = guest

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name in [name for name in headers if name.startswith(_CORS)]:
                del headers[name]
            if self._guest is not None:
                headers.update(_welcome(self._guest))
        await self._send(message)


def _welcome(guest: str) -> dict[str, str]:
    return {
        "access-control-allow-origin": guest,
        "access-control-allow-credentials": "true",
        "vary": "Origin",
    }


def _answer_preflight(guest: str | None) -> Response:
    if guest is None:
        return PlainTextResponse("This arena answers its own pages only.\n", status_code=403)
    asked = {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "content-type, x-arena-layout",
        "access-control-max-age": "600",
    }
    return Response(status_code=204, headers={**_welcome(guest), **asked})


def _matters(scope: Scope) -> bool:
    return scope["method"] not in _HARMLESS or _EVENTS in scope["path"]


def _is_ours(scope: Scope, headers: Headers) -> bool:
    """Whether the browser says that a page of ours asks; a program says nothing."""
    if headers.get("sec-fetch-site", "same-origin") not in _OURS:
        return False
    origin = headers.get("origin")
    return origin is None or _is_same(origin, scope, headers)


def _is_same(origin: str, scope: Scope, headers: Headers) -> bool:
    """Whether an origin is the address that was asked.

    Its scheme is the browser's own; a proxy that ends HTTPS may not have said so.
    """
    scheme, _, host = _normalise(origin).partition("://")
    asked = _normalise(f"{scheme}://{headers.get('host', '')}").partition("://")[2]
    return bool(host) and host == asked and scheme in {scope["scheme"], "https"}


def _normalise(origin: str) -> str:
    """An origin without a port that goes without saying; what is none stays as it is."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return origin
    if not parts.hostname or parts.scheme not in _PORTS:
        return origin
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}"
