"""Reads the chunks of OpenAI's chat completions, as those who speak that API send them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from serving.answer_reader import Collected, flatten
from serving.complaints import find_complaint

if TYPE_CHECKING:
    from serving.sdk import Endpoint

# DeepSeek, vLLM, SGLang and llama.cpp; OpenRouter, Ollama, LM Studio and Groq; others.
_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details")


class ChunkReader(Collected):
    """Collects what the chunks of one answer say; a whole answer in one piece is read too."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._index: object = None

    def read(self, name: str, body: object) -> None:
        """Takes one chunk; see `AnswerReader.read`."""
        if isinstance(body, list):
            for part in body:
                self.read(name, part)
            return
        if name == "error" and (complaint := find_complaint(body, is_error=True)) is not None:
            self._complain(complaint)
        if not isinstance(body, dict):
            self.note("frames that hold no chunk, which were left out")
            return
        self._read_choices(body)
        if not body.get("choices") or body.get("error") or "base_resp" in body:
            complaint = find_complaint(body)
            if complaint is not None:
                self._complain(complaint)

    def _read_choices(self, body: dict[str, Any]) -> None:
        for counted in (body, body.get("x_groq")):
            if isinstance(counted, dict) and counted.get("usage"):
                self._read_usage(counted["usage"])
        choices = body.get("choices")
        if isinstance(choices, dict):
            choices = [choices]
        if not isinstance(choices, list):
            return
        self._frames += 1
        model = body.get("model")
        if model and isinstance(model, str):
            self._model_id = model
        for choice in choices:
            if isinstance(choice, dict) and self._is_the_one(choice):
                self._read_choice(choice)

    def _is_the_one(self, choice: dict[str, Any]) -> bool:
        """Whether it belongs to the answer that came first; others are other answers."""
        index = str(choice.get("index") or 0)
        self._index = index if self._index is None else self._index
        return index == self._index

    def _read_choice(self, choice: dict[str, Any]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict) and delta:
            self._read_delta(delta)
        elif isinstance(message, dict):
            self._read_message(message)
        elif isinstance(delta, str):
            self._say(delta)
        elif isinstance(choice.get("text"), str):
            self._say(choice["text"])
        if choice.get("usage"):  # Moonshot counts here
            self._read_usage(choice["usage"])
        reason = choice.get("finish_reason") or choice.get("finish_details")
        if reason:
            self._read_end(reason)
        if choice.get("error"):
            complaint = find_complaint(choice, is_error=True)
            if complaint is not None:
                self._complain(complaint)

    def _read_delta(self, delta: dict[str, Any]) -> None:
        thought = next((delta[name] for name in _THOUGHTS if delta.get(name)), None)
        if thought is not None:
            self._think(flatten(thought))
        content = delta.get("content")
        if content not in (None, "", []):
            self._read_parts(content)
        elif delta.get("refusal"):
            self._say(flatten(delta["refusal"]))

    def _read_message(self, message: dict[str, Any]) -> None:
        """Takes a whole message: some send it instead of the pieces, some again after them."""
        told, before = "".join(self._text), self._new
        self._new, self._text = [], []
        self._read_delta(message)
        whole = "".join(self._text)
        if not told:
            self._new = [*before, *self._new]
            return
        self._new, self._text = before, [told]
        if whole.startswith(told):
            self._say(whole[len(told) :])

    def _read_usage(self, usage: object) -> None:
        self._read_counts(usage, ("prompt_tokens",), "completion_tokens")
        if isinstance(usage, dict) and "prompt_tokens" not in usage:
            self._read_counts(usage, ("input_tokens",), "output_tokens")
