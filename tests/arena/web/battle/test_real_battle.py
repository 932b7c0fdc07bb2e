"""The demo as it is installed, on its real language model, as a volunteer meets it."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from serving_arena import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Visit
    from serving_arena import RunningArena
    from visitors import BattleTab

pytestmark = [pytest.mark.browser, pytest.mark.model]

OUTPUT = Path(__file__).resolve().parents[3] / "output"
# Notes ten times a second how long both answers are and what can be clicked.
WATCH = """
() => {
  window.seen = [];
  const length = (side) =>
    document.querySelector(`#panel-${side} .message.bot`)?.innerText.length ?? 0;
  window.setInterval(() => window.seen.push({
    status: document.querySelector(".battle-status").dataset.status,
    a: length("a"),
    b: length("b"),
    open: document.querySelectorAll("#votes button:not(:disabled)").length,
  }), 100);
}
"""


@pytest.fixture(scope="module")
def demo(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    """`arena demo`, the installed command."""
    data_dir = tmp_path_factory.mktemp("demo")
    arena = Path(sys.executable).with_name("arena")
    command = [str(arena), "demo", "--data-dir", str(data_dir), "--port", "0", "--no-open"]
    with serving(command, data_dir=data_dir) as served:
        yield served


def shoot(tab: BattleTab, name: str) -> None:
    OUTPUT.mkdir(exist_ok=True)
    tab.page.screenshot(path=OUTPUT / f"{name}.png")


@pytest.mark.parametrize("phone", [False, True], ids=["1280", "390"])
def test_two_streamed_answers_a_vote_the_names_and_the_leaderboard(
    demo: RunningArena, visit: Visit, phone: bool
) -> None:
    tab = visit(demo, phone=phone).open("/")
    assert tab.page.url.endswith("/en/")
    name = f"demo-{390 if phone else 1280}"
    shoot(tab, f"{name}-1-idle")
    tab.page.evaluate(WATCH)
    tab.ask("Tell me a story about a lighthouse.")
    tab.page.wait_for_function("() => window.seen.at(-1)?.a > 40 && window.seen.at(-1)?.b > 40")
    shoot(tab, f"{name}-2-streaming")
    tab.page.wait_for_function(
        "() => document.querySelector('.battle-status').dataset.status === 'ready'", timeout=120_000
    )
    check_what_was_seen(tab)
    shoot(tab, f"{name}-3-ready")
    before = demo.count("SELECT count(*) FROM votes")
    tab.vote(1).click()
    names = tab.expect_reveal()
    assert demo.count("SELECT count(*) FROM votes") == before + 1
    assert len(set(names)) == 2
    assert all(name.startswith("smollm2-") for name in names)
    for card in tab.page.locator(".reveal-card").all():
        expect(card).to_contain_text("Hugging Face")
        expect(card).to_contain_text("Apache-2.0")
        expect(card).to_contain_text(re.compile(r"\d+\.\d tokens/s"))
    expect(tab.page.get_by_text("Your votes so far: 1")).to_be_visible()
    shoot(tab, f"{name}-4-reveal")
    tab.page.get_by_role("link", name="See the leaderboard").click()
    fact = tab.page.locator(".board-facts dl > div", has_text="Votes").first
    expect(fact.locator("dd")).to_have_text(str(before + 1))
    for model in names:
        expect(tab.page.locator(".board-table tbody[data-sortable]")).to_contain_text(model)
    shoot(tab, f"{name}-5-leaderboard")


def check_what_was_seen(tab: BattleTab) -> None:
    """Both answers grew in sight, and the vote opened only at the end."""
    seen = tab.page.evaluate("window.seen")
    for side in "ab":
        lengths = [moment[side] for moment in seen if moment["status"] == "answering"]
        assert sum(later > earlier for earlier, later in pairwise(lengths)) >= 2
        assert seen[-1][side] > 0
    early = [moment["open"] for moment in seen if moment["status"] in ("idle", "answering")]
    assert set(early) == {0}
    for button in tab.votes.all():
        expect(button).to_be_enabled()
