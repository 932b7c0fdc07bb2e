"""Whatever is sent in place of an event gets an answer that says what is wrong with it."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING

import pytest
from page_client import PageClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serving_arena import RunningArena

JOIN = "/en/gradio_api/queue/join"
RUN = "/en/leaderboard/gradio_api/run/predict"
TRIES = 150


@pytest.fixture(scope="module")
def client(arena: RunningArena) -> Iterator[PageClient]:
    with PageClient(arena.address) as opened:
        opened.open()
        yield opened


def event(**changed: object) -> dict[str, object]:
    """An event as the battle page sends it, with something in the place of something."""
    return {"data": ["Hello", "0", "", ""], "fn_index": 0, "session_hash": "abc", **changed}


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


HOSTILE: dict[str, tuple[bytes, int]] = {
    "unknown event": (json.dumps(event(fn_index=9_999)).encode(), 422),
    "event of the browser's": (json.dumps(event(fn_index=9, data=[])).encode(), 422),
    "event that is not queued": (json.dumps(event(fn_index=13, data=[])).encode(), 422),
    "negative event": (json.dumps(event(fn_index=-1)).encode(), 422),
    "huge event": (json.dumps(event(fn_index=10**40)).encode(), 422),
    "truth for an event": (json.dumps(event(fn_index=True)).encode(), 422),
    "event in words": (json.dumps(event(fn_index="0")).encode(), 422),
    "lone surrogate": (b'{"data": ["\\ud800", "", "", ""], "fn_index": 0}', 400),
    "no UTF-8": (b'{"data": ["\xff\xfe", "", "", ""], "fn_index": 0}', 400),
    "not a number": (json.dumps(event(fn_index=float("nan"))).encode(), 400),
    "infinity": (b'{"data": [], "fn_index": 1e999}', 400),
    "event data that is none": (json.dumps(event(event_data="x")).encode(), 422),
    "much event data": (json.dumps(event(event_data={str(n): n for n in range(99)})).encode(), 422),
    "trigger in words": (json.dumps(event(trigger_id="x")).encode(), 422),
    "no session": (json.dumps(event(session_hash=None)).encode(), 422),
    "session that is none": (json.dumps(event(session_hash="\x00/../")).encode(), 422),
    "endless session": (json.dumps(event(session_hash="a" * 500)).encode(), 422),
    "too many values": (json.dumps(event(data=[""] * 5)).encode(), 422),
    "too few values": (json.dumps(event(data=[])).encode(), 422),
    "number for a text": (json.dumps(event(data=[1, "", "", ""])).encode(), 422),
    "file for a text": (json.dumps(event(data=[{"path": "/etc/hosts"}, "", "", ""])).encode(), 422),
    "no data": (json.dumps({"fn_index": 0, "session_hash": "abc"}).encode(), 422),
    "deep": (nested(100_000).encode(), 400),
    "less deep": (nested(900).encode(), 422),
    "half": (json.dumps(event()).encode()[:-5], 400),
    "nothing": (b"", 400),
    "list": (b"[]", 422),
    "null": (b"null", 422),
    "large": (b'{"data": ["' + b"x" * 1_100_000 + b'"]}', 413),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_event_is_refused_in_words(client: PageClient, kind: str) -> None:
    body, status = HOSTILE[kind]
    answer = client.http.post(JOIN, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_an_event_of_another_type_is_refused(client: PageClient, kind: str) -> None:
    """A form of another site can send these without asking."""
    answer = client.http.post(
        JOIN, content=json.dumps(event()).encode(), headers={"content-type": kind} if kind else {}
    )
    assert answer.status_code == 415


def anything(chance: random.Random, depth: int = 0) -> object:
    """Some JSON."""
    kinds = "nbifs" if depth > 3 else "nbifslo"
    match chance.choice(kinds):
        case "n":
            return None
        case "b":
            return chance.random() < 0.5
        case "i":
            return chance.choice([0, 1, 13, -1, 2**31, 2**63, 10**30])
        case "f":
            return chance.choice([0.5, -1e300, float("inf"), float("nan")])
        case "s":
            return "".join(
                chance.choices(string.printable + "\0\ud800\u202e", k=chance.randrange(9))
            )
        case "l":
            return [anything(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {
        str(anything(chance, 9)): anything(chance, depth + 1) for _ in range(chance.randrange(4))
    }


@pytest.mark.parametrize(
    "path", [JOIN, RUN, "/zh/gradio_api/cancel", "/en/expert/gradio_api/reset"]
)
def test_junk_gets_an_answer_below_500_and_the_arena_goes_on(
    client: PageClient, arena: RunningArena, path: str
) -> None:
    chance = random.Random(path)
    before = len(arena.log)
    for _ in range(TRIES):
        sent = event(session_hash="junk", event_id="junk")
        for name in chance.sample([*sent, "event_data", "trigger_id"], k=chance.randrange(1, 4)):
            sent[name] = anything(chance)
        answer = client.http.post(
            path, content=json.dumps(sent).encode(), headers={"content-type": "application/json"}
        )
        assert answer.status_code < 500, (sent, answer.text)
    assert "Traceback" not in arena.log[before:]
    assert client.ask("Hello").status == "ready"


def test_a_choice_that_a_script_did_not_write_is_none(client: PageClient) -> None:
    """Asked for the attribute of an event that had none, the leaderboard answered 500."""
    for data in (
        None,
        {},
        {"style": 3},
        {"category": ["x"]},
        {"category": "\N{GRINNING FACE}" * 300},
    ):
        sent = {"data": [], "fn_index": 2, "session_hash": "abc", "event_data": data}
        answer = client.http.post(RUN, json=sent)
        assert answer.status_code == 200
        assert "board" in str(answer.json()["data"])


@pytest.mark.parametrize("session", ["", "%00", "a b", "x" * 200])
def test_a_stream_of_no_session_is_refused(client: PageClient, session: str) -> None:
    answer = client.http.get(f"/en/gradio_api/queue/data?session_hash={session}")
    assert 400 <= answer.status_code < 500


def test_events_are_posted(client: PageClient) -> None:
    assert client.http.get(JOIN).status_code == 405
