"""The tables inside the settings of one model."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from serving.limits import Reasoning
from serving.protocol import Sampling
from serving.reasoning import KNOWN_TAGS

__all__ = ["ReasoningSpec", "SamplingSpec", "TimeoutsSpec"]


class SamplingSpec(BaseModel):
    """How a model draws its answers when nobody asks otherwise."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float | None = Field(
        default=None, ge=0, le=2, description="0 is greedy; unset leaves it to the model."
    )
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="Nucleus mass; unset leaves it to the model."
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="Longest answer, in the model's own tokens."
    )
    seed: int | None = Field(
        default=None, ge=0, description="Repeats an answer where the back end supports it."
    )
    stop: tuple[str, ...] = Field(default=(), description="Strings that end the answer.")

    def to_sampling(self) -> Sampling:
        """The same values as the protocol has them."""
        return Sampling(**self.model_dump())


class TimeoutsSpec(BaseModel):
    """How long to wait for a model, in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connect: float = Field(default=10, gt=0, description="Seconds to open a connection.")
    first_token: float = Field(
        default=60, gt=0, description="Seconds from the request to the first text or reasoning."
    )
    between_tokens: float = Field(
        default=30, gt=0, description="Seconds between two pieces of an answer."
    )
    total: float = Field(
        default=300, gt=0, description="Seconds for a whole answer, retries included."
    )
    startup: float = Field(
        default=600,
        gt=0,
        description="Seconds that a server started here may take to load (llamacpp, vllm).",
    )


class ReasoningSpec(BaseModel):
    """Where a model writes its reasoning into the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tags: tuple[str, ...] = Field(
        default=(),
        description="Opening and closing tag around it; unset knows <think> and others.",
    )
    begins_inside: bool = Field(
        default=False,
        description="The opening tag is in the model's template: answers begin with reasoning.",
    )

    @model_validator(mode="after")
    def _check_tags(self) -> Self:
        if self.tags and (len(self.tags) != 2 or not all(tag.strip() for tag in self.tags)):
            raise ValueError(
                f"tags is {list(self.tags)}; write the opening and the closing one, as "
                'tags = ["<think>", "</think>"]'
            )
        return self

    def to_reasoning(self) -> Reasoning:
        """The same as the back ends' limits have it."""
        tags = ((self.tags[0], self.tags[1]),) if self.tags else KNOWN_TAGS
        return Reasoning(tags=tags, begins_inside=self.begins_inside)
