"""Models behind any server that speaks OpenAI's chat completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from serving.limits import End
from serving.protocol import Interrupted, ModelUnreachable, ReasoningDelta, TextDelta
from serving.reasoning import ThinkSplitter
from serving.sdk import TELEMETRY_HEADERS, explain

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

    from serving.limits import WireEvent
    from serving.protocol import FinishReason, Message, Sampling
    from serving.sdk import Endpoint

OPENAI_URL = "https://api.openai.com/v1"
# An OpenAI account's ids, which the SDK reads from the environment: not for other servers.
_ACCOUNT = ("OpenAI-Organization", "OpenAI-Project")
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
}


class OpenAIBackend:
    """Asks one model over OpenAI's API."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = AsyncOpenAI(
            api_key=endpoint.key_text,
            base_url=endpoint.base_url or OPENAI_URL,
            max_retries=0,
            timeout=openai.Timeout(None, connect=endpoint.connect_timeout),
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False, trust_env=not endpoint.is_on_this_machine
            ),
        )
        hidden = TELEMETRY_HEADERS if endpoint.base_url is None else (*TELEMETRY_HEADERS, *_ACCOUNT)
        self._headers = dict.fromkeys(hidden, openai.Omit())

    async def open(
        self, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[WireEvent]:
        """Makes one streaming request; see `Backend.open`."""
        reader = _ChunkReader(self._endpoint)
        try:
            request = self._request(messages, sampling)
            async with await self._client.chat.completions.create(**request) as stream:
                async for chunk in stream:
                    for delta in reader.read(chunk):
                        yield delta
            failure = None
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
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
        # OpenAI's newer models refuse `max_tokens`, other servers know nothing else.
        limit = "max_completion_tokens" if self._endpoint.base_url is None else "max_tokens"
        asked = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            limit: sampling.max_tokens,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            "response_format": _response_format(sampling),
            "extra_body": dict(self._endpoint.extra_body) or None,
        }
        return {
            "model": self._endpoint.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "extra_headers": self._headers,
            **{name: value for name, value in asked.items() if value is not None},
        }


def _response_format(sampling: Sampling) -> dict[str, Any] | None:
    if sampling.response_schema is None:
        return None
    schema = {"name": "answer", "strict": True, "schema": dict(sampling.response_schema)}
    return {"type": "json_schema", "json_schema": schema}


class _ChunkReader:
    """Collects what the chunks of one answer say besides its text."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._splitter = ThinkSplitter()
        self._model_id = endpoint.model
        self._finish_reason: str | None = None
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None

    def read(self, chunk: ChatCompletionChunk) -> Iterator[TextDelta | ReasoningDelta]:
        """The pieces of text in a chunk.

        Raises:
            ModelUnreachable: it is no chunk of a chat completion.
        """
        # The SDK does not validate what it parsed, so any part may be missing or odd.
        try:
            self._model_id = chunk.model or self._model_id
            if chunk.usage is not None:
                self._prompt_tokens = chunk.usage.prompt_tokens
                self._completion_tokens = chunk.usage.completion_tokens
            for choice in chunk.choices:
                self._finish_reason = choice.finish_reason or self._finish_reason
                yield from self._read_delta(choice.delta)
        except (AttributeError, TypeError):
            failure = ModelUnreachable(
                f"{self._endpoint.name}: the server sent a chunk that is no chat completion"
            )
        else:
            return
        raise failure

    def _read_delta(self, delta: ChoiceDelta) -> Iterator[TextDelta | ReasoningDelta]:
        extra = delta.model_extra or {}
        # DeepSeek, vLLM and llama.cpp say reasoning_content; OpenRouter and Ollama, reasoning.
        thought = extra.get("reasoning_content") or extra.get("reasoning")
        if thought:
            yield ReasoningDelta(str(thought))
        if delta.content:
            yield from self._splitter.feed(delta.content)
        elif delta.refusal:
            yield TextDelta(delta.refusal)

    def finish(self) -> list[TextDelta | ReasoningDelta]:
        """What was held back."""
        return self._splitter.finish()

    def end(self) -> End:
        """How the answer ended.

        Raises:
            Interrupted: the connection was closed before the server said so.
        """
        if self._finish_reason is None:
            raise Interrupted(f"{self._endpoint.name}: the answer broke off in the middle")
        return End(
            finish_reason=_FINISH_REASONS.get(self._finish_reason, "other"),
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            model_id=self._model_id,
        )
