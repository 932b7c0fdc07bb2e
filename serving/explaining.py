"""Errors of the SDKs, of their HTTP client and of providers, as errors of ours."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING

import aiohttp
import httpx2

from serving.complaints import Complaint, find_complaint
from serving.meanings import find_limit, find_meaning_of_words, find_refused_parameter
from serving.protocol import (
    BadCredentials,
    ContextTooLong,
    Interrupted,
    ModelNotFound,
    ModelUnreachable,
    ParameterRefused,
    QuotaUsedUp,
    RateLimited,
    Refused,
    ServerFault,
    ServingError,
    TimedOut,
    Unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from serving.meanings import Meaning
    from serving.sdk import Endpoint

__all__ = [
    "TRANSPORT_ERRORS",
    "explain",
    "explain_complaint",
    "find_complaint_of",
    "read_retry_after",
]

# The statuses that words stand for: Anthropic's error types, Google's codes, TGI's types.
_STATUS_OF_WORD = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "billing_error": 402,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "resource_exhausted": 429,
    "internal": 500,
    "unavailable": 503,
    "deadline_exceeded": 504,
    "validation": 422,
    "badrequesterror": 400,
    "notfounderror": 404,
    "server_error": 500,
    "internal_server_error": 500,
}
_DEEPEST = 8
# What reading from a connection may raise, beside the SDKs' own errors: aiohttp's go through
# the SDKs untouched where they have no name for them.
TRANSPORT_ERRORS = (
    aiohttp.ClientError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.StreamError,
    OSError,
    ValueError,
)


def explain(error: Exception, endpoint: Endpoint, *, asked: tuple[str, ...] = ()) -> ServingError:
    """Says what an exception of an SDK or its HTTP client means, without quoting a key.

    Args:
        error: raised by `openai`, `anthropic`, `httpx2` or `aiohttp`.
        endpoint: what was asked.
        asked: the fields of the request that a server may not know.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        complaint = find_complaint_of(error)
        wait = _find_retry_after(error)
        return explain_complaint(complaint, endpoint, status=status, asked=asked, wait=wait)
    return _explain_transport(_list_causes(error), endpoint)


def find_complaint_of(error: Exception) -> Complaint:
    """What the body of a refusal says."""
    body = getattr(error, "body", None)
    response = getattr(error, "response", None)
    if body is None and response is not None:
        body = response.text
    return find_complaint(body, is_error=True) or Complaint(words=str(body or error))


def explain_complaint(
    complaint: Complaint,
    endpoint: Endpoint,
    *,
    status: int | None = None,
    asked: tuple[str, ...] = (),
    wait: float | None = None,
) -> ServingError:
    """The error of ours that a provider's complaint stands for.

    Args:
        complaint: the provider's words.
        endpoint: what was asked.
        status: of the HTTP response, `None` for a complaint inside a stream or a good response.
        asked: the fields of the request that a server may not know.
        wait: seconds that the provider asked to wait.
    """
    stated = status or complaint.status or _find_stated(complaint)
    meaning = _decide(stated, find_meaning_of_words(f"{complaint.text} {complaint.parameter}"))
    words = endpoint.quote(complaint.text)
    said = f"{endpoint.name}: {endpoint.address} " + (
        f"answered {status}" if status else "sent an error"
    )
    if meaning is not None:
        return _explain_meaning(meaning, said, words, endpoint, complaint=complaint, wait=wait)
    if stated is not None and 300 <= stated < 400:
        return ModelNotFound(
            f"{said}, a redirect, which would carry the key elsewhere: write the final "
            "address into `base_url`"
        )
    if stated is None or stated in {408, 409} or stated >= 500:
        return ServerFault(f"{said}, a fault of the server: {words}")
    refused = find_refused_parameter(complaint.text, asked, parameter=complaint.parameter)
    if refused is not None:
        return ParameterRefused(
            f"{said}, it does not take `{refused}` as it was sent: {words}", parameter=refused
        )
    return Refused(f"{said}: {words}")


