"""Server-sent events, as the HTML standard splits them out of a stream of bytes.

Real servers bend the rules, so three things are taken that the standard would drop: an event
that the end of the stream ends, a line that is a JSON object without `data:` before it, and
several objects in one event, a line each (see `streaming`).
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
# An event this long is no piece of an answer; holding it would only cost memory.
LONGEST_EVENT = 8 * 1024 * 1024


class Event(NamedTuple):
    """One event.

    Attributes:
        name: of its `event:` line, empty where there is none.
        data: its `data:` lines, joined by line feeds.
    """

    name: str
    data: bytes


class EventTooLong(ValueError):
    """An event that is longer than any piece of an answer."""


class EventSplitter:
    """Splits a stream into events, wherever the pieces that are fed to it were cut."""

    def __init__(self) -> None:
        self._rest = b""
        self._has_begun = False
        self._ends_with_return = False

    def feed(self, data: bytes) -> list[Event]:
        """Takes the next bytes; returns the events that have ended by now.

        Raises:
            EventTooLong: one has grown beyond `LONGEST_EVENT`.
        """
        whole = self._rest + self._normalise(data)
        if not self._has_begun:
            if len(whole) < len(_BOM) and _BOM.startswith(whole):
                self._rest = whole
                return []
            self._has_begun, whole = True, whole.removeprefix(_BOM)
        *blocks, self._rest = whole.split(b"\n\n")
        if len(self._rest) > LONGEST_EVENT:
            raise EventTooLong(f"an event of more than {LONGEST_EVENT:,} bytes")
        return [event for block in blocks if (event := _read_block(block)) is not None]

    def finish(self) -> list[Event]:
        """The event that the end of the stream ended, if there is one."""
        event = _read_block(self._rest)
        self._rest = b""
        return [] if event is None else [event]

    def _normalise(self, data: bytes) -> bytes:
        """The bytes with line feeds for CR and CRLF; a last CR waits for what follows."""
        if self._ends_with_return:
            data = b"\r" + data
        self._ends_with_return = data.endswith(b"\r")
        if b"\r" not in data:
            return data
        if self._ends_with_return:
            data = data[:-1]
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _read_block(block: bytes) -> Event | None:
    """The event of some lines, `None` where they carry no data."""
    if block.startswith(b"data: ") and b"\n" not in block:  # nearly all of them
        return Event("", block[6:]) if len(block) > len(b"data: ") else None
    name = ""
    lines: list[bytes] = []
    for line in block.split(b"\n"):
        if line.startswith(b"{"):  # no field is called that
            lines.append(line)
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace").strip()
    data = b"\n".join(lines)
    return Event(name, data) if data.strip() else None
