from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from serving import ModelCard, ModelSpec, Sampling, SamplingSpec, TimeoutsSpec
from serving.deadlines import Limits

KEY = "sk-proj-4f7Qz9LmN2xRw8Tv"


class Settings(BaseModel):
    """The shape in which an arena's settings hold the specs."""

    models: list[ModelSpec]


def load(text: str) -> ModelSpec:
    return Settings(**tomllib.loads(text)).models[0]


def test_a_full_spec_is_read_from_toml() -> None:
    spec = load(
        """
        [[models]]
        name = " Small one "
        backend = "openai"
        model = "small-1"
        base_url = "http://localhost:11434/v1"
        api_key_env = "SMALL_KEY"
        organisation = "Makers"
        license = "Apache-2.0"
        price_input = 0.1
        price_output = 0.4
        description = "A small one."
        system_prompt = "Be brief."
        retries = 1
        sampling = { temperature = 0.7, top_p = 0.9, max_tokens = 64, seed = 1, stop = ["END"] }
        timeouts = { connect = 1, first_token = 2, between_tokens = 3, total = 4 }
        extra_body = { reasoning_effort = "low" }
        """
    )
    assert spec.card == ModelCard(
        name="Small one",
        organisation="Makers",
        license="Apache-2.0",
        price_input=0.1,
        price_output=0.4,
        description="A small one.",
    )
    assert spec.sampling.to_sampling() == Sampling(
        temperature=0.7, top_p=0.9, max_tokens=64, seed=1, stop=("END",)
    )
    assert spec.limits == Limits(connect=1, first_token=2, between_tokens=3, total=4, retries=1)
    assert spec.enabled
    assert spec.extra_body == {"reasoning_effort": "low"}


@pytest.mark.parametrize("spec", [ModelSpec, SamplingSpec, TimeoutsSpec])
def test_every_setting_is_described(spec: type[BaseModel]) -> None:
    assert [name for name, field in spec.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    "fields",
    [
        {"api_key_env": KEY},
        {"api_key_env": "AIzaSyD4f7Qz9LmN2xRw8Tv"},
        {"api_key": KEY},
        {"api_key": KEY, "api_key_env": "OPENAI_API_KEY"},
        {"token": KEY, "nonsense": 1},
        {"api_key_env": KEY, "price_input": -1},
        {"api_key_env": [KEY]},
        {"base_url": f"https://user:{KEY}@example.org/v1"},
        {"base_url": f"https://example.org/v1?key={KEY}"},
        {"base_url": f"{KEY}@example.org"},
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(fields: dict[str, Any]) -> None:
    table = {"name": "it", "backend": "openai", "model": "m", **fields}
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"models": [table]})
    error = caught.value
    assert "environment variable" in str(error)
    for shown in (str(error), repr(error), repr(error.errors()), error.json()):
        for part in (KEY, "AIzaSyD4f7Qz9LmN2xRw8Tv"):
            assert part not in shown


OPENAI = {"name": "it", "backend": "openai", "model": "m", "base_url": "http://localhost/v1"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"name": "it", "backend": "openai", "base_url": "http://x/v1"}, "needs `model`"),
        ({"name": "it", "backend": "anthropic"}, "needs `model`"),
        ({"name": "it", "backend": "openai", "model": "m"}, "api_key_env = 'OPENAI_API_KEY'"),
        ({"name": "it", "backend": "anthropic", "model": "m"}, "'ANTHROPIC_API_KEY'"),
        ({"name": "it", "backend": "llamacpp"}, "needs `path`, the GGUF file"),
        ({"name": "it", "backend": "recorded"}, "needs `path`, the JSONL file"),
        ({"name": "it", "backend": "vllm"}, "needs `path` or `model`"),
        ({"name": "it", "backend": "vllm", "base_url": "http://x/v1"}, "needs `model`"),
        (
            {"name": "it", "backend": "vllm", "model": "m", "base_url": "http://x", "path": "p"},
            "remove `path` and `vllm_args`",
        ),
        ({**OPENAI, "context_size": 512}, "does not know `context_size` (here '512')"),
        ({**OPENAI, "tokens_per_second": 5}, "choose backend 'recorded'"),
        ({**OPENAI, "path": "file"}, "does not know `path`"),
        ({**OPENAI, "base_url": "localhost:80"}, "'localhost:80', which is no web address"),
        ({**OPENAI, "name": "  "}, "must not be empty"),
        ({**OPENAI, "backend": "ollama"}, "'openai', 'anthropic', 'llamacpp'"),
        ({**OPENAI, "price_input": -0.1}, "greater than or equal to 0"),
        ({**OPENAI, "tempreature": 1}, "Extra inputs are not permitted"),
        ({**OPENAI, "sampling": {"top_p": 0}}, "greater than 0"),
        ({**OPENAI, "timeouts": {"total": 0}}, "greater than 0"),
        ({**OPENAI, "retries": 11}, "less than or equal to 10"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelSpec.model_validate(table)
    assert words in str(caught.value)


def test_home_is_expanded_in_a_path() -> None:
    spec = ModelSpec(name="it", backend="recorded", path=Path("~/answers.jsonl"))
    assert spec.path == Path.home() / "answers.jsonl"
