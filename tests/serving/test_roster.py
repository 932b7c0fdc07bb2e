from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import complete

from serving import (
    LlamaCppServer,
    Message,
    ModelSpec,
    ModelUnreachable,
    Roster,
    RosterError,
    check_model,
    missing_keys,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    file = tmp_path / "answers.jsonl"
    row = {"prompt": "Hi", "answer": "Hello", "model_id": "r-1", "tokens": 3}
    file.write_text(json.dumps({**row, "tokens_per_second": 50}))
    return file


def recorded(name: str, path: Path, **fields: object) -> ModelSpec:
    return ModelSpec.model_validate({"name": name, "backend": "recorded", "path": path, **fields})


def remote(name: str, url: str = "http://localhost:9/v1", **fields: object) -> ModelSpec:
    table = {"name": name, "backend": "openai", "model": "m", "base_url": url, "retries": 0}
    return ModelSpec.model_validate({**table, **fields})


async def test_enabled_models_are_started_and_closed(answers: Path) -> None:
    roster = Roster(
        [recorded("a", answers), recorded("b", answers, enabled=False), remote("c")], environ={}
    )
    assert dict(roster.models) == {}
    async with roster:
        assert list(roster.models) == ["a", "c"]
        assert roster.models["a"].card.name == "a"
        assert (await complete(roster.models["a"], [Message("user", "Hi")])).text == "Hello"
    assert dict(roster.models) == {}


async def test_a_check_reports_speed_and_the_models_own_name(answers: Path) -> None:
    async with Roster([recorded("a", answers)]) as roster:
        report = await roster.check("a")
        assert await check_model(roster.models["a"]) != report  # measured anew
    assert (report.name, report.status, report.model_id) == ("a", "ok", "r-1")
    assert report.time_to_first_token is not None
    assert report.tokens_per_second == pytest.approx(50, rel=0.5)
    assert report.error is None


async def test_a_check_reports_an_error_in_words() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        async with Roster([remote("c", url)]) as roster:
            report = await roster.check("c")
    assert (report.status, report.error) == ("failed", "ModelUnreachable")
    assert report.message is not None
    assert url in report.message
    assert report.time_to_first_token is None


async def test_a_check_of_what_was_not_started_says_so(answers: Path) -> None:
    roster = Roster([recorded("a", answers)])
    report = await roster.check("a")
    assert report.message == "model 'a' was not started; call start() first"
    with pytest.raises(KeyError):
        await roster.check("nobody")


def test_two_models_of_one_name_are_refused(answers: Path) -> None:
    with pytest.raises(RosterError, match="more than one model is named 'a'"):
        Roster([recorded("a", answers), remote("b"), remote("a")])


def test_models_that_share_a_file_must_agree_on_its_server(answers: Path) -> None:
    table = {"backend": "llamacpp", "path": answers}
    specs = [
        ModelSpec.model_validate({**table, "name": "a", "context_size": 512}),
        ModelSpec.model_validate({**table, "name": "b"}),
        ModelSpec.model_validate({**table, "name": "c", "context_size": 1024}),
    ]
    with pytest.raises(RosterError, match=r"`context_size` 'a' asks for 512, 'c' asks for 1024"):
        Roster(specs)
    Roster(specs[:2])


async def test_everything_is_closed_even_past_one_that_fails(
    answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    roster = Roster([recorded("a", answers), recorded("b", answers)])
    await roster.start()
    for name, model in roster.models.items():

        async def fail(name: str = name) -> None:
            closed.append(name)
            raise OSError("will not close")

        monkeypatch.setattr(model, "aclose", fail)
    with pytest.raises(OSError, match="will not close"):
        await roster.aclose()
    assert sorted(closed) == ["a", "b"]


async def test_every_problem_is_told_at_the_start(answers: Path, tmp_path: Path) -> None:
    specs = [
        recorded("a", answers),
        remote("b", api_key_env="B_KEY"),
        recorded("c", tmp_path / "missing.jsonl"),
        remote("d", api_key_env="D_KEY", enabled=False),
    ]
    roster = Roster(specs, environ={})
    with pytest.raises(RosterError) as caught:
        await roster.start()
    first, second = str(caught.value).splitlines()
    assert "'b' needs the environment variable B_KEY" in first
    assert "export B_KEY" in first
    assert "missing.jsonl" in second
    assert dict(roster.models) == {}


async def test_a_check_can_go_on_past_models_that_do_not_start(answers: Path) -> None:
    roster = Roster([recorded("a", answers), remote("b", api_key_env="B_KEY")], environ={})
    await roster.start(keep_going=True)
    assert list(roster.models) == ["a"]
    assert list(roster.failures) == ["b"]
    report = await roster.check("b")
    assert (report.status, report.error) == ("failed", "BadCredentials")
    assert (await roster.check("a")).status == "ok"
    await roster.aclose()


def test_missing_keys_are_found_without_starting(answers: Path) -> None:
    specs = [
        recorded("a", answers),
        remote("b", api_key_env="B_KEY"),
        remote("c", api_key_env="C_KEY"),
        remote("d", api_key_env="D_KEY", enabled=False),
    ]
    problems = missing_keys(specs, {"C_KEY": "value"})
    assert list(problems) == ["b"]
    assert "variable B_KEY, which is not set" in problems["b"]


@pytest.mark.parametrize(
    ("content", "words"), [(None, "No such file"), (b"hello", "is no GGUF file .it begins with")]
)
async def test_weights_that_cannot_be_used_are_named(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.gguf"
    if content is not None:
        weights.write_bytes(content)
    with pytest.raises(ModelUnreachable, match=rf"weights\.gguf.*{words}.*check `path`"):
        await LlamaCppServer(weights).start()


async def test_llama_cpp_that_is_not_installed_says_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelUnreachable, match=r"preference-arena\[demo\]"):
        await LlamaCppServer(tmp_path / "weights.gguf").start()
