"""`arena experts`: invite people, give them battles to judge, read what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, find_address, opened_arena

if TYPE_CHECKING:
    from arena.cli.refusals import Refusal

NameArgument = Annotated[str, typer.Argument(help="What you call the expert.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write it to this file, whole or not at all.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(
    help="Invite experts, give them battles to judge, read what they say.",
    epilog='Begin with: arena experts invite "Ada L."',
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def experts(context: typer.Context) -> None:
    """Invite experts, give them battles to judge, read what they say."""
    if context.invoked_subcommand is None:
        list_experts()


@app.command(
    epilog='Example: arena experts invite "Ada L." --days 14 --url https://arena.example.org'
)
def invite(
    name: NameArgument,
    *,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the link works.")] = 30,
    url: Annotated[
        str | None,
        typer.Option(
            help="Where experts reach the arena.", show_default="server.public_url, or this machine"
        ),
    ] = None,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Print a personal link; a new one for the same name replaces the old one."""
    from datetime import UTC, datetime, timedelta

    from arena.cli.refusals import Refusal, refusing
    from arena.rules.experts import ExpertKeys
    from arena.settings import read_signing_secret

    with refusing():
        if not name.strip():
            raise Refusal('"" is no name. Give one, for example "Ada L.".')
        with opened_arena(config, data_dir) as (settings, store):
            known = name.strip() in {expert.name for expert in store.experts.all()}
            expires_at = datetime.now(UTC) + timedelta(days=days)
            expert = store.experts.invite(name.strip(), expires_at=expires_at)
            key = ExpertKeys(read_signing_secret(settings)).sign(expert)
            base = find_address(url, settings)
        typer.echo(f"{base}/{settings.arena.default_language}/expert/?key={key}")
        typer.echo(
            f"It lets {expert.name} in until {expires_at:%Y-%m-%d %H:%M} UTC"
            f"{', and replaces the earlier link' if known else ''}. Whoever has it judges as "
            f'{expert.name}; to take it back: arena experts revoke "{expert.name}"',
            err=True,
        )


@app.command("list", epilog="Example: arena experts list --config arena.toml")
def list_experts(
    *, config: ConfigOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """List the experts, whether their links work, and how far they are."""
    from arena.cli.experts.output import print_experts
    from arena.cli.refusals import refusing

    with refusing(), opened_arena(config, data_dir) as (_, store):
        print_experts(store.experts.all(), store.assignments.shares(), as_json=as_json)


@app.command(epilog='Example: arena experts revoke "Ada L."')
def revoke(
    name: NameArgument, *, config: ConfigOption = None, data_dir: DataDirOption = None
) -> None:
    """Take an expert's link back at once; what they judged stays."""
    import difflib

    from arena.cli.refusals import Refusal, refusing

    with refusing(), opened_arena(config, data_dir) as (_, store):
        if not store.experts.revoke(name):
            names = [expert.name for expert in store.experts.all()]
            close = difflib.get_close_matches(name, names, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else "See: arena experts list"
            raise Refusal(f'there is no expert named "{name}". {hint}')
        typer.echo(f"The link of {name} lets nobody in any more.")


@app.command(
    epilog="Examples:\n\narena experts sample --battles 160 --experts 2 --stratify category\n\n"
    'arena experts sample --battles 80 --pair "Model X" "Model Y" --to "Ada L." --to Ben --yes\n\n'
    "arena experts sample --arms blind=0.5,shown=0.25,planted=0.25 --shown-by JUDGE"
)
def sample(
    *,
    battles: Annotated[int, typer.Option(min=1, help="How many battles.")] = 160,
    experts: Annotated[int, typer.Option(min=1, help="How many experts judge each battle.")] = 2,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Only battles of these two models."),
    ] = None,
    stratify: Annotated[
        str | None,
        typer.Option(
            metavar="BY", help="Give each its share: some of pair,category,outcome, with commas."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same.")] = 0,
    name: Annotated[
        str | None, typer.Option(help="Of the assignment.", show_default="assignment-1, …")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(help="An expert; repeat for more.", show_default="all whose links work"),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            metavar="SHARES",
            help="For a study of how far experts follow a verdict: "
            "blind=0.5,shown=0.25,planted=0.25.",
        ),
    ] = None,
    shown_by: Annotated[
        str | None,
        typer.Option(metavar="JUDGE", help="Whose verdicts are shown, or turned and planted."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Freeze battles into an assignment, after showing how sure its agreement will be."""
    from arena.cli.experts.sample import (
        SampleRequest,
        confirm,
        freeze,
        plan,
        read_arms,
        read_strata,
    )
    from arena.cli.refusals import refusing

    with refusing():
        request = SampleRequest(
            battles=battles,
            per_battle=experts,
            pair=pair,
            stratify=read_strata(stratify),
            seed=seed,
            name=name,
            to=tuple(dict.fromkeys(to or ())),
            arms=read_arms(arms, shown_by=shown_by),
            shown_by=shown_by,
        )
        with opened_arena(config, data_dir) as (_, store):
            planned = plan(store, request)
            confirm(planned, yes=yes)
            freeze(store, planned)


@app.command(epilog="Example: arena experts assignments --json")
def assignments(
    *, config: ConfigOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """List the assignments: how they were drawn and how far they are."""
    from arena.cli.experts.output import print_assignments
    from arena.cli.refusals import refusing

    with refusing(), opened_arena(config, data_dir) as (_, store):
        print_assignments(store.assignments.all(), store.assignments.shares(), as_json=as_json)


@app.command(epilog="Example: arena experts withdraw study-1")
def withdraw(
    name: Annotated[str, typer.Argument(help="The assignment's name.")],
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Take back an assignment that nobody has begun; its battles can be given again."""
    from arena.cli.refusals import Refusal, refusing
    from arena.store import AssignmentBegun

    with refusing(), opened_arena(config, data_dir) as (_, store):
        try:
            if not store.assignments.withdraw(name):
                raise _unknown_assignment(name, [one.name for one in store.assignments.all()])
        except AssignmentBegun:
            raise Refusal(
                f'experts have judged battles of "{name}", and what they said stays. To end it, '
                "take their links back: arena experts revoke NAME"
            ) from None
        typer.echo(f"{name} is withdrawn; its battles can be given again.")


def _unknown_assignment(name: str, names: list[str]) -> Refusal:
    from arena.cli.refusals import Refusal

    there = f"There are: {', '.join(names)}" if names else "There is none yet"
    return Refusal(f'there is no assignment named "{name}". {there}.')


@app.command(epilog="Example: arena experts export --assignment study-1 --output study.csv")
def export(
    *,
    assignment: Annotated[
        str | None, typer.Option(help="Only this one.", show_default="all")
    ] = None,
    form: Annotated[
        Literal["csv", "jsonl"] | None,
        typer.Option("--format", help="How to write it; by --output's suffix, or csv."),
    ] = None,
    output: OutputOption = None,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write what crowd, experts and judges said of the same battles, a line each."""
    from arena.cli.experts.output import SUFFIXES, write_rows
    from arena.cli.refusals import refusing
    from arena.cli.writing import choose_format

    with refusing():
        chosen = choose_format(form, output, SUFFIXES, usual="csv")
        with opened_arena(config, data_dir) as (_, store):
            names = [one.name for one in store.assignments.all()]
            if assignment is not None and assignment not in names:
                raise _unknown_assignment(assignment, names)
            write_rows(store.judgements.read(assignment), chosen, output)
