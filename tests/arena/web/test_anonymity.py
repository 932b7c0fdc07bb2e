"""No byte that leaves the server names a model before the vote.

Everything the server sends is kept by a proxy in front of it and searched for the models'
names and for all else that could tell them apart, in any guise. After the vote the same
search finds what the reveal shows: it would have found it before.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import uvicorn
from byte_recorder import find_words, readable, recording
from page_client import PageClient
from serving_arena import recorded_model, running_arena
from staged_models import StagedModel, Thought, until

from arena.app import open_arena
from arena.settings import Settings
from arena.web.server import build_app
from serving import ModelSpec, Roster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Visit
    from serving_arena import RunningArena

    from serving import ChatModel

# What the reveal shows.
SHOWN = {
    "Zebra-9000-qx": {
        "organisation": "Stripes & Söhne Manufaktur",
        "license": "Frobnicate-2.7",
        "description": "Trained on marmalade labels only.",
        "reasoning": "Quagga quagga, thought the answerer.",
    },
    "Okapi Ultra/88b": {
        "organisation": "Forest Giraffe Guild",
        "license": "Bongo Public 1.1",
        "description": "Speaks in a whisper after midnight.",
        "reasoning": "Leaves, leaves, thought the other.",
    },
}
# What nobody is ever shown.
NEVER = {
    "Zebra-9000-qx": {"model": "stripes/zq-4711-preview", "system_prompt": "Be a hidden zebroid."},
    "Okapi Ultra/88b": {"model": "guild/ok-0815-snap", "system_prompt": "Be a hidden giraffoid."},
}
WORDS = {*SHOWN, *(word for card in SHOWN.values() for word in card.values())}
HIDDEN = {word for extra in NEVER.values() for word in extra.values()}
ANSWER = "Marvellously indifferent words that both of them say."


def specs(folder: Path) -> list[dict[str, object]]:
    made = []
    for name, card in SHOWN.items():
        about = {key: value for key, value in card.items() if key != "reasoning"}
        row = {
            "answer": ANSWER,
            "reasoning": card["reasoning"],
            "tokens": 20,
            "tokens_per_second": 60,
            "model_id": NEVER[name]["model"],
        }
        made.append(recorded_model(name, folder, answers={"*": row}, **NEVER[name], **about))
    return made


@pytest.fixture(scope="module")
def blind_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    folder = tmp_path_factory.mktemp("blind")
    with running_arena(specs(folder), data_dir=folder / "data") as served:
        yield served


# The search itself


def test_the_search_finds_a_word_in_any_guise() -> None:
    word = "Zebra-9000 qx & Ü"
    guises = [
        word.upper(),
        json.dumps({"name": word}),
        json.dumps(json.dumps({"name": word})),
        quote(word),
        "Zebra-9000 qx &amp; Ü",
        "zebra-9000-qx-.jsonl",
        word.encode().hex(),
        *(base64.b64encode(f"{pad}{word} and more".encode()).decode() for pad in ("", "a", "ab")),
    ]
    for guise in guises:
        assert find_words([word], f"before {guise} after".encode()) == {word}, guise
    assert find_words([word], b"Zebra-9000 is not all of it") == set()


def test_the_recorder_puts_chunks_and_answers_of_a_connection_together() -> None:
    stream = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nZeb\r\n2\r\nra\r\n0\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx-model: no\r\n\r\nOkapi"
    )
    assert b"Zebra" in readable(stream)
    assert b"x-model: no\nOkapi" in readable(stream)
    assert readable(stream[: stream.index(b"Zeb") + 3]).endswith(
        b"Zeb"
    )  # an event stream that has not ended


# Without a browser: every address and every event


def test_nothing_names_a_model_before_the_vote(blind_arena: RunningArena) -> None:
    with recording(blind_arena.address) as recorder, PageClient(recorder.address) as client:
        html = client.open()
        for path in ("/", "/healthz", "/zh/", "/zh/config", "/en/theme.css", "/en/info"):
            client.http.get(path)
        for path in ("info", "startup-events", "app_id", "api/", "heartbeat/x", "queue/status"):
            client.http.request("HEAD" if "heartbeat" in path else "GET", f"/en/gradio_api/{path}")
        for address in re.findall(r'(?:src|href)="(\.?/[^"]+)"', html):
            client.http.get(f"/en/{address}" if address.startswith(".") else address)
        asked = client.ask("Who are you?")
        assert (asked.status, asked.completed) == ("ready", True)
        assert client.ask("And really?").status == "ready"
        assert client.press("regenerate").status == "ready"
        client.open()
        assert client.press("restore").status == "ready"
        client.press("retry")
        before = recorder.received
        assert before.count(ANSWER.encode()) >= 6  # it sees what is streamed
        assert b"set-cookie" in before
        assert find_words(WORDS | HIDDEN, before) == set()

        voted = client.press("vote-1")
        assert set(voted.names) == set(SHOWN)
        assert find_words(WORDS, recorder.received) == WORDS
        assert find_words(HIDDEN, recorder.received) == set()


def test_a_reload_names_the_models_only_after_the_vote(blind_arena: RunningArena) -> None:
    with recording(blind_arena.address) as recorder, PageClient(recorder.address) as client:
        client.open()
        client.ask("Who are you?")
        client.press("restore")
        with PageClient(recorder.address) as stranger:
            stranger.open()
            stranger.battle_id = client.battle_id
            for event in ("restore", "vote-2", "regenerate", "retry", "new-battle"):
                stranger.press(event)
            assert stranger.ask("Who are they?").notices
        assert find_words(WORDS | HIDDEN, recorder.received) == set()
        assert (
            blind_arena.count("SELECT count(*) FROM votes WHERE battle_id = ?", client.battle_id)
            == 0
        )
        client.press("vote-2")
        before = len(recorder.received)
        assert set(client.press("restore").names) == set(SHOWN)
        assert find_words(SHOWN, recorder.received[before:]) == set(SHOWN)


# With a browser: whatever it asks for by itself


@pytest.mark.browser
def test_no_byte_that_reaches_a_browser_names_a_model_before_the_vote(
    blind_arena: RunningArena, visit: Visit
) -> None:
    with recording(blind_arena.address) as recorder:
        tab = visit(replace(blind_arena, address=recorder.address)).open()
        tab.battle("Who are you?")
        tab.ask("And really?")
        tab.expect_status("ready")
        tab.regenerate.click()
        tab.expect_edition(6)
        tab.expect_status("ready")
        tab.reload()
        tab.expect_status("ready")
        tab.page.locator("#language-switch").click()
        tab.expect_status("ready")
        before = recorder.received
        assert before.count(ANSWER.encode()) >= 6
        assert b".js" in before  # Gradio's own files are among it
        assert find_words(WORDS | HIDDEN, before) == set()
        tab.vote(3).click()
        assert set(tab.expect_reveal()) == set(SHOWN)
        assert find_words(WORDS, recorder.received) == WORDS
        assert find_words(HIDDEN, recorder.received) == set()
        tab.page.close()


# The error path


class _TellingProvider(BaseHTTPRequestHandler):
    """A provider whose errors say everything it knows, at once or in the middle of an answer."""

    secret = "sk-quokka-5150-very-secret"  # noqa: S105  made up

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        words = f"Wombat-Large at {self.headers['host']}{self.path} refuses the key {self.secret}"
        body = json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def telling_provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _TellingProvider)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/quokka-endpoint/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def hosted_arena(
    folder: Path, spec: ModelSpec, *staged: StagedModel, environ: dict[str, str]
) -> Iterator[str]:
    """The application in a thread, so that models of a test's own can take part."""
    settings = Settings(data_dir=folder)
    opened = threading.Event()
    found: list[Any] = []

    async def serve() -> None:
        async with Roster([spec], environ=environ) as roster:
            models: dict[str, ChatModel] = {
                **roster.models,
                **{model.card.name: model for model in staged},
            }
            async with open_arena(settings, models) as arena:
                config = uvicorn.Config(build_app(arena), port=0, log_level="warning")
                server = uvicorn.Server(config)
                serving = asyncio.create_task(server.serve())
                await until(lambda: server.started, seconds=30)
                found.extend((server, server.servers[0].sockets[0].getsockname()[1]))
                opened.set()
                await serving

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert opened.wait(60), "the arena did not start"
        yield f"http://127.0.0.1:{found[1]}"
    finally:
        if found:
            found[0].should_exit = True
        thread.join(30)


