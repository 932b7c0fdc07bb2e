"""An arena over recorded answers only: it offers the prompts that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena
from visitors import is_in_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Visit
    from serving_arena import RunningArena

pytestmark = pytest.mark.browser

PROMPTS = ["Name a colour.", *(f"Tell me about number {number}." for number in range(1, 12))]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    folder = tmp_path_factory.mktemp("recorded")
    models = [
        recorded_model(name, folder, answers=dict.fromkeys(PROMPTS, "Blue."))
        for name in ("Amber-7B", "Birch-9B")
    ]
    with running_arena(models, data_dir=folder / "data") as served:
        yield served


@pytest.mark.parametrize("phone", [False, True], ids=["1280", "390"])
def test_a_recorded_arena_offers_its_prompts_and_refuses_others_in_words(
    recorded: RunningArena, visit: Visit, phone: bool
) -> None:
    tab = visit(recorded, phone=phone).open()
    offered = tab.page.locator("#recorded-prompts").get_by_role("button", name=PROMPTS[0])
    if not phone:
        assert is_in_view(offered)
    tab.prompt.fill("Something else")
    tab.prompt.press("Enter")
    expect(tab.notice).to_contain_text(f"recorded answers to {len(PROMPTS)} prompts only")
    expect(tab.prompt).to_have_value("Something else")
    offered.click()
    expect(tab.prompt).to_have_value(PROMPTS[0])
    tab.send.click()
    tab.expect_status("ready")
    expect(tab.notice).to_have_count(0)
    assert is_in_view(tab.page.locator(".panel-title").first)
    for part in (tab.prompt, tab.send, offered):
        expect(part).to_be_hidden()
    tab.vote(2).click()
    tab.expect_reveal()
    expect(offered).to_be_visible()


def test_surprise_me_picks_one_of_the_recorded_prompts(
    recorded: RunningArena, visit: Visit
) -> None:
    tab = visit(recorded).open()
    tab.page.locator("#surprise").click()
    expect(tab.prompt).not_to_have_value("")
    assert tab.prompt.input_value() in PROMPTS
    tab.prompt.press("Enter")
    tab.expect_status("ready")
