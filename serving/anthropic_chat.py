"""Models behind Anthropic's messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anthropic
import httpx2
from anthropic import AsyncAnthropic, AsyncStream, DefaultAioHttpClient

from serving.anthropic_events import EventReader
from serving.explaining import TRANSPORT_ERRORS, explain
from serving.paced_http import make_http_client, was_stale
from serving.sdk import PLAIN_BODY, TELEMETRY_HEADERS
from serving.streaming import read_answer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from serving.limits import WireEvent
    from serving.protocol import Message, Sampling, ServingError
    from serving.sdk import Endpoint

ANTHROPIC_URL = "https://api.anthropic.com"
# This API wants a limit with each request; an answer of an arena fits well into this one.
_MAX_TOKENS = 4096
_ALWAYS_SENT = frozenset({"model", "messages", "stream", "max_tokens"})


class AnthropicBackend:
    """Asks one model over Anthropic's API."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = AsyncAnthropic(
            api_key=endpoint.key_text,
            base_url=endpoint.base_url or ANTHROPIC_URL,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=endpoint.connect_timeout),
            open_telemetry=False,
            http_client=make_http_client(
                DefaultAioHttpClient, trust_env=not endpoint.is_on_this_machine
            ),
        )
        self._options: Any = {
            "headers": {**dict.fromkeys(TELEMETRY_HEADERS, anthropic.Omit()), **PLAIN_BODY}
        }

    async def open(
        self, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[WireEvent]:
        """Makes one streaming request; see `Backend.open`."""
        response = await self._send(self._request(messages, sampling))
        async for event in read_answer(response, EventReader(self._endpoint), self._endpoint):
            yield event

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._client.close()

    async def _send(self, request: dict[str, Any]) -> httpx2.Response:
        failure: ServingError
        try:
            try:
                return await self._post(request)
            except (anthropic.AnthropicError, *TRANSPORT_ERRORS) as error:
                if not was_stale(error):
                    raise
            return await self._post(request)
        except (anthropic.AnthropicError, *TRANSPORT_ERRORS) as error:
            asked = tuple(name for name in request if name not in _ALWAYS_SENT)
            failure = explain(error, self._endpoint, asked=asked)
        raise failure

    async def _post(self, request: dict[str, Any]) -> httpx2.Response:
        response = await self._client.post(
            "/v1/messages",
            cast_to=httpx2.Response,
            body=request,
            options=self._options,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        # The SDK hands over the response as it is when that is what it should make.
        return cast("httpx2.Response", response)

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        """The request; this API knows no `seed`."""
        system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
        asked = {
            "system": system or None,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "stop_sequences": list(sampling.stop) or None,
            "output_config": _output_config(sampling),
        }
        return {
            "model": self._endpoint.model,
            "messages": [
                {"role": turn.role, "content": turn.content}
                for turn in messages
                if turn.role != "system"
            ],
            "max_tokens": sampling.max_tokens or _MAX_TOKENS,
            "stream": True,
            **{name: value for name, value in asked.items() if value is not None},
            **self._endpoint.extra_body,
        }


def _output_config(sampling: Sampling) -> dict[str, Any] | None:
    if sampling.response_schema is None:
        return None
    return {"format": {"type": "json_schema", "schema": dict(sampling.response_schema)}}
