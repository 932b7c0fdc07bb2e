"""From a raw HTTP response to the pieces of an answer, for both APIs alike."""

from __future__ import annotations

import asyncio
import html
import re
from contextlib import aclosing
from typing import TYPE_CHECKING

from serving.complaints import Complaint, find_complaint
from serving.decoding import NotJson, decode
from serving.explaining import TRANSPORT_ERRORS, explain, explain_complaint
from serving.protocol import ModelNotFound, ServingError, Unreadable
from serving.sse import Event, EventSplitter, EventTooLong

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2

    from serving.answer_reader import AnswerReader
    from serving.limits import WireEvent
    from serving.sdk import Endpoint

__all__ = ["SECONDS_AFTER_THE_END", "read_answer"]

# How long a connection is held open for the counts, after the answer has said how it ended.
SECONDS_AFTER_THE_END = 1.0
_LONGEST_DOCUMENT = 8 * 1024 * 1024
_LONGEST_PAGE = 4_000
_HEAD = 400
_BOM = b"\xef\xbb\xbf"
_KINDS = {b"{": "document", b"[": "document", b"<": "page"}
_LIKE_JSON = (b"{", b"[{", b'["')
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


async def read_answer(
    response: httpx2.Response, reader: AnswerReader, endpoint: Endpoint
) -> AsyncGenerator[WireEvent]:
    """Reads a response to the end of the answer, and closes it.

    Args:
        response: a good one, whose body was not read.
        reader: of the API that was asked.
        endpoint: what was asked.

    Yields:
        All pieces that have come, also before a failure, then one `End`.

    Raises:
        ServingError: the answer could not be finished; nothing that was read is kept back.
    """
    body = _Body(reader, endpoint)
    failure: ServingError | None = None
    try:
        async with aclosing(_raw(response)) as source:
            data: bytes | None = b""
            while not (reader.is_over or data is None or failure):
                data, failure = await _read_on(source, body, reader, endpoint)
                for delta in reader.take():
                    yield delta
    finally:
        await response.aclose()
    # Raised out here, an error carries no chain of causes that might quote a key.
    if failure is not None:
        raise failure
    end = reader.end()
    for delta in reader.take():
        yield delta
    yield end


