"""A TCP proxy that keeps every byte a server sends, and looks for words in them."""

from __future__ import annotations

import base64
import html
import json
import re
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ACCEPTED = re.compile(rb"(?im)^accept-encoding:[^\r\n]*")
_UPGRADE = re.compile(rb"(?im)^(connection:[^\r\n]*upgrade|upgrade:)[^\r\n]*")


class ByteRecorder:
    """Stands between browsers and a server.

    Requests are changed in one way: they ask for no compression, so that what is kept can
    be read.

    Attributes:
        address: what to visit instead of the server.
    """

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._kept: list[bytearray] = []
        self._sockets: list[socket.socket] = [self._listener]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """Ends all connections."""
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join(10)

    @property
    def received(self) -> bytes:
        """Everything that was sent to any browser so far: heads and bodies, without framing."""
        return b"\n".join(readable(bytes(kept)) for kept in list(self._kept))

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                browser, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                kept = bytearray()
                self._kept.append(kept)
                self._sockets += (browser, server)
                for pump in (self._pump_requests, self._pump_answers):
                    thread = threading.Thread(target=pump, args=(browser, server, kept))
                    self._threads.append(thread)
                    thread.start()

    def _pump_requests(self, browser: socket.socket, server: socket.socket, _: bytearray) -> None:
        with suppress(OSError):
            while chunk := browser.recv(65536):
                assert not _UPGRADE.search(chunk), "a web socket would not be read"
                server.sendall(_ACCEPTED.sub(b"accept-encoding: identity", chunk))
            server.shutdown(socket.SHUT_WR)

    def _pump_answers(self, browser: socket.socket, server: socket.socket, kept: bytearray) -> None:
        with suppress(OSError):
            while chunk := server.recv(65536):
                kept += chunk
                browser.sendall(chunk)
            browser.shutdown(socket.SHUT_WR)


@contextmanager
def recording(server: str) -> Iterator[ByteRecorder]:
    """A recorder in front of a server, closed afterwards."""
    recorder = ByteRecorder(server)
    try:
        yield recorder
    finally:
        recorder.close()


def readable(stream: bytes) -> bytes:
    """The answers of one connection with their bodies put together."""
    parts = []
    while stream:
        head, end, stream = stream.partition(b"\r\n\r\n")
        parts.append(head)
        assert not re.search(rb"(?im)^content-encoding:", head), head
        if re.search(rb"(?im)^transfer-encoding:\s*chunked", head):
            body, stream = _dechunk(stream)
        else:
            length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
            size = int(length[1]) if length else 0
            body, stream = stream[:size], stream[size:]
        parts.append(body)
        if not end:
            break
    return b"\n".join(parts)


def _dechunk(stream: bytes) -> tuple[bytes, bytes]:
    body = bytearray()
    while stream:
        line, _, stream = stream.partition(b"\r\n")
        size = int(line.split(b";")[0] or b"0", 16)
        if size == 0:
            return bytes(body), stream.removeprefix(b"\r\n")
        body += stream[:size]
        stream = stream[size:].removeprefix(b"\r\n")
    return bytes(body), b""


def find_words(words: Iterable[str], text: bytes) -> set[str]:
    """Those of the words that occur in a text in any guise, whatever the case."""
    lowered = text.lower()
    return {
        word
        for word in words
        if any(guise.lower() in lowered for guise in _spellings(word))
        or any(guise in text for guise in _in_base64(word))
    }


def _spellings(word: str) -> set[bytes]:
    """As it is, and as JSON, HTML, addresses, dumps and file names would spell it."""
    escaped = json.dumps(word)[1:-1]
    guises = {
        word,
        escaped,
        json.dumps(escaped)[1:-1],
        html.escape(word),
        quote(word, safe=""),
        quote_plus(word),
        word.encode().hex(),
        re.sub(r"[^A-Za-z0-9]+", "-", word),
        re.sub(r"[^A-Za-z0-9]+", "_", word),
        word[::-1],
    }
    return {guise.encode() for guise in guises}


def _in_base64(word: str) -> set[bytes]:
    """The middle of its encoding, wherever in an encoded text it begins."""
    guises = set()
    for offset in range(3):
        data = b"\0" * offset + word.encode()
        for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
            # The first and the last characters also depend on the neighbours.
            guises.add(encoded[4 if offset else 0 : len(data) // 3 * 4])
    return {guise for guise in guises if len(guise) >= 8}
