"""The arena behind nginx, with the very configuration that docs/deployment.md gives."""

from __future__ import annotations

import re
import ssl
import subprocess
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from serving_arena import recorded_model, running_arena

from serving.server_process import find_free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from serving_arena import RunningArena

pytestmark = pytest.mark.slow

DEPLOYMENT = Path(__file__).resolve().parents[3] / "docs" / "deployment.md"
NAMES = ("Amber-7B", "Birch-9B")
WORDS = 40
WORDS_PER_SECOND = 10
# So many that chance sends all of them to one process once in 30,000 runs.
VISITORS = 16
# What nginx needs around a site to run without a system's directories; the log says which
# process answered whom.
AROUND = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    log_format seen '$cookie_arena_voter $upstream_addr $request_uri';
    access_log {folder}/access.log seen;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


@dataclass(frozen=True, slots=True)
class Nginx:
    """A running nginx.

    Attributes:
        port: where it speaks TLS.
        plain_port: where it speaks plain HTTP.
        folder: holds its certificate and its logs.
    """

    port: int
    plain_port: int
    folder: Path

    def visitor(self) -> httpx2.Client:
        """A browser with cookies of its own."""
        trust = ssl.create_default_context(cafile=str(self.folder / "cert.pem"))
        address = f"https://127.0.0.1:{self.port}"
        return httpx2.Client(base_url=address, verify=trust, trust_env=False, timeout=240)


def documented() -> tuple[str, str]:
    """The site, and the upstream of several processes, as the page has them."""
    site, several = re.findall(
        r"^```nginx\n(.*?)^```", DEPLOYMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return site, several


def fit(site: str, changes: Mapping[str, str]) -> str:
    """The site with the places of this test; each must be there exactly once."""
    for old, new in changes.items():
        assert site.count(old) == 1, f"{old!r} is not in the documented configuration once"
        site = site.replace(old, new)
    return site


def make_certificate(openssl: str, folder: Path) -> None:
    command = [openssl, "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def running_nginx(
    need: Callable[..., str], folder: Path, *, upstreams: Sequence[tuple[str, str]]
) -> Iterator[Nginx]:
    """Serves the documented site.

    Args:
        need: finds the programs.
        folder: an empty one.
        upstreams: documented address → address of a running arena.
    """
    program = need("nginx", folders=[Path("/usr/sbin")])
    make_certificate(need("openssl"), folder)
    nginx = Nginx(find_free_port(), find_free_port(), folder)
    site, several = documented()
    if len(upstreams) > 1:
        site = several + site[site.index("server {\n") :]
    places = {
        "listen 80;": f"listen 127.0.0.1:{nginx.plain_port};",
        "listen 443 ssl;": f"listen 127.0.0.1:{nginx.port} ssl;",
        "/etc/letsencrypt/live/arena.example.org/fullchain.pem": f"{folder}/cert.pem",
        "/etc/letsencrypt/live/arena.example.org/privkey.pem": f"{folder}/key.pem",
    }
    config = folder / "nginx.conf"
    config.write_text(AROUND.format(folder=folder, site=fit(site, {**dict(upstreams), **places})))
    command = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(config)]
    process = subprocess.Popen(command)
    try:
        wait_until_open(nginx, process)
        yield nginx
    finally:
        process.terminate()
        process.wait(60)


