"""The documentation against the code: settings, commands, examples, links.

A setting that is not documented fails here, and so does a documented one that is none.
"""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
import types
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import pytest
import typer
from pydantic import SecretStr

from arena.cli import app
from arena.settings import ModelRule, PairRule, Settings, parse_settings
from arena.settings.demo import DEMO_MODEL, MODEL_FILE_VARIABLE
from arena.store.tables import voters
from arena.web.texts import load_texts
from serving.recorded import read_rows
from serving.specs import _EXTRAS, ModelSpec, ReasoningSpec, SamplingSpec, TimeoutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
CONFIGURATION = DOCS / "configuration.md"
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    REPOSITORY / "data" / "README.md",
    *sorted(DOCS.glob("*.md")),
]
SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and hasattr(field.annotation, "model_fields")
}
GENERAL = {
    name: field
    for name, field in Settings.model_fields.items()
    if name not in SECTIONS and name != "models"
}
TABLES: dict[str, Mapping[str, FieldInfo]] = {
    "General": GENERAL,
    **{f"[{name}]": section.model_fields for name, section in SECTIONS.items()},
    "[matchmaking.models]": ModelRule.model_fields,
    "[[matchmaking.pairs]]": PairRule.model_fields,
    "[[models]]": ModelSpec.model_fields,
    "[models.sampling]": SamplingSpec.model_fields,
    "[models.reasoning]": ReasoningSpec.model_fields,
    "[models.timeouts]": TimeoutsSpec.model_fields,
}
# Tests' own, for those who set them up.
OTHER_VARIABLES = {MODEL_FILE_VARIABLE, "ARENA_TEST_VLLM_COMMAND", "ARENA_TEST_VLLM_MODEL"}
COMMAND_LANGUAGES = ("console", "sh", "bash")
COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?arena +([^…]+)$")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) +(.+?)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Examples of a reader's own machines, and the sites that a reader may want to look up.
OWN_HOSTS = {"$host$request_uri", "arena", "arena.example.org", "gpu-box", "localhost"}
PUBLIC_HOSTS = {
    "doi.org",
    "arxiv.org",
    "docs.vllm.ai",
    "github.com",
    "keepachangelog.com",
    "limits.readthedocs.io",
    "openrouter.ai",
    "semver.org",
}


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of a page in these languages."""
    return [text for language, text in FENCE.findall(read(page)) if language in languages]


def below(page: Path, heading: str) -> str:
    """What a page has under a heading, up to the next."""
    parts = re.split(r"^#+ +(.+?)$", FENCE.sub("", read(page)), flags=re.MULTILINE)
    titles = (title.strip("`") for title in parts[1::2])
    sections: dict[str, str] = dict(zip(titles, parts[2::2], strict=True))
    return sections[heading]


def rows(text: str) -> list[dict[str, str]]:
    """The only table of a text, a mapping a row, without the backticks of the first column."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    header, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    table = [dict(zip(header, cells, strict=True)) for cells in body]
    return [{**row, header[0]: row[header[0]].strip("`")} for row in table]


def documented(heading: str) -> dict[str, dict[str, str]]:
    return {row["setting"]: row for row in rows(below(CONFIGURATION, heading))}


# Settings


@pytest.mark.parametrize("heading", TABLES)
def test_every_setting_is_documented_and_every_documented_one_exists(heading: str) -> None:
    assert list(documented(heading)) == list(TABLES[heading])


@pytest.mark.parametrize("heading", TABLES)
def test_every_documented_default_is_the_codes(heading: str) -> None:
    for name, field in TABLES[heading].items():
        told = documented(heading)[name]["default"]
        if told == "*required*":
            assert field.is_required(), name
        elif told.startswith("*"):
            assert field.default_factory is not None or not isinstance(
                field.default, str | int | float | tuple
            ), f"{name} has the default {field.default!r}"
        else:
            value = tomllib.loads(f"value = {told.strip('`')}")["value"]
            assert told == f"`{told.strip('`')}`"
            assert value == default_of(field), name


def default_of(field: FieldInfo) -> object:
    """A field's default as TOML has it."""
    default = field.get_default(call_default_factory=True, validated_data={})
    return list(default) if isinstance(default, tuple) else default


