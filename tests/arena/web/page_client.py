"""The battle page without a browser: joins Gradio's queue as its client does, reads the events."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATUS = re.compile(r'class="battle-status"[^>]*data-status="(\w*)"\s+data-battle="([^"]*)"')
_EDITION = re.compile(r'class="battle-status"[^>]*data-edition="(\d*)"')
_TURNS = re.compile(r'class="battle-status"[^>]*data-turns="(\d*)"')
_NOTICE = re.compile(r'class="notice" role="alert">([^<]+)<')
_NAMES = re.compile(r'<h3 dir="auto">([^<]+)</h3>')
_ENDS = ("process_completed", "unexpected_error", "close_stream")


@dataclass
class Heard:
    """What came back of one event.

    Attributes:
        status: of the battle, as the page shows it last.
        battle_id: of the battle shown last.
        edition: of its answers.
        turns: of the battle.
        notices: what the visitor was told, in order.
        names: of the models, on the reveal.
        completed: whether the event ended in good order.
    """

    status: str = ""
    battle_id: str = ""
    edition: str = ""
    turns: str = "0"
    notices: list[str] = field(default_factory=list)
    names: tuple[str, ...] = ()
    completed: bool = False

    def take(self, message: dict[str, Any]) -> None:
        """Takes one message of the event stream."""
        for text in _strings(message.get("output")):
            if found := _STATUS.search(text):
                self.status, self.battle_id = found.groups()
            if found := _EDITION.search(text):
                self.edition = found[1]
            if found := _TURNS.search(text):
                self.turns = found[1]
            self.notices += _NOTICE.findall(text)
            if 'class="reveal"' in text:
                self.names = tuple(_NAMES.findall(text))
        if message["msg"] == "process_completed":
            self.completed = bool(message["success"])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


class PageClient:
    """One visitor with cookies of its own.

    Args:
        address: of the arena.
        language: of the page.
        seconds: how long to wait for any byte.
    """

    def __init__(self, address: str, *, language: str = "en", seconds: float = 60.0) -> None:
        # A connection a request: an idle one may be closed while a request is on its way.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self.http = httpx2.Client(base_url=address, timeout=seconds, limits=limits, trust_env=False)
        self._root = f"/{language}"
        self._session = secrets.token_hex(8)
        self._events: dict[str, tuple[int, int]] = {}
        self.battle_id = ""
        self.edition = ""
        self._shown = Heard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def open(self) -> str:
        """Loads the page, which sets the cookie, and learns its events; returns its HTML."""
        html = self.http.get(f"{self._root}/").raise_for_status().text
        config = self.http.get(f"{self._root}/config").raise_for_status().json()
        elements = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
        for event in config["dependencies"]:
            for target, trigger in event["targets"]:
                name = elements.get(target)
                if name is not None and trigger == "click":
                    self._events.setdefault(name, (event["id"], len(event["inputs"])))
        return html

    def renew_session(self) -> None:
        """Goes on as a page whose session is lost: under another name, with the same cookie."""
        self._session = secrets.token_hex(8)

    def ask(self, prompt: str) -> Heard:
        """Sends a prompt in the battle at hand, or begins one."""
        return self._press(
            "send", prompt, self._shown.turns, secrets.token_urlsafe(16), self.battle_id
        )

    def press(self, elem_id: str) -> Heard:
        """Clicks a button that needs no prompt; `restore` is a reload of its page."""
        read = [] if elem_id == "restore" else [self.edition]
        return self._press(elem_id, *read, self.battle_id)

    def event(self, elem_id: str) -> tuple[int, int]:
        """The number of a button's event, and how many values it sends."""
        return self._events[elem_id]

    def start_pressing(self, elem_id: str, *values: str) -> None:
        """Sends the event without listening to what comes of it."""
        number, inputs = self._events[elem_id]
        assert len(values) == inputs
        joined = self.http.post(
            f"{self._root}/gradio_api/queue/join",
            json={"data": list(values), "fn_index": number, "session_hash": self._session},
        )
        joined.raise_for_status()

    def listen(self) -> Iterator[dict[str, Any]]:
        """The messages of the event that was sent, up to its end."""
        stream = self.http.stream(
            "GET", f"{self._root}/gradio_api/queue/data", params={"session_hash": self._session}
        )
        with stream as events:
            for line in events.iter_lines():
                if line.startswith("data:"):
                    message = json.loads(line.removeprefix("data:"))
                    yield message
                    if message["msg"] in _ENDS:
                        return

    def _press(self, elem_id: str, *values: str) -> Heard:
        self.start_pressing(elem_id, *values)
        heard = Heard()
        for message in self.listen():
            heard.take(message)
        self.battle_id = heard.battle_id or self.battle_id
        self.edition = heard.edition or self.edition
        self._shown = heard
        return heard
