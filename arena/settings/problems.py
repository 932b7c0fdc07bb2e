"""What is wrong with the settings, in words that name the key, the value and the remedy."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

Location = tuple[str | int, ...]

# Names under which people write a key down, and the shapes that providers give their keys.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|key|secret|token|password|authorization)$", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"(?:Bearer\s+\S{8,}|(?:sk|pk|rk|gsk|xai|hf|r8|nvapi|AIza|pplx|fw)[-_]?[A-Za-z0-9_-]{16,})\s*"
)
_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        source: the file, variable or command-line option that said it.
        key: the dotted setting, empty where the file as a whole is wrong.
        shown: the value as it may be shown, empty where there is none.
        what: what is wrong with it.
        remedy: what to do.
    """

    source: str
    key: str = ""
    shown: str = ""
    what: str
    remedy: str

    def __str__(self) -> str:
        subject = " = ".join(part for part in (self.key, self.shown) if part)
        sentences = [f"{subject} {self.what}".strip(), self.remedy]
        ends = [text if text.endswith("?") else f"{text}." for text in sentences if text]
        return f"{self.source}: {' '.join(ends)}"

    @classmethod
    def unknown(
        cls, *, source: str, key: str, shown: str = "", known: Sequence[str] = ()
    ) -> Problem:
        """A key that no setting has, with the one that was probably meant."""
        close = difflib.get_close_matches(key.rpartition(".")[2], known, n=1, cutoff=0.6)
        remedy = (
            f'Did you mean "{close[0]}"' if close else f"Known here: {', '.join(sorted(known))}"
        )
        mark = "?" if close else ""
        return cls(
            source=source, key=key, shown=shown, what="is not a setting", remedy=remedy + mark
        )


class SettingsError(Exception):
    """The settings cannot be used.

    Attributes:
        problems: everything that is wrong, in the order of the settings.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Who said what: the file, the variables, the command line (which wins)."""

    source: str
    environ: Mapping[str, Any]
    overrides: Mapping[str, Any]

    def find(self, location: Location) -> str:
        """The file, variable or option to name for a value."""
        if _holds(self.overrides, location):
            return "--" + str(location[-1]).replace("_", "-")
        if _holds(self.environ, location):
            names = [str(part).upper() for part in location]
            return "ARENA_" + ("MODELS" if names[0] == "MODELS" else "__".join(names))
        return self.source


def describe(
    error: ValidationError,
    *,
    data: Mapping[str, Any],
    schema: Mapping[str, Any],
    origins: Origins,
) -> list[Problem]:
    """Every error of a validation in our words.

    Args:
        error: as pydantic raised it.
        data: the values that were validated.
        schema: the JSON schema of the settings: names, defaults and types to suggest.
        origins: where each value came from.
    """
    return [
        _describe_one(detail, data=data, schema=schema, origins=origins)
        for detail in error.errors(include_url=False)
        # The default database lies in the data directory: that one is reported itself.
        if detail["type"] != "default_factory_not_called"
    ]


def find_literal_keys(values: Mapping[str, Any], origins: Origins) -> list[Problem]:
    """Keys of providers written into the file, where they get copied and committed."""
    problems = []
    for location, value in _walk(values):
        named = _SECRET_NAME.search(str(location[-1])) is not None
        if isinstance(value, str) and value and (named or _SECRET_VALUE.fullmatch(value)):
            variable = "ARENA_SERVER__SECRET" if location == ("server", "secret") else None
            remedy = (
                f"Set the variable {variable} instead, or leave it to be drawn"
                if variable
                else 'Put the key into a variable and name it: api_key_env = "OPENAI_API_KEY"'
            )
            problems.append(
                Problem(
                    source=origins.source,
                    key=name_key(location, values),
                    what="(value not shown) is a secret, and a file is no place for one",
                    remedy=remedy,
                )
            )
    return problems


def name_key(location: Location, data: Mapping[str, Any]) -> str:
    """A dotted key; a model is named by its name, or by its position from 1."""
    parts: list[str] = []
    here: object = data
    for step in location:
        here = _step(here, step)
        if isinstance(step, int):
            name = here.get("name") if isinstance(here, dict) else None
            label = (
                json.dumps(name, ensure_ascii=False) if isinstance(name, str) else f"#{step + 1}"
            )
            parts[-1] += f"[{label}]"
        else:
            parts.append(step)
    return ".".join(parts)


def show(location: Location, value: object) -> str:
    """A value short enough to print, without what may be a secret."""
    secret = any(_SECRET_NAME.search(str(step)) for step in location)
    if secret or (isinstance(value, str) and _SECRET_VALUE.fullmatch(value)):
        return "(value not shown)"
    if isinstance(value, str):
        value = re.sub(r"://\S*@", "://***@", value)
    if isinstance(value, dict | list):
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _describe_one(
    detail: ErrorDetails,
    *,
    data: Mapping[str, Any],
    schema: Mapping[str, Any],
    origins: Origins,
) -> Problem:
    kind = detail["type"]
    location = _known_location(detail["loc"], data)
    source, key = origins.find(location), name_key(location, data)
    shown = "" if kind == "missing" else show(location, detail["input"])
    if kind == "extra_forbidden":
        known = [*_properties(schema, location[:-1])]
        return Problem.unknown(source=source, key=key, shown=shown, known=known)
    if kind == "missing":
        return Problem(source=source, key=key, what="is missing", remedy=_example(schema, location))
    if kind == "value_error":
        message = str(detail.get("ctx", {}).get("error", detail["msg"]))
        return _quote(message, source=source, location=location, key=key, shown=shown)
    return Problem(
        source=source,
        key=key,
        shown=shown,
        what=_word(kind, detail),
        remedy=_example(schema, location),
    )


