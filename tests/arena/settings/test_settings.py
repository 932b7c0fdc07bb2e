"""The settings tree: what it reads, what it refuses and in which words."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.settings import Settings, SettingsError, load_settings, read_signing_secret

TWO_MODELS = """
[[models]]
name = "Alpha"
backend = "openai"
model = "alpha-1"
base_url = "http://127.0.0.1:8000/v1"

[[models]]
name = "Beta"
backend = "openai"
model = "beta-1"
base_url = "http://127.0.0.1:8000/v1"
"""
Write = Callable[[str], Path]
FAKE_KEY = "sk-thisIsNotAKeyAtAll0123456789"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str) -> Path:
        path = tmp_path / "arena.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def problems_of(
    path: Path | None,
    *,
    environ: dict[str, str] | None = None,
    overrides: dict[str, object] | None = None,
) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ=environ or {}, overrides=overrides)
    assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
    return str(caught.value).splitlines()


def test_two_models_are_all_that_a_file_must_say(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    settings = load_settings(write(TWO_MODELS), environ={})
    assert [model.name for model in settings.models] == ["Alpha", "Beta"]
    assert settings.server.port == 7860
    assert settings.data_dir == tmp_path / "share" / "preference-arena"
    assert settings.database.url == f"sqlite:///{settings.data_dir}/arena.db"


def test_file_then_variable_then_command_line_win(write: Write) -> None:
    path = write("[server]\nport = 1001\nhost = 'a'\n[battles]\nmax_turns = 3\n" + TWO_MODELS)
    environ = {"ARENA_SERVER__PORT": "1002", "ARENA_BATTLES__MAX_TURNS": "4"}
    settings = load_settings(path, environ=environ, overrides={"server": {"port": 1003}})
    assert (settings.server.host, settings.server.port) == ("a", 1003)
    assert settings.battles.max_turns == 4


def test_the_variables_of_the_process_are_read_by_default(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_DATABASE__URL", "postgresql+psycopg://me@db/arena")
    assert load_settings(write(TWO_MODELS)).database.url == "postgresql+psycopg://me@db/arena"


def test_settings_built_directly_read_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_SERVER__PORT", "1234")
    assert Settings(data_dir=Path("/srv/arena")).server.port == 7860


def test_a_relative_data_directory_starts_at_its_file(write: Write, tmp_path: Path) -> None:
    settings = load_settings(write("data_dir = 'votes'\n" + TWO_MODELS), environ={})
    assert settings.data_dir == tmp_path / "votes"
    assert settings.database.url == f"sqlite:///{tmp_path}/votes/arena.db"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "[server]\nport = 'abc'",
            'server.port = "abc" is not a whole number. Write for example port = 7860.',
            id="wrong type",
        ),
        pytest.param(
            "[server]\nport = 70000",
            "server.port = 70000 is above 65535. Write for example port = 7860.",
            id="too large",
        ),
        pytest.param(
            "[matchmaking]\nexploration = 0",
            "matchmaking.exploration = 0 is not above 0.0. Write for example exploration = 0.1.",
            id="not above",
        ),
        pytest.param(
            "[arena]\ndefault_language = 'fr'",
            "arena.default_language = \"fr\" is not one of 'en' or 'zh'."
            ' Write for example default_language = "en".',
            id="not a choice",
        ),
        pytest.param(
            "data_dir = 3",
            'data_dir = 3 is not a path. Write for example data_dir = "...".',
            id="not a path",
        ),
        pytest.param(
            "server = 3",
            "server = 3 is not a table of settings. Write its settings under a line [server].",
            id="not a table",
        ),
        pytest.param(
            "servers = 3",
            'servers = 3 is not a setting. Did you mean "server"?',
            id="unknown at the top",
        ),
        pytest.param(
            "[battles]\nmax_promt_characters = 5",
            "battles.max_promt_characters = 5 is not a setting."
            ' Did you mean "max_prompt_characters"?',
            id="unknown in a section",
        ),
        pytest.param(
            "[database]\nurl = 'postgers://me:hush@db/arena'",
            'database.url = "postgers://***@db/arena" is not a database URL.'
            " Write for example sqlite:////srv/arena/arena.db"
            " or postgresql+psycopg://user@host/arena.",
            id="bad database URL",
        ),
        pytest.param(
            "[server]\npublic_url = 'arena.example.org'",
            'server.public_url = "arena.example.org" is not a web address.'
            " Write for example https://arena.example.org.",
            id="bad public URL",
        ),
        pytest.param(
            "[matchmaking.models.Alpha]\nmax_share = 0.1\nmin_share = 0.4",
            "matchmaking.models.Alpha = a table of 2 min_share is 0.4, above max_share, 0.1."
            " Lower one or raise the other.",
            id="shares that contradict",
        ),
        pytest.param(
            "[matchmaking.models.Alpha]\nmax_shar = 0.1",
            'matchmaking.models.Alpha.max_shar = 0.1 is not a setting. Did you mean "max_share"?',
            id="unknown in a rule",
        ),
        pytest.param(
            "[matchmaking.models.Alhpa]\nmax_share = 0.1",
            'matchmaking.models["Alhpa"] names "Alhpa", and no model is called so. Write "Alpha".',
            id="rule of no model",
        ),
        pytest.param(
            "[matchmaking.models.Alpha]\nmax_cost_per_day = 2",
            'matchmaking.models["Alpha"].max_cost_per_day needs the model\'s prices.'
            " Set price_input and price_output, US dollars a million tokens.",
            id="cost without prices",
        ),
        pytest.param(
            "[[matchmaking.pairs]]\nmodels = ['Alpha', 'Gamma']\nnever = true",
            'matchmaking.pairs[#1].models names "Gamma", and no model is called so.'
            " Name one of the [[models]].",
            id="pair of no model",
        ),
        pytest.param(
            "[[matchmaking.pairs]]\nmodels = ['Alpha']\nnever = true",
            "matchmaking.pairs[#1].models = a list of 1 is not two names."
            ' Write for example models = ["One", "Another"].',
            id="pair of one",
        ),
        pytest.param(
            "[[matchmaking.pairs]]\nmodels = ['Alpha', 'Beta']",
            "matchmaking.pairs[#1] has both share and never, or neither."
            " Write share = 0.1, or never = true.",
            id="pair without a rule",
        ),
        pytest.param(
            "[matchmaking]\npairs = 3",
            "matchmaking.pairs = 3 is not a list."
            " Write each pair under a line [[matchmaking.pairs]].",
            id="pairs that are none",
        ),
    ],
)
def test_a_bad_value_is_named_with_its_remedy(write: Write, text: str, message: str) -> None:
    path = write(f"{text}\n{TWO_MODELS}")
    assert problems_of(path) == [f"{path}: {message}"]


def test_every_problem_is_reported_at_once(write: Write) -> None:
    path = write("[server]\nport = 'abc'\n[battles]\nmax_turns = 0\n" + TWO_MODELS)
    keys = [line.split(": ")[1].split(" ")[0] for line in problems_of(path)]
    assert keys == ["server.port", "battles.max_turns"]


def test_a_secret_is_never_printed_and_its_remedy_is_given(write: Write) -> None:
    path = write("[server]\nsecret = 'correct horse battery staple'\n" + TWO_MODELS)
    assert problems_of(path) == [
        (
            f"{path}: server.secret (value not shown) is a secret, and a file is no place for one."
            " Set the variable ARENA_SERVER__SECRET instead, or leave it to be drawn."
        )
    ]


@pytest.mark.parametrize("line", [f"api_key = '{FAKE_KEY}'", f"api_key_env = '{FAKE_KEY}'"])
def test_a_literal_key_in_the_file_is_refused_without_being_shown(write: Write, line: str) -> None:
    path = write(TWO_MODELS + line)
    key = line.partition(" ")[0]
    found = problems_of(path)
    assert found == [
        (
            f'{path}: models["Beta"].{key} (value not shown) is a secret, and a file is no place'
            ' for one. Put the key into a variable and name it: api_key_env = "OPENAI_API_KEY".'
        )
    ]


def test_an_odd_key_in_place_of_a_variable_name_is_not_shown(write: Write) -> None:
    found = problems_of(write(TWO_MODELS + "api_key_env = 'dGhpc2lzYWtleQ=='"))
    assert len(found) == 1
    assert 'models["Beta"].api_key_env takes the NAME of an environment variable' in found[0]
    assert "dGhpc2lz" not in found[0]


def test_a_secret_from_a_variable_is_in_no_repr(write: Write) -> None:
    environ = {
        "ARENA_SERVER__SECRET": "correct horse battery staple",
        "ARENA_DATABASE__URL": "postgresql://me:hush@db/arena",
    }
    settings = load_settings(write(TWO_MODELS), environ=environ)
    assert read_signing_secret(settings) == "correct horse battery staple"
    assert "horse" not in repr(settings) + str(settings) + settings.model_dump_json()
    assert "hush" not in repr(settings) + str(settings)


def test_a_short_secret_is_refused_without_being_shown(write: Write) -> None:
    assert problems_of(write(TWO_MODELS), environ={"ARENA_SERVER__SECRET": "hunter2"}) == [
        (
            "ARENA_SERVER__SECRET: server.secret = (value not shown) is too short to sign with."
            " Use 16 characters or more, drawn by chance."
        )
    ]


def test_an_unknown_key_inside_a_model_is_named_by_the_model(write: Write) -> None:
    path = write(TWO_MODELS + "licence = 'MIT'")
    assert problems_of(path) == [
        f'{path}: models["Beta"].licence = "MIT" is not a setting. Did you mean "license"?'
    ]


def test_an_unknown_key_inside_a_part_of_a_model_is_named(write: Write) -> None:
    path = write(TWO_MODELS + "[models.sampling]\ntemprature = 1")
    assert problems_of(path) == [
        (
            f'{path}: models["Beta"].sampling.temprature = 1 is not a setting.'
            ' Did you mean "temperature"?'
        )
    ]


def test_a_model_without_a_name_is_counted_from_one(write: Write) -> None:
    path = write(TWO_MODELS + "\n[[models]]\nbackend = 'openai'\nmodel = 'x'")
    assert problems_of(path) == [
        f'{path}: models[#3].name is missing. Write for example name = "...".'
    ]


def test_a_back_end_that_does_not_exist_is_answered_with_those_that_do(write: Write) -> None:
    path = write(TWO_MODELS.replace('backend = "openai"\nmodel = "beta-1"', 'backend = "olama"'))
    assert problems_of(path) == [
        (
            f"{path}: models[\"Beta\"].backend = \"olama\" is not one of 'openai', 'anthropic',"
            " 'llamacpp', 'vllm' or 'recorded'. Write for example backend = \"openai\"."
        )
    ]


def test_a_models_own_complaint_is_passed_on(write: Write) -> None:
    path = write(TWO_MODELS.replace('model = "beta-1"\n', ""))
    assert problems_of(path) == [
        (
            f"{path}: models[\"Beta\"] with backend 'openai' needs `model`, the provider's name for"
            " it, such as model = 'gpt-5-mini'."
        )
    ]


def test_a_bad_base_url_is_named(write: Write) -> None:
    path = write(
        TWO_MODELS + "\n[[models]]\nname='C'\nbackend='openai'\nmodel='x'\nbase_url='localhost:1'"
    )
    assert problems_of(path) == [
        (
            f"{path}: models[\"C\"].base_url is 'localhost:1', which is no web address;"
            " write it as http://localhost:11434/v1."
        )
    ]


def test_two_models_of_one_name_are_refused_whatever_their_capitals(write: Write) -> None:
    path = write(TWO_MODELS.replace('"Beta"', '"ALPHA"'))
    assert problems_of(path) == [
        (
            f'{path}: models.name = "Alpha", "ALPHA" is given to 2 models.'
            " Give each model a name of its own; capitals make no difference."
        )
    ]


def test_one_model_is_no_battle(write: Write) -> None:
    path = write(TWO_MODELS + "enabled = false")
    expected = (
        f"{path}: models has 1 enabled, and a battle needs two."
        " Add another [[models]], or enable one with enabled = true."
    )
    assert problems_of(path) == [expected]
    assert len(load_settings(path, environ={}, runnable=False).models) == 2


def test_a_missing_key_variable_is_named(write: Write) -> None:
    path = write(TWO_MODELS + "api_key_env = 'BETA_API_KEY'")
    assert problems_of(path) == [
        (
            f'{path}: models["Beta"].api_key_env = "BETA_API_KEY" names a variable that is not set.'
            " Set BETA_API_KEY to the key, or disable the model with enabled = false."
        )
    ]
    assert load_settings(path, environ={"BETA_API_KEY": "x"}).models[1].api_key_env


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.toml"
    assert problems_of(path) == [f"{path}: there is no such file. Write one with: arena init."]


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path) == [
        f"{tmp_path}: the file cannot be read (Is a directory). Name a readable file with --config."
    ]


def test_a_syntax_error_names_its_line(write: Write) -> None:
    path = write("[server]\nport 7860\n")
    assert problems_of(path) == [
        (
            f"{path}, line 2: this is not TOML: Expected '=' after a key in a key/value pair."
            ' Write one key = value a line, text in "quotes".'
        )
    ]


def test_a_syntax_error_at_the_end_says_so(write: Write) -> None:
    path = write("[server]\nport =")
    assert problems_of(path) == [
        (
            f"{path}, last line: this is not TOML: Invalid value."
            ' Write one key = value a line, text in "quotes".'
        )
    ]


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "arena.toml"
    path.write_bytes("title = 'Arène'".encode("latin-1"))
    assert problems_of(path) == [f"{path}: the file is not UTF-8 text. Save it as UTF-8."]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"ARENA_SERVER__PORT": "abc"},
            (
                'ARENA_SERVER__PORT: server.port = "abc" is not a whole number.'
                " Write for example port = 7860."
            ),
        ),
        (
            {"ARENA_DATABSE__URL": "sqlite://"},
            'ARENA_DATABSE__URL: databse is not a setting. Did you mean "database"?',
        ),
        (
            {"ARENA_SERVER__PROT": "1"},
            'ARENA_SERVER__PROT: server.prot = "1" is not a setting. Did you mean "port"?',
        ),
        (
            {"ARENA_SERVER": "7860 please"},
            (
                "ARENA_SERVER: is not JSON. Set one value a variable, for example"
                " ARENA_SERVER__PORT=7860."
            ),
        ),
    ],
)
def test_a_bad_variable_is_named(write: Write, environ: dict[str, str], message: str) -> None:
    assert problems_of(write(TWO_MODELS), environ=environ) == [message]


def test_other_variables_with_the_prefix_are_let_be(write: Write) -> None:
    assert load_settings(write(TWO_MODELS), environ={"ARENA_OPENAI_KEY": "x"})


def test_a_bad_option_is_named(write: Write) -> None:
    overrides: dict[str, object] = {"server": {"port": 123456}}
    assert problems_of(write(TWO_MODELS), overrides=overrides) == [
        "--port: server.port = 123456 is above 65535. Write for example port = 7860."
    ]


def test_an_empty_section_keeps_its_defaults(write: Write, tmp_path: Path) -> None:
    text = "data_dir = 'votes'\n[database]\n[server]\n" + TWO_MODELS
    settings = load_settings(write(text), environ={})
    assert settings.database.url == f"sqlite:///{tmp_path}/votes/arena.db"


def test_paths_of_models_start_at_their_file(write: Write, tmp_path: Path) -> None:
    text = TWO_MODELS + "\n[[models]]\nname='C'\nbackend='recorded'\npath='answers.jsonl'"
    assert load_settings(write(text), environ={}).models[2].path == tmp_path / "answers.jsonl"


def test_the_signing_secret_is_drawn_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")
    first = read_signing_secret(settings)
    assert len(first) >= 32
    assert read_signing_secret(settings) == first
    files = list((tmp_path / "new").iterdir())
    assert [file.name for file in files] == ["secret"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
