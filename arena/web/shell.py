"""What surrounds every page: the voter's cookie, security headers, a clean document head."""

from __future__ import annotations

import re
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse

from arena.web.gradio_seams import USED_ROUTES, undress
from arena.web.identity import COOKIE, COOKIE_SECONDS
from arena.web.layout import no_script, page_head, page_styles
from arena.web.texts import LANGUAGES, load_texts

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from arena.web.identity import VoterTokens

# Gradio's page is built from inline scripts and styles; what matters here is that nothing
# is loaded from, or sent to, any other site, whatever an answer contains.
POLICY = (
    "default-src 'self'; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; "
    "font-src 'self' data:; "
    "connect-src 'self'; "
    "worker-src 'self' blob:; "
    "object-src 'none'; "
    "base-uri 'self'; "
    "form-action 'self'; "
    "frame-ancestors 'none'"
)
_LANGUAGE_PATH = re.compile(rf"^/({'|'.join(LANGUAGES)})(?:/|$)")
# The pages below a language; what is no page's is not Gradio's either.
_PAGES = re.compile(r"(?:leaderboard/|expert/|agreement/)?")


class PageShell:
    """ASGI middleware around the whole application.

    Args:
        app: what it wraps.
        title: the arena's.
        layout: the edition of the pages.
        tokens: issues the voters' cookies.
        secure_cookies: send the cookie over HTTPS only, even where the proxy does not say so.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        title: str,
        layout: str,
        tokens: VoterTokens,
        secure_cookies: bool,
    ) -> None:
        self._app = app
        self._heads = {
            language: page_head(load_texts(language), title=title, layout=layout).encode()
            for language in LANGUAGES
        }
        self._styles = page_styles().encode()
        self._no_script = {
            language: no_script(load_texts(language)).encode() for language in LANGUAGES
        }
        self._tokens = tokens
        self._secure_cookies = secure_cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on and dresses its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        page = _Page(self, scope, send)
        if _is_used(scope["path"]):
            await self._app(scope, receive, page.send)
        else:
            await PlainTextResponse("Not Found", status_code=404)(scope, receive, page.send)

    def dress(self, document: bytes, *, path: str) -> bytes:
        """A document with our head instead of the template's, in the language of its path."""
        match = _LANGUAGE_PATH.match(path)
        if match is None:
            return document
        code = load_texts(match.group(1))["language"]["html"]
        parts = undress(document)
        if parts is None:
            return document
        head, between, body = parts
        head = head.replace(b'lang="en"', f'lang="{code}"'.encode(), 1)
        language = match.group(1)
        # Pages of our own making work without scripts.
        word = b"" if b'class="plain-page"' in between else self._no_script[language]
        return head + self._heads[language] + between + self._styles + word + body

    def cookie(self, scope: Scope) -> str | None:
        """A `Set-Cookie` value for a browser that has no valid voter token yet."""
        sent = Headers(scope=scope).get("cookie", "")
        if self._tokens.read(cookie_parser(sent)) is not None:
            return None
        cookie: SimpleCookie = SimpleCookie({COOKIE: self._tokens.issue()})
        morsel = cookie[COOKIE]
        morsel["path"] = "/"
        morsel["max-age"] = COOKIE_SECONDS
        morsel["httponly"] = True
        morsel["samesite"] = "Lax"
        if self._secure_cookies or scope["scheme"] == "https":
            morsel["secure"] = True
        return morsel.OutputString()


class _Page:
    """One response on its way out; an HTML document is held back until it is whole."""

    def __init__(self, shell: PageShell, scope: Scope, send: Send) -> None:
        self._shell = shell
        self._scope = scope
        self._send = send
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            _secure(headers)
            if headers.get("content-type", "").startswith("text/html"):
                cookie = self._shell.cookie(self._scope)
                if cookie is not None:
                    headers.append("set-cookie", cookie)
                headers["cache-control"] = "no-store"
                self._start = message
                return
        elif self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body", False):
                return
            body = self._shell.dress(bytes(self._body), path=self._scope["path"])
            MutableHeaders(scope=self._start)["content-length"] = str(len(body))
            await self._send(self._start)
            message = {"type": "http.response.body", "body": body}
        await self._send(message)


def _is_used(path: str) -> bool:
    """Whether a path is one that the pages need; what is no page's is not Gradio's either."""
    page = _LANGUAGE_PATH.match(path)
    if page is None:
        return True
    inside = _PAGES.match(path, page.end())
    return inside is not None and USED_ROUTES.match(path, inside.end()) is not None


def _secure(headers: MutableHeaders) -> None:
    headers["content-security-policy"] = POLICY
    headers["x-content-type-options"] = "nosniff"
    headers["referrer-policy"] = "same-origin"
    headers["permissions-policy"] = "camera=(), geolocation=(), microphone=()"
