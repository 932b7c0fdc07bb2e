"""What the back ends that speak HTTP through a provider's SDK have in common.

Both SDKs are made by one generator, so their clients take the same options and their errors
have the same shape. Here are those options (no retries, no telemetry, no redirect that would
carry a key to another host) and the one translation of their errors into ours.
"""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from serving.credentials import scrub
from serving.protocol import (
    BadCredentials,
    ContextTooLong,
    ModelUnreachable,
    RateLimited,
    Refused,
    ServingError,
    TimedOut,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2
    from pydantic import SecretStr

# What the SDKs tell about the machine they run on in every request.
TELEMETRY_HEADERS = (
    "X-Stainless-Lang",
    "X-Stainless-Package-Version",
    "X-Stainless-OS",
    "X-Stainless-Arch",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Async",
    "X-Stainless-Retry-Count",
    "X-Stainless-Read-Timeout",
    "X-Stainless-Timeout",
)
# How servers say that a conversation is too long: llama.cpp, OpenAI and its imitators,
# Anthropic, vLLM (two wordings).
_TOO_LONG = (
    "exceed_context_size_error",
    "exceeds the available context size",
    "context_length_exceeded",
    "prompt is too long",
    "maximum context length",
    "longer than the maximum model length",
)
# What Anthropic's error events inside a stream stand for.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_QUOTA_IS_USED_UP = "insufficient_quota"
_WORDS_QUOTED = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how one model is asked.

    Attributes:
        name: the model as configured, for messages.
        model: the provider's name for it.
        base_url: the API's address, `None` for the provider's own.
        key: sent with each request; `None` where the server asks for none.
        key_variable: where the key came from, for messages.
        connect_timeout: seconds to open a connection.
        extra_body: further fields of the request.
    """

    name: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None
    key_variable: str | None = None
    connect_timeout: float = 10.0
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key_text(self) -> str:
        """The key as the SDK wants it: some text even where the server asks for none."""
        return self.key.get_secret_value() if self.key is not None else "none"

    @property
    def is_on_this_machine(self) -> bool:
        """Whether its address is the loopback, where no proxy must come between."""
        host = urlsplit(self.base_url or "").hostname
        return host in {"localhost", "127.0.0.1", "::1"}


def explain(error: Exception, endpoint: Endpoint) -> ServingError:
    """Says what an exception of an SDK or its HTTP client means, without quoting a key.

    Args:
        error: raised by `openai`, `anthropic`, `httpx2`, or by reading their events.
        endpoint: what was asked.
    """
    import httpx2

    cause = error.__cause__ or error
    status = _find_status(error)
    if status is not None:
        return _explain_status(status, error, endpoint)
    if isinstance(cause, httpx2.ConnectTimeout):
        return TimedOut(
            f"{endpoint.name}: the limit `connect` of {endpoint.connect_timeout:g} s ran out at "
            f"{_address(endpoint)}; check the address, or raise `timeouts.connect`",
            limit="connect",
        )
    if isinstance(cause, httpx2.TransportError):
        return ModelUnreachable(
            f"{endpoint.name}: no answer from {_address(endpoint)} "
            f"({scrub(str(cause) or type(cause).__name__, endpoint.key)}); is the server running?"
        )
    words = _quote(error, endpoint)
    if _says_too_long(words):
        return ContextTooLong(f"{endpoint.name}: the conversation is too long: {words}")
    return ModelUnreachable(
        f"{endpoint.name}: {_address(endpoint)} sent an error or something unreadable: {words}"
    )


def _explain_status(status: int, error: Exception, endpoint: Endpoint) -> ServingError:
    words = _quote(error, endpoint)
    said = f"{endpoint.name}: {_address(endpoint)} answered {status}"
    if _says_too_long(words) or status == 413:
        return ContextTooLong(f"{said}, the conversation is too long: {words}")
    if status == 401:
        # Providers quote parts of a wrong key here, so their words are left out.
        return BadCredentials(f"{said}: it does not accept the key; {_key_remedy(endpoint)}")
    if status == 403:
        return BadCredentials(
            f"{said}: the key may not use model {endpoint.model!r}; {_key_remedy(endpoint)}: "
            f"{words}"
        )
    if status == 429 and _QUOTA_IS_USED_UP in words:
        return Refused(f"{said}: the quota is used up; check the plan with the provider: {words}")
    if status == 429:
        return RateLimited(f"{said}: too many requests", retry_after=_find_retry_after(error))
    if status in {408, 409} or status >= 500:
        return ModelUnreachable(f"{said}, a fault of the server: {words}")
    if 300 <= status < 400:
        return Refused(
            f"{said}, a redirect, which would carry the key elsewhere: write the final "
            "address into `base_url`"
        )
    if status == 404:
        return Refused(f"{said}: check `base_url` and `model` (here {endpoint.model!r}): {words}")
    return Refused(f"{said}: {words}")


def _find_status(error: Exception) -> int | None:
    """The status of a response, or the one that an error inside a stream stands for."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return status
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            code, kind = inner.get("code"), inner.get("type")
            stated = isinstance(code, int) and 400 <= code < 600
            return code if stated else _STATUS_OF_TYPE.get(str(kind))
    return None


def _find_retry_after(error: Exception) -> float | None:
    response: httpx2.Response | None = getattr(error, "response", None)
    return read_retry_after(response.headers) if response is not None else None


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait: in milliseconds, seconds, or as a date."""
    text = headers.get("retry-after", "")
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _says_too_long(words: str) -> bool:
    return any(marker in words.lower() for marker in _TOO_LONG)


def _quote(error: Exception, endpoint: Endpoint) -> str:
    """The error in the provider's words, shortened, without the key."""
    body = getattr(error, "body", None)
    words = str(body) if body else str(error)
    words = scrub(" ".join(words.split()), endpoint.key)
    return words if len(words) <= _WORDS_QUOTED else f"{words[:_WORDS_QUOTED]}…"


def _address(endpoint: Endpoint) -> str:
    return endpoint.base_url or "the provider"


def _key_remedy(endpoint: Endpoint) -> str:
    if endpoint.key_variable is None:
        return "name the variable that holds one in `api_key_env`"
    return f"check the environment variable {endpoint.key_variable}"
