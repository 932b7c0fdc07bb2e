"""The `arena` command: what it prints, what it refuses and in which words."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from board_votes import cast, register
from typer.testing import CliRunner, Result

from arena.cli import app
from arena.cli.greeting import tell_record
from arena.cli.start import STARTER
from arena.rules.battles import Outcome
from arena.settings import Settings, load_settings, parse_settings
from arena.store import open_store
from serving.specs import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS: list[list[str]] = [
    [],
    ["demo"],
    ["experts"],
    ["experts", "assignments"],
    ["experts", "export"],
    ["experts", "invite"],
    ["experts", "list"],
    ["experts", "revoke"],
    ["experts", "sample"],
    ["init"],
    ["models"],
    ["models", "check"],
    ["rank"],
    ["up"],
    ["voters"],
    ["voters", "exclude"],
    ["voters", "list"],
    ["voters", "restore"],
    ["voters", "show"],
    ["votes"],
    ["votes", "audit"],
    ["votes", "exclude"],
    ["votes", "list"],
    ["votes", "restore"],
    ["version"],
]
HEAVY = [
    "gradio",
    "pandas",
    "numpy",
    "openai",
    "anthropic",
    "sqlalchemy",
    "xllamacpp",
    "scipy",
    "plotly",
]
KEYS = {"OPENAI_API_KEY": "not-a-key", "ANTHROPIC_API_KEY": "not-a-key"}
ANSWERS = '{"prompt": "*", "answer": "Hello there, dear reader.", "tokens": 20}\n'
TWO_MODELS = """
[[models]]
name = "Alpha [fast]"
backend = "recorded"
path = "answers.jsonl"
tokens_per_second = 500
time_to_first_token = 0.01

