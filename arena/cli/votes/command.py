"""`arena votes`: look at votes, take some out of the count, take them back in."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, choose_recipe, opened_arena
from arena.cli.votes.options import (
    BattleOption,
    DryRunOption,
    JsonOption,
    ModelOption,
    NoteOption,
    ReasonFilter,
    ReasonOption,
    SinceOption,
    UntilOption,
    VoterOption,
    VotesArgument,
    YesOption,
    read_note,
    select_votes,
)
from arena.rules.battles import ExclusionReason

app = typer.Typer(
    help="Look at votes, take some out of the count, take them back in. Nothing is deleted.",
    epilog="Begin with: arena votes list --limit 20",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def votes(
    context: typer.Context, *, config: ConfigOption = None, data_dir: DataDirOption = None
) -> None:
    """Look at votes, take some out of the count, take them back in. Nothing is deleted."""
    if context.invoked_subcommand is not None:
        return
    from arena.cli.refusals import refusing
    from arena.cli.votes.output import tell_totals

    with refusing(), opened_arena(config, data_dir) as (_, store):
        typer.echo(tell_totals(store.exclusions.totals()))


@app.command(
    "list",
    epilog="Examples:\n\narena votes list --excluded --json\n\n"
    'arena votes list --model "Model X" --since 2026-11-30',
)
def list_votes(
    vote_ids: VotesArgument = None,
    *,
    battle: BattleOption = None,
    voter: VoterOption = None,
    model: ModelOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    reason: ReasonFilter = None,
    excluded: Annotated[
        bool | None,
        typer.Option(
            "--excluded/--counted", help="Only those that do not count, or do.", show_default="both"
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    form: Annotated[
        Literal["table", "json", "csv"], typer.Option("--format", help="How they are written.")
    ] = "table",
    as_json: JsonOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List votes, the newest first, with every reason why they do not count."""
    from arena.cli.refusals import refusing
    from arena.cli.votes.output import print_votes

    with refusing():
        chosen = select_votes(
            vote_ids, battle=battle, voter=voter, model=model,
            since=since, until=until, reason=reason,
        )  # fmt: skip
        with opened_arena(config, data_dir) as (_, store):
            counts = None if excluded is None else not excluded
            found = store.exclusions.find(chosen, counts=counts, limit=limit + 1)
        print_votes(found, limit=limit, form="json" if as_json else form)


@app.command(epilog="Example: arena votes audit --json")
def audit(
    *, as_json: JsonOption = False, config: ConfigOption = None, data_dir: DataDirOption = None
) -> None:
    """Show whose votes stand out, and the ranking without them. Changes nothing."""
    from arena.cli.refusals import refusing
    from arena.cli.votes.audit import audit_votes

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        audit_votes(store, choose_recipe(config, data_dir, settings, store), as_json=as_json)


@app.command(
    epilog="Examples:\n\n"
    'arena votes exclude 12 13 --reason trial --note "tried out by the team"\n\n'
    'arena votes exclude --voter ID --reason automated --note "one vote a second" --dry-run'
)
def exclude(
    vote_ids: VotesArgument = None,
    *,
    reason: ReasonOption = ExclusionReason.MAINTAINER,
    note: NoteOption,
    battle: BattleOption = None,
    voter: VoterOption = None,
    model: ModelOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let votes no longer count, after showing the ranking before and after.

    The votes keep their rows. A running arena's board follows within a refresh.
    """
    from arena.cli.refusals import refusing
    from arena.cli.votes.changes import exclude_votes

    with refusing():
        words = read_note(note)
        chosen = select_votes(
            vote_ids, battle=battle, voter=voter, model=model, since=since, until=until
        )
        with opened_arena(config, data_dir) as (settings, store):
            recipe = choose_recipe(config, data_dir, settings, store)
            exclude_votes(
                store, chosen, recipe, reason=reason, note=words, dry_run=dry_run, yes=yes
            )


@app.command(
    epilog="Examples:\n\n"
    'arena votes restore 12 13 --note "they were no test after all"\n\n'
    'arena votes restore --reason trial --note "counted again" --dry-run'
)
def restore(
    vote_ids: VotesArgument = None,
    *,
    note: NoteOption,
    reason: ReasonFilter = None,
    battle: BattleOption = None,
    voter: VoterOption = None,
    model: ModelOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let votes count again: the undo of exclude. What was said of them stays on record."""
    from arena.cli.refusals import refusing
    from arena.cli.votes.changes import restore_votes

    with refusing():
        words = read_note(note)
        chosen = select_votes(
            vote_ids, battle=battle, voter=voter, model=model,
            since=since, until=until, reason=reason,
        )  # fmt: skip
        with opened_arena(config, data_dir) as (settings, store):
            recipe = choose_recipe(config, data_dir, settings, store)
            restore_votes(store, chosen, recipe, note=words, dry_run=dry_run, yes=yes)
