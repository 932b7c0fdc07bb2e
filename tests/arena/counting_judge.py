"""A server that judges by the same rule every time, counts what it is asked, and can fail."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from board_votes import register
from sqlalchemy import insert, select

from arena.rules.battles import BattleStatus, Outcome, ResponseStatus, Side, VoterKind
from arena.store.tables import battles, responses, turns, voters, votes
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.store import Store

VOTER = "voter-1"


@dataclass
class Reply:
    """What the server does with a request.

    Attributes:
        text: of the answer.
        status: other than 200 is an error with `text` as its body.
        headers: of the response.
        delay: seconds before the first byte.
        cut: close the connection in the middle of the answer.
    """

    text: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


def by_digest(prompt: str) -> Reply:
    """A verdict that only depends on the words."""
    number = int(hashlib.sha256(prompt.encode()).hexdigest(), 16)
    verdict = ("A", "B", "tie", "both_bad")[number % 4]
    return Reply(json.dumps({"reason": f"It is {number % 97}.", "verdict": verdict}))


def answering_after(released: threading.Event) -> Callable[[str], Reply]:
    """A rule by which requests are held until they are released."""

    def rule(prompt: str) -> Reply:
        released.wait(300)
        return by_digest(prompt)

    return rule


NO_TEMPERATURE = Reply(
    "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default "
    "(1) value is supported.",
    status=400,
)


class CountingJudge:
    """A real HTTP server on the loopback that speaks OpenAI's API, as a context."""

    def __init__(self, rule: Callable[[str], Reply] = by_digest, *, delay: float = 0.0) -> None:
        self.rule = rule
        self.delay = delay
        self.takes_temperature = True
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer._serve(self, body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> CountingJudge:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def requests(self) -> int:
        """How many it has begun to serve."""
        return len(self.bodies)

    def wait_for(self, requests: int, *, patience: float = 240.0) -> None:
        """Waits until it was asked so often."""
        deadline = time.monotonic() + patience
        while self.requests < requests:
            assert time.monotonic() < deadline, f"only {self.requests} of {requests} requests came"
            time.sleep(0.005)

    def _serve(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        prompt = body["messages"][-1]["content"]
        with self._lock:
            self.asked[prompt] += 1
            self.bodies.append(body)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            refused = "temperature" in body and not self.takes_temperature
            reply = NO_TEMPERATURE if refused else self.rule(prompt)
            time.sleep(reply.delay or self.delay)
            _send(handler, reply)
        except OSError:
            handler.close_connection = True
        finally:
            with self._lock:
                self._at_once -= 1


def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    if reply.status != 200:
        payload = json.dumps({"error": {"message": reply.text}}).encode()
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(payload)))
        handler.end_headers()
        handler.wfile.write(payload)
        return
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("connection", "close")
    handler.end_headers()
    handler.close_connection = True
    half = len(reply.text) // 2
    for piece in (reply.text[:half], reply.text[half:]):
        _send_chunk(handler, {"delta": {"content": piece}, "finish_reason": None})
        if reply.cut:
            return
    _send_chunk(handler, {"delta": {}, "finish_reason": "stop"})
    tokens = len(reply.text) // 4
    usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
    _send_event(handler, {**_CHUNK, "choices": [], "usage": usage})
    handler.wfile.write(b"data: [DONE]\n\n")


_CHUNK = {"object": "chat.completion.chunk", "id": "1", "model": "counting-1"}


def _send_chunk(handler: BaseHTTPRequestHandler, choice: dict[str, Any]) -> None:
    _send_event(handler, {**_CHUNK, "choices": [{"index": 0, **choice}]})


def _send_event(handler: BaseHTTPRequestHandler, data: object) -> None:
    handler.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
    handler.wfile.flush()


def record_battles(
    store: Store,
    count: int,
    *,
    models: Sequence[str] = ("Amber", "Birch", "Cedar"),
    turns_each: int = 1,
    category: str | None = None,
    reference: str | None = None,
) -> list[str]:
    """Battles that were voted on, with texts of their own; returns their ids."""
    register(store, models)
    now = datetime.now(UTC)
    ids = [f"battle-{category or 'any'}-{number:03}" for number in range(count)]
    pairs = [(a, b) for a in models for b in models if a != b]
    with begin_write(store.engine) as connection:
        if connection.scalar(select(voters.c.id).where(voters.c.id == VOTER)) is None:
            owner = {"id": VOTER, "kind": VoterKind.CROWD, "created_at": now}
            connection.execute(insert(voters).values(owner))
        for number, battle_id in enumerate(ids):
            a, b = pairs[number % len(pairs)]
            connection.execute(
                insert(battles).values(
                    id=battle_id, voter_id=VOTER, model_a=a, model_b=b, policy="uniform",
                    policy_version=1, probability=1 / 3, candidates=3, category=category,
                    status=BattleStatus.VOTED, created_at=now, updated_at=now,
                )
            )  # fmt: skip
            for turn in range(turns_each):
                connection.execute(
                    insert(turns).values(
                        battle_id=battle_id, turn=turn, prompt=f"Question {number}.{turn}?",
                        reference=reference, created_at=now,
                    )
                )  # fmt: skip
                for side, model in ((Side.A, a), (Side.B, b)):
                    connection.execute(
                        insert(responses).values(
                            battle_id=battle_id, turn=turn, side=side, attempt=0,
                            status=ResponseStatus.COMPLETE, text=f"{model} on {number}.{turn}.",
                            reasoning="", created_at=now,
                        )
                    )  # fmt: skip
            connection.execute(
                insert(votes).values(
                    battle_id=battle_id, voter_id=VOTER, outcome=Outcome.TIE, created_at=now
                )
            )
    return ids


def write_settings(
    folder: Path, *, base_url: str, first_token: float = 30, **fields: object
) -> Path:
    """An arena.toml whose model `Judge` is at this address, with its data beside it."""
    lines = [
        f"data_dir = {json.dumps(str(folder))}",
        "[[models]]",
        'name = "Judge"',
        'backend = "openai"',
        'model = "counting-1"',
        f"base_url = {json.dumps(base_url)}",
        *(f"{name} = {json.dumps(value)}" for name, value in fields.items()),
        f"timeouts = {{ first_token = {first_token} }}",
    ]
    path = folder / "arena.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