def _quote(message: str, *, source: str, location: Location, key: str, shown: str) -> Problem:
    """A validator's own words, joined to the key they are about."""
    what, _, remedy = message.partition(". ")
    field = str(location[-1]) if location else ""
    if field and what.startswith(f"{field} "):
        shown, what = "", what.removeprefix(f"{field} ")
    elif isinstance(location[-1], int):
        shown, what = "", re.sub(r"^model '.*?' ", "", what)
    return Problem(source=source, key=key, shown=shown, what=what, remedy=remedy.rstrip("."))


_WORDS = (
    (r"int_.*", "is not a whole number"),
    (r"(float|decimal)_.*|finite_number", "is not a number"),
    (r"bool_.*", "is neither true nor false"),
    (r"string_type", "is not text"),
    (r"string_too_short", "is empty or too short"),
    (r"(list|tuple)_type", "is not a list"),
    (r"(model|dict|dataclass)_.*", "is not a table of settings"),
    (r"path_type", "is not a path"),
    (r"greater_than", "is not above {gt}"),
    (r"greater_than_equal", "is below {ge}"),
    (r"less_than", "is not below {lt}"),
    (r"less_than_equal", "is above {le}"),
    (r"literal_error|enum", "is not one of {expected}"),
)


# Tables that are written once for each of something.
_REPEATED: dict[Location, str] = {("models",): "model", ("matchmaking", "pairs"): "pair"}


def _word(kind: str, detail: ErrorDetails) -> str:
    for pattern, words in _WORDS:
        if re.fullmatch(pattern, kind):
            return words.format(**detail.get("ctx", {}))
    message = detail["msg"]
    return f"is not valid: {message[0].lower()}{message[1:]}"


def _example(schema: Mapping[str, Any], location: Location) -> str:
    """A value that would do, from the setting's default, choices or type."""
    found = _properties(schema, location[:-1]).get(str(location[-1]), {}) if location else {}
    options = [found, *found.get("anyOf", [])]
    for option in options:
        if option.get("default") is not None and not isinstance(option["default"], dict | list):
            return f"Write for example {_assign(location[-1], option['default'])}"
        choices = option.get("enum") or ([option["const"]] if "const" in option else [])
        if choices:
            return f"Write for example {_assign(location[-1], choices[0])}"
    samples = {"integer": 1, "number": 0.5, "boolean": True, "string": "..."}
    for option in options:
        if option.get("type") in samples:
            return f"Write for example {_assign(location[-1], samples[option['type']])}"
    table = tuple(step for step in location if not isinstance(step, int))
    if table in _REPEATED:
        return f"Write each {_REPEATED[table]} under a line [[{'.'.join(map(str, table))}]]"
    return f"Write its settings under a line [{'.'.join(map(str, location))}]"


def _assign(key: str | int, value: object) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _properties(schema: Mapping[str, Any], location: Location) -> dict[str, Any]:
    """The properties a JSON schema has below a location, its unions taken together."""
    nodes = [schema]
    for step in location:
        below: list[Mapping[str, Any]] = []
        for node in _expand(nodes, schema):
            if isinstance(step, int):
                below += [node["items"]] if isinstance(node.get("items"), dict) else []
            elif step in node.get("properties", {}):
                below.append(node["properties"][step])
            elif isinstance(node.get("additionalProperties"), dict):
                below.append(node["additionalProperties"])
        nodes = below
    found: dict[str, Any] = {}
    for node in _expand(nodes, schema):
        found |= node.get("properties", {})
    return found


def _expand(
    nodes: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    for node in nodes:
        yield node
        if "$ref" in node:
            yield from _expand([schema["$defs"][node["$ref"].rpartition("/")[2]]], schema)
        for union in ("anyOf", "oneOf", "allOf"):
            yield from _expand(node.get(union, []), schema)


def _known_location(location: Location, data: Mapping[str, Any]) -> Location:
    """Without the steps that pydantic adds for a union's branch, which no file has."""
    steps: list[str | int] = []
    here: object = data
    for index, step in enumerate(location):
        below = _step(here, step)
        last = index == len(location) - 1
        if below is not None or (last and isinstance(here, dict | list)):
            steps.append(step)
            here = below
    return tuple(steps)


def _step(here: object, step: str | int) -> object:
    """What lies one key or index below, `None` where nothing does."""
    if isinstance(here, dict):
        return here.get(step)
    if isinstance(here, list) and isinstance(step, int) and step < len(here):
        return here[step]
    return None


def _holds(values: Mapping[str, Any], location: Location) -> bool:
    here: object = values
    for step in location:
        here = _step(here, step)
        if here is None:
            return False
    return True


def _walk(values: object, location: Location = ()) -> Iterator[tuple[Location, object]]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _walk(value, (*location, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from _walk(value, (*location, index))
    else:
        yield location, values
