"""The settings of one model, as `[[models]]` in `arena.toml` says them."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from serving.deadlines import Limits
from serving.protocol import ModelCard
from serving.spec_tables import ReasoningSpec, SamplingSpec, TimeoutsSpec

__all__ = ["BackendName", "ModelSpec", "ReasoningSpec", "SamplingSpec", "TimeoutsSpec"]

BackendName = Literal["openai", "anthropic", "llamacpp", "vllm", "recorded"]

_REDACTED = "(a key, not shown)"
_KEY_FIELDS = ("api_key", "key", "apikey", "token", "api_token", "secret")
_KEY_REMEDY = (
    "api_key_env takes the NAME of an environment variable in capitals, such as "
    "OPENAI_API_KEY; a key itself never belongs in this file: put it into that variable, "
    "and if it was written here, replace the key at the provider"
)
# The settings that only some back ends know, with the back ends that do.
_EXTRAS: dict[str, tuple[BackendName, ...]] = {
    "context_size": ("llamacpp",),
    "parallel": ("llamacpp",),
    "threads": ("llamacpp",),
    "vllm_args": ("vllm",),
    "tokens_per_second": ("recorded",),
    "time_to_first_token": ("recorded",),
    "base_url": ("openai", "anthropic", "llamacpp", "vllm"),
    "api_key_env": ("openai", "anthropic", "llamacpp", "vllm"),
    "extra_body": ("openai", "anthropic", "llamacpp", "vllm"),
    "finish_reasons": ("openai", "anthropic", "llamacpp", "vllm"),
    "stream_options": ("openai", "llamacpp", "vllm"),
    "token_limit": ("openai", "llamacpp", "vllm"),
    "path": ("llamacpp", "recorded", "vllm"),
}


def _is_variable_name(text: str) -> bool:
    return text.isascii() and text.isidentifier() and text == text.upper()


def _strip_nonempty(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


NonEmpty = Annotated[str, AfterValidator(_strip_nonempty)]


class ModelSpec(BaseModel):
    """One model of an arena: what it is called, where it answers, how it is asked."""

    # An error message must never show what was written: it might be a key.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: NonEmpty = Field(
        max_length=200, description="Name shown after a vote; unique in an arena."
    )
    backend: BackendName = Field(
        description="openai (any OpenAI-compatible URL), anthropic, llamacpp (embedded), "
        "vllm (started here, or by base_url) or recorded (answers from a file)."
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="The provider's name for the model; for recorded, the model_id of the rows "
        "to use.",
    )
    base_url: str | None = Field(
        default=None,
        description="Address of the API, as http://localhost:11434/v1; unset is the provider's.",
    )
    api_key_env: str | None = Field(
        default=None, description="Name of the environment variable that holds the key."
    )
    path: Path | None = Field(
        default=None,
        description="GGUF file (llamacpp), JSONL file (recorded) or model directory (vllm).",
    )
    organisation: str = Field(default="", max_length=200, description="Who made the model.")
    license: str = Field(
        default="", max_length=200, description="Licence of the weights or the service."
    )
    price_input: float | None = Field(
        default=None, ge=0, description="US dollars per million prompt tokens."
    )
    price_output: float | None = Field(
        default=None, ge=0, description="US dollars per million completion tokens."
    )
    description: str = Field(default="", description="One honest sentence for the model's card.")
    system_prompt: str = Field(default="", description="Put before every conversation.")
    system_role: Literal["system", "user"] = Field(
        default="system",
        description="user puts the system prompt into the first user message, for models "
        "without that role.",
    )
    sampling: SamplingSpec = Field(
        default_factory=SamplingSpec, description="How its answers are drawn."
    )
    timeouts: TimeoutsSpec = Field(
        default_factory=TimeoutsSpec, description="How long to wait for it, in seconds."
    )
    retries: int = Field(
        default=2,
        ge=0,
        le=10,
        description="Further attempts after a failure that may pass, before the first token only.",
    )
    enabled: bool = Field(default=True, description="Whether it takes part in new battles.")
    extra_body: dict[str, Any] = Field(
        default_factory=dict,
        description="Further fields of the request, sent as they are (never a key).",
    )
    reasoning: ReasoningSpec = Field(
        default_factory=ReasoningSpec,
        description="Where it writes its reasoning into the answer.",
    )
    finish_reasons: dict[str, Literal["stop", "length"]] = Field(
        default_factory=dict,
        description="Words of this provider for the end of an answer that are not known here, "
        "each with stop or length.",
    )
    token_limit: Literal["max_tokens", "max_completion_tokens"] | None = Field(
        default=None,
        description="What the API calls the longest answer; found out if unset.",
    )
    stream_options: bool = Field(
        default=True,
        description="Ask for the counts of tokens; false for servers that refuse the field.",
    )
    context_size: int | None = Field(
        default=None,
        ge=64,
        description="llamacpp: tokens that one conversation may hold; 2048 if unset.",
    )
    parallel: int | None = Field(
        default=None, ge=1, le=64, description="llamacpp: conversations served at once; 4 if unset."
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        description="llamacpp: threads that compute; one fewer than the cores if unset.",
    )
    vllm_args: tuple[str, ...] = Field(
        default=(), description="vllm: further arguments of `vllm serve`."
    )
    tokens_per_second: float | None = Field(
        default=None, gt=0, description="recorded: pace of the answers; unset follows the rows."
    )
    time_to_first_token: float | None = Field(
        default=None,
        ge=0,
        description="recorded: seconds before an answer; unset follows the rows.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_keys_out_of_sight(cls, data: object) -> object:
        """Replaces what may be a key, because every error carries the input it is about."""
        if not isinstance(data, dict):
            return data
        shown = {name: value for name, value in data.items() if name not in _KEY_FIELDS}
        variable = shown.get("api_key_env")
        if len(shown) < len(data) or (
            variable is not None and not (isinstance(variable, str) and _is_variable_name(variable))
        ):
            shown["api_key_env"] = _REDACTED
        url = shown.get("base_url")
        if isinstance(url, str) and ("@" in url or "?" in url):
            shown["base_url"] = _REDACTED
        return shown

    @field_validator("api_key_env")
    @classmethod
    def _refuse_literal_key(cls, value: str | None) -> str | None:
        if value == _REDACTED:
            raise ValueError(_KEY_REMEDY)
        return value

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if value == _REDACTED:
            raise ValueError(
                "base_url holds a user name, a password or a query, which may be a key (so it is "
                "not shown); put the key into an environment variable and name that in api_key_env"
            )
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(
                f"base_url is {value!r}, which is no web address; "
                "write it as http://localhost:11434/v1"
            )
        return value

    @field_validator("path")
    @classmethod
    def _expand_home(cls, value: Path | None) -> Path | None:
        return value.expanduser() if value is not None else None

    @model_validator(mode="after")
    def _check_backend_needs(self) -> Self:
        problem = self._find_missing() or self._find_misplaced()
        if problem:
            raise ValueError(f"model {self.name!r} with backend {self.backend!r} {problem}")
        return self

    def _find_missing(self) -> str | None:
        if self.backend in {"openai", "anthropic"}:
            if self.model is None:
                return "needs `model`, the provider's name for it, such as model = 'gpt-5-mini'"
            if self.base_url is None and self.api_key_env is None:
                variable = f"{self.backend.upper()}_API_KEY"
                return (
                    "needs `api_key_env` for the provider's own address, such as "
                    f"api_key_env = '{variable}', or a `base_url` of another server"
                )
        if self.backend == "llamacpp":
            return self._find_missing_for_llamacpp()
        if self.backend == "recorded" and self.path is None:
            return "needs `path`, the JSONL file with its answers"
        if self.backend == "vllm":
            return self._find_missing_for_vllm()
        return None

    def _find_missing_for_llamacpp(self) -> str | None:
        if self.base_url is None and self.path is None:
            return "needs `path`, the GGUF file with its weights, or the `base_url` of a server"
        own = ("path", "context_size", "parallel", "threads")
        given = [name for name in own if getattr(self, name) is not None]
        if self.base_url is not None and given:
            return (
                f"has a `base_url`, so nothing is started here: remove `{given[0]}`, "
                "or remove `base_url` to start a server"
            )
        return None

    def _find_missing_for_vllm(self) -> str | None:
        if self.base_url is not None and self.model is None:
            return "and a `base_url` needs `model`, the name under which that server serves it"
        if self.base_url is None and self.path is None and self.model is None:
            return "needs `path` or `model` to serve, or the `base_url` of a running server"
        if self.base_url is not None and (self.path is not None or self.vllm_args):
            return (
                "has a `base_url`, so nothing is started here: remove `path` and `vllm_args`, "
                "or remove `base_url` to start a server"
            )
        return None

    def _find_misplaced(self) -> str | None:
        for field, backends in _EXTRAS.items():
            value = getattr(self, field)
            default = type(self).model_fields[field].get_default(call_default_factory=True)
            if value != default and self.backend not in backends:
                return (
                    f"does not know `{field}` (here {str(value)!r}); remove it, or choose "
                    f"backend {' or '.join(map(repr, backends))}"
                )
        return None

    @property
    def starts_server(self) -> bool:
        """Whether a server is started for it where it is used."""
        return self.backend in {"llamacpp", "vllm"} and self.base_url is None

    @property
    def card(self) -> ModelCard:
        """What people are told about it after a vote."""
        return ModelCard(
            name=self.name,
            organisation=self.organisation,
            license=self.license,
            price_input=self.price_input,
            price_output=self.price_output,
            description=self.description,
        )

    @property
    def limits(self) -> Limits:
        """Its timeouts and retries."""
        return Limits(
            connect=self.timeouts.connect,
            first_token=self.timeouts.first_token,
            between_tokens=self.timeouts.between_tokens,
            total=self.timeouts.total,
            retries=self.retries,
        )