def test_no_error_names_a_model_its_address_or_its_key(tmp_path: Path) -> None:
    words = "Numbat-3 exploded at https://numbat.example/v1 with sk-numbat-4242"
    staged = StagedModel("Numbat-3", Thought("Numbat-3 thinks."), "So far", RuntimeError(words))
    with telling_provider() as url:
        telling = ModelSpec(
            name="Wombat-Large",
            backend="openai",
            model="wombat-large-0613",
            base_url=url,
            api_key_env="WOMBAT_KEY",
            retries=0,
        )
        environ = {"WOMBAT_KEY": _TellingProvider.secret}
        told = {
            "Numbat-3",
            "numbat.example",
            "sk-numbat-4242",
            "Wombat-Large",
            "wombat-large-0613",
            "quokka-endpoint",
            _TellingProvider.secret,
        }
        with (
            hosted_arena(tmp_path, telling, staged, environ=environ) as address,
            recording(address) as recorder,
            PageClient(recorder.address) as client,
        ):
            client.open()
            assert client.ask("Who are you?").status == "failed"
            assert client.press("retry").status == "failed"
            assert client.press("restore").status == "failed"
            assert client.press("vote-1").notices
            received = recorder.received
        assert b"So far" in received
        assert b"This model could not answer." in received
        assert find_words(told, received) == set()
        # The maintainer is told, except for the key: the search would have found it.
        recorded = reading(tmp_path, "SELECT error_message FROM responses")
        assert find_words(told, recorded) >= {"Numbat-3", "Wombat-Large", "quokka-endpoint"}
        assert _TellingProvider.secret.encode() not in recorded


def reading(folder: Path, query: str) -> bytes:
    with closing(sqlite3.connect(folder / "arena.db")) as connection:
        return json.dumps(connection.execute(query).fetchall()).encode()
