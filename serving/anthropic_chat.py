"""Models behind Anthropic's messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from serving.limits import End
from serving.protocol import Interrupted, ModelUnreachable, ReasoningDelta, TextDelta
from serving.reasoning import ThinkSplitter
from serving.sdk import TELEMETRY_HEADERS, explain

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from anthropic.types import RawContentBlockDelta, RawMessageStreamEvent, Usage

    from serving.limits import WireEvent
    from serving.protocol import FinishReason, Message, Sampling
    from serving.sdk import Endpoint

ANTHROPIC_URL = "https://api.anthropic.com"
# This API wants a limit with each request; an answer of an arena fits well into this one.
_MAX_TOKENS = 4096
_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


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
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False, trust_env=not endpoint.is_on_this_machine
            ),
        )
        self._headers = dict.fromkeys(TELEMETRY_HEADERS, anthropic.Omit())

    async def open(
        self, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[WireEvent]:
        """Makes one streaming request; see `Backend.open`."""
        reader = _EventReader(self._endpoint)
        try:
            request = self._request(messages, sampling)
            async with await self._client.messages.create(**request) as stream:
                async for event in stream:
                    for delta in reader.read(event):
                        yield delta
            failure = None
        except (anthropic.AnthropicError, httpx2.HTTPError, ValueError) as error:
            failure = explain(error, self._endpoint)
        if failure is not None:
            raise failure
        for delta in reader.finish():
            yield delta
        yield reader.end()

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._client.close()

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        """The request; this API knows no `seed`."""
        system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
        asked = {
            "system": system or None,
            "stop_sequences": list(sampling.stop) or None,
            "output_config": _output_config(sampling),
        }
        # The SDK (2.14) has no arguments for these two, but servers of this API take them.
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        return {
            "model": self._endpoint.model,
            "messages": [
                {"role": turn.role, "content": turn.content}
                for turn in messages
                if turn.role != "system"
            ],
            "max_tokens": sampling.max_tokens or _MAX_TOKENS,
            "stream": True,
            "extra_headers": self._headers,
            "extra_body": {
                **{name: value for name, value in drawn.items() if value is not None},
                **self._endpoint.extra_body,
            },
            **{name: value for name, value in asked.items() if value is not None},
        }


def _output_config(sampling: Sampling) -> dict[str, Any] | None:
    if sampling.response_schema is None:
        return None
    return {"format": {"type": "json_schema", "schema": dict(sampling.response_schema)}}


def _count_prompt(usage: Usage) -> int:
    """All tokens of the prompt: this API counts those read from or put into a cache apart."""
    cached = (
        getattr(usage, name, None)
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return usage.input_tokens + sum(count or 0 for count in cached)


class _EventReader:
    """Collects what the events of one answer say besides its text."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._splitter = ThinkSplitter()
        self._model_id = endpoint.model
        self._stop_reason: str | None = None
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None

    def read(self, event: RawMessageStreamEvent) -> Iterator[TextDelta | ReasoningDelta]:
        """The pieces of text in an event.

        Raises:
            ModelUnreachable: it is no event of this API.
        """
        # The SDK does not validate what it parsed, so any part may be missing or odd.
        try:
            if event.type == "message_start":
                self._model_id = event.message.model or self._model_id
                self._prompt_tokens = _count_prompt(event.message.usage)
            elif event.type == "message_delta":
                self._stop_reason = event.delta.stop_reason or self._stop_reason
                self._completion_tokens = event.usage.output_tokens
            elif event.type == "content_block_delta":
                yield from self._read_delta(event.delta)
        except (AttributeError, TypeError):
            failure = ModelUnreachable(
                f"{self._endpoint.name}: the server sent an event that this API does not have"
            )
        else:
            return
        raise failure

    def _read_delta(self, delta: RawContentBlockDelta) -> Iterator[TextDelta | ReasoningDelta]:
        if delta.type == "thinking_delta" and delta.thinking:
            yield ReasoningDelta(delta.thinking)
        elif delta.type == "text_delta":
            yield from self._splitter.feed(delta.text)

    def finish(self) -> list[TextDelta | ReasoningDelta]:
        """What was held back."""
        return self._splitter.finish()

    def end(self) -> End:
        """How the answer ended.

        Raises:
            Interrupted: the connection was closed before the server said so.
        """
        if self._stop_reason is None:
            raise Interrupted(f"{self._endpoint.name}: the answer broke off in the middle")
        return End(
            finish_reason=_FINISH_REASONS.get(self._stop_reason, "other"),
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            model_id=self._model_id,
        )
