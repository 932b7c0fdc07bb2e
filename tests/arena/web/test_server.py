"""How the pages are mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import Mock, patch

import gradio as gr
from fastapi import FastAPI
from staged_models import StagedModel

from arena.house import open_arena
from arena.settings import Settings
from arena.web.server import build_app

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PACES = ("sleep_when_free", "progress_update_sleep_when_free")


async def test_a_page_at_rest_wakes_rarely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mount = Mock(wraps=gr.mount_gradio_app)
    monkeypatch.setattr(gr, "mount_gradio_app", mount)
    models = {name: StagedModel(name, "Yes.") for name in ("Amber", "Birch")}
    async with open_arena(Settings(data_dir=tmp_path), models) as arena:
        build_app(arena)
    # In Gradio's own words, so that a renamed attribute is noticed.
    usual = vars(gr.Blocks().queue())["_queue"]
    for queue in (vars(call.args[1])["_queue"] for call in mount.call_args_list):
        assert all(vars(queue)[pace] >= 10 * vars(usual)[pace] for pace in PACES)
        assert queue.sleep_when_free <= 0.05  # nobody waits noticeably for an event to begin
    assert mount.call_count == 6


async def test_a_session_keeps_no_copy_of_the_components(tmp_path: Path) -> None:
    blocks = gr.Blocks()
    with blocks:
        gr.Textbox("here")
    gr.mount_gradio_app(FastAPI(), blocks, path="/usual")
    assert blocks.state_holder["visit"].config_values  # Gradio still makes them
    models = {name: StagedModel(name, "Yes.") for name in ("Amber", "Birch")}
    async with open_arena(Settings(data_dir=tmp_path), models) as arena:
        mount = Mock(wraps=gr.mount_gradio_app)
        with patch.object(gr, "mount_gradio_app", mount):
            build_app(arena)
    for call in mount.call_args_list:
        session = call.args[1].state_holder["visit"]
        assert session.config_values == {}
        assert session.blocks_config.fns == call.args[1].fns
