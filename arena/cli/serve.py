"""`arena up` and `arena demo`: the pages, until they are stopped."""

from __future__ import annotations

import re
import shlex
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from arena.cli.arenas import DEFAULT_CONFIG, ConfigOption, find_config, keep_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena.settings import Settings

HostOption = Annotated[
    str | None, typer.Option(help="Address to listen on; 0.0.0.0 for the whole network.")
]
PortOption = Annotated[int | None, typer.Option(help="Port to listen on; 7860 unless set.")]
DataDirOption = Annotated[
    Path | None, typer.Option(help="Where votes are kept; the user's data directory unless set.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, max=64, help="Processes that serve it, behind a proxy if more than one."),
]
ProxyOption = Annotated[
    Literal["nginx", "haproxy"] | None,
    typer.Option(help="The proxy of several workers; the first that is installed unless set."),
]
OpenOption = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]


def up(
    *,
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    data_dir: DataDirOption = None,
    workers: WorkersOption = None,
    proxy: ProxyOption = None,
    open_page: OpenOption = False,
    check: Annotated[
        bool, typer.Option(help="Ask each model elsewhere once, and say which do not answer.")
    ] = True,
) -> None:
    """Run an arena over the models of an arena.toml."""
    from arena.cli.greeting import check_models_beside, tell_record
    from arena.cli.preflight import check_start
    from arena.cli.refusals import refusing

    with refusing():
        from arena.settings import load_settings

        server = {"host": host, "port": port, "workers": workers, "proxy": proxy}
        overrides = _gather(server, data_dir=data_dir)
        path = find_config(config, data_dir) or DEFAULT_CONFIG

        def read_settings() -> Settings:
            return load_settings(path, overrides=overrides)

        settings = read_settings()
        check_start(settings)
        for line in tell_record(settings):
            _announce(line)
        announce = _announcing(settings, open_page=open_page)
        if check:
            announce = _then(announce, lambda: check_models_beside(settings.models, _announce))
        if settings.server.workers == 1:
            _serve(settings, announce)
        else:
            _serve_from_several(settings, announce, read_settings)


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

        overrides = _gather({"host": host, "port": port}, data_dir=data_dir)
        made = build_demo(recorded=recorded, overrides=overrides, announce=_announce)
        check_start(made.settings)
        made.keep()
        folder = made.settings.data_dir
        _announce(f"Votes are kept in {folder}")
        _announce(f"For the other commands: arena rank --data-dir {shlex.quote(str(folder))}")
        _serve(made.settings, _announcing(made.settings, open_page=open_page))


def _announcing(settings: Settings, *, open_page: bool) -> Callable[[str], None]:
    """Tells a line, and keeps the address that it names."""

    def announce(line: str) -> None:
        keep_address(settings, line)
        (_announce_and_open if open_page else _announce)(line)

    return announce


def _then(announce: Callable[[str], None], do: Callable[[], object]) -> Callable[[str], None]:
    """Announces, and does something once the line has an address: the pages are open."""

    def announce_and_do(line: str) -> None:
        announce(line)
        if re.search(r"https?://", line):
            do()

    return announce_and_do


def _serve_from_several(
    settings: Settings, announce: Callable[[str], None], read_settings: Callable[[], Settings]
) -> None:
    from arena.cli.refusals import Refusal
    from arena.fleet.crew import run_crew
    from arena.fleet.member import MemberFailed
    from arena.fleet.proxies import ProxyProblem

    try:
        run_crew(settings, announce=announce, reload_settings=read_settings)
    except (MemberFailed, ProxyProblem) as error:
        raise Refusal(str(error)) from None


def _serve(settings: Settings, announce: Callable[[str], None]) -> None:
    from arena.cli.refusals import Refusal
    from arena.store import StoreError
    from arena.web.server import run
    from serving.protocol import ServingError
    from serving.roster import Roster

    try:
        run(settings, roster=Roster(settings.models), announce=announce)
    except (ServingError, StoreError) as error:
        raise Refusal(str(error)) from error


def _gather(server: Mapping[str, object], *, data_dir: Path | None) -> dict[str, object]:
    """What the command line says, as the settings have it."""
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
