"""Models behind any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream, DefaultAioHttpClient

from serving.explaining import TRANSPORT_ERRORS, explain
from serving.openai_chunks import ChunkReader
from serving.paced_http import make_http_client, was_stale
from serving.protocol import ParameterRefused
from serving.sdk import PLAIN_BODY, TELEMETRY_HEADERS
from serving.streaming import read_answer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from serving.limits import WireEvent
    from serving.protocol import Message, Sampling, ServingError
    from serving.sdk import Endpoint

logger = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
# An OpenAI account's ids, which the SDK reads from the environment: not for other servers.
_ACCOUNT = ("OpenAI-Organization", "OpenAI-Project")
# OpenAI's newer models refuse `max_tokens`; most other servers know nothing else.
_OLD_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_OTHER_LIMIT = {_OLD_LIMIT: _NEW_LIMIT, _NEW_LIMIT: _OLD_LIMIT}
_OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com")
_ALWAYS_SENT = frozenset({"model", "messages", "stream"})
# A field is unknown, not only of a wrong value.
_UNKNOWN_FIELD = re.compile(
    r"unsupported parameter|not supported|unrecogni[sz]ed|unexpected|unknown|extra|not permitted|"
    rf"instead|{_NEW_LIMIT}|不支持",
    re.IGNORECASE,
)


class OpenAIBackend:
    """Asks one model over OpenAI's API."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = AsyncOpenAI(
            api_key=endpoint.key_text,
            base_url=endpoint.base_url or OPENAI_URL,
            max_retries=0,
            timeout=openai.Timeout(None, connect=endpoint.connect_timeout),
            http_client=make_http_client(
                DefaultAioHttpClient, trust_env=not endpoint.is_on_this_machine
            ),
        )
        is_openai = _is_openai(endpoint.base_url or OPENAI_URL)
        hidden = TELEMETRY_HEADERS if is_openai else (*TELEMETRY_HEADERS, *_ACCOUNT)
        self._options: Any = {"headers": {**dict.fromkeys(hidden, openai.Omit()), **PLAIN_BODY}}
        self._limit_name = endpoint.token_limit or (_NEW_LIMIT if is_openai else _OLD_LIMIT)
        self._limits_refused: set[str] = set()
        self._asks_for_counts = endpoint.stream_options

    async def open(
        self, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[WireEvent]:
        """Makes one streaming request; see `Backend.open`."""
        response = await self._send(messages, sampling)
        async for event in read_answer(response, ChunkReader(self._endpoint), self._endpoint):
            yield event

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._client.close()

    async def _send(self, messages: Sequence[Message], sampling: Sampling) -> httpx2.Response:
        """The response to a request, which is made again once it is known what not to send."""
        while True:
            request = self._request(messages, sampling)
            failure: ServingError
            try:
                try:
                    return await self._post(request)
                except (openai.OpenAIError, *TRANSPORT_ERRORS) as error:
                    if not was_stale(error):
                        raise
                return await self._post(request)
            except (openai.OpenAIError, *TRANSPORT_ERRORS) as error:
                asked = tuple(name for name in request if name not in _ALWAYS_SENT)
                failure = explain(error, self._endpoint, asked=asked)
            if not self._learn_from(failure):
                raise failure

    async def _post(self, request: dict[str, Any]) -> httpx2.Response:
        response = await self._client.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            body=request,
            options=self._options,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        # The SDK hands over the response as it is when that is what it should make.
        return cast("httpx2.Response", response)

    def _learn_from(self, failure: ServingError) -> bool:
        """Whether a refusal has told how to ask this server, so that asking again may help."""
        if not isinstance(failure, ParameterRefused):
            return False
        name = failure.parameter
        if name == "stream_options" and self._asks_for_counts:
            self._asks_for_counts = False
            remedy = "set stream_options = false in this model's settings"
        elif (
            name == self._limit_name
            and self._endpoint.token_limit is None
            and self._limit_name not in self._limits_refused
            and _UNKNOWN_FIELD.search(str(failure))
        ):
            self._limits_refused.add(name)
            self._limit_name = _OTHER_LIMIT[name]
            remedy = f'set token_limit = "{self._limit_name}" in this model\'s settings'
        else:
            return False
        logger.warning("%s; going on without it (to be spared this, %s)", failure, remedy)
        return True

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        asked = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self._limit_name: sampling.max_tokens,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            "response_format": _response_format(sampling),
            "stream_options": {"include_usage": True} if self._asks_for_counts else None,
        }
        return {
            "model": self._endpoint.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in messages],
            "stream": True,
            **{name: value for name, value in asked.items() if value is not None},
            **self._endpoint.extra_body,
        }


def _is_openai(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host.endswith(_OPENAI_HOSTS)


def _response_format(sampling: Sampling) -> dict[str, Any] | None:
    if sampling.response_schema is None:
        return None
    schema = {"name": "answer", "strict": True, "schema": dict(sampling.response_schema)}
    return {"type": "json_schema", "json_schema": schema}
