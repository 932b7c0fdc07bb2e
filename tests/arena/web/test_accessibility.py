"""Every page as axe sees it: wide and narrow, light and dark, in every language."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import pytest
from answers_on_record import ANSWERS, MARKDOWN
from axe_playwright_python.sync_playwright import Axe
from expert_steps import answer_battle, assign, invite, let_judge
from experts_at_work import key_of, record_of
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena

from arena.agreement.keys import AnalystKeys
from arena.rules.battles import Outcome
from arena.settings import Settings, read_signing_secret
from arena.store import open_store
from arena.web.texts import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from serving_arena import RunningArena

    from arena.store import Store

pytestmark = pytest.mark.browser

MODELS = tuple(f"Model {number:02}" for number in range(14))
EVERYTHING = MARKDOWN + (
    "\n\n- [x] done\n- [ ] open\n\n<details><summary>More</summary>\n\nInside\n</details>\n\n"
    "Said[^1], <kbd>Ctrl</kbd>, ![a cat](https://example.org/cat.png).\n\n[^1]: A note.\n\n"
    "```python\ndef f(x: int) -> str:  # a comment\n    return f'{x}' + \"text\" * 3\n```\n\n"
    "#### A title of the fourth level\n\n> A quotation"
)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    """An arena with votes, an expert's judgements and a judge's verdicts."""
    folder = tmp_path_factory.mktemp("furnished")
    answers = {**ANSWERS, "Everything": {"answer": EVERYTHING, "tokens_per_second": 2_000}}
    models = [
        recorded_model(name, folder, answers=answers, organisation=f"Maker {number % 3}")
        for number, name in enumerate(MODELS)
    ]
    board = {"refresh_seconds": 0.3, "replicates": 100}
    # Before it starts, so that the first board has all of it.
    (folder / "data").mkdir()
    with closing(open_store(f"sqlite:///{folder}/data/arena.db")) as store:
        _furnish(store)
    with running_arena(models, data_dir=folder / "data", leaderboard=board) as served:
        yield served


def _furnish(store: Store) -> None:
    said = list(Outcome)
    battles = []
    for number in range(60):
        pair = (MODELS[number % 14], MODELS[(number * 5 + 1 + number // 14) % 14])
        if pair[0] == pair[1]:
            continue
        battle = answer_battle(
            store, models=pair, prompts=("Why?", "And?"), texts=(EVERYTHING, f"Other {number}"),
            voter_id=f"crowd-{number}",
        )  # fmt: skip
        store.battles.vote(battle, voter_id=f"crowd-{number}", outcome=said[number % 4])
        battles.append(battle)
    let_judge(store, {battle: (said[n % 3], said[n % 3]) for n, battle in enumerate(battles)})
    assign(store, [invite(store, "Ada"), invite(store, "Ben")], battles=8, name="study")


def address(arena: RunningArena, kind: str, language: str) -> str:
    base = f"{arena.address}/{language}/"
    if kind == "expert":
        with record_of(arena) as store:
            ada = store.experts.all()[0]
        return f"{base}expert/?key={key_of(arena, ada)}"
    if kind == "agreement":
        keys = AnalystKeys(read_signing_secret(Settings(data_dir=arena.data_dir)))
        return f"{base}agreement/?key={keys.sign(datetime.now(UTC) + timedelta(days=1))}"
    return base + ("leaderboard/" if kind == "leaderboard" else "")


def furnish_page(page: Page, kind: str) -> None:
    """Waits until the page shows what it has."""
    if kind in ("battle", "reveal"):
        page.locator("#prompt textarea").fill("Everything")
        page.keyboard.press("Enter")
        status = page.locator(".battle-status")
        expect(status).to_have_attribute("data-status", "ready")
        expect(page.locator("#panel-b .katex").first).to_be_attached()
        if kind == "reveal":
            page.locator("#vote-1").click()
            expect(page.locator(".reveal-card h3")).to_have_count(2)
    elif kind == "leaderboard":
        expect(page.locator(".board-table tbody tr")).to_have_count(len(MODELS))
        expect(page.locator(".board-judge")).to_be_visible()
    elif kind == "expert":
        expect(page.locator(".expert")).to_have_attribute("data-phase", "task")
        expect(page.locator("#panel-a .message.bot").first).to_be_visible()
        expect(page.locator("#vote-1")).to_be_enabled()
    else:
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")


@pytest.mark.parametrize("kind", ["idle", "battle", "reveal", "leaderboard", "expert", "agreement"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    furnished: RunningArena,
    browser: Browser,
    kind: str,
    language: str,
    scheme: Literal["light", "dark"],
) -> None:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(address(furnished, kind, language))
    if kind == "idle":
        expect(page.locator("#prompt textarea")).to_be_editable()
    else:
        furnish_page(page, kind)
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        # What fades in has no colour of its own yet.
        page.wait_for_function("document.getAnimations().every(one => one.playState !== 'running')")
        heard = Axe().run(page).response
        assert len(heard["passes"]) > 15  # it looked
        found = heard["violations"]
        assert [
            (one["id"], node["html"][:160], node["failureSummary"][:300])
            for one in found
            for node in one["nodes"]
        ] == [], (width, kind)
    context.close()
