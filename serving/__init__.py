"""Chat models behind one protocol: conversations in, text streams out.

The protocol is imported at once; settings, the roster and the servers on first use, so
that `import serving` takes neither pydantic nor a provider's SDK nor a model runtime.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from serving.protocol import (
    BadCredentials,
    ChatModel,
    Completion,
    ContextTooLong,
    Interrupted,
    Message,
    Misconfigured,
    ModelCard,
    ModelNotFound,
    ModelUnreachable,
    ParameterRefused,
    QuotaUsedUp,
    RateLimited,
    ReasoningDelta,
    Refused,
    Sampling,
    ServerFault,
    ServingError,
    StreamEvent,
    TextDelta,
    TimedOut,
    Unfinished,
    UnknownPrompt,
    Unreadable,
)

if TYPE_CHECKING:
    from serving.health import HealthReport, check_model
    from serving.llamacpp_server import LlamaCppServer
    from serving.recorded import RecordedModel
    from serving.roster import Roster, RosterError, missing_keys
    from serving.specs import ModelSpec, ReasoningSpec, SamplingSpec, TimeoutsSpec
    from serving.vllm_server import VllmServer

__all__ = [
    "BadCredentials",
    "ChatModel",
    "Completion",
    "ContextTooLong",
    "HealthReport",
    "Interrupted",
    "LlamaCppServer",
    "Message",
    "Misconfigured",
    "ModelCard",
    "ModelNotFound",
    "ModelSpec",
    "ModelUnreachable",
    "ParameterRefused",
    "QuotaUsedUp",
    "RateLimited",
    "ReasoningDelta",
    "ReasoningSpec",
    "RecordedModel",
    "Refused",
    "Roster",
    "RosterError",
    "Sampling",
    "SamplingSpec",
    "ServerFault",
    "ServingError",
    "StreamEvent",
    "TextDelta",
    "TimedOut",
    "TimeoutsSpec",
    "Unfinished",
    "UnknownPrompt",
    "Unreadable",
    "VllmServer",
    "check_model",
    "missing_keys",
]

_HOMES = {
    "HealthReport": "health",
    "LlamaCppServer": "llamacpp_server",
    "ModelSpec": "specs",
    "ReasoningSpec": "specs",
    "RecordedModel": "recorded",
    "Roster": "roster",
    "RosterError": "roster",
    "SamplingSpec": "specs",
    "TimeoutsSpec": "specs",
    "VllmServer": "vllm_server",
    "check_model": "health",
    "missing_keys": "roster",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'serving' has no attribute {name!r}")
    return getattr(importlib.import_module(f"serving.{_HOMES[name]}"), name)
