"""The application: rooms connected, pages mounted, served until a signal."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse
from sqlalchemy.exc import SQLAlchemyError

from arena.agreement.desk import AgreementDesk
from arena.agreement.keys import AnalystKeys
from arena.app import open_arena
from arena.experts.panel import ExpertPanel
from arena.matchmaking.matchmaker import TooFewModels
from arena.settings import read_signing_secret
from arena.settings.shipped import find_shipped_data
from arena.web.agreement.page import agreement_routes
from arena.web.away import AwayGate
from arena.web.battle.page import BattlePage
from arena.web.connection.layout import LayoutGuard, fingerprint
from arena.web.expert.gate import ExpertGate
from arena.web.expert.page import ExpertPage
from arena.web.gradio_seams import BODY_BYTES, mount
from arena.web.identity import VoterTokens
from arena.web.intake.addresses import AddressGate
from arena.web.intake.events import EventGate
from arena.web.intake.origins import OriginGate
from arena.web.intake.rates import RateGate
from arena.web.leaderboard.page import build_leaderboard_page, leaderboard_routes
from arena.web.listening import Listeners, ListeningGate
from arena.web.shell import PageShell
from arena.web.texts import LANGUAGES, choose_language, load_texts

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    import gradio as gr
    from starlette.types import ASGIApp

    from arena.app import Arena
    from arena.settings import Settings
    from serving.roster import Roster

# Browsers keep connections open between a click and the next; under load Uvicorn's five
# seconds close them in the middle of a visit.
_KEEP_ALIVE_SECONDS = 75
_SHUTDOWN_SECONDS = 3


def run(settings: Settings, *, roster: Roster, announce: Callable[[str], None]) -> None:
    """Serves an arena until it is interrupted.

    Args:
        settings: of the arena.
        roster: its models, not yet started.
        announce: told where the page is, once it is up.

    Raises:
        ServingError: a model cannot be started.
        StoreError: the database cannot be opened.
    """
    # Uvicorn's choice: uvloop, which needs half the time, where there is a build of it.
    loop_factory = uvicorn.Config(app="").get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_serve(settings, roster=roster, announce=announce))


def build_app(arena: Arena) -> ASGIApp:
    """The pages in every language, the exports and the health check, as one application."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, max_body_size=BODY_BYTES)
    settings = arena.settings
    secret = read_signing_secret(settings)
    tokens = VoterTokens(secret)
    panel = ExpertPanel(arena.store, secret=secret)

    @app.get("/", include_in_schema=False)
    def _choose_language(request: Request) -> RedirectResponse:
        accepted = request.headers.get("accept-language", "")
        language = choose_language(accepted, default=settings.arena.default_language)
        return RedirectResponse(
            f"/{language}/", status_code=307, headers={"vary": "Accept-Language"}
        )

    @app.get("/healthz", include_in_schema=False)
    def _tell_health() -> JSONResponse:
        return JSONResponse({"status": "ok", "live_battles": arena.conductor.live_battles})

    @app.get("/readyz", include_in_schema=False)
    async def _tell_readiness() -> JSONResponse:
        missing = await asyncio.to_thread(_find_missing, arena)
        body = {"status": "not ready", "missing": missing} if missing else {"status": "ready"}
        return JSONResponse(body, status_code=503 if missing else 200)

    app.include_router(leaderboard_routes(arena.boards, arena.judge_boards))
    app.include_router(
        agreement_routes(
            AgreementDesk(arena.store),
            AnalystKeys(secret),
            title=settings.arena.title,
            secure_cookies=settings.server.secure_cookies,
        )
    )
    pages: dict[str, gr.Blocks] = {}
    listeners = Listeners()
    ideas = _prompt_ideas() if settings.arena.show_prompt_ideas else {}
    for language in LANGUAGES:
        texts = load_texts(language)
        board = build_leaderboard_page(
            texts,
            arena.boards,
            arena.matchmaker,
            arena.judge_boards,
            title=settings.arena.title,
            language=language,
        )
        battle = BattlePage(
            conductor=arena.conductor,
            tokens=tokens,
            listeners=listeners,
            texts=texts,
            language=language,
            title=settings.arena.title,
            ideas=ideas.get(texts["language"]["html"], ()),
        ).blocks
        experts = ExpertPage(
            panel=panel, texts=texts, language=language, title=settings.arena.title
        ).blocks
        # The longer paths first: a mount takes everything below it.
        mounted = {
            f"/{language}/leaderboard": board,
            f"/{language}/expert": experts,
            f"/{language}": battle,
        }
        for path, page in mounted.items():
            mount(app, page, path=path)
        pages |= mounted
    layout = fingerprint(pages.values())
    gate = ExpertGate(
        LayoutGuard(EventGate(ListeningGate(app, listeners), pages), layout=layout),
        panel=panel,
        title=settings.arena.title,
        secure_cookies=settings.server.secure_cookies,
    )
    away = AwayGate(gate, title=settings.arena.title, language=settings.arena.default_language)
    app.add_exception_handler(SQLAlchemyError, away.answer)
    origins = OriginGate(away, allowed=settings.server.allowed_origins)
    return PageShell(
        RateGate(AddressGate(origins), rate=settings.rates.address_requests),
        title=settings.arena.title,
        layout=layout,
        tokens=tokens,
        secure_cookies=settings.server.secure_cookies,
    )


def _find_missing(arena: Arena) -> list[str]:
    """What keeps new battles from beginning; it names no model."""
    missing = []
    try:
        arena.store.ask()
    except SQLAlchemyError:
        missing.append("database")
    try:
        arena.matchmaker.outlook(0)
    except TooFewModels:
        missing.append("models")
    return missing


def _prompt_ideas() -> dict[str, list[str]]:
    """The shipped prompts by language."""
    ideas: dict[str, list[str]] = {}
    with (find_shipped_data() / "prompts.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            ideas.setdefault(row["language"], []).append(row["text"])
    return ideas


async def _serve(settings: Settings, *, roster: Roster, announce: Callable[[str], None]) -> None:
    await roster.start()
    try:
        async with open_arena(settings, roster.models) as arena:
            config = uvicorn.Config(
                build_app(arena),
                host=settings.server.host,
                port=settings.server.port,
                log_level="warning",
                access_log=False,
                forwarded_allow_ips=settings.server.forwarded_allow_ips,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
            _spare_the_streams()
            await _Server(config, ready=lambda port: announce(settings.server.invite(port))).serve()
    finally:
        await roster.aclose()


def _spare_the_streams() -> None:
    """Spares the streams what would hold them all up.

    A full collection walks the 200,000 objects of the imported libraries, a tenth of a
    second; they live as long as the process anyway, and what a request leaves behind is
    collected in larger portions. And Gradio looks for matplotlib twice an
    update: where it is not installed, that is a search through all of the path.
    """
    if find_spec("matplotlib") is None:
        vars(sys)["modules"]["matplotlib"] = None  # Python's word for "not there"
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class _Server(uvicorn.Server):
    """Uvicorn that says when it listens, and on which port."""

    def __init__(self, config: uvicorn.Config, *, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, then says so."""
        await super().startup(sockets)
        if self.started:
            self._ready(self.servers[0].sockets[0].getsockname()[1])

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stops at SIGINT and SIGTERM.

        Uvicorn's own raises the signal again once it has stopped: the process would end
        before the answers that were being written are stored and the models' servers closed.
        """
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)
