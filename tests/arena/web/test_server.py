"""What Gradio has no setting for, and is set all the same, in the pages of a real arena."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import Mock, patch

import gradio as gr
import pytest
from fastapi import FastAPI
from staged_models import StagedModel

from arena.app import open_arena
from arena.settings import Settings
from arena.web.server import build_app

if TYPE_CHECKING:
    from pathlib import Path

PACES = ("sleep_when_free", "progress_update_sleep_when_free")


@pytest.fixture
async def pages(tmp_path: Path) -> list[gr.Blocks]:
    """Three pages in two languages, as they are mounted."""
    models = {name: StagedModel(name, "Yes.") for name in ("Amber", "Birch")}
    mount = Mock(wraps=gr.mount_gradio_app)
    async with open_arena(Settings(data_dir=tmp_path), models) as arena:
        with patch.object(gr, "mount_gradio_app", mount):
            build_app(arena)
    mounted = [call.args[1] for call in mount.call_args_list]
    assert len(mounted) == 6
    return mounted


async def test_a_page_at_rest_wakes_rarely(pages: list[gr.Blocks]) -> None:
    # In Gradio's own words, so that a renamed attribute is noticed.
    usual = vars(gr.Blocks().queue())["_queue"]
    for queue in (vars(page)["_queue"] for page in pages):
        assert all(vars(queue)[pace] >= 10 * vars(usual)[pace] for pace in PACES)
        assert queue.sleep_when_free <= 0.05  # nobody waits noticeably for an event to begin


async def test_a_session_keeps_no_copy_of_the_components(pages: list[gr.Blocks]) -> None:
    with gr.Blocks() as usual:
        gr.Textbox("here")
    gr.mount_gradio_app(FastAPI(), usual, path="/usual")
    assert usual.state_holder["visit"].config_values  # else there is nothing to spare
    for page in pages:
        session = page.state_holder["visit"]
        assert session.config_values == {}
        assert session.blocks_config.fns == page.fns
