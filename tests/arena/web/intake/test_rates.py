"""Requests of one address in a time."""

from __future__ import annotations

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from arena.web.intake.rates import RateGate

FAR, OTHER = ("192.0.2.1", 1), ("192.0.2.2", 1)


async def ask(gate: RateGate, path: str, client: tuple[str, int], *, times: int = 1) -> list[int]:
    """The status of each answer."""
    transport = httpx2.ASGITransport(app=gate, client=client)
    async with httpx2.AsyncClient(transport=transport, base_url="http://arena") as visitor:
        answers = [await visitor.get(path) for _ in range(times)]
    for answer in answers:
        if answer.status_code == 429:
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert "wait a moment" in answer.text
    return [answer.status_code for answer in answers]


def gate(rate: str = "3/minute") -> RateGate:
    return RateGate(PlainTextResponse("here"), rate=rate)


async def test_an_address_that_asks_too_often_waits_and_the_others_do_not() -> None:
    shared = gate()
    assert await ask(shared, "/en/", FAR, times=5) == [200, 200, 200, 429, 429]
    assert await ask(shared, "/en/", OTHER) == [200]


@pytest.mark.parametrize(
    ("path", "client"),
    [
        ("/en/assets/index-1.js", FAR),
        ("/en/static/fonts/a.woff2", FAR),
        ("/healthz", FAR),
        ("/en/", ("127.0.0.1", 1)),
    ],
)
async def test_files_of_a_page_the_health_and_this_machine_are_free(
    path: str, client: tuple[str, int]
) -> None:
    assert set(await ask(gate(), path, client, times=20)) == {200}


async def test_without_a_rate_there_is_no_limit() -> None:
    assert set(await ask(gate(""), "/en/", FAR, times=50)) == {200}