def test_defaults_that_a_server_chooses_are_those_of_its_description() -> None:
    chosen = {
        name: row["default"].strip("*")
        for name, row in documented("[[models]]").items()
        if re.fullmatch(r"\*\d+\*", row["default"])
    }
    assert set(chosen) == {"context_size", "parallel"}
    for name, value in chosen.items():
        assert f"{value} if unset" in str(ModelSpec.model_fields[name].description)


@pytest.mark.parametrize("heading", TABLES)
def test_every_documented_type_is_the_codes(heading: str) -> None:
    for name, field in TABLES[heading].items():
        assert documented(heading)[name]["type"] in words_for(field.annotation), name


def words_for(annotation: Any) -> set[str]:  # noqa: ANN401  any annotation
    """How a type may be called."""
    if get_origin(annotation) in (Union, types.UnionType):
        return set.union(*(words_for(a) for a in get_args(annotation) if a is not type(None)))
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        return {" or ".join(f'`"{choice}"`' for choice in choices), "text"}
    if get_origin(annotation) is list:
        return {"list of text"} if get_args(annotation) == (str,) else {"list of tables"}
    if get_origin(annotation) is tuple:
        return {"list of text"}
    if get_origin(annotation) is dict or annotation in (ReasoningSpec, SamplingSpec, TimeoutsSpec):
        return {"table"}
    plain = {bool: {"true or false"}, int: {"number"}, float: {"number", "seconds"}}
    return {**plain, str: {"text"}, SecretStr: {"text"}, Path: {"path"}}[annotation]


def test_every_variable_is_named_after_its_setting() -> None:
    named = {row["variable"].strip("`") for row in documented("General").values()}
    assert named == {f"ARENA_{name.upper()}" for name in GENERAL}
    for section, fields in SECTIONS.items():
        for name in fields.model_fields:
            variable = f"`ARENA_{section}__{name}`".upper()
            assert documented(f"[{section}]")[name]["variable"] == variable


def test_the_back_ends_that_know_a_setting_are_the_codes() -> None:
    told = {
        name: set(row["back ends"].split(", ")) - {""}
        for name, row in documented("[[models]]").items()
    }
    assert told == {name: set(_EXTRAS.get(name, ())) for name in ModelSpec.model_fields}


@every_page
def test_settings_and_variables_in_the_text_exist(page: Path) -> None:
    known = {f"ARENA_{name}".upper() for name in Settings.model_fields} | OTHER_VARIABLES
    for section, fields in SECTIONS.items():
        known |= {f"ARENA_{section}__{name}".upper() for name in fields.model_fields}
    assert set(re.findall(r"\bARENA_[A-Z_]*[A-Z]", read(page))) <= known
    dotted = "|".join(name for name in SECTIONS if name != "arena")  # arena.toml, arena.db
    for section, name in re.findall(rf"`({dotted})\.(\w+)\b", read(page)):
        assert name in SECTIONS[section].model_fields or name in ("py", "parquet"), (
            f"{section}.{name}"
        )


# Commands and examples


def command_lines(page: Path) -> Iterator[str]:
    """Every `arena …` of a page: in blocks of commands, in the text, in a systemd unit."""
    for block in blocks(page, *COMMAND_LANGUAGES):
        yield from (line for line in block.replace("\\\n", " ").splitlines() if line.strip())
    for block in blocks(page, "ini"):
        yield from re.findall(r"^ExecStart=(.+)$", block, re.MULTILINE)
    yield from re.findall(r"`(arena(?: [^`]+)?)`", FENCE.sub("", read(page)))


def arena_arguments(page: Path) -> list[list[str]]:
    """What follows `arena` in each of them, as words."""
    matches = map(COMMAND.match, command_lines(page))
    return [shlex.split(match[1], comments=True) for match in matches if match is not None]


def parse_only() -> Any:  # noqa: ANN401  Typer's command, which has no public type
    """The command line as it is, with commands that do nothing."""
    root = typer.main.get_command(app)
    waiting = [root]
    while waiting:
        command = waiting.pop()
        command.callback = lambda **_: None
        waiting += getattr(command, "commands", {}).values()
    return root


