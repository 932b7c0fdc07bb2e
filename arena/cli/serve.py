"""`arena up` and `arena demo`: the pages, until they are stopped."""

from __future__ import annotations

import re
import shlex
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.arenas import DEFAULT_CONFIG, ConfigOption, find_config, keep_address

if TYPE_CHECKING:
    from arena.settings import Settings

HostOption = Annotated[
    str | None, typer.Option(help="Address to listen on; 0.0.0.0 for the whole network.")
]
PortOption = Annotated[int | None, typer.Option(help="Port to listen on; 7860 unless set.")]
DataDirOption = Annotated[
    Path | None, typer.Option(help="Where votes are kept; the user's data directory unless set.")
]
OpenOption = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]


def up(
    *,
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    data_dir: DataDirOption = None,
    open_page: OpenOption = False,
) -> None:
    """Run an arena over the models of an arena.toml."""
    from arena.cli.preflight import check_start
    from arena.cli.refusals import refusing

    with refusing():
        from arena.settings import load_settings

        overrides = _gather(host=host, port=port, data_dir=data_dir)
        path = find_config(config, data_dir) or DEFAULT_CONFIG
        settings = load_settings(path, overrides=overrides)
        check_start(settings)
        _serve(settings, open_page=open_page)


def demo(
    *,
    data_dir: DataDirOption = None,
    host: HostOption = None,
    port: PortOption = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Use recorded answers; load no model.")
    ] = False,
    open_page: OpenOption = False,
) -> None:
    """Run an arena on a small language model on this machine, without a key."""
    from arena.cli.preflight import check_start
    from arena.cli.refusals import refusing

    with refusing():
        from arena.settings.demo import build_demo

        overrides = _gather(host=host, port=port, data_dir=data_dir)
        made = build_demo(recorded=recorded, overrides=overrides, announce=_announce)
        check_start(made.settings)
        made.keep()
        folder = made.settings.data_dir
        _announce(f"Votes are kept in {folder}")
        _announce(f"For the other commands: arena rank --data-dir {shlex.quote(str(folder))}")
        _serve(made.settings, open_page=open_page)


def _serve(settings: Settings, *, open_page: bool) -> None:
    from arena.cli.refusals import Refusal

    def announce(line: str) -> None:
        keep_address(settings, line)
        (_announce_and_open if open_page else _announce)(line)

    from arena.store import StoreError
    from arena.web.server import run
    from serving.protocol import ServingError
    from serving.roster import Roster

    try:
        run(settings, roster=Roster(settings.models), announce=announce)
    except (ServingError, StoreError) as error:
        raise Refusal(str(error)) from error


def _gather(*, host: str | None, port: int | None, data_dir: Path | None) -> dict[str, object]:
    server = {"host": host, "port": port}
    given: dict[str, object] = {
        "server": {name: value for name, value in server.items() if value is not None}
    }
    if data_dir is not None:
        given["data_dir"] = str(data_dir.expanduser().absolute())
    return given


def _announce(line: str) -> None:
    typer.echo(line)


def _announce_and_open(line: str) -> None:
    _announce(line)
    if found := re.search(r"https?://\S+", line):
        webbrowser.open(found[0])
