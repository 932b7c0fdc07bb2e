"""A browser, an arena over recorded answers, and visitors in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import pytest
from answers_on_record import ANSWERS
from playwright.sync_api import sync_playwright
from serving_arena import recorded_model, running_arena
from visitors import PATIENCE, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from serving_arena import RunningArena

FLAGS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
    " --disable-sync --no-first-run"
)


class Visit(Protocol):
    """Brings a new visitor to the arena."""

    def __call__(
        self,
        of: RunningArena | None = None,
        *,
        phone: bool = False,
        locale: str = "en-US",
        scheme: Literal["light", "dark"] = "light",
    ) -> Visitor: ...


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    """Two recorded models that answer anything, most of it within half a second."""
    folder = tmp_path_factory.mktemp("arena")
    paced = {prompt: {"tokens_per_second": 400, **answer} for prompt, answer in ANSWERS.items()}
    models = [
        recorded_model(
            name,
            folder,
            answers=paced,
            organisation=f"{name} Works",
            license="Apache-2.0",
            description="Plays what was recorded.",
        )
        for name in ("Amber-7B", "Birch-9B")
    ]
    with running_arena(
        models,
        data_dir=folder / "data",
        # A busy machine may take seconds over a reload.
        battles={"grace_seconds": 6.0},
        leaderboard={"refresh_seconds": 0.5, "replicates": 100},
    ) as served:
        yield served


# Not for longer than a module: while Playwright runs, no other event loop can.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A Chromium that asks nobody for anything by itself."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium, args=FLAGS.split(), timeout=PATIENCE
        )
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Browser, arena: RunningArena) -> Iterator[Visit]:
    """Visitors, each of whom must have asked nobody else and seen no error in the console."""
    visitors: list[Visitor] = []

    def bring(
        of: RunningArena | None = None,
        *,
        phone: bool = False,
        locale: str = "en-US",
        scheme: Literal["light", "dark"] = "light",
    ) -> Visitor:
        width, height = (390, 844) if phone else (1280, 800)
        context = browser.new_context(
            viewport={"width": width, "height": height},
            is_mobile=phone,
            has_touch=phone,
            locale=locale,
            color_scheme=scheme,
        )
        context.set_default_timeout(PATIENCE)
        visitor = Visitor(of or arena, context)
        visitor.watch()
        visitors.append(visitor)
        return visitor

    yield bring
    for visitor in visitors:
        visitor.context.close()
    assert [url for visitor in visitors for url in visitor.foreign_requests] == []
    assert [words for visitor in visitors for words in visitor.complaints] == []
