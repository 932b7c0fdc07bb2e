"""An address is one of ours, and hearsay about the way to us is not believed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from page_client import PageClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serving_arena import RunningArena


@pytest.fixture(scope="module")
def client(arena: RunningArena) -> Iterator[PageClient]:
    with PageClient(arena.address) as opened:
        yield opened


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        "/en/assets/%00.js",
        "/en/static/" + "a" * 400,
        "/" + "a" * 5_000,
        "/en/assets/" + "%2e%2e/" * 30 + "etc/passwd",
        "/%ff%fe",
        "/en/%ED%A0%80/",
        "/en/agreement/?key=%00",
        "/en/agreement/?page=99999999999999999999999999",
        "/en/agreement/?page=%0d%0aX:1",
        "/en/expert/?key=%00",
        "/en/expert/?key=" + "k" * 3_000,
        "/en/?" + "a" * 10_000,
        "/en/leaderboard/?category=%ff&style=%F0%9F",
        "/en/gradio_api/info?page=%00",
        "/leaderboard.json?x=" + "%0a" * 5,
        "/en/svelte/%2e%2e/%2e%2e/config",
        "/en/config?deep_link=..%2f..%2f",
        "/en/?deep_link=x",
        "/en/theme.css?version=%ff",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_no_address_breaks_the_arena(client: PageClient, method: str, path: str) -> None:
    answer = client.http.request(method, path)
    assert answer.status_code < 500
    assert "root:" not in answer.text


def ask_raw(arena: RunningArena, head: str) -> bytes:
    """Sends a head as it is and returns the first line of what comes back."""
    parts = urlsplit(arena.address)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=60) as line:
        line.sendall(head.replace("\n", "\r\n").encode("latin-1"))
        return line.makefile("rb").readline()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Host: [", 400),
        ("Host: a b", 400),
        ("Host: x:99999", 400),
        ("Host: x/\"';alert(1)", 400),
        ("Host: one\nHost: two", 400),
        ("Host: one\nX-Forwarded-Host: [", 200),
        ("Host: one\nX-Gradio-Server: http://[", 200),
        ("Host: one\nX-Forwarded-Proto: \xff", 200),
        ("Host: one\nCookie: arena_voter=\xff; =;;;=", 200),
        ("Host: one\nAccept-Language: " + "a;q=" * 500, 200),
    ],
)
def test_a_head_that_nobody_means_is_refused_or_does_no_harm(
    arena: RunningArena, head: str, status: int
) -> None:
    line = ask_raw(arena, f"GET /en/ HTTP/1.1\n{head}\nConnection: close\n\n")
    assert line.split()[1] == str(status).encode()


def test_a_visitor_cannot_say_what_the_page_is_called(client: PageClient) -> None:
    """Gradio took the word of anybody for the address that its page is built with."""
    told = {"x-forwarded-host": "evil.example", "x-gradio-server": "http://evil.example/"}
    assert "evil.example" not in client.http.get("/en/", headers=told).text