@every_page
def test_every_command_line_shown_is_one(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = parse_only()
    for arguments in arena_arguments(page):
        root.main(arguments, prog_name="arena", standalone_mode=False)
    capsys.readouterr()


def test_command_lines_are_found_and_a_wrong_one_is_noticed() -> None:
    shown = arena_arguments(CONFIGURATION)
    assert ["models", "check"] in shown
    assert ["up", "--config", "my-arena/arena.toml", "--host", "0.0.0.0", "--port", "8000"] in shown  # noqa: S104  an example
    assert ["up", "--config", "/etc/arena/arena.toml"] in arena_arguments(DOCS / "deployment.md")
    for wrong in (["upp"], ["up", "--prot", "1"], ["up", "--port", "x"], ["models", "chek"]):
        with pytest.raises(Exception, match=r"No such|valid|unexpected extra"):
            parse_only().main(wrong, prog_name="arena", standalone_mode=False)


def test_every_command_and_option_is_documented() -> None:
    text = below_all(CONFIGURATION, "Commands")
    commands: Mapping[str, Any] = vars(typer.main.get_command(app))["commands"]
    for name, command in commands.items():
        assert f"### `arena {name}`" in text
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in text, f"arena {name} {option}"


def below_all(page: Path, heading: str) -> str:
    """Everything from a heading to the next of its level or above."""
    text = read(page)
    start = re.search(rf"^(#+) +{re.escape(heading)}$", text, re.MULTILINE)
    assert start is not None
    end = re.compile(rf"^#{{1,{len(start[1])}}} ", re.MULTILINE).search(text, start.end())
    return text[start.end() : end.start() if end else None]


@every_page
def test_every_target_and_script_shown_is_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", read(REPOSITORY / "Makefile"), re.MULTILINE))
    for block in blocks(page, *COMMAND_LANGUAGES):
        assert set(re.findall(r"^make ([a-z]+)", block, re.MULTILINE)) <= targets
        for script in re.findall(r"(?<![\w./])(?:scripts|tests)/[\w/.-]+", block):
            assert (REPOSITORY / script).exists(), script
    extras = tomllib.loads(read(REPOSITORY / "pyproject.toml"))["project"]["optional-dependencies"]
    for names in re.findall(r"(?:preference-arena|'\.)\[([\w,]+)\]", read(page)):
        assert set(names.split(",")) <= set(extras)


@every_page
def test_every_toml_example_loads(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        environ = dict.fromkeys(re.findall(r'api_key_env = "(\w+)"', block), "a-key")
        several = block.count("[[models]]") > 1
        source = tmp_path / "arena.toml"
        settings = parse_settings(block, source=source, environ=environ, runnable=several)
        assert len(settings.models) == block.count("[[models]]")


def test_every_back_end_has_an_example() -> None:
    text = "\n".join(blocks(DOCS / "models.md", "toml"))
    assert set(re.findall(r'backend = "(\w+)"', text)) == set(
        get_args(ModelSpec.model_fields["backend"].annotation)
    )


def test_the_recorded_rows_shown_can_be_played(tmp_path: Path) -> None:
    (block,) = blocks(DOCS / "models.md", "json")
    path = tmp_path / "answers.jsonl"
    path.write_text(block, encoding="utf-8")
    assert set(read_rows(path, model_id="system-1")) == {
        ("What is 2 + 2?",),
        ("Hi", "Who are you?"),
    }


# Facts that stand in a table


def test_what_a_volunteer_reads_about_a_failure_is_what_the_page_says() -> None:
    heading = "What the volunteer sees when a model fails"
    told = {
        row["error"]: row["what the volunteer reads"]
        for row in rows(below(DOCS / "models.md", heading))
    }
    assert told == dict(load_texts("en")["problem"])


def test_what_is_recorded_about_a_voter_is_what_the_table_has() -> None:
    told = rows(below(DOCS / "anonymity.md", "What is recorded about a voter"))
    assert [row["column of `voters`"] for row in told] == [column.name for column in voters.columns]


def test_the_markers_explained_are_those_there_are() -> None:
    told = [row["marker"] for row in rows(below(REPOSITORY / "CONTRIBUTING.md", "Tests"))]
    pytest_options = tomllib.loads(read(REPOSITORY / "pyproject.toml"))["tool"]["pytest"]
    assert told == [line.partition(":")[0] for line in pytest_options["ini_options"]["markers"]]


def test_the_size_of_the_demos_model_is_right() -> None:
    assert f"({DEMO_MODEL.size // 1_000_000} MB)" in read(CONFIGURATION)


# The house

CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"
TRIPS = ("A vote", "A ranking", "An expert's verdict")


def steps_of(trip: str) -> list[tuple[str, str]]:
    """The numbered `file:function` of a trip."""
    return re.findall(r"^\d+\. `([\w/.]+):(\w+)`", below(CONTRIBUTING, trip), re.MULTILINE)


def names_in(path: str, function: str) -> set[str]:
    """Every name and attribute that a function of a file uses; the function must be there."""
    bodies = [
        node
        for node in ast.walk(ast.parse(read(REPOSITORY / path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
    ]
    assert bodies, f"{path} has no {function}"
    used = [node for body in bodies for node in ast.walk(body)]
    return {node.attr for node in used if isinstance(node, ast.Attribute)} | {
        node.id for node in used if isinstance(node, ast.Name)
    }


@pytest.mark.parametrize("trip", TRIPS)
def test_each_step_of_a_trip_is_called_by_one_above_it(trip: str) -> None:
    first, *others = steps_of(trip)
    assert len(others) >= 5
    used = names_in(*first)
    for path, function in others:
        assert function in used, f"{path}:{function}"
        used |= names_in(path, function)


@pytest.mark.parametrize("trip", TRIPS)
def test_no_trip_enters_a_room_twice(trip: str) -> None:
    entered = [path.rpartition("/")[0] for path, _ in steps_of(trip)]
    rooms = [
        room for room, before in zip(entered, [None, *entered], strict=False) if room != before
    ]
    assert len(rooms) == len(set(rooms))


def test_every_room_has_one_line() -> None:
    told = [row["room"] for row in rows("\n".join(room_lines()))]
    assert len(told) == len(set(told))
    floors = (REPOSITORY / package for package in ("arena", "ranking"))
    folders = [path.parent for floor in floors for path in floor.glob("*/__init__.py")]
    assert {name_of(folder) for folder in folders} <= set(told)
    assert all((REPOSITORY / room).exists() for room in told)


def room_lines() -> list[str]:
    """The table of rooms, the second one below its heading."""
    text = below(CONTRIBUTING, "The house")
    return [line for line in text[text.index("| room |") :].splitlines() if line.startswith("|")]


# Links and places


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings; a repeated one is numbered."""
    slugs: Counter[str] = Counter()
    found = set()
    for _, title in HEADING.findall(FENCE.sub("", read(page))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(f"{slug}-{slugs[slug]}" if slugs[slug] else slug)
        slugs[slug] += 1
    return found


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", read(page))):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{target} does not exist"
        assert place.is_relative_to(REPOSITORY), f"{target} leaves the repository"
        assert not anchor or anchor in anchors(place), f"{target} has no such heading"


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, waiting = set(), [REPOSITORY / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for target in LINK.findall(FENCE.sub("", read(page))):
            place = (page.parent / target.partition("#")[0]).resolve()
            if place.suffix == ".md" and place.is_file() and place not in reached:
                waiting.append(place)
    assert {name_of(page) for page in PAGES} <= {name_of(page) for page in reached}


@every_page
def test_no_page_names_a_place_of_one_machine(page: Path) -> None:
    machine = r"(?<![\w.~-])/(?:root|work|tmp|home/\w+|Users/\w+)\b"
    assert re.findall(machine, read(page), re.IGNORECASE) == []


@every_page
def test_a_page_names_hosts_only_that_its_reader_can_use(page: Path) -> None:
    found = set(re.findall(r"https?://([\w.$-]+)", read(page)))
    assert found <= OWN_HOSTS | PUBLIC_HOSTS
