"""Who asks for too much is told when to go on, and loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Visit

pytestmark = pytest.mark.browser


def test_a_page_says_when_to_go_on_and_keeps_what_was_typed(visit: Visit, tmp_path: Path) -> None:
    models = [
        recorded_model(name, tmp_path, answers={"*": "Because."}) for name in ("Amber", "Birch")
    ]
    rates = {"voter_battles": "1/hour", "voter_regenerations": "1/hour"}
    with running_arena(models, data_dir=tmp_path / "data", rates=rates) as served:
        page = visit(served).open("/zh/").page
        prompt, status = page.locator("#prompt textarea"), page.locator(".battle-status")
        prompt.fill("为什么？")
        prompt.press("Enter")
        expect(status).to_have_attribute("data-status", "ready")
        edition = status.get_attribute("data-edition") or ""
        page.locator("#regenerate").click()
        expect(status).not_to_have_attribute("data-edition", edition)
        expect(status).to_have_attribute("data-status", "ready")
        page.locator("#regenerate").click()
        expect(page.locator(".notice").first).to_contain_text("您在短时间内操作得太多了。请过大约")
        page.locator("#vote-1").click()  # what is there can still be voted on
        expect(status).to_have_attribute("data-status", "voted")
        page.goto(f"{served.address}/en/")
        prompt.fill("And then?")
        prompt.press("Enter")
        expect(page.locator(".notice").first).to_contain_text("Please go on in about")
        expect(prompt).to_have_value("And then?")
