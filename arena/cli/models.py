"""`arena models`: which there are, and whether they answer."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import DEFAULT_CONFIG, ConfigOption, DataDirOption, read_settings
from arena.cli.greeting import ask_all
from arena.cli.terminal import open_console, print_table, text_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from serving.roster import HealthReport, ModelSpec

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(
    help="List the models of an arena.toml, or check that they answer.",
    epilog="Example: arena models --config arena.toml",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def list_models(
    context: typer.Context,
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the models of an arena.toml, or check that they answer."""
    context.obj = (config, data_dir)
    if context.invoked_subcommand is None:
        specs = _load(config, data_dir)
        rows = [_describe(spec) for spec in specs]
        if as_json:
            typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        elif rows:
            print_table(_draw_list(rows))
        else:
            place = config or data_dir or DEFAULT_CONFIG
            typer.echo(f"{place} has no models yet. Add two or more [[models]].")


@app.command("check", epilog='Example: arena models check "GPT 5 mini" --config arena.toml')
def check(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Models to ask; all that are enabled if none.")
    ] = None,
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask each model as a battle does; exit status 1 if any fails or answers nothing."""
    from arena.cli.refusals import refusing

    group_config, group_data_dir = context.obj
    specs = _load(config or group_config, data_dir or group_data_dir)
    with refusing():
        chosen = choose_models(specs, names or [])
        reports = _ask_all(chosen)
    if as_json:
        typer.echo(json.dumps([asdict(report) for report in reports], ensure_ascii=False, indent=2))
    else:
        _print_reports(reports)
    if any(report.status != "ok" for report in reports):
        raise typer.Exit(1)


def _load(config: Path | None, data_dir: Path | None) -> list[ModelSpec]:
    from arena.cli.refusals import refusing

    with refusing():
        return read_settings(config, data_dir).models


def _describe(spec: ModelSpec) -> dict[str, object]:
    from serving.roster import missing_keys

    # Asked as if it were enabled: a key is as set or unset for a model at rest.
    unset = missing_keys([spec.model_copy(update={"enabled": True})])
    return {
        "name": spec.name,
        "backend": spec.backend,
        "model": spec.model or (str(spec.path) if spec.path else None),
        "organisation": spec.organisation,
        "license": spec.license,
        "enabled": spec.enabled,
        "api_key_env": spec.api_key_env,
        "key_is_set": None if spec.api_key_env is None else spec.name not in unset,
    }


def _draw_list(rows: Sequence[dict[str, object]]) -> Table:
    lines = []
    for row in rows:
        shown = [row[key] for key in ("name", "backend", "model", "organisation", "license")]
        state = "set" if row["key_is_set"] else "not set"
        key = f"{row['api_key_env']} {state}" if row["api_key_env"] else "none needed"
        enabled = "yes" if row["enabled"] else "no"
        lines.append([cell or "" for cell in (*shown, enabled, key)])
    columns = ("Name", "Back end", "Model", "Organisation", "Licence", "Enabled", "Key")
    return text_table(columns, lines)


def choose_models(specs: Sequence[ModelSpec], names: Sequence[str]) -> list[ModelSpec]:
    """The models asked for by name, disabled or not; all enabled ones otherwise."""
    from arena.cli.refusals import Refusal

    by_name = {spec.name: spec for spec in specs}
    for name in names:
        if name not in by_name:
            close = difflib.get_close_matches(name, by_name, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else f"There are: {', '.join(by_name)}."
            raise Refusal(f'there is no model named "{name}". {hint}')
    if names:
        return [by_name[name].model_copy(update={"enabled": True}) for name in dict.fromkeys(names)]
    enabled = [spec for spec in specs if spec.enabled]
    if not enabled:
        raise Refusal("no model is enabled. Add a [[models]] or set enabled = true.")
    return enabled


def _ask_all(specs: Sequence[ModelSpec]) -> list[HealthReport]:
    console = open_console("stderr")
    waiting = console.status(f"Asking {len(specs)} models …") if console.is_terminal else None
    with waiting or contextlib.nullcontext():
        return asyncio.run(ask_all(specs))


def _print_reports(reports: Sequence[HealthReport]) -> None:
    from rich.text import Text

    measured = ("First token", "Tokens/s")
    lines = []
    for report in reports:
        first, speed = report.time_to_first_token, report.tokens_per_second
        colour = "green" if report.status == "ok" else "red"
        lines.append(
            (
                report.name,
                Text(report.status, style=colour),
                "" if first is None else f"{first:.2f} s",
                "" if speed is None else f"{speed:.0f}",
                report.message or report.model_id or "",
            )
        )
    columns = ("Name", "Status", *measured, "Answered by, or error")
    print_table(text_table(columns, lines, right=measured))
