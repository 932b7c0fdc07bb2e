"""Battles over HTTP, as browsers hold them: neither side waits, and leaving stops the models."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from page_client import PageClient
from serving_arena import recorded_model, running_arena

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serving_arena import RunningArena

OWN_FIRST = 0.3
HURRY = "Hurried words that come at once, one after another, for a while. " * 4
DRAWL = "Slow." * 8


@pytest.fixture(scope="module")
def uneven_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    """One model that begins after five minutes beside a fast one."""
    folder = tmp_path_factory.mktemp("uneven")
    slow = {"answer": DRAWL, "tokens": 8, "tokens_per_second": 0.2, "time_to_first_token": 300.0}
    fast = {
        "answer": HURRY,
        "tokens": 40,
        "tokens_per_second": 20,
        "time_to_first_token": OWN_FIRST,
    }
    models = [
        recorded_model(name, folder, answers={"*": row})
        for name, row in (("Snail", slow), ("Hare", fast))
    ]
    with running_arena(models, data_dir=folder / "data", battles={"grace_seconds": 0.5}) as served:
        yield served


def test_a_slow_model_does_not_delay_the_other_sides_first_text(
    uneven_arena: RunningArena,
) -> None:
    with PageClient(uneven_arena.address) as client:
        client.open()
        began = time.monotonic()
        client.start_pressing("send", "Why?", "0", "", "")
        arrivals = [
            time.monotonic() - began
            for message in texts_until(client, "for a while. Hurried words")
            if "Hur" in message or "append" in message
        ]
    assert OWN_FIRST <= arrivals[0] < OWN_FIRST + 30  # long before the other begins, on any machine
    assert len(arrivals) >= 5  # and it goes on at its own pace, not at the other's
    assert arrivals[-1] < 60


def texts_until(client: PageClient, words: str) -> Iterator[str]:
    """The messages of an event until the words have been put together from them."""
    whole = ""
    for message in client.listen():
        yield json.dumps(message)
        whole += "".join(pieces(message.get("output", {}).get("data")))
        if words in whole:
            return


def pieces(value: object) -> Iterator[str]:
    """The texts of a message, and what is appended to them."""
    if isinstance(value, dict):
        if value.get("type") == "text":
            yield str(value["text"])
        for part in value.values():
            yield from pieces(part)
    elif isinstance(value, list):
        if value[:1] == ["append"]:
            yield str(value[2])
        for part in value:
            yield from pieces(part)


def test_leaving_the_page_stops_the_models_after_the_grace(uneven_arena: RunningArena) -> None:
    with PageClient(uneven_arena.address) as client:
        client.open()
        client.start_pressing("send", "Why?", "0", "", "")
        list(texts_until(client, "Hurried"))  # and away, once something has come
        left = time.monotonic()
        while client.http.get("/healthz").json()["live_battles"]:
            assert time.monotonic() - left < 60, "the models were not stopped"
            time.sleep(0.1)
    (status,) = uneven_arena.rows("SELECT status FROM battles ORDER BY created_at DESC LIMIT 1")
    assert status == ("abandoned",)
    ended = uneven_arena.rows(
        "SELECT responses.status FROM responses JOIN battles ON battles.id = battle_id"
        " ORDER BY battles.created_at DESC LIMIT 2"
    )
    assert ended == [("cancelled",), ("cancelled",)]
