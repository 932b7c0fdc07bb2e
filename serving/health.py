"""Whether a model answers, and what is odd about how it does."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from serving.emptiness import says_nothing
from serving.protocol import Completion, Message, ServingError, TextDelta
from serving.recorded import RecordedModel

if TYPE_CHECKING:
    from serving.protocol import ChatModel

__all__ = ["HealthReport", "check_model", "report_failure"]

# Asked with the model's own sampling and prompt, so that what a battle would meet is met here.
_PROMPT = "Say hello."


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """What a model said when it was asked as in a battle.

    Attributes:
        name: the model, as configured.
        status: `ok`, or `failed` with `error` and `message`.
        time_to_first_token: seconds.
        tokens_per_second: after the first token.
        model_id: what the provider calls the model that answered.
        error: name of the error's class.
        message: the error in words.
        warnings: what would spoil battles although it answers, each with the remedy.
    """

    name: str
    status: Literal["ok", "failed"]
    time_to_first_token: float | None = None
    tokens_per_second: float | None = None
    model_id: str | None = None
    error: str | None = None
    message: str | None = None
    warnings: tuple[str, ...] = ()


async def check_model(model: ChatModel) -> HealthReport:
    """Asks a model as a battle does; a `ServingError` is reported, not raised."""
    name, prompt = model.card.name, _PROMPT
    if isinstance(model, RecordedModel) and model.prompts:
        prompt = model.prompts[0]
    shown: list[str] = []
    try:
        async with aclosing(model.stream([Message("user", prompt)])) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return _report(name, event, shown="".join(shown))
                if isinstance(event, TextDelta):
                    shown.append(event.text)
    except ServingError as error:
        return report_failure(name, error)
    raise AssertionError(f"{name}: a stream ended without a Completion")


def report_failure(name: str, error: ServingError) -> HealthReport:
    """The report on a model that could not answer."""
    return HealthReport(name=name, status="failed", error=type(error).__name__, message=str(error))


def _report(name: str, completion: Completion, *, shown: str) -> HealthReport:
    is_empty = says_nothing(completion.text)
    return HealthReport(
        name=name,
        status="failed" if is_empty else "ok",
        time_to_first_token=completion.time_to_first_token,
        tokens_per_second=completion.tokens_per_second,
        model_id=completion.model_id,
        error="EmptyAnswer" if is_empty else None,
        message=_explain_empty(name, completion) if is_empty else None,
        warnings=_list_warnings(completion, shown),
    )


def _explain_empty(name: str, completion: Completion) -> str:
    if completion.finish_reason == "length":
        return f"{name}: it reached its length limit before any text; raise sampling.max_tokens"
    if completion.reasoning:
        return (
            f"{name}: it answered with reasoning alone; if that was its answer, set "
            "reasoning = { begins_inside = false }, or other reasoning.tags"
        )
    return f"{name}: it ended without any text to be seen"


def _list_warnings(completion: Completion, shown: str) -> tuple[str, ...]:
    warnings = []
    if shown != completion.text:
        warnings.append(
            "its answer begins with reasoning that no tag opens, which people would see: "
            "set reasoning = { begins_inside = true }"
        )
    if completion.finish_reason == "length" and completion.text:
        warnings.append("a greeting reached its length limit: raise sampling.max_tokens")
    return tuple(warnings)
