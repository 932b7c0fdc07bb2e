"""Other sites' pages get nothing done in a visitor's name."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from arena.web.intake.origins import OriginGate

EVENT = "/en/gradio_api/queue/join"
STREAM = "/en/gradio_api/queue/data"
GUEST = "https://www.example.org"


def site(*, scheme: str = "http", host: str = "arena.test") -> TestClient:
    """The gate before an application that echoes every origin, as Gradio does."""
    echo = {"access-control-allow-origin": "*", "access-control-allow-credentials": "true"}
    gate = OriginGate(PlainTextResponse("done", headers=echo), allowed=[f"{GUEST}:443"])
    return TestClient(gate, base_url=f"{scheme}://{host}")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://sibling.arena.test"},
        {"origin": "http://arena.test.evil.example"},
        {"origin": "http://arena.test:8080"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://[", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://arena.test", "sec-fetch-site": "same-site"},
        {"origin": "http://www.example.org"},
    ],
)
def test_another_site_neither_sends_events_nor_hears_them(headers: dict[str, str]) -> None:
    for answer in (site().post(EVENT, headers=headers), site().get(STREAM, headers=headers)):
        assert answer.status_code == 403
        assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    ("origin", "scheme", "host"),
    [
        ("http://arena.test", "http", "arena.test"),
        ("https://arena.test", "https", "arena.test"),
        ("https://arena.test", "http", "arena.test"),  # a proxy that ends HTTPS and says nothing
        ("https://arena.test", "https", "arena.test:443"),
        ("http://arena.test:8080", "http", "arena.test:8080"),
        ("http://[::1]:7860", "http", "[::1]:7860"),
        ("http://ARENA.test", "http", "arena.test"),
    ],
)
def test_the_arenas_own_pages_do(origin: str, scheme: str, host: str) -> None:
    told = {"origin": origin, "sec-fetch-site": "same-origin", "host": host}
    answer = site(scheme=scheme).post(EVENT, headers=told)
    assert answer.text == "done"
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_page_over_http_does_not_speak_for_the_one_over_https() -> None:
    told = {"origin": "http://arena.test"}
    assert site(scheme="https").post(EVENT, headers=told).status_code == 403


def test_programs_say_nothing_and_are_answered() -> None:
    assert site().post(EVENT).text == "done"


def test_a_link_from_elsewhere_opens_the_page() -> None:
    told = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    answer = site().get("/en/", headers=told)
    assert answer.text == "done"
    assert "access-control-allow-origin" not in answer.headers


def test_what_another_site_reads_of_a_page_it_is_not_told() -> None:
    answer = site().get("/leaderboard.json", headers={"origin": "http://evil.example"})
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_site_in_the_settings_is_answered_by_name() -> None:
    told = {"origin": GUEST, "sec-fetch-site": "cross-site"}
    answer = site().post(EVENT, headers=told)
    assert answer.headers["access-control-allow-origin"] == GUEST
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(("origin", "status"), [(GUEST, 204), ("http://evil.example", 403)])
def test_a_browser_that_asks_first_is_told_who_may(origin: str, status: int) -> None:
    told = {"origin": origin, "access-control-request-method": "POST"}
    answer = site().options(EVENT, headers=told)
    assert answer.status_code == status
    assert ("access-control-allow-origin" in answer.headers) is (status == 204)
