"""Which arena a command is about: by a settings file, or by a data directory alone."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from expert_steps import vote_on_battles
from serving_arena import serving
from typer.testing import CliRunner, Result

from arena.cli import app
from arena.cli.arenas import find_address, keep_address
from arena.rules.battles import Outcome
from arena.settings import ServerSettings, Settings, load_settings
from arena.settings.demo import build_demo
from arena.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENDERS = {"smollm2-plain", "smollm2-concise", "smollm2-hot", "smollm2-short", "smollm2-pirate"}
AMBER = (
    '[[models]]\nname = "Amber"\nbackend = "openai"\nmodel = "a"\nbase_url = "http://localhost"\n'
)


def arena(*arguments: str, status: int = 0) -> Result:
    environ: dict[str, str | None] = {name: None for name in os.environ if name[:6] == "ARENA_"}
    done = CliRunner(env=environ).invoke(app, arguments, prog_name="arena")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def models_in(*options: str) -> set[str]:
    return {model["name"] for model in json.loads(arena("models", *options, "--json").stdout)}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """The folder that the commands are called in, which has no settings."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with contextlib.chdir(folder):
        yield folder


@pytest.fixture
def demo(tmp_path: Path, elsewhere: Path) -> Path:
    """The data directory of a demo that has been open, with three votes."""
    folder = tmp_path / "my demo"
    folder.mkdir()
    build_demo(recorded=True, overrides={"data_dir": str(folder)}, announce=lambda _: None).keep()
    store = open_store(f"sqlite:///{folder}/arena.db")
    vote_on_battles(store, [Outcome.MODEL_A, Outcome.MODEL_A, Outcome.TIE])
    store.close()
    return folder


def test_a_demo_that_is_open_is_known_by_its_data_directory(
    tmp_path: Path, elsewhere: Path
) -> None:
    folder = tmp_path / "my demo"
    call = [sys.executable, "-c", "from arena.cli import main; main()"]
    options = ["--recorded", "--port", "0", "--data-dir", str(folder)]
    with serving([*call, "demo", *options], data_dir=folder) as opened:
        assert models_in("--data-dir", str(folder)) == CONTENDERS
        link = arena("experts", "invite", "Ada", "--data-dir", str(folder)).stdout
        assert link.startswith(f"{opened.address}/en/expert/?key=")
        link = arena("analysts", "invite", "--data-dir", str(folder)).stdout
        assert link.startswith(f"{opened.address}/")
    shown = arena("pairs", "--data-dir", str(folder), "--format", "json").stdout
    assert {pair["model_a"] for pair in json.loads(shown)["prospects"]} < CONTENDERS


def test_the_demos_votes_are_ranked(demo: Path) -> None:
    board = json.loads(arena("rank", "--data-dir", str(demo), "--format", "json").stdout)
    assert [row["model"] for row in board["models"]] == ["Amber", "Birch"]


@pytest.mark.model
def test_a_model_of_the_demo_judges_its_battles(demo: Path, model_file: Path) -> None:
    (demo / "arena.toml").unlink()
    build_demo(overrides={"data_dir": str(demo)}, announce=lambda _: None).keep()
    done = arena(
        "judge", "run", "--data-dir", str(demo), "--judge", "smollm2-plain", "--battles", "1",
        "--max-tokens", "8", "--yes", "--json",
    )  # fmt: skip
    summary = json.loads(done.stdout)["summary"]
    assert (summary["answered"], summary["failed"]) == (2, 0)


def test_a_demos_settings_follow_it_but_never_replace_somebodys_own(demo: Path) -> None:
    own = demo / "arena.toml"
    written = own.read_text(encoding="utf-8")
    made = build_demo(recorded=True, overrides={"data_dir": str(demo)}, announce=lambda _: None)
    assert load_settings(own).models == made.settings.models
    assert load_settings(own).data_dir == demo
    own.write_text(written.replace("smollm2-hot", "smollm2-warm"), encoding="utf-8")
    made.keep()
    assert own.read_text(encoding="utf-8") == written
    own.write_text(AMBER, encoding="utf-8")
    made.keep()
    assert own.read_text(encoding="utf-8") == AMBER


def test_the_settings_beside_the_votes_win_over_those_here_and_a_named_file_over_both(
    demo: Path, elsewhere: Path
) -> None:
    (elsewhere / "arena.toml").write_text(AMBER, encoding="utf-8")
    (elsewhere / "named.toml").write_text(AMBER.replace("Amber", "Cedar"), encoding="utf-8")
    options = ("--data-dir", str(demo), "--json")
    done = arena("models", *options)
    assert {model["name"] for model in json.loads(done.stdout)} == CONTENDERS
    assert done.stderr == (
        f"arena: read {demo}/arena.toml, not the arena.toml here (--config names it)\n"
    )
    assert models_in("--data-dir", str(demo), "--config", "named.toml") == {"Cedar"}
    assert models_in("--data-dir", str(elsewhere)) == models_in() == {"Amber"}
    (demo / "arena.toml").unlink()
    assert models_in("--data-dir", str(demo)) == {"Amber"}


@pytest.mark.parametrize(
    "command",
    [
        ["agreement"],
        ["analysts", "invite"],
        ["battles", "generate", "-p", "questions.jsonl", "-m", "smollm2-plain"],
        ["experts", "list"],
        ["judge", "list"],
        ["models"],
        ["models", "check"],
        ["pairs"],
        ["rank"],
    ],
    ids=" ".join,
)
def test_a_data_directory_that_is_not_there_is_named(command: list[str], elsewhere: Path) -> None:
    said = arena(*command, "--data-dir", "demoo", status=2).stderr
    assert said == (
        f"arena: --data-dir {elsewhere}/demoo is no folder. Name the one in which `arena up` or "
        "`arena demo` keeps its votes, or begin there: "
        f"arena demo --data-dir {elsewhere}/demoo\n"
    )
    assert not (elsewhere / "demoo").exists()


def test_links_name_the_address_given_then_the_public_one_then_the_last(tmp_path: Path) -> None:
    def settings(**server: object) -> Settings:
        return Settings(data_dir=tmp_path, server=ServerSettings.model_validate(server))

    assert find_address(None, settings(port=8000)) == "http://127.0.0.1:8000"
    keep_address(settings(), "The arena is open at http://127.0.0.1:8123/")
    assert find_address(None, settings(port=8000)) == "http://127.0.0.1:8123"
    public = settings(public_url="https://arena.example.org")
    assert find_address(None, public) == "https://arena.example.org"
    assert find_address("https://other.example.org/", public) == "https://other.example.org"
    (tmp_path / "address.txt").write_text("nonsense", encoding="utf-8")
    assert find_address(None, settings(port=8000)) == "http://127.0.0.1:8000"
