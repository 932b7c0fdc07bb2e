"""A battle one side of which cannot answer: said plainly, never voted on, tried again."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena
from visitors import is_in_view

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Visit
    from serving_arena import RunningArena

pytestmark = pytest.mark.browser

ATTEMPTS = "SELECT attempt, status, error_kind FROM responses WHERE battle_id=? AND side=?"


class Provider(ThreadingHTTPServer):
    """Speaks OpenAI's API: ten words, or one word a tenth of a second for a minute.

    Attributes:
        left: set when a client went away before the end.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Answer)
        self.left = threading.Event()


class Answer(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        slowly = "slowly" in body["messages"][-1]["content"]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            for number in range(600 if slowly else 10):
                self._send({"content": f"word{number} "}, None)
                time.sleep(0.1 if slowly else 0)
            self._send({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.server.left.set()

    def _send(self, delta: dict[str, str], reason: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "distant",
            "choices": [choice],
        }
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the base has it
        pass


@pytest.fixture(scope="module")
def port() -> int:
    """Where the distant model's provider is, once it is up."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


@pytest.fixture
def provider(port: int) -> Iterator[Provider]:
    with Provider(port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def shaky(port: int, tmp_path: Path) -> Iterator[RunningArena]:
    """A recorded model, and one whose provider is down unless a test starts it.

    Each test has one of its own: a model that fails is not drawn again for half a minute.
    """
    models = [
        recorded_model("Steady-1B", tmp_path, answers={"*": {"answer": "Steady.", "tokens": 2}}),
        {
            "name": "Distant-70B",
            "backend": "openai",
            "model": "distant",
            "base_url": f"http://127.0.0.1:{port}/v1",
            "retries": 0,
        },
    ]
    with running_arena(
        models, data_dir=tmp_path / "data", battles={"grace_seconds": 1.0}
    ) as served:
        yield served


def distant_side(arena: RunningArena, battle: str) -> str:
    ((model,),) = arena.rows("SELECT model_a FROM battles WHERE id = ?", battle)
    return "a" if model == "Distant-70B" else "b"


def test_a_failed_side_is_explained_cannot_be_voted_on_and_is_tried_again(
    shaky: RunningArena, visit: Visit, request: pytest.FixtureRequest
) -> None:
    visitor = visit(shaky)
    tab = visitor.open()
    tab.ask("Hello")
    tab.expect_status("failed")
    battle = tab.battle_id
    failed = distant_side(shaky, battle)
    steady = "b" if failed == "a" else "a"
    expect(tab.note(failed)).to_have_text("This model cannot be reached right now.")
    expect(tab.note(failed)).to_have_attribute("role", "alert")
    expect(tab.note(steady)).to_have_text("Complete")
    expect(tab.answers(steady)).to_contain_text("Steady.")
    expect(tab.status).to_contain_text("cannot be voted on")
    for button in tab.votes.all():
        expect(button).to_be_disabled()
    for name in ("Distant", "Steady-", "127.0.0.1:"):
        expect(tab.page.locator("body")).not_to_contain_text(name)
    assert "The vote opens when both answers are complete" in visitor.forge("vote-1", "2", battle)
    assert shaky.rows("SELECT * FROM votes WHERE battle_id = ?", battle) == []

    # Nobody else is sent into the same failure: until it answers again, it is not drawn.
    other = visitor.open()
    other.prompt.fill("Anybody there?")
    other.prompt.press("Enter")
    expect(other.page.locator(".notice")).to_contain_text("Fewer than two models can answer")
    expect(other.prompt).to_have_value("Anybody there?")
    assert shaky.count("SELECT count(*) FROM battles") == 1
    assert "One side has not answered yet" in visitor.forge("send", "And then?", "1", "", battle)
    assert shaky.count("SELECT count(*) FROM turns WHERE battle_id = ?", battle) == 1
    for part in (tab.prompt, tab.send):
        expect(part).to_be_hidden()
    tab.reload()
    tab.expect_status("failed")
    expect(tab.note(failed)).to_have_text("This model cannot be reached right now.")
    tab.retry.click()
    tab.expect_edition(3)
    tab.expect_status("failed")
    request.getfixturevalue("provider")
    tab.retry.click()
    tab.expect_status("ready")
    expect(tab.answers(failed)).to_contain_text("word0 word1")
    expect(tab.retry).to_be_hidden()
    unreachable = [(attempt, "failed", "ModelUnreachable") for attempt in (0, 1)]
    assert shaky.rows(ATTEMPTS, battle, failed) == [*unreachable, (2, "complete", None)]
    assert shaky.rows(ATTEMPTS, battle, steady) == [(0, "complete", None)]
    tab.vote(1).click()
    assert sorted(tab.expect_reveal()) == ["Distant-70B", "Steady-1B"]


def test_a_phone_keeps_the_way_out_of_a_failed_battle_in_reach(
    shaky: RunningArena, visit: Visit
) -> None:
    tab = visit(shaky, phone=True).open()
    tab.ask("Hello")
    tab.expect_status("failed")
    for button in (tab.retry, tab.new):
        button.scroll_into_view_if_needed()
        assert is_in_view(button)
    for button in tab.votes.all():
        expect(button).to_be_hidden()
    battle = tab.battle_id
    tab.retry.tap()
    tab.expect_edition(3)
    tab.expect_status("failed")
    assert len(shaky.rows(ATTEMPTS, battle, distant_side(shaky, battle))) == 2


@pytest.mark.parametrize("how", ["closing the tab", "a new battle"])
def test_leaving_cancels_the_request_at_the_provider(
    shaky: RunningArena, provider: Provider, visit: Visit, how: str
) -> None:
    visitor = visit(shaky)
    visitor.agrees = True
    tab = visitor.open()
    tab.ask("Speak slowly")
    battle = tab.battle_id
    expect(tab.answers(distant_side(shaky, battle))).to_contain_text("word3")
    assert not provider.left.is_set()
    if how == "closing the tab":
        tab.page.close()
    else:
        tab.new.click()
    assert provider.left.wait(120)
    deadline = time.monotonic() + 120
    status = "SELECT status FROM battles WHERE id = ?"
    while shaky.rows(status, battle) == [("answering",)] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert shaky.rows(status, battle) == [("abandoned",)]
    ((text,),) = shaky.rows(
        "SELECT text FROM responses WHERE battle_id = ? AND status = 'cancelled'", battle
    )
    assert re.match("word0 word1 word2 word3", str(text))
