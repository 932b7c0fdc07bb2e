"""The command line's root: what there is and how it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import analysts, db, models, pairs, serve, start, voters
from arena.cli.agreement import command as agreement
from arena.cli.battles import command as battles
from arena.cli.experts import command as experts
from arena.cli.judge import command as judge
from arena.cli.publishing import copying, importing, site
from arena.cli.publishing import export as publishing
from arena.cli.rank import command as rank
from arena.cli.simulate import command as simulate
from arena.cli.votes import command as votes

app = typer.Typer(
    name="arena",
    help="Blind battles between chat models, and an honest ranking from the votes.",
    epilog="Begin with: arena demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("agreement", epilog=agreement.EXAMPLES)(agreement.agreement)
app.add_typer(analysts.app, name="analysts")
app.add_typer(battles.app, name="battles")
app.add_typer(db.app, name="db")
db.app.command("copy", epilog=copying.EXAMPLES)(copying.copy)
app.command("demo", epilog="Example: arena demo --port 7870 --no-open")(serve.demo)
app.add_typer(experts.app, name="experts")
app.command("export", epilog=publishing.EXPORT_EXAMPLES)(publishing.export)
app.command("import", epilog=importing.IMPORT_EXAMPLES)(importing.import_files)
app.command("init", epilog="Example: arena init my-arena/arena.toml")(start.init)
app.add_typer(judge.app, name="judge")
app.add_typer(models.app, name="models")
app.command("pairs", epilog=pairs.EXAMPLES)(pairs.pairs)
app.command("publish", epilog=site.EXAMPLES)(site.publish)
app.command("rank", epilog=rank.EXAMPLES)(rank.rank)
app.command("simulate", epilog=simulate.EXAMPLES)(simulate.simulate)
app.command("up", epilog="Example: arena up --config arena.toml --host 0.0.0.0 --port 8000")(
    serve.up
)
app.add_typer(voters.app, name="voters")
app.add_typer(votes.app, name="votes")
app.command("verify", epilog=publishing.VERIFY_EXAMPLES)(publishing.verify)
app.command("version", epilog="Example: arena version")(start.version)


@app.callback(invoke_without_command=True)
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)
    ] = False,
) -> None:
    """Blind battles between chat models, and an honest ranking from the votes."""
    if version:
        start.version()
        raise typer.Exit


def main() -> None:
    """Runs the command that the process was called with."""
    app(prog_name="arena")
