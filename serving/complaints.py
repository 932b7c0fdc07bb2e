"""Errors in a provider's own words: where they stand in what it sent, and what they mean.

Providers agree on nothing here. An error may be an HTTP status with a body, a body with status
200, an event in the middle of a stream or a field of a choice; its words may be nested in
lists, in strings of JSON, under a dozen names, and in Chinese.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Complaint", "find_complaint"]

# Where the words of an error stand, the best first.
_WORD_FIELDS = (
    "message", "msg", "error_msg", "status_msg", "errorMessage", "detail", "details", "error",
    "faultstring", "title", "description", "reason",
)  # fmt: skip
_CODE_FIELDS = ("code", "error_code", "errorCode", "status_code", "status", "statusCode")
_TYPE_FIELDS = ("type", "error_type", "__type", "status", "err_type")
# What stands for an error when nothing else in a message says that it is one.
_CONTENT_FIELDS = ("choices", "content", "delta", "content_block")
_DEEPEST = 4
_GOOD_CODES = frozenset(
    {0, 200, "0", "200", "success", "ok", "", "processing", "queued", "pending", "running",
     "in_progress", "loading", "completed"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """What a provider said went wrong.

    Attributes:
        words: its message.
        code: its code, a number or a word.
        kind: its type.
        parameter: the field of the request that it is about.
    """

    words: str
    code: str = ""
    kind: str = ""
    parameter: str = ""

    @property
    def text(self) -> str:
        """All of it in a line."""
        marks = [mark for mark in (self.kind, self.code) if mark and mark not in self.words]
        words = self.words or "an error without words"
        return f"{words} ({', '.join(dict.fromkeys(marks))})" if marks else words

    @property
    def status(self) -> int | None:
        """The HTTP status that its code is, if it is one of an error."""
        return int(self.code) if self.code.isascii() and self.code.isdecimal() and (
            400 <= int(self.code) < 600
        ) else None  # fmt: skip


def find_complaint(body: object, *, is_error: bool = False) -> Complaint | None:
    """The error that some decoded JSON, or a text, is about; `None` where it is about none.

    Args:
        body: a response's body or an event's data.
        is_error: it is one, whatever it looks like, as an event or a status has said.
    """
    if isinstance(body, list):
        found = (find_complaint(part, is_error=is_error) for part in body)
        return next((complaint for complaint in found if complaint is not None), None)
    if isinstance(body, str):
        return _read(body) if is_error and body.strip() else None
    if not isinstance(body, dict):
        return None
    inner = _find_inner(body)
    if inner is not None:
        return _read(inner, around=body)
    if is_error or _is_bare_error(body):
        return _read(body)
    return None


def _find_inner(body: dict[str, Any]) -> object | None:
    """The part of a message that holds an error."""
    for field in ("error", "errors", "fault"):
        inner: object = body.get(field)
        if inner and not (isinstance(inner, dict) and _is_no_error(inner)):
            return inner
    base = body.get("base_resp")  # MiniMax has it in good answers too
    if isinstance(base, dict) and base.get("status_code") not in _GOOD_CODES:
        return base
    return None


def _is_no_error(inner: dict[str, Any]) -> bool:
    return not any(value not in _GOOD_CODES for value in inner.values() if value is not None)


def _is_bare_error(body: dict[str, Any]) -> bool:
    """Whether a message is an error by itself, not only around one."""
    if body.get("object") == "error" or body.get("type") == "error":
        return True
    if any(body.get(field) for field in _CONTENT_FIELDS):
        return False
    if body.get("error_msg") or body.get("error_code") or body.get("success") is False:
        return True
    words = [body.get(field) for field in ("message", "msg", "detail", "status_msg")]
    codes = [body.get(field) for field in ("code", "status", "status_code", "statusCode")]
    if not any(isinstance(part, str | list) and part for part in words):
        return False
    # Only words: an error unless it is a message of the API, which has a type or an id.
    known = [code for code in codes if code is not None]
    bad = any(str(code).lower() not in _GOOD_CODES and code not in _GOOD_CODES for code in known)
    return bad or (not known and not {"type", "id", "object"} & set(body))


def _read(part: object, *, around: dict[str, Any] | None = None) -> Complaint:
    words = _dig(part, 0)
    raw = _read_raw(part)
    if raw and raw not in words:
        words = f"{words}: {raw}" if words else raw
    fields = [field for field in (part, around) if isinstance(field, dict)]
    if isinstance(part, list):
        fields = [entry for entry in part if isinstance(entry, dict)] + fields
    return Complaint(
        words=words,
        code=_first(fields, _CODE_FIELDS),
        kind=_first(fields, _TYPE_FIELDS, besides=("error",)),
        parameter=_first(fields, ("param",)),
    )


def _dig(part: object, depth: int) -> str:
    """The words somewhere in a part of an error."""
    if depth > _DEEPEST or part is None or isinstance(part, bool):
        return ""
    if isinstance(part, str):
        return _dig_string(part, depth)
    if isinstance(part, list):
        words = [_dig(entry, depth + 1) for entry in part]
        return "; ".join(dict.fromkeys(word for word in words if word))
    if isinstance(part, dict):
        for field in _WORD_FIELDS:
            words_here = _dig(part.get(field), depth + 1)
            if words_here:
                return words_here
        return json.dumps(part, ensure_ascii=False, default=str) if part else ""
    return str(part)


def _dig_string(text: str, depth: int) -> str:
    """A string, or the words of the JSON that it is."""
    inner = text.strip()
    if inner.startswith(("{", "[")):
        try:
            return _dig(json.loads(inner), depth + 1) or inner
        except (ValueError, RecursionError):
            pass
    return inner


def _read_raw(part: object) -> str:
    """What a go-between was told by the provider behind it (OpenRouter's `metadata.raw`)."""
    metadata = part.get("metadata") if isinstance(part, dict) else None
    return _dig(metadata.get("raw"), 1) if isinstance(metadata, dict) else ""


def _first(
    parts: list[dict[str, Any]], fields: tuple[str, ...], *, besides: tuple[str, ...] = ()
) -> str:
    """The first of the fields that holds a word or a number."""
    for part in parts:
        for field in fields:
            value = part.get(field)
            if isinstance(value, str | int) and not isinstance(value, bool):
                text = str(value).strip()
                if text and text not in besides:
                    return text
    return ""
