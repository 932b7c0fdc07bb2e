"""What is taken from inside Gradio, each seam in the pages of a real arena."""

from __future__ import annotations

import asyncio
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock, patch

import gradio as gr
import httpx2
import pytest
from answers_on_record import ANSWERS
from fastapi import FastAPI
from gradio.queueing import Queue
from gradio.state_holder import SessionState
from packaging.requirements import Requirement
from serving_arena import recorded_model, running_arena
from staged_models import StagedModel

from arena.app import open_arena
from arena.settings import Settings
from arena.web import gradio_seams
from arena.web.server import build_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

PACES = ("sleep_when_free", "progress_update_sleep_when_free")
JSON = {"content-type": "application/json"}
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def queue_of(page: gr.Blocks) -> Queue:
    queue = vars(page)["_queue"]
    assert isinstance(queue, Queue)
    return queue


@pytest.fixture
async def built(tmp_path: Path) -> tuple[ASGIApp, list[gr.Blocks]]:
    """An application, and its three pages in two languages as they are mounted."""
    models = {name: StagedModel(name, "Yes.") for name in ("Amber", "Birch")}
    mount = Mock(wraps=gr.mount_gradio_app)
    async with open_arena(Settings(data_dir=tmp_path), models) as arena:
        with patch.object(gr, "mount_gradio_app", mount):
            app = build_app(arena)
    mounted = [call.args[1] for call in mount.call_args_list]
    assert len(mounted) == 6
    return app, mounted


@pytest.fixture
async def app(built: tuple[ASGIApp, list[gr.Blocks]]) -> ASGIApp:
    return built[0]


@pytest.fixture
async def pages(built: tuple[ASGIApp, list[gr.Blocks]]) -> list[gr.Blocks]:
    return built[1]


def visitor_of(app: ASGIApp) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://arena.test")


@pytest.fixture
async def usual() -> gr.Blocks:
    """A page as Gradio itself makes it."""
    blocks = gr.Blocks()
    with blocks:
        gr.Textbox("here")
    blocks.queue()
    return blocks


def test_the_installed_gradio_is_one_that_the_seams_were_tried_with() -> None:
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    (gradio,) = (Requirement(line) for line in declared if line.startswith("gradio"))
    assert version("gradio") in gradio.specifier
    assert gradio.specifier.contains("6.31.9")
    assert not gradio.specifier.contains("6.32.0")


async def test_a_page_at_rest_wakes_rarely(pages: list[gr.Blocks], usual: gr.Blocks) -> None:
    # In Gradio's own words, so that a renamed attribute is noticed.
    for queue in map(queue_of, pages):
        assert all(vars(queue)[pace] >= 10 * vars(queue_of(usual))[pace] for pace in PACES)
        assert queue.sleep_when_free <= 0.05  # nobody waits noticeably for an event to begin


async def test_a_session_keeps_no_copy_of_the_components(
    pages: list[gr.Blocks], usual: gr.Blocks
) -> None:
    gr.mount_gradio_app(FastAPI(), usual, path="/usual")
    assert usual.state_holder["visit"].config_values  # else there is nothing to spare
    for page in pages:
        session = page.state_holder["visit"]
        assert session.config_values == {}
        assert session.blocks_config.fns == page.fns


async def test_a_session_forgets_what_it_was_shown(pages: list[gr.Blocks]) -> None:
    source = Path(gr.__file__).with_name("blocks.py").read_text(encoding="utf-8")
    assert "state._update_value_in_config(" in source  # else Gradio keeps it by another name
    session = pages[0].state_holder["visit"]
    component = next(iter(session.blocks_config.blocks))
    session._update_value_in_config(component, "a long conversation")
    assert "conversation" not in str(session.config_values)
    assert SessionState._update_value_in_config.__module__ == gradio_seams.__name__


async def test_no_stream_is_cut_by_those_of_2000_strangers(
    pages: list[gr.Blocks], usual: gr.Blocks
) -> None:
    assert queue_of(usual).pending_messages_per_session.max_size == 2_000
    for page in pages:
        pending = queue_of(page).pending_messages_per_session
        pending["reading"] = Mock()
        for stranger in range(gradio_seams.PENDING_STREAMS - 1):
            pending[f"stranger {stranger}"] = Mock()
        assert "reading" in pending
        pending["one more"] = Mock()
        assert "reading" not in pending