def wait_until_open(nginx: Nginx, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            with nginx.visitor() as visitor:
                assert visitor.get("/healthz").json()["status"] == "ok"
                return
        except httpx2.TransportError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail((nginx.folder / "error.log").read_text(), pytrace=False)
            time.sleep(0.1)


@contextmanager
def slow_arena(folder: Path) -> Iterator[RunningArena]:
    """Two recorded models that take four seconds to answer anything."""
    answer = {"answer": " ".join(f"word{n}" for n in range(WORDS)), "tokens": WORDS}
    paced = {**answer, "tokens_per_second": WORDS_PER_SECOND}
    models = [recorded_model(name, folder, answers={"*": paced}) for name in NAMES]
    with running_arena(models, data_dir=folder / "data") as served:
        yield served


class Page:
    """The battle page as its script talks to the server.

    Attributes:
        battle: the id of the battle shown.
        edition: of its answers.
    """

    def __init__(self, visitor: httpx2.Client, *, session: str) -> None:
        self._visitor = visitor
        self._session = session
        self.opened = visitor.get("/en/")
        self.config = visitor.get("/en/config").json()
        self.battle = ""
        self.edition = ""

    def ask(self, prompt: str) -> list[tuple[float, str]]:
        """Sends a prompt; the lines that came back, each with its seconds from the click."""
        lines = self._send("send", [prompt, "0", "", ""])
        self.battle = re.findall(r'data-battle=\\"([\w-]+)\\"', lines[-1][1])[-1]
        self.edition = re.findall(r'data-edition=\\"(\d+)\\"', lines[-1][1])[-1]
        return lines

    def vote(self, number: int) -> str:
        """Presses one of the four buttons; everything that came back."""
        return "\n".join(
            line for _, line in self._send(f"vote-{number}", [self.edition, self.battle])
        )

    def _send(self, elem_id: str, data: list[str]) -> list[tuple[float, str]]:
        began = time.monotonic()
        body = {"data": data, "fn_index": self._event(elem_id), "session_hash": self._session}
        joined = self._visitor.post("/en/gradio_api/queue/join", json=body)
        assert joined.status_code == 200, joined.text
        lines = []
        where = f"/en/gradio_api/queue/data?session_hash={self._session}"
        with self._visitor.stream("GET", where) as stream:
            for line in stream.iter_lines():
                lines.append((time.monotonic() - began, line))
                if "process_completed" in line:
                    return lines
        pytest.fail(f"the stream ended early: {lines}", pytrace=False)

    def _event(self, elem_id: str) -> int:
        (button,) = (
            part["id"]
            for part in self.config["components"]
            if part["props"].get("elem_id") == elem_id
        )
        event: int = next(
            event["id"]
            for event in self.config["dependencies"]
            if [button, "click"] in event["targets"]
        )
        return event


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    with slow_arena(tmp_path_factory.mktemp("slow")) as served:
        yield served


@pytest.fixture(scope="module")
def nginx(
    arena: RunningArena, need: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nginx]:
    upstreams = [("127.0.0.1:7860", arena.address.removeprefix("http://"))]
    with running_nginx(need, tmp_path_factory.mktemp("nginx"), upstreams=upstreams) as running:
        yield running


def test_a_battle_streams_through_nginx_and_the_vote_counts(
    arena: RunningArena, nginx: Nginx
) -> None:
    with nginx.visitor() as visitor:
        page = Page(visitor, session="one")
        lines = page.ask("Count")
        first = next(at for at, line in lines if "word0" in line)
        last = lines[-1][0]
        assert last - first > 0.7 * WORDS / WORDS_PER_SECOND
        assert len({round(at, 1) for at, line in lines if "process_generating" in line}) > 10
        assert not any(name in line for _, line in lines for name in NAMES)
        reveal = page.vote(1)
        assert all(name in reveal for name in NAMES)
    outcome = arena.rows("SELECT outcome FROM votes WHERE battle_id = ?", page.battle)
    assert outcome == [("model_a",)]


def test_the_cookie_is_secure_behind_nginx_and_not_without(
    arena: RunningArena, nginx: Nginx
) -> None:
    with nginx.visitor() as visitor:
        behind = visitor.get("/en/").headers["set-cookie"]
    with httpx2.Client(base_url=arena.address, trust_env=False) as visitor:
        direct = visitor.get("/en/").headers["set-cookie"]
    flags = {part.strip() for part in behind.split(";")}
    assert {"Secure", "HttpOnly", "SameSite=Lax"} <= flags
    assert "Secure" not in direct


def test_the_page_knows_its_own_address(nginx: Nginx) -> None:
    with nginx.visitor() as visitor:
        config = visitor.get("/en/config").json()
        chosen = visitor.get("/", headers={"accept-language": "zh-CN"})
    assert config["root"] == f"https://127.0.0.1:{nginx.port}/en"
    assert chosen.headers["location"] == "/zh/"


def test_plain_http_is_sent_to_https(nginx: Nginx) -> None:
    address = f"http://127.0.0.1:{nginx.plain_port}/en/leaderboard/?x=1"
    answer = httpx2.get(address, trust_env=False)
    assert answer.status_code == 301
    assert answer.headers["location"] == "https://127.0.0.1/en/leaderboard/?x=1"


@pytest.mark.parametrize("page", ["/en", "/en/leaderboard", "/zh"])
def test_nobody_can_leave_files_behind(nginx: Nginx, page: str) -> None:
    with nginx.visitor() as visitor:
        files = {"files": ("anything.bin", b"anything")}
        assert visitor.post(f"{page}/gradio_api/upload", files=files).status_code == 403


def visit_once(nginx: Nginx, number: int) -> str:
    """A battle and a vote; what the vote brought back."""
    with nginx.visitor() as visitor:
        page = Page(visitor, session=f"visitor{number}")
        page.ask("Count")
        return page.vote(3)


def test_a_voter_stays_with_one_of_two_processes(tmp_path: Path, need: Callable[..., str]) -> None:
    (tmp_path / "nginx").mkdir()
    with ExitStack() as stack:
        arenas = [stack.enter_context(slow_arena(tmp_path / "arena")) for _ in range(2)]
        addresses = [arena.address.removeprefix("http://") for arena in arenas]
        upstreams = list(zip(("127.0.0.1:7861", "127.0.0.1:7862"), addresses, strict=True))
        nginx = stack.enter_context(running_nginx(need, tmp_path / "nginx", upstreams=upstreams))
        with ThreadPoolExecutor(VISITORS) as visitors:
            reveals = visitors.map(lambda number: visit_once(nginx, number), range(VISITORS))
            assert all(name in reveal for reveal in reveals for name in NAMES)
        assert arenas[0].count("SELECT count(*) FROM votes") == VISITORS
        assert arenas[1].count("SELECT count(*) FROM voters") == VISITORS
    served = defaultdict(set)
    for line in (nginx.folder / "access.log").read_text().splitlines():
        voter, process, _ = line.split(" ", 2)
        served[voter].add(process)
    del served["-"]  # the first request, before there is a cookie
    assert [len(processes) for processes in served.values()] == [1] * VISITORS
    assert set.union(*served.values()) == set(addresses)
