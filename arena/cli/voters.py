"""`arena voters`: who voted, whose votes do not count, whose texts must go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, choose_recipe, opened_arena
from arena.cli.votes.options import (
    DryRunOption,
    JsonOption,
    NoteOption,
    ReasonOption,
    YesOption,
    read_note,
)
from arena.rules.battles import ExclusionReason

if TYPE_CHECKING:
    from arena.cli.refusals import Refusal
    from arena.store import Store, VoterRecord

VoterArgument = Annotated[
    str, typer.Argument(metavar="VOTER", help="As `arena voters list` shows it.")
]

app = typer.Typer(
    help="Who voted, how, and whose votes do not count. Nothing is deleted.",
    epilog="Begin with: arena voters list --limit 20",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def voters(
    context: typer.Context, *, config: ConfigOption = None, data_dir: DataDirOption = None
) -> None:
    """Who voted, how, and whose votes do not count. Nothing is deleted."""
    if context.invoked_subcommand is None:
        list_voters(config=config, data_dir=data_dir)


@app.command("list", epilog="Example: arena voters list --limit 20 --json")
def list_voters(
    *,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """List those who voted, the busiest first."""
    from arena.cli.refusals import refusing
    from arena.cli.votes.output import print_voters

    with refusing(), opened_arena(config, data_dir) as (_, store):
        print_voters(store.exclusions.voters(limit=limit + 1), limit=limit, as_json=as_json)


@app.command(epilog="Example: arena voters show ID --json")
def show(
    voter: VoterArgument,
    *,
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many votes.")] = 50,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Show one voter: how they vote, how fast, and each vote."""
    from arena.cli.refusals import refusing
    from arena.cli.votes.output import print_voter
    from arena.store import VoteSelection

    with refusing(), opened_arena(config, data_dir) as (_, store):
        known = _find(store, voter)
        found = store.exclusions.find(VoteSelection(voter_ids=(voter,)), limit=limit + 1)
        print_voter(known, found, limit=limit, as_json=as_json)


@app.command(
    epilog='Example: arena voters exclude ID --reason automated --note "one vote a second"'
)
def exclude(
    voter: VoterArgument,
    *,
    reason: ReasonOption = ExclusionReason.MAINTAINER,
    note: NoteOption,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let nothing count that a voter said or will say, after showing what that changes.

    They can go on voting and are not told.
    """
    from arena.cli.refusals import refusing
    from arena.cli.votes.changes import exclude_voter

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        words = read_note(note)
        _find(store, voter)
        recipe = choose_recipe(config, data_dir, settings, store)
        exclude_voter(store, voter, recipe, reason=reason, note=words, dry_run=dry_run, yes=yes)


@app.command(epilog='Example: arena voters restore ID --note "a classroom, not a program"')
def restore(
    voter: VoterArgument,
    *,
    note: NoteOption,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let a voter's votes count again: the undo of exclude."""
    from arena.cli.refusals import Refusal, refusing
    from arena.cli.votes.changes import restore_voter

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        words = read_note(note)
        known = _find(store, voter)
        if known.excluded_reason is None:
            raise Refusal(
                f'the votes of "{voter}" count as a whole. To take single ones back in: '
                "arena votes restore --voter " + voter
            )
        recipe = choose_recipe(config, data_dir, settings, store)
        restore_voter(store, known, recipe, note=words, dry_run=dry_run, yes=yes)


@app.command(epilog="Example: arena voters forget ID --without-votes --yes")
def forget(
    voter: VoterArgument,
    *,
    without_votes: Annotated[
        bool,
        typer.Option("--without-votes", help="Also take their votes back; else outcomes count."),
    ] = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Remove for good what a voter wrote and was answered; later exports lack it too."""
    from arena.cli.refusals import refusing
    from arena.cli.terminal import ask_consent
    from arena.store.forgetting import forget_voter

    with refusing(), opened_arena(config, data_dir) as (_, store):
        question = f"Remove all texts of {voter}? Nobody can bring them back."
        ask_consent(question, yes=yes, remedy="Add --yes to remove them.")
        count = forget_voter(store.engine, voter, with_votes=without_votes)
        if count is None:
            raise _unknown(voter)
        typer.echo(
            f"Removed the texts of {count:,} battles. Backups and exports made before still have "
            "them: delete those."
        )


def _find(store: Store, voter: str) -> VoterRecord:
    found = store.exclusions.voters([voter])
    if not found:
        raise _unknown(voter)
    return found[0]


def _unknown(voter: str) -> Refusal:
    from arena.cli.refusals import Refusal

    return Refusal(f'there is no voter "{voter}". Those who voted: arena voters list')
