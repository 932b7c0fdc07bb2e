"""How answers end: what each provider's word for it stands for, in one table.

A word that is not in the table is no good end. It may mean anything, so the answer is kept but
cannot be voted on, until a person has said in the model's settings what the word means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serving.protocol import Interrupted, Refused, Unfinished

if TYPE_CHECKING:
    from collections.abc import Mapping

    from serving.protocol import FinishReason, ServingError

# OpenAI and Azure; Anthropic and Bedrock; Gemini; Mistral; Cohere; DeepSeek; Zhipu; Baidu;
# TGI; Together; vLLM and SGLang; Ollama and LM Studio. All in lower case.
_WORDS: dict[FinishReason, tuple[str, ...]] = {
    "stop": (
        "stop", "end_turn", "stop_sequence", "eos", "eos_token", "eosfound", "end", "complete",
        "completed", "finish", "finished", "normal", "done", "success", "stop_token",
        "stringstopfound", "stopstringfound",
    ),
    "length": (
        "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_length",
        "model_length", "token_limit", "model_context_window_exceeded", "context_length_exceeded",
        "maxpredictedtokensreached", "contextlengthreached", "max_output",
    ),
    "content_filter": (
        "content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist",
        "prohibited_content", "spii", "image_safety", "sensitive", "guardrail_intervened",
        "moderation", "content_policy", "error_toxic", "language", "blocked",
    ),
    "error": (
        "error", "abort", "aborted", "cancelled", "canceled", "failed", "network_error", "timeout",
        "internal_error", "server_error", "insufficient_system_resource", "overloaded",
        "unload", "modelunloaded", "userstopped", "user_cancel", "disconnect",
        "malformed_function_call", "malformed_response",
    ),
    "unfinished": (
        "tool_calls", "tool_call", "tool_use", "toolcalls", "function_call", "pause_turn",
        "incomplete", "compaction", "unexpected_tool_call",
    ),
}  # fmt: skip
_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words}
GOOD_ENDS: frozenset[FinishReason] = frozenset({"stop", "length"})
# From good to bad. Where a provider says two things about one end, the worse one holds.
_ORDER: tuple[FinishReason, ...] = (
    "stop", "length", "other", "unfinished", "content_filter", "error",
)  # fmt: skip
# What servers write while an answer goes on.
_NOTHING = frozenset({"", "null", "none"})
_LONGEST_WORD = 100


def read_word(value: object) -> str | None:
    """The word that a server gives as the reason of an end, `None` where it gives none."""
    if isinstance(value, dict):  # SGLang's own: {"type": "stop", "matched": …}
        value = value.get("type")
    if value is None or value is False:
        return None
    word = str(value).strip()
    return None if word.lower() in _NOTHING else word[:_LONGEST_WORD]


def find_meaning(word: str, own: Mapping[str, FinishReason] | None = None) -> FinishReason:
    """What a provider's word stands for.

    Args:
        word: as the provider writes it.
        own: what the model's settings say about such words, in lower case.
    """
    plain = word.lower().removeprefix("finish_reason_")
    return (own or {}).get(plain) or _MEANINGS.get(plain, "other")


def find_worse(one: FinishReason, other: FinishReason) -> FinishReason:
    """The worse of two ends."""
    return max(one, other, key=_ORDER.index)


def explain_end(name: str, meaning: FinishReason, word: str) -> ServingError | None:
    """Why an answer that ended like this cannot be voted on, `None` where it can.

    Args:
        name: the model, as configured.
        meaning: how it ended.
        word: as the provider put it.
    """
    if meaning in GOOD_ENDS:
        return None
    if meaning == "content_filter":
        return Refused(f"{name}: the provider's filter ended the answer (it says {word!r})")
    if meaning == "error":
        return Interrupted(f"{name}: the provider broke the answer off (it says {word!r})")
    if meaning == "unfinished":
        return Unfinished(
            f"{name}: the answer stopped to go on otherwise (the provider says {word!r}), which "
            "an arena cannot; remove tools and the like from `extra_body`"
        )
    return Unfinished(
        f"{name}: the answer ended with {word!r}, which is not known to be a good end; if it is "
        f'one, say so in this model\'s settings: finish_reasons = {{ "{word}" = "stop" }}'
    )