[[models]]
name = "Beta"
backend = "recorded"
path = "answers.jsonl"
organisation = "Somebody"
license = "MIT"
"""


def arena(*arguments: str, cwd: Path, **variables: str) -> Result:
    environ: dict[str, str | None] = {name: None for name in os.environ if name[:6] == "ARENA_"}
    environ |= {"XDG_DATA_HOME": str(cwd / "share"), **variables}
    with contextlib.chdir(cwd):
        done = CliRunner(env=environ).invoke(app, arguments, prog_name="arena")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def refusal(*arguments: str, cwd: Path, **variables: str) -> str:
    """What a command says as it refuses: one message on stderr, status 2."""
    done = arena(*arguments, cwd=cwd, **variables)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    return done.stderr


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "answers.jsonl").write_text(ANSWERS)
    path = tmp_path / "arena.toml"
    path.write_text(TWO_MODELS)
    return path


@pytest.fixture
def port_in_use() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command) or "arena")
def test_help_has_an_example_and_imports_nothing_heavy(command: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom arena.cli import main\n"
        "try: main()\n"
        f"finally: print('HEAVY', [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--help"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert "Usage: " in done.stdout
    assert re.search(r"(Examples?|Begin with):\s+arena ", done.stdout)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_help_names_every_command(tmp_path: Path) -> None:
    text = arena("--help", cwd=tmp_path).stdout
    assert [
        name
        for name in ("demo", "experts", "init", "models", "rank", "up", "version")
        if name not in text
    ] == []


def test_no_command_shows_the_help(tmp_path: Path) -> None:
    assert "Usage: arena" in arena(cwd=tmp_path).stdout


def test_version(tmp_path: Path) -> None:
    assert re.fullmatch(r"preference-arena \d+\.\d+\.\d+\n", arena("version", cwd=tmp_path).stdout)
    assert arena("--version", cwd=tmp_path).stdout == arena("version", cwd=tmp_path).stdout


def test_an_option_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "No such option" in refusal("up", "--prot", "1", cwd=tmp_path)


# arena init


def uncomment(text: str) -> str:
    return re.sub(r"^#(?=[\[a-z_])", "", text, flags=re.MULTILINE)


def starter_blocks() -> list[str]:
    """The examples of models in the starter file, one a back end or more."""
    parts = STARTER.read_text(encoding="utf-8").split("#[[models]]")[1:]
    return [uncomment("#[[models]]" + part) for part in parts]


def test_init_writes_a_file_that_loads(tmp_path: Path) -> None:
    done = arena("init", cwd=tmp_path)
    assert done.exit_code == 0
    assert "Wrote arena.toml" in done.stdout
    assert load_settings(tmp_path / "arena.toml", environ={}, runnable=False).models == []
    assert "has 0 enabled, and a battle needs two" in refusal("up", cwd=tmp_path)


def test_init_spares_a_file_that_is_there_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "arena.toml"
    path.write_text("mine")
    expected = f"arena: {path} is already there. Use --force to replace it.\n"
    assert refusal("init", str(path), cwd=tmp_path) == expected
    assert path.read_text() == "mine"
    assert arena("init", str(tmp_path), "--force", cwd=tmp_path).exit_code == 0
    assert path.read_text(encoding="utf-8") == STARTER.read_text(encoding="utf-8")


def test_init_names_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal("init", "file/arena.toml", cwd=tmp_path) == (
        "arena: file/arena.toml cannot be written (a file has the folder's name)."
        " Name another path.\n"
    )


@pytest.mark.parametrize("pair", list(itertools.combinations(range(6), 2)))
def test_the_starter_loads_once_two_models_are_uncommented(pair: tuple[int, int]) -> None:
    blocks = starter_blocks()
    assert len(blocks) == 6
    head = STARTER.read_text(encoding="utf-8").split("#[[models]]")[0]
    text = head + "".join(blocks[index] for index in pair)
    settings = parse_settings(text, source=Path("/srv/arena.toml"), environ=KEYS)
    assert len(settings.models) == 2


def test_the_starter_has_every_back_end() -> None:
    models = tomllib.loads("".join(starter_blocks()))["models"]
    schema = ModelSpec.model_json_schema()["properties"]["backend"]
    assert {model["backend"] for model in models} == set(schema["enum"])


def test_the_starter_shows_every_setting_with_its_default() -> None:
    head = STARTER.read_text(encoding="utf-8").split("# Models: two or more.")[0]
    written = tomllib.loads(uncomment(head))
    for section, field in Settings.model_fields.items():
        if section in {"models", "data_dir", "database"}:
            continue
        # Rules of models that there are not cannot be shown as settings.
        keys = set(type(field.default).model_fields) - {"secret", "models", "pairs"}
        assert set(written[section]) == keys, section
        for key in keys - {"seed", "public_url", "proxy", "metrics_port"}:  # that have none
            assert written[section][key] == getattr(field.default, key), f"{section}.{key}"
    assert {"data_dir", "database"} < set(written)


def test_the_starter_mentions_every_setting_of_a_model() -> None:
    text = STARTER.read_text(encoding="utf-8").split("# Models: two or more.")[1]
    assert [name for name in ModelSpec.model_fields if not re.search(rf"\b{name}\b", text)] == []


# arena models


def test_models_lists_what_is_configured_and_no_key(config: Path, tmp_path: Path) -> None:
    config.write_text(
        TWO_MODELS
        + "\n[[models]]\nname='Gamma'\nbackend='openai'\nmodel='g-1'\napi_key_env='GAMMA_KEY'\n"
        + "enabled=false\n"
    )
    done = arena("models", cwd=tmp_path, GAMMA_KEY="hush-hush")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"Alpha \[fast\]\s*│ recorded\s*│ .*answers.jsonl", done.stdout)
    assert re.search(r"Gamma\s*│ openai .* no\s*│ GAMMA_KEY set\s*│", done.stdout)
    assert "hush" not in done.stdout + done.stderr
    assert "GAMMA_KEY not set" in arena("models", cwd=tmp_path).stdout


def test_models_as_json(config: Path, tmp_path: Path) -> None:
    done = arena("models", "--config", str(config), "--json", cwd=tmp_path)
    assert json.loads(done.stdout)[1] == {
        "name": "Beta",
        "backend": "recorded",
        "model": str(tmp_path / "answers.jsonl"),
        "organisation": "Somebody",
        "license": "MIT",
        "enabled": True,
        "api_key_env": None,
        "key_is_set": None,
    }


def test_check_asks_every_model(config: Path, tmp_path: Path) -> None:
    done = arena("models", "check", "--config", str(config), cwd=tmp_path)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert re.search(r"Alpha \[fast\]\s*│ ok\s*│\s*0\.\d\d s │", done.stdout)
    assert re.search(r"Beta\s*│ ok", done.stdout)


def test_check_tells_what_failed_in_words_and_by_its_status(config: Path, tmp_path: Path) -> None:
    with config.open("a") as file:
        file.write(
            "\n[[models]]\nname='Down'\nbackend='openai'\nmodel='x'\n"
            "base_url='http://127.0.0.1:9/v1'\nretries=0\n"
        )
    done = arena("models", "check", "--json", cwd=tmp_path)
    assert done.exit_code == 1
    reports = {report["name"]: report for report in json.loads(done.stdout)}
    assert [reports[name]["status"] for name in ("Alpha [fast]", "Beta", "Down")] == [
        "ok",
        "ok",
        "failed",
    ]
    assert reports["Down"]["error"] == "ModelUnreachable"
    assert "http://127.0.0.1:9/v1" in reports["Down"]["message"]
    table = arena("models", "check", "Down", cwd=tmp_path)
    assert table.exit_code == 1
    assert re.search(r"Down\s*│ failed", table.stdout)
    assert "Beta" not in table.stdout


def test_check_asks_a_disabled_model_that_is_named(config: Path, tmp_path: Path) -> None:
    config.write_text(TWO_MODELS + "enabled = false\n")
    assert arena("models", "check", "Beta", cwd=tmp_path).exit_code == 0
    assert "Beta" not in arena("models", "check", cwd=tmp_path).stdout


def test_check_refuses_a_name_that_no_model_has(config: Path, tmp_path: Path) -> None:
    message = refusal("models", "check", "Betta", cwd=tmp_path)
    assert message == 'arena: there is no model named "Betta". Did you mean "Beta"?\n'


@pytest.mark.parametrize("command", [["models"], ["models", "check"], ["up"]])
def test_a_missing_file_is_refused(command: list[str], tmp_path: Path) -> None:
    message = refusal(*command, "--config", "nowhere.toml", cwd=tmp_path)
    assert message == ("arena: nowhere.toml: there is no such file. Write one with: arena init.\n")


# arena up and arena demo, before anything is loaded


def test_up_reports_every_problem_of_the_file(config: Path, tmp_path: Path) -> None:
    config.write_text("[server]\nport = 'abc'\nhots = ''\n" + TWO_MODELS)
    assert refusal("up", cwd=tmp_path).splitlines() == [
        (
            'arena: arena.toml: server.port = "abc" is not a whole number.'
            " Write for example port = 7860."
        ),
        'arena: arena.toml: server.hots = "" is not a setting. Did you mean "host"?',
    ]


@pytest.mark.parametrize("command", [["up"], ["demo", "--recorded"]])
def test_a_port_in_use_is_named_with_another_one(
    command: list[str], config: Path, tmp_path: Path, port_in_use: int
) -> None:
    done = arena(*command, "--port", str(port_in_use), cwd=config.parent)
    assert done.exit_code == 2
    found = re.fullmatch(
        rf"arena: port {port_in_use} on 127\.0\.0\.1 is in use\. Choose another, for example"
        r" --port (\d+), or stop what uses it\.\n",
        done.stderr,
    )
    assert found, done.stderr
    assert int(found[1]) > port_in_use


def test_an_address_of_another_machine_is_refused(config: Path, tmp_path: Path) -> None:
    message = refusal("up", "--host", "192.0.2.1", cwd=tmp_path)
    assert message.startswith("arena: 192.0.2.1 is not an address of this machine (")
    assert "Use --host 127.0.0.1" in message


def test_a_data_directory_that_cannot_be_written_is_named(config: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = refusal("up", "--data-dir", "file/votes", cwd=tmp_path)
    assert message == (
        f"arena: the data directory {tmp_path}/file/votes cannot be written (Not a directory)."
        " Name another with --data-dir, or let this user write there.\n"
    )


def test_a_file_in_place_of_the_data_directory_is_named(config: Path, tmp_path: Path) -> None:
    message = refusal("up", "--data-dir", "arena.toml", cwd=tmp_path)
    assert message.startswith(
        f"arena: the data directory {tmp_path}/arena.toml cannot be written"
        " (a file has the folder's name). Name another with --data-dir"
    )


def test_a_database_that_cannot_be_written_is_named(config: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}"
    message = refusal("up", cwd=tmp_path, ARENA_DATABASE__URL=url)
    assert message.startswith(f"arena: the database {url} cannot be written (unable to open")
    assert "ARENA_DATABASE__URL" in message


def test_a_file_that_is_no_database_is_named(config: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("These are notes, not a database. " * 100)
    url = f"sqlite:///{tmp_path}/notes.txt"
    message = refusal("up", cwd=tmp_path, ARENA_DATABASE__URL=url)
    assert message.startswith(f"arena: the database {url} cannot be written (file is not a data")


def test_a_missing_database_driver_is_named_and_no_password_shown(
    config: Path, tmp_path: Path
) -> None:
    message = refusal("up", cwd=tmp_path, ARENA_DATABASE__URL="mysql+pymysql://me:hush@db/arena")
    assert message.startswith(
        "arena: the database mysql+pymysql://me:***@db/arena needs the driver"
    )
    assert "hush" not in message


def test_a_refusal_of_the_process_is_one_message(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from arena.cli import main; main()", "up"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    message = "arena: arena.toml: there is no such file. Write one with: arena init.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (("Amber", "Birch"), []),
        (
            ("Amber", "Birch", "Old"),
            ["It also has models that are not in the settings any more: Old"],
        ),
        (("X", "Y"), ["Warning: these votes are on other models (X, Y) and none is on these."]),
    ],
)
def test_a_record_that_may_be_another_arenas_is_noticed(
    tmp_path: Path, recorded: tuple[str, ...], said: list[str]
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        models=[
            ModelSpec(name=name, backend="recorded", path=tmp_path / "answers.jsonl")
            for name in ("Amber", "Birch")
        ],
    )
    store = open_store(settings.database.url)
    register(store, recorded)
    assert len(tell_record(settings)) == 1  # whose it is matters once there are votes
    cast(store, recorded[0], recorded[1], Outcome.TIE)
    store.close()
    first, *rest = tell_record(settings)
    assert first == f"Votes are kept in {tmp_path}/arena.db: 1 so far."
    assert [line[: len(words)] for line, words in zip(rest, said, strict=True)] == said
    if recorded[0] == "X":
        assert 'write data_dir = "arena-data" into its settings' in rest[0]


def test_an_arena_that_is_begun_has_a_folder_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "other"):
        assert CliRunner().invoke(app, ["init", f"{tmp_path}/{name}/arena.toml"]).exit_code == 0
    folders = {
        load_settings(tmp_path / name / "arena.toml", runnable=False).data_dir
        for name in ("one", "other")
    }
    assert folders == {tmp_path / "one" / "arena-data", tmp_path / "other" / "arena-data"}


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ({"ARENA_RATES__VOTER_VOTES": "often"}, 'Write for example "10/minute; 60/hour"'),
        ({"ARENA_RATES__STORAGE": "redis://localhost:1"}, "rates.storage redis://localhost:1"),
        ({"ARENA_RATES__STORAGE": "a file"}, "rates.storage"),
    ],
)
def test_a_rate_that_cannot_be_kept_is_refused(
    config: Path, tmp_path: Path, rate: dict[str, str], said: str
) -> None:
    assert said in refusal("up", cwd=tmp_path, **rate)


@pytest.mark.slow
def test_up_says_where_it_is_opens_it_and_leaves_quietly(config: Path, tmp_path: Path) -> None:
    command = "from arena.cli import main; main()"
    errors, opened = tmp_path / "errors", tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    with config.open("a") as more:
        more.write('[[models]]\nname = "Gone"\nbackend = "openai"\nmodel = "gone"\n')
        more.write('base_url = "http://127.0.0.1:9/v1"\n')
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-c", command, "up", "--port", "0", "--data-dir", "votes", "--open"],
            cwd=tmp_path,
            env={**os.environ, "BROWSER": str(browser)},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        try:
            kept = server.stdout.readline()
            assert kept == f"Votes are kept in {tmp_path}/votes/arena.db: 0 so far.\n"
            line = server.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            assert found, line + errors.read_text()
            assert httpx2.get(found[0] + "healthz").json()["status"] == "ok"
            assert server.stdout.readline().startswith("Gone does not answer (")
            assert "arena models check" in server.stdout.readline()
        finally:
            server.send_signal(signal.SIGINT)
            rest = server.communicate(timeout=240)[0]
    assert (rest, errors.read_text()) == ("", "")
    assert opened.read_text().strip() == found[0]
    assert {"arena.db", "secret"} <= {path.name for path in (tmp_path / "votes").iterdir()}