async def test_every_limit_is_the_one_that_was_chosen(pages: list[gr.Blocks]) -> None:
    for page in pages:
        assert page.max_threads == gradio_seams.WORKER_SLOTS
        assert queue_of(page).max_size == gradio_seams.QUEUE_LENGTH
        assert queue_of(page).max_thread_count == gradio_seams.WORKER_SLOTS
        assert page.state_holder.capacity == gradio_seams.SESSIONS
        assert page.max_file_size == gradio_seams.FILE_SIZE


async def test_no_table_of_monitoring_is_made_after_an_event(usual: gr.Blocks) -> None:
    assert queue_of(usual).ANALYTICS_MAX_EVENTS == 1
    queue = queue_of(usual)
    queue.events_recorded = 100_000
    summarise: Callable[[list[dict[str, str]]], object] = queue.compute_analytics_summary
    told = summarise([{"function": "ask", "status": "success"}])
    assert told == {"functions": {}}


@pytest.mark.parametrize("length", [gradio_seams.BODY_BYTES + 1, 50_000_000])
async def test_a_body_longer_than_any_prompt_is_refused(app: ASGIApp, length: int) -> None:
    async with visitor_of(app) as visitor:
        answer = await visitor.post(
            "/en/gradio_api/queue/join", content=b" " * length, headers=JSON
        )
    assert answer.status_code == 413


async def test_gradios_own_page_is_undressed(app: ASGIApp) -> None:
    async with visitor_of(app) as visitor:
        page = (await visitor.get("/en/")).text
    assert not re.search(r"gradio\.app|@Gradio|manifest\.json|og:image|twitter:", page)


async def test_the_formulas_of_gradio_are_served(app: ASGIApp) -> None:
    formulas = gradio_seams.find_formulas()
    async with visitor_of(app) as visitor:
        script = await visitor.get(f"/en/assets/{formulas.script}")
        style = await visitor.get(f"/en/assets/{formulas.style}")
    assert script.status_code == style.status_code == 200
    assert "renderToString" in script.text
    assert re.search(r"export ?\{ ?\w+ as default ?\}", script.text)
    assert ".katex" in style.text


def test_without_katex_there_is_nothing_to_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gradio_seams, "_ASSETS", tmp_path)
    assert gradio_seams.find_formulas() == gradio_seams.Formulas("", "")


async def test_no_page_needs_the_route_that_holds_a_connection_open(pages: list[gr.Blocks]) -> None:
    """It is shut: each visitor would hold a second stream for nothing."""
    assert not any(page.get_config_file()["connect_heartbeat"] for page in pages)
    assert gradio_seams.USED_ROUTES.match("gradio_api/heartbeat/x") is None


@pytest.mark.parametrize("path", ["/en", "/en/expert"])
async def test_a_page_goes_on_where_a_session_was_pushed_out_while_its_event_waited(
    tmp_path: Path, path: str
) -> None:
    # One such session ended the queue of a page, for everybody and until the next start.
    models = [recorded_model(name, tmp_path, answers=ANSWERS) for name in ("Amber", "Birch")]
    seams = {"PENDING_STREAMS": 5}
    with running_arena(models, data_dir=tmp_path / "data", seams=seams) as served:
        async with httpx2.AsyncClient(base_url=served.address, trust_env=False) as client:
            events = (await client.get(f"{path}/config")).json()["dependencies"]
            event = next(each for each in events if each["queue"] is not False)

            async def send(session: str) -> int:
                data = ["" for _ in event["inputs"]]
                sent = {"data": data, "fn_index": event["id"], "session_hash": session}
                answer = await client.post(f"{path}/gradio_api/queue/join", json=sent)
                return answer.status_code

            for wave in range(4):
                strangers = (send(f"stranger{wave}x{each}") for each in range(40))
                assert set(await asyncio.gather(*strangers)) == {200}
            assert await send("honest") == 200
            stream = f"{path}/gradio_api/queue/data?session_hash=honest"
            async with client.stream("GET", stream) as answer:
                heard = [line async for line in answer.aiter_lines()]
            assert any("process_completed" in line for line in heard)
