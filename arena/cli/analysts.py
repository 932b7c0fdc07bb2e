"""`arena analysts`: links to the page on agreement."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.arenas import ConfigOption, DataDirOption, find_address, opened_arena

app = typer.Typer(
    help="Let analysts see who agrees with whom, battle by battle.",
    epilog="Begin with: arena analysts invite --days 30",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def analysts(context: typer.Context) -> None:
    """Let analysts see who agrees with whom, battle by battle."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog="Example: arena analysts invite --days 7 --url https://arena.example.org")
def invite(
    *,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the link works.")] = 30,
    url: Annotated[
        str | None,
        typer.Option(
            help="Where analysts reach the arena.",
            show_default="server.public_url, or this machine",
        ),
    ] = None,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Print a link to the page on agreement, where names, votes and comments are shown.

    Not for experts who still have battles to judge: they would see what others said.
    """
    from datetime import UTC, datetime, timedelta

    from arena.agreement.keys import AnalystKeys
    from arena.cli.refusals import refusing
    from arena.settings import read_signing_secret

    with refusing(), opened_arena(config, data_dir) as (settings, _):
        expires_at = datetime.now(UTC) + timedelta(days=days)
        key = AnalystKeys(read_signing_secret(settings)).sign(expires_at)
        base = find_address(url, settings)
    typer.echo(f"{base}/{settings.arena.default_language}/agreement/?key={key}")
    typer.echo(f"It works until {expires_at:%Y-%m-%d %H:%M} UTC, for whoever has it.", err=True)