def _find_stated(complaint: Complaint) -> int | None:
    """The status that an error inside a stream stands for."""
    marks = (complaint.code.lower(), complaint.kind.lower())
    return next((_STATUS_OF_WORD[mark] for mark in marks if mark in _STATUS_OF_WORD), None)


def _decide(status: int | None, meaning: Meaning | None) -> Meaning | None:
    """What an error means by its status and its words, of which the status is the surer."""
    if status == 413 or (meaning == "too_long" and status != 429):
        return "too_long"
    if status == 402 or meaning == "quota":
        return "quota"
    if status in {401, 403}:
        return "filter" if status == 403 and meaning == "filter" else "key"
    if status in {404, 405, 410}:
        return "model"
    if status == 429:
        return "rate"
    if status is not None and (status >= 500 or 300 <= status < 400):
        return None
    return None if meaning == "overloaded" else meaning


def _explain_meaning(
    meaning: Meaning,
    said: str,
    words: str,
    endpoint: Endpoint,
    *,
    complaint: Complaint,
    wait: float | None,
) -> ServingError:
    match meaning:
        case "too_long":
            limit = find_limit(complaint.text)
            named = "" if limit is None else f" (its limit is {limit:,} tokens)"
            return ContextTooLong(
                f"{said}, the conversation is too long{named}: {words}", limit=limit
            )
        case "quota":
            return QuotaUsedUp(
                f"{said}, the quota is used up; check the plan with the provider: {words}"
            )
        case "rate":
            return RateLimited(f"{said}, too many requests: {words}", retry_after=wait)
        case "model":
            return ModelNotFound(
                f"{said}: check `base_url` and `model` (here {endpoint.model!r}): {words}"
            )
        case "key":
            return BadCredentials(
                f"{said}: the key is not accepted, or may not use model {endpoint.model!r}; "
                f"{endpoint.key_remedy}: {words}"
            )
        case _:
            return Refused(f"{said}, its content filter refused: {words}")


def _list_causes(error: BaseException) -> list[BaseException]:
    """An exception and what it was raised from, the last one first in time at the end."""
    found = [error]
    while len(found) < _DEEPEST:
        cause = found[-1].__cause__ or found[-1].__context__
        if cause is None or cause in found:
            break
        found.append(cause)
    return found


def _explain_transport(causes: list[BaseException], endpoint: Endpoint) -> ServingError:
    """What happened to the connection.

    The SDKs call a refused connection a timeout, and the truth lies a cause deeper: so each
    kind is looked for in all of the causes, the most telling first.
    """

    def find(*kinds: type[BaseException]) -> BaseException | None:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

    refused = find(aiohttp.ClientConnectorError, aiohttp.ClientSSLError)
    if refused is None and find(TimeoutError, aiohttp.ServerTimeoutError) is not None:
        return TimedOut(
            f"{endpoint.name}: the limit `connect` of {endpoint.connect_timeout:g} s ran out at "
            f"{endpoint.address}; check the address, or raise `timeouts.connect`",
            limit="connect",
        )
    words = endpoint.quote(str(causes[-1]) or type(causes[-1]).__name__)
    if refused is None and find(aiohttp.ClientPayloadError, httpx2.ReadError) is not None:
        return Interrupted(f"{endpoint.name}: the connection was cut: {words}")
    if refused is None and find(
        aiohttp.ClientResponseError, httpx2.DecodingError, httpx2.RemoteProtocolError
    ):
        return Unreadable(
            f"{endpoint.name}: what {endpoint.address} sent is no HTTP that can be read: {words}"
        )
    if refused is None and find(aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        return ServerFault(
            f"{endpoint.name}: {endpoint.address} closed the connection before it answered: {words}"
        )
    return ModelUnreachable(
        f"{endpoint.name}: no answer from {endpoint.address} ({words}); is the server running?"
    )


def _find_retry_after(error: Exception) -> float | None:
    response = getattr(error, "response", None)
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
