"""Reads the settings from a file, from variables and from the command line."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource
from pydantic_settings import SettingsError as UnreadableVariable

from arena.settings.problems import Origins, Problem, SettingsError, describe, find_literal_keys
from arena.settings.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from serving.specs import ModelSpec

PREFIX = "ARENA_"


def load_settings(
    path: Path | None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    runnable: bool = True,
) -> Settings:
    """Reads the settings of an arena.

    Args:
        path: the `arena.toml`; `None` for variables and defaults alone.
        environ: the variables, `os.environ` unless given.
        overrides: nested values that win over both, from the command line.
        runnable: also require what a battle needs: two enabled models and their keys.

    Raises:
        SettingsError: with every problem found, each with its remedy.
    """
    if path is None:
        return parse_settings(
            "", source=None, environ=environ, overrides=overrides, runnable=runnable
        )
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _single(
            path, what="there is no such file", remedy="Write one with: arena init"
        ) from None
    except UnicodeDecodeError:
        raise _single(path, what="the file is not UTF-8 text", remedy="Save it as UTF-8") from None
    except OSError as error:
        what = f"the file cannot be read ({error.strerror})"
        raise _single(path, what=what, remedy="Name a readable file with --config") from None
    return parse_settings(
        text, source=path, environ=environ, overrides=overrides, runnable=runnable
    )


def parse_settings(
    text: str,
    *,
    source: Path | None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    runnable: bool = True,
) -> Settings:
    """`load_settings` for TOML that was already read; relative paths start at `source`."""
    environ = os.environ if environ is None else environ
    file_values = _read_toml(text, source)
    origins = Origins(
        source=str(source or "settings"),
        environ=_read_variables(environ),
        overrides=dict(overrides or {}),
    )
    if source is not None:
        _anchor_paths(file_values, source.parent.absolute())
    merged = _merge(_merge(file_values, origins.environ), origins.overrides)
    problems = [*find_literal_keys(file_values, origins), *_find_unknown_variables(environ)]
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        schema = Settings.model_json_schema()
        described = describe(error, data=merged, schema=schema, origins=origins)
        problems += _without_repeats(described, known=problems)
        raise SettingsError(problems) from None
    problems += _check_models(settings, environ, origins, runnable=runnable)
    if problems:
        raise SettingsError(problems)
    return settings


def _single(path: Path, *, what: str, remedy: str) -> SettingsError:
    return SettingsError([Problem(source=str(path), what=what, remedy=remedy)])


def _read_toml(text: str, source: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(
            r"^(.*?)(?: \(at line (\d+), column \d+\)| \(at end of document\))?$", str(error)
        )
        reason, line = (found[1], found[2]) if found else ("not TOML", None)
        at = f"{source}, line {line}" if line else f"{source}, last line"
        remedy = 'Write one key = value a line, text in "quotes"'
        raise SettingsError(
            [Problem(source=at, what=f"this is not TOML: {reason}", remedy=remedy)]
        ) from None


def _read_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): value for name, value in environ.items()}
    try:
        return source()
    except UnreadableVariable as error:
        found = re.search(r'field "(\w+)"', str(error))
        name = PREFIX + (found[1].upper() if found else "...")
        remedy = f"Set one value a variable, for example {PREFIX}SERVER__PORT=7860"
        raise SettingsError([Problem(source=name, what="is not JSON", remedy=remedy)]) from None


def _without_repeats(problems: list[Problem], *, known: list[Problem]) -> list[Problem]:
    """A key written into a model is also no variable's name: said once is enough."""
    said = {problem.key for problem in known}
    models = {key.rpartition(".")[0] for key in said}
    return [
        problem
        for problem in problems
        if problem.key not in said
        and not (problem.key.endswith(".api_key_env") and problem.key.rpartition(".")[0] in models)
    ]


def _find_unknown_variables(environ: Mapping[str, str]) -> list[Problem]:
    """`ARENA_X__Y` whose section does not exist; other `ARENA_` names may be anybody's."""
    problems = []
    for name in environ:
        section, nested, _ = name.upper().removeprefix(PREFIX).partition("__")
        if (
            name.upper().startswith(PREFIX)
            and nested
            and section.lower() not in Settings.model_fields
        ):
            problems.append(
                Problem.unknown(
                    source=name,
                    key=section.lower(),
                    known=[*Settings.model_fields],
                )
            )
    return problems


def _anchor_paths(values: dict[str, Any], folder: Path) -> None:
    """A relative path in a file starts at that file."""
    models = values.get("models")
    tables = (
        [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    )
    for table, name in [(values, "data_dir"), *((table, "path") for table in tables)]:
        if isinstance(table.get(name), str):
            table[name] = str(folder / Path(table[name]).expanduser())


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


def _check_models(
    settings: Settings,
    environ: Mapping[str, str],
    origins: Origins,
    *,
    runnable: bool,
) -> list[Problem]:
    source = origins.find(("models",))
    problems = _find_same_names(settings.models, source)
    problems += _find_strangers(settings, origins)
    if not runnable:
        return problems
    enabled = [model for model in settings.models if model.enabled]
    for model in enabled:
        variable = model.api_key_env
        if variable and not environ.get(variable):
            problems.append(
                Problem(
                    source=source,
                    key=f'models["{model.name}"].api_key_env',
                    shown=f'"{variable}"',
                    what="names a variable that is not set",
                    remedy=f"Set {variable} to the key, or disable the model with enabled = false",
                )
            )
    if len(enabled) < 2:
        problems.append(
            Problem(
                source=source,
                key="models",
                what=f"has {len(enabled)} enabled, and a battle needs two",
                remedy="Add another [[models]], or enable one with enabled = true",
            )
        )
    return problems


def _find_strangers(settings: Settings, origins: Origins) -> list[Problem]:
    """Rules of matchmaking about models that there are not, or whose cost nobody knows."""
    rules, problems = settings.matchmaking, []
    source = origins.find(("matchmaking",))
    known = {model.name: model for model in settings.models}
    told = [(f'matchmaking.models["{name}"]', name) for name in rules.models]
    told += [
        (f"matchmaking.pairs[#{number}].models", name)
        for number, rule in enumerate(rules.pairs, start=1)
        for name in rule.models
    ]
    for key, name in told:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            remedy = f'Write "{close[0]}"' if close else "Name one of the [[models]]"
            what = f'names "{name}", and no model is called so'
            problems.append(Problem(source=source, key=key, what=what, remedy=remedy))
    for name, rule in rules.models.items():
        model = known.get(name)
        if model is None or rule.max_cost_per_day is None:
            continue
        if not model.card.is_priced:
            problems.append(
                Problem(
                    source=source,
                    key=f'matchmaking.models["{name}"].max_cost_per_day',
                    what="needs the model's prices",
                    remedy="Set price_input and price_output, US dollars a million tokens",
                )
            )
    return problems


def _find_same_names(models: list[ModelSpec], source: str) -> list[Problem]:
    counts = Counter(model.name.casefold() for model in models)
    return [
        Problem(
            source=source,
            key="models.name",
            shown=", ".join(f'"{model.name}"' for model in models if model.name.casefold() == name),
            what=f"is given to {count} models",
            remedy="Give each model a name of its own; capitals make no difference",
        )
        for name, count in counts.items()
        if count > 1
    ]
