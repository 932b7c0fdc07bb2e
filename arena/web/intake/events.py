"""The events that pages send: one of theirs in its own shape, or an answer that says why not.

Gradio takes what it is sent and fails somewhere inside where that is none of its own. So an event
is read here, and what Gradio gets is written anew from what was understood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import gradio as gr
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse

from arena.rules.battles import storable
from arena.web.intake.bodies import Refused, read_json, replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradio.block_function import BlockFunction
    from starlette.types import ASGIApp, Receive, Scope, Send

_ROUTE = re.compile(
    "(?P<page>/.*?)/gradio_api/(?P<route>queue/join|queue/data|run/predict|cancel|reset)/?"
)
_SESSION = r"^[A-Za-z0-9_-]{1,80}$"
_OF_THE_BODY = frozenset({b"content-length", b"transfer-encoding", b"content-encoding"})
_MOST_DETAILS = 20
_LONGEST_DETAIL = 200

Session = Annotated[str, Field(pattern=_SESSION)]


class _Sent(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)


class _Event(_Sent):
    """What Gradio's client sends for an event; anything more is left out."""

    data: list[str | int | None] = Field(max_length=50)
    fn_index: int = Field(ge=0)
    session_hash: Session
    event_data: dict[str, Any] | None = Field(default=None, max_length=_MOST_DETAILS)
    trigger_id: int | None = Field(default=None, ge=0, le=1_000_000)


class _Cancelled(_Sent):
    session_hash: Session
    fn_index: int = Field(ge=0, le=1_000_000)
    event_id: Session


class _Reset(_Sent):
    event_id: Session


class EventGate:
    """ASGI middleware in front of Gradio's routes that take something.

    Args:
        app: what it guards.
        pages: by their paths, without a slash at the end.
    """

    def __init__(self, app: ASGIApp, pages: Mapping[str, gr.Blocks]) -> None:
        self._app = app
        self._pages = dict(pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes an event on in the words that were understood, and everything else as it is."""
        match = _ROUTE.fullmatch(scope["path"]) if scope["type"] == "http" else None
        page = None if match is None else self._pages.get(match["page"])
        if match is None or page is None:
            await self._app(scope, receive, send)
            return
        try:
            told, hand_over = await _understand(match["route"], scope, receive, page)
        except Refused as refusal:
            answer = JSONResponse({"detail": str(refusal)}, status_code=refusal.status)
            await answer(scope, receive, send)
            return
        await self._app(told, hand_over, send)


async def _understand(
    route: str, scope: Scope, receive: Receive, page: gr.Blocks
) -> tuple[Scope, Receive]:
    """The request as Gradio is to see it.

    Raises:
        Refused: it is none that a page sends.
    """
    if route == "queue/data":
        sent = Request(scope).query_params.get("session_hash", "")
        if not re.fullmatch(_SESSION, sent):
            raise Refused(422, "session_hash: no session of a page")
        return scope, receive
    if scope["method"] != "POST":
        raise Refused(405, "events are posted")
    body = orjson.dumps(_read(route, await read_json(scope, receive), page))
    headers = [pair for pair in scope["headers"] if pair[0] not in _OF_THE_BODY]
    told = {**scope, "headers": headers}
    MutableHeaders(scope=told)["content-length"] = str(len(body))
    return told, replay(body, receive)


def _read(route: str, sent: object, page: gr.Blocks) -> dict[str, Any]:
    """What a request says, in the form that Gradio expects.

    Raises:
        Refused: it is none that a page sends.
    """
    try:
        if route == "cancel":
            return _Cancelled.model_validate(sent).model_dump()
        if route == "reset":
            return _Reset.model_validate(sent).model_dump()
        event = _Event.model_validate(sent)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Refused(422, f"{where or 'the event'}: {first['msg']}") from None
    function = page.fns.get(event.fn_index)
    is_queued = route == "queue/join"
    if function is None or function.fn is None or bool(function.queue) is not is_queued:
        raise Refused(422, f"fn_index: the page has no such event, {event.fn_index}")
    _check_data(event.data, function)
    told = event.model_dump()
    told["data"] = [storable(value) if isinstance(value, str) else value for value in event.data]
    told["event_data"] = dict(_keep_plain(event.event_data or {}))
    return told


def _check_data(data: list[str | int | None], function: BlockFunction) -> None:
    """Text for each box, a number for a choice of examples."""
    if len(data) != len(function.inputs):
        raise Refused(422, f"data: {len(data)} values for {len(function.inputs)}")
    for value, part in zip(data, function.inputs, strict=True):
        if isinstance(part, gr.Dataset):
            if not isinstance(value, int) or not 0 <= value < len(part.samples or ()):
                raise Refused(422, "data: no such example")
        elif not isinstance(value, str | None):
            raise Refused(422, "data: not a text")


def _keep_plain(details: dict[str, Any]) -> Iterable[tuple[str, object]]:
    """What an event tells of itself beside its values, as far as it is short words and numbers."""
    for key, value in details.items():
        is_short = isinstance(value, str) and len(value) <= _LONGEST_DETAIL
        if len(key) <= _LONGEST_DETAIL and (is_short or isinstance(value, int | None)):
            yield key, value
