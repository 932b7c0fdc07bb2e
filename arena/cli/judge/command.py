"""`arena judge`: models as judges of stored battles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, choose_recipe, opened_arena

if TYPE_CHECKING:
    from arena.store import KnownJudge

__all__ = ["app"]

RUN_EXAMPLES = """Examples:

arena judge run --judge "GPT 5 mini" --battles 200 --max-cost 2

arena judge run --judge smollm2-plain --mode reference --category math --yes
"""
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(
    help="Let models judge stored battles, each in both orders; never on people's leaderboard.",
    epilog='Example: arena judge run --judge "GPT 5 mini" --battles 200',
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def judge(context: typer.Context) -> None:
    """Let models judge stored battles, each in both orders; never on people's leaderboard."""
    if context.invoked_subcommand is None:
        list_judges()


@app.command("run", epilog=RUN_EXAMPLES)
def run(
    *,
    judge: Annotated[str, typer.Option("--judge", "-j", help="The model that judges.")],
    mode: Annotated[
        Literal["plain", "answer-first", "reference"],
        typer.Option(
            help="Only compare, write an answer of its own first, or compare with the prompt "
            "set's reference answer."
        ),
    ] = "plain",
    battles: Annotated[
        int | None,
        typer.Option(min=1, help="So many of them, the same ones again; all if not given."),
    ] = None,
    assignment: Annotated[
        str | None, typer.Option(help="Only the battles that experts were given under this name.")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None, typer.Option(help="Only battles between these two models.")
    ] = None,
    category: Annotated[str | None, typer.Option(help="Only battles of this category.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="DOLLARS", help="Ask nothing that could exceed this."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Questions under way at the same time.")
    ] = 4,
    temperature: Annotated[
        str, typer.Option(metavar="NUMBER|model", help="Of the answers; model leaves it to it.")
    ] = "0",
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Longest answer; 512, or 2048 if it answers first."),
    ] = None,
    structured: Annotated[
        bool,
        typer.Option(
            "--structured/--no-structured",
            help="Send the answer's JSON schema along; some servers refuse it.",
        ),
    ] = True,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what failed before.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Begin without asking.")] = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge stored battles; what is on record already is not asked again.

    Asks about battles that were voted on and those of prompt sets. After Ctrl-C, or if it is
    killed, the same command goes on where it ended.
    """
    from arena.cli.judge.runs import Choice, carry_out
    from arena.cli.refusals import refusing

    with refusing():
        choice = Choice(
            judge=judge, mode=mode, battles=battles, assignment=assignment, pair=pair,
            category=category, max_cost=max_cost, concurrency=concurrency,
            temperature=temperature, max_tokens=max_tokens, structured=structured,
            retry_failed=retry_failed,
        )  # fmt: skip
        with opened_arena(config, data_dir) as (settings, store):
            status = carry_out(
                choice, settings, store,
                recipe=choose_recipe(config, data_dir, settings, store), yes=yes, as_json=as_json,
            )  # fmt: skip
    if status:
        raise typer.Exit(status)


@app.command("list", epilog="Example: arena judge list --config arena.toml")
def list_judges(
    *, config: ConfigOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """List the judges on record."""
    from arena.cli.judge.output import describe, draw_judges
    from arena.cli.refusals import refusing
    from arena.cli.terminal import print_table
    from arena.judging.summaries import summarise

    with refusing(), opened_arena(config, data_dir) as (_, store):
        found = [
            (known, summarise(store.judge_verdicts.calls(known.judge.voter_id)))
            for known in store.judgings.judges()
        ]
    if as_json:
        rows = [describe(known, summary) for known, summary in found]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif found:
        print_table(draw_judges(found))
    else:
        typer.echo("No judge has been asked yet. Ask one with: arena judge run --judge MODEL")


@app.command("show", epilog='Example: arena judge show "smollm2-plain (plain)"')
def show(
    name: Annotated[str, typer.Argument(help="As `arena judge list` has it.")],
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what one judge has done so far, and how it ranks the models."""
    from arena.cli.judge.output import print_judge
    from arena.cli.refusals import refusing

    with refusing(), opened_arena(config, data_dir) as (settings, store):
        known = _find(store.judgings.judges(), name)
        recipe = choose_recipe(config, data_dir, settings, store)
        print_judge(store, known, recipe, as_json=as_json)


def _find(known: list[KnownJudge], name: str) -> KnownJudge:
    import difflib

    from arena.cli.refusals import Refusal

    by_name = {judge.name: judge for judge in known}
    if name in by_name:
        return by_name[name]
    if not known:
        raise Refusal("no judge has been asked yet. Ask one with: arena judge run --judge MODEL")
    close = difflib.get_close_matches(name, by_name, n=1)
    hint = f'Did you mean "{close[0]}"?' if close else f"There are: {', '.join(by_name)}."
    raise Refusal(f'there is no judge named "{name}". {hint}')
