"""Figures for whoever runs an arena: counted here, read by Prometheus.

They name models and say when each answered, so they are served on a port of their own, which
no visitor reaches: whoever reads them could tell who is answering before a vote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    start_http_server,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread
    from wsgiref.simple_server import WSGIServer

    from arena.rules.battles import Response, Vote

__all__ = ["Metrics"]

logger = logging.getLogger(__name__)

_SECONDS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_LAGS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
_LOOK_SECONDS = 0.5
_VOTES_REMEMBERED = 10_000


class Metrics:
    """What this process has done since it started.

    Args:
        live_battles: how many battles are being answered now.
        resting: how many models are not drawn now, since they fail.
        ask_database: asks the database for next to nothing.

    Attributes:
        registry: holds all of them.
    """

    def __init__(
        self,
        *,
        live_battles: Callable[[], int],
        resting: Callable[[], int],
        ask_database: Callable[[], None],
    ) -> None:
        self.registry = CollectorRegistry()
        self._ask_database = ask_database
        self._is_refused = False
        self._told: dict[int, None] = {}  # in the order of their coming
        self._asked = Counter(
            "arena_prompts", "Prompts that two models were asked.", registry=self.registry
        )
        self._votes = Counter(
            "arena_votes", "Votes stored.", ["outcome", "counts"], registry=self.registry
        )
        self._answers = Counter(
            "arena_answers", "Answers ended.", ["model", "status"], registry=self.registry
        )
        self._errors = Counter(
            "arena_answer_errors", "Answers failed.", ["model", "kind"], registry=self.registry
        )
        self._first = Histogram(
            "arena_first_token_seconds", "Until an answer's first token.", ["model"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self._whole = Histogram(
            "arena_answer_seconds", "Until an answer's end.", ["model"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self._lag = Histogram(
            "arena_loop_lag_seconds", "What the event loop is behind.",
            buckets=_LAGS, registry=self.registry,
        )  # fmt: skip
        self._database = Histogram(
            "arena_database_seconds", "The least that the database takes.",
            buckets=_LAGS, registry=self.registry,
        )  # fmt: skip
        self._database_up = Gauge(
            "arena_database_up", "Whether the database answered last.", registry=self.registry
        )
        for name, text, ask in (
            ("arena_live_battles", "Battles being answered.", live_battles),
            ("arena_resting_models", "Models that are not drawn, since they fail.", resting),
        ):
            Gauge(name, text, registry=self.registry).set_function(ask)

    def asked(self) -> None:
        """A prompt, the first or a later one, was committed and the models asked."""
        self._asked.inc()

    def heard(self, model: str, response: Response) -> None:
        """An answer has ended."""
        self._answers.labels(model, response.status.value).inc()
        if response.error_kind is not None:
            self._errors.labels(model, response.error_kind).inc()
        if response.time_to_first_token is not None:
            self._first.labels(model).observe(response.time_to_first_token)
        if response.duration is not None:
            self._whole.labels(model).observe(response.duration)

    def voted(self, vote: Vote) -> None:
        """A vote was committed; one told of again, after a second click, is not counted again."""
        if vote.id in self._told:
            return
        self._told[vote.id] = None
        if len(self._told) > _VOTES_REMEMBERED:
            del self._told[next(iter(self._told))]
        self._votes.labels(vote.outcome.value, "no" if vote.is_excluded else "yes").inc()

    async def keep_measuring(self) -> None:
        """Measures the loop and the database for as long as the program runs."""
        while True:
            due = time.monotonic() + _LOOK_SECONDS
            await asyncio.sleep(_LOOK_SECONDS)
            self._lag.observe(max(0.0, time.monotonic() - due))
            await asyncio.to_thread(self._measure_database)

    async def keep_serving(self, port: int) -> None:
        """Serves them on a port of the loopback for as long as the program runs.

        The port may be taken for a while, by a process that is being replaced.
        """
        serving = None
        try:
            while True:
                if serving is None:
                    serving = await asyncio.to_thread(self._serve, port)
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            if serving is not None:
                server, thread = serving
                await asyncio.to_thread(server.shutdown)
                server.server_close()
                await asyncio.to_thread(thread.join)

    def _serve(self, port: int) -> tuple[WSGIServer, Thread] | None:
        try:
            return start_http_server(port, addr="127.0.0.1", registry=self.registry)
        except OSError as error:
            if not self._is_refused:
                logger.warning("no figures are served on port %d yet (%s)", port, error.strerror)
            self._is_refused = True
            return None

    def _measure_database(self) -> None:
        began = time.monotonic()
        try:
            self._ask_database()
        except Exception:  # noqa: BLE001  whatever it is, the database did not answer
            self._database_up.set(0)
            return
        self._database_up.set(1)
        self._database.observe(time.monotonic() - began)
