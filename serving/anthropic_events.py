"""Reads the events of Anthropic's messages API, as those who speak that API send them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from serving.answer_reader import Collected
from serving.complaints import find_complaint

if TYPE_CHECKING:
    from serving.sdk import Endpoint

# This API counts the tokens of a prompt that are read from or put into a cache apart.
_PROMPT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_KINDS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "message",
        "ping",
    }
)


class EventReader(Collected):
    """Collects what the events of one answer say; a whole answer in one piece is read too."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)

    def read(self, name: str, body: object) -> None:
        """Takes one event; see `AnswerReader.read`."""
        if isinstance(body, list):
            for part in body:
                self.read(name, part)
            return
        if name == "error" and (complaint := find_complaint(body, is_error=True)) is not None:
            self._complain(complaint)
        if not isinstance(body, dict):
            self.note("frames that hold no event, which were left out")
            return
        kind = body.get("type") if isinstance(body.get("type"), str) else name
        if kind in _KINDS:
            self._frames += kind != "ping"
            self._read_kind(kind, body)
        if kind not in _KINDS or body.get("error"):
            complaint = find_complaint(body)
            if complaint is not None:
                self._complain(complaint)

    def _read_kind(self, kind: str, body: dict[str, Any]) -> None:
        match kind:
            case "message_start":
                message = body.get("message")
                self._read_message(message if isinstance(message, dict) else body)
            case "content_block_start":
                self._read_parts(_part(body.get("content_block")))
            case "content_block_delta":
                self._read_parts(_part(body.get("delta")))
            case "message_delta":
                self._read_end_of_message(body)
            case "message_stop":
                self.is_over = True
            case "message":
                self._read_message(body)

    def _read_message(self, message: dict[str, Any]) -> None:
        if isinstance(message.get("model"), str):
            self._model_id = message["model"] or self._model_id
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            self._read_parts(_part(part))
        self._read_counts(message.get("usage"), _PROMPT_COUNTS, "output_tokens")
        self._read_end(message.get("stop_reason"))

    def _read_end_of_message(self, body: dict[str, Any]) -> None:
        delta = body.get("delta")
        self._read_counts(body.get("usage"), (), "output_tokens")
        if self._prompt_tokens is None:
            self._read_counts(body.get("usage"), _PROMPT_COUNTS, "output_tokens")
        self._read_end(delta.get("stop_reason") if isinstance(delta, dict) else None)
        self._read_end(body.get("stop_reason"))


def _part(part: object) -> object:
    """A part of a message; one of an unknown kind, such as a signature, says nothing."""
    return part if isinstance(part, str | dict) else None