def _raw(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The body; unpacked where a server has packed it although it was asked not to."""
    packed = response.headers.get("content-encoding", "identity").lower()
    return response.aiter_raw() if packed == "identity" else response.aiter_bytes()


async def _read_on(
    source: AsyncGenerator[bytes], body: _Body, reader: AnswerReader, endpoint: Endpoint
) -> tuple[bytes | None, ServingError | None]:
    """Reads once: what arrived, `None` at the end, and what has failed with it."""
    data = None
    try:
        data = await _next(source, reader)
        if data is None:
            body.finish()
        else:
            body.feed(data)
    except ServingError as error:
        return data, error
    except TRANSPORT_ERRORS as error:
        # An answer that has ended is not undone by what the connection does then.
        return data, None if reader.has_ended else explain(error, endpoint)
    return data, None


async def _next(source: AsyncGenerator[bytes], reader: AnswerReader) -> bytes | None:
    """What arrives next, `None` at the end; an answer that has ended is not waited for long."""
    if not reader.has_ended:
        return await anext(source, None)
    try:
        async with asyncio.timeout(SECONDS_AFTER_THE_END):
            return await anext(source, None)
    except TimeoutError:
        return None


class _Body:
    """Tells by its first letter what a body is, whatever its type is said to be."""

    def __init__(self, reader: AnswerReader, endpoint: Endpoint) -> None:
        self._reader = reader
        self._endpoint = endpoint
        self._splitter = EventSplitter()
        self._kind = ""
        self._held = b""

    def feed(self, data: bytes) -> None:
        """Takes the next bytes.

        Raises:
            ServingError: they hold an error, or cannot be read.
        """
        if self._kind == "events":
            self._read_events(self._split(data))
            return
        self._held += data
        self._kind = self._kind or self._find_kind()
        if self._kind == "events":
            whole, self._held = self._held, self._held[:_HEAD]
            self._read_events(self._split(whole))
        elif len(self._held) > (_LONGEST_PAGE if self._kind == "page" else _LONGEST_DOCUMENT):
            self.finish()

    def finish(self) -> None:
        """Takes the end of the body.

        Raises:
            ServingError: it holds an error, or cannot be read.
        """
        if self._kind == "page":
            raise self._explain_page()
        if self._kind == "document":
            self._read_document()
            return
        for event in self._splitter.finish():
            self._read_event(event, is_last=True)
        if not self._reader.has_read_any and self._held.strip():
            self._reader.read_words(self._held.decode("utf-8", "replace"))

    def _find_kind(self) -> str:
        """What the body is, empty while that cannot be told."""
        if len(self._held) < len(_BOM) and _BOM.startswith(self._held):
            return ""
        first = self._held.removeprefix(_BOM).lstrip()[:1]
        return _KINDS.get(first, "events") if first else ""

    def _split(self, data: bytes) -> list[Event]:
        try:
            return self._splitter.feed(data)
        except EventTooLong as error:
            raise Unreadable(f"{self._endpoint.name}: the server sent {error}") from None

    def _read_events(self, events: list[Event]) -> None:
        for event in events:
            self._read_event(event)
            if self._reader.is_over:
                return

    def _read_event(self, event: Event, *, is_last: bool = False) -> None:
        """Takes an event; one that the end of the stream has cut in two is none."""
        try:
            self._read_json(event.name, event.data)
        except NotJson:
            for line in event.data.split(b"\n"):
                self._read_line(event.name, line, is_last=is_last)

    def _read_json(self, name: str, data: bytes) -> None:
        value, is_mended = decode(data)
        if is_mended:
            self._reader.note("bytes that are no UTF-8, which were replaced")
        self._reader.read(name, value)

    def _read_line(self, name: str, line: bytes, *, is_last: bool) -> None:
        """Takes a line of an event that is no JSON as a whole."""
        try:
            self._read_json(name, line)
        except NotJson as error:
            if name == "error":
                failure = explain_complaint(Complaint(words=str(error)), self._endpoint)
            elif not line.lstrip().startswith(_LIKE_JSON):
                self._reader.read_words(str(error))
                return
            elif is_last:
                self._reader.note("a frame that was cut off")
                return
            else:
                failure = self._explain_unreadable("a frame", str(error))
        else:
            return
        raise failure

    def _read_document(self) -> None:
        """Takes JSON that was not streamed: a whole answer, an error, or a chunk a line."""
        document = self._held.removeprefix(_BOM)
        try:
            self._read_json("", document)
        except NotJson:
            for line in filter(bytes.strip, document.splitlines()):
                self._read_line("", line, is_last=False)
            return
        if self._reader.has_read_any:
            self._reader.is_over = True  # a whole document needs no mark of its end
            return
        complaint = find_complaint(decode(document).value, is_error=True)
        words = complaint.text if complaint is not None else document.decode("utf-8", "replace")
        raise self._explain_unreadable("JSON that is no answer of this API", words)

    def _explain_unreadable(self, what: str, words: str) -> Unreadable:
        return Unreadable(
            f"{self._endpoint.name}: the server sent {what} and cannot be understood: "
            f"{self._endpoint.quote(words)}"
        )

    def _explain_page(self) -> ModelNotFound:
        page = self._held.decode("utf-8", "replace")
        title = _TITLE.search(page)
        words = html.unescape(title[1] if title else _TAGS.sub(" ", page))
        return ModelNotFound(
            f"{self._endpoint.name}: {self._endpoint.address} sent a web page where an answer "
            f"should be ({self._endpoint.quote(words)}); check `base_url`, and whether "
            "something stands before it that wants a login"
        )
