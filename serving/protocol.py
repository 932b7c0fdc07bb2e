"""What every chat model of the arena is: the protocol, its results and its errors.

A model turns a conversation into a stream of events: any number of `TextDelta` and
`ReasoningDelta`, then exactly one `Completion`. A stream that cannot end that way raises
one of the `ServingError` tree instead; whatever was streamed before is still valid text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

Role = Literal["system", "user", "assistant"]
# How an answer ended: by itself, cut at its limit, by a filter, by a fault, in order to go on
# (with a tool, after a pause), or with a word that nobody knows. Only the first two are good.
FinishReason = Literal["stop", "length", "content_filter", "error", "unfinished", "other"]
_T = TypeVar("_T")
_TOKENS_A_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to draw an answer; `None` leaves a value to the model's own default.

    Attributes:
        temperature: 0 is greedy; providers accept up to 1 or 2.
        top_p: nucleus mass in (0, 1].
        max_tokens: longest answer, in the model's own tokens.
        seed: repeats an answer where the back end supports it.
        stop: strings that end the answer.
        response_schema: JSON Schema of an object that the answer shall be. Servers that do
            not know such schemas ignore it or refuse the request.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    response_schema: Mapping[str, Any] | None = None

    def over(self, defaults: Sampling) -> Sampling:
        """These values, with `defaults` where they say nothing."""

        def pick(mine: _T | None, other: _T | None) -> _T | None:
            return other if mine is None else mine

        return Sampling(
            temperature=pick(self.temperature, defaults.temperature),
            top_p=pick(self.top_p, defaults.top_p),
            max_tokens=pick(self.max_tokens, defaults.max_tokens),
            seed=pick(self.seed, defaults.seed),
            stop=self.stop or defaults.stop,
            response_schema=pick(self.response_schema, defaults.response_schema),
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next piece of a provider's reasoning, kept apart from the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A finished answer.

    Attributes:
        text: the whole answer, the concatenation of its `TextDelta`s.
        reasoning: the whole reasoning text, empty where the provider sends none.
        finish_reason: why it ended: `stop`, or `length` where it was cut at its limit.
        prompt_tokens: as counted by the provider, `None` where it does not say.
        completion_tokens: likewise; includes reasoning where the provider counts it so.
        time_to_first_token: seconds from the request to the first text or reasoning.
        duration: seconds from the request to the end.
        model_id: what the provider calls the model that answered.
    """

    text: str
    reasoning: str = ""
    finish_reason: FinishReason
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    time_to_first_token: float
    duration: float
    model_id: str

    @property
    def tokens_per_second(self) -> float | None:
        """See `generation_speed`."""
        return generation_speed(
            self.completion_tokens,
            time_to_first_token=self.time_to_first_token,
            duration=self.duration,
        )


def generation_speed(
    completion_tokens: int | None,
    *,
    time_to_first_token: float | None,
    duration: float | None,
) -> float | None:
    """Tokens a second after the first token, `None` where it cannot be told.

    Args:
        completion_tokens: how many there were.
        time_to_first_token: seconds from the request.
        duration: seconds from the request to the end.
    """
    if completion_tokens is None or time_to_first_token is None or duration is None:
        return None
    seconds = duration - time_to_first_token
    return (completion_tokens - 1) / seconds if completion_tokens > 1 and seconds > 0 else None


StreamEvent = TextDelta | ReasoningDelta | Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What people are told about a model once they have voted.

    Attributes:
        name: shown on the reveal and the leaderboard; unique in an arena.
        organisation: who made it.
        license: of the weights or the service, as free text or an SPDX name.
        price_input: US dollars per million prompt tokens, `None` if not known.
        price_output: US dollars per million completion tokens, `None` if not known.
        description: one honest sentence.
    """

    name: str
    organisation: str = ""
    license: str = ""
    price_input: float | None = None
    price_output: float | None = None
    description: str = ""

    @property
    def is_priced(self) -> bool:
        """Whether both prices are known; 0 is one, for what costs nothing."""
        return self.price_input is not None and self.price_output is not None

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars for so many tokens, `None` where a price or a count is not known."""
        if self.price_input is None or self.price_output is None:
            return None
        if prompt_tokens is None or completion_tokens is None:
            return None
        paid = self.price_input * prompt_tokens + self.price_output * completion_tokens
        return paid / _TOKENS_A_PRICE


class ChatModel(Protocol):
    """A chat model that can be asked."""

    @property
    def card(self) -> ModelCard:
        """What people may read about it."""
        ...

    def stream(
        self, messages: Sequence[Message], sampling: Sampling | None = None
    ) -> AsyncGenerator[StreamEvent]:
        """Answers a conversation.

        Closing the generator (or cancelling the task that iterates it) cancels the
        request at the provider.

        Args:
            messages: the conversation; the last one is the user's.
            sampling: overrides the model's own sampling defaults value by value.

        Yields:
            Text and reasoning deltas, then one `Completion`.

        Raises:
            ServingError: the answer could not be finished; the subclass says why.
        """
        ...

    async def aclose(self) -> None:
        """Releases connections and whatever server was started for it."""
        ...


class ServingError(Exception):
    """An answer could not be given.

    `str(error)` is for the maintainer and may name the model, never a key.
    `retryable` says whether the same request may succeed later.
    """

    retryable = False


class ModelUnreachable(ServingError):
    """There is no connection to the server."""

    retryable = True


class ServerFault(ServingError):
    """The server answered with a fault of its own."""

    retryable = True


class Unreadable(ServingError):
    """What the server sent is no answer of the API that it should speak."""

    retryable = True


class Misconfigured(ServingError):
    """The account, the address or the name is wrong: every request would meet the same."""


class BadCredentials(Misconfigured):
    """The key is missing, wrong, or not allowed to use this model."""


class ModelNotFound(Misconfigured):
    """The address has no such API, or the provider no model of this name."""


class QuotaUsedUp(Misconfigured):
    """The account has no credit left, or its quota is used up."""


class RateLimited(ServingError):
    """The provider asks to slow down.

    Attributes:
        retry_after: seconds the provider asked to wait, if it said so.
    """

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextTooLong(ServingError):
    """The conversation does not fit the model's context.

    Attributes:
        limit: tokens that would fit, if the provider said so.
    """

    def __init__(self, message: str, *, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class Refused(ServingError):
    """The provider would not answer this request (content filter, malformed request)."""


class ParameterRefused(Refused):
    """The provider does not take a field of the request, or not with this value.

    Attributes:
        parameter: its name in the API.
    """

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class UnknownPrompt(Refused):
    """A recorded model has no answer to this prompt.

    Attributes:
        known: prompts that it can answer.
    """

    def __init__(self, message: str, *, known: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.known = known


class Interrupted(ServingError):
    """The stream broke after it had begun."""

    retryable = True


class Unfinished(ServingError):
    """The answer ended in a way that is not known to be a good end."""


class TimedOut(ServingError):
    """A limit on connecting, the first token, the gap between tokens or the whole ran out.

    Attributes:
        limit: which of them, as it is called in a model's `timeouts`.
    """

    retryable = True

    def __init__(self, message: str, *, limit: str = "total") -> None:
        super().__init__(message)
        self.limit = limit
