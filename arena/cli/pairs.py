"""`arena pairs`: what the matchmaker would draw next, and why."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, read_settings
from arena.cli.terminal import print_table, text_table
from arena.writing import format_csv

if TYPE_CHECKING:
    from arena.matchmaking.matchmaker import Outlook, Prospect
    from arena.settings import Settings
    from arena.store import Store

__all__ = ["EXAMPLES", "pairs"]

_NORMAL_95 = 1.96  # standard errors on either side of a difference
EXAMPLES = "Example: arena pairs --config arena.toml --top 10"


class Format(StrEnum):
    """What is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def pairs(
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the likeliest.")] = 20,
    form: Annotated[Format, typer.Option("--format", help="How they are written.")] = Format.TABLE,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Under another policy than that of the settings."),
    ] = None,
) -> None:
    """Show which pairs would be drawn next, how likely, and what is known of them.

    From the votes on record and the rules of the settings. A running arena may draw
    otherwise for a while: models that fail there rest.
    """
    from arena.cli.refusals import refusing

    with refusing():
        outlook = _look_ahead(read_settings(config, data_dir), top=top, policy=policy)
    if form is Format.JSON:
        rows = [asdict(pair) for pair in outlook.prospects]
        told = {"policy": outlook.policy, "pairs": outlook.pairs, "prospects": rows}
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    elif form is Format.CSV:
        _write_csv(outlook)
    else:
        _print_table(outlook)


def _look_ahead(settings: Settings, *, top: int, policy: str | None) -> Outlook:
    from arena.cli.arenas import opening
    from arena.cli.preflight import check_draws
    from arena.cli.refusals import Refusal
    from ranking.pairing.policies import POLICIES

    if policy is not None and policy not in POLICIES:
        raise Refusal(f'--policy: "{policy}" is none of {", ".join(sorted(POLICIES))}.')
    names = tuple(model.name for model in settings.models if model.enabled)
    if len(names) < 2:
        raise Refusal(
            f"{len(names)} models are enabled, and a pair needs two. "
            "Add a [[models]] or set enabled = true."
        )
    check_draws(settings)
    with opening(settings) as store:
        return _ask_matchmaker(settings, store, names, top=top, policy=policy)


def _ask_matchmaker(
    settings: Settings, store: Store, names: tuple[str, ...], *, top: int, policy: str | None
) -> Outlook:
    from arena.matchmaking.matchmaker import build_matchmaker
    from arena.matchmaking.strengths import Strengths
    from arena.store.tally import Census

    matchmaking = settings.matchmaking
    if policy is not None:
        matchmaking = matchmaking.model_copy(update={"policy": policy})
    standing = Strengths(names, Census(store.votes))
    asyncio.run(standing.catch_up())
    return build_matchmaker(matchmaking, standing, names).outlook(top)


def _write_csv(outlook: Outlook) -> None:
    from arena.matchmaking.matchmaker import Prospect

    names = [field.name for field in fields(Prospect)]
    typer.echo(format_csv(names, (asdict(pair) for pair in outlook.prospects)), nl=False)


def _print_table(outlook: Outlook) -> None:
    figures = ("Drawn", "Votes", "of one", "of other", "Is stronger", "± points")
    late = ["Newcomer"] if any(pair.newcomer for pair in outlook.prospects) else []
    lines = (
        (
            pair.model_a,
            pair.model_b,
            f"{pair.probability:.2%}",
            f"{pair.battles:,}",
            f"{pair.votes_a:,}",
            f"{pair.votes_b:,}",
            f"{pair.stronger_probability:.0%}",
            f"{_NORMAL_95 * pair.standard_error:.0f}",
            *([_tell_late(pair)] if late else []),
        )
        for pair in outlook.prospects
    )
    columns = ("Stronger so far", "Other", *figures, *late)
    title = f"Next pairs under {outlook.policy}"
    print_table(text_table(columns, lines, title=title, right=figures))
    if outlook.pairs > len(outlook.prospects):
        typer.echo(f"and {outlook.pairs - len(outlook.prospects):,} pairs less likely than these")


def _tell_late(pair: Prospect) -> str:
    """Which of the two came late, and how long it counts as new."""
    if pair.newcomer is None:
        return ""
    return f"{pair.newcomer}, until {pair.votes_due:,} votes"
