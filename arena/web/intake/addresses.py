"""Where a request goes and what it says about its way, checked before anything believes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_LONGEST_PATH = 500
_LONGEST_NAME = 200  # file systems take 255
_LONGEST_QUERY = 8_000  # as much as proxies usually let through
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
_LAST_PORT = 65_535
# What a visitor may write as well as a proxy. The server has put what proxies that it trusts say
# into the scheme and the client of the request; Gradio would believe anybody.
_HEARSAY = frozenset(
    {
        b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-port",
        b"x-forwarded-prefix", b"x-forwarded-proto", b"x-forwarded-server", b"x-gradio-server",
        b"x-gradio-target-url",
    }
)  # fmt: skip


class AddressGate:
    """ASGI middleware that lets in what has an address of ours.

    Args:
        app: what it guards.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on without hearsay, or says what is wrong with its address."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if wrong := _find_wrong(scope):
            status, words = wrong
            await PlainTextResponse(words, status_code=status)(scope, receive, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0] not in _HEARSAY]
        await self._app({**scope, "headers": headers}, receive, send)


def _find_wrong(scope: Scope) -> tuple[int, str] | None:
    path, query = scope["path"], scope["query_string"]
    names = (len(name.encode()) for name in path.split("/"))
    is_long = len(path) > _LONGEST_PATH or max(names) > _LONGEST_NAME
    if is_long or len(query) > _LONGEST_QUERY:
        return 414, "this address is too long"
    if _CONTROL.search(path) or _CONTROL.search(unquote(query.decode("latin-1"))):
        return 400, "this address has a character that no address has"
    hosts = Headers(scope=scope).getlist("host")
    if len(hosts) > 1 or not all(map(_is_host, hosts)):
        return 400, "this is no name of a host"
    return None


def _is_host(name: str) -> bool:
    match = _HOST.fullmatch(name)
    return match is not None and int(match["port"] or 0) <= _LAST_PORT
