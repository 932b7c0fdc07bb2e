"""Experts of a running arena: one without a browser, and the page in a tab."""

from __future__ import annotations

import html
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from page_client import PageClient
from playwright.sync_api import expect

from arena.rules.experts import ExpertKeys
from arena.settings import Settings, read_signing_secret
from arena.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import BrowserContext, Locator, Page
    from serving_arena import RunningArena

    from arena.rules.experts import Expert
    from arena.store import Store

_STATE = re.compile(r'<div class="expert" tabindex="-1"([^>]*)>')
_ATTRIBUTE = re.compile(r'data-([a-z]+)="([^"]*)"')


@contextmanager
def record_of(arena: RunningArena) -> Iterator[Store]:
    """A running arena's record, opened beside its server."""
    store = open_store(f"sqlite:///{arena.data_dir}/arena.db")
    try:
        yield store
    finally:
        store.close()


def key_of(arena: RunningArena, expert: Expert) -> str:
    """What the expert's link carries."""
    return ExpertKeys(read_signing_secret(Settings(data_dir=arena.data_dir))).sign(expert)


class ExpertClient(PageClient):
    """An expert without a browser: joins Gradio's queue as its client does."""

    def __init__(self, address: str, *, language: str = "en") -> None:
        super().__init__(address, language=f"{language}/expert")
        self._entrance = f"/{language}/expert/"

    def enter(self, key: str) -> str:
        """Follows the link, which sets the cookie, and loads the page; returns its HTML."""
        answer = self.http.get(self._entrance, params={"key": key})
        assert answer.status_code == 303
        return self.open()

    def send(self, elem_id: str, **answer: Any) -> dict[str, str]:  # noqa: ANN401  as a page
        """Clicks a button; the state's attributes, and its HTML as `html`."""
        sent = {
            "edition": "0", "undo": "1.0", "reasons": [], "comment": "", "cannot": "", "seconds": 1,
            **answer,
        }  # fmt: skip
        return self.send_raw(elem_id, json.dumps(sent))

    def send_raw(self, elem_id: str, sent: str) -> dict[str, str]:
        """The same with any text in place of what the page's script writes."""
        self.start_pressing(elem_id, sent)
        (last,) = (one for one in self.listen() if one["msg"] == "process_completed")
        state = last["output"]["data"][2]
        attributes = _STATE.search(state)
        assert attributes is not None, state
        found = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes[1])}
        return {**found, "html": state}

    def look(self) -> dict[str, str]:
        """What there is to judge."""
        return self.send("go-on")


class ExpertTab:
    """The experts' page in a tab."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.state = page.locator(".expert")
        self.progress = page.locator(".expert-progress label")
        self.advice = page.locator(".expert-advice")
        self.notice = page.locator(".notice")
        self.comment = page.locator("#comment")
        self.cannot = page.locator("#cannot-judge")
        self.cannot_reason = page.locator("#cannot-reason")
        self.undo = page.locator("#undo")
        self.go_on = page.locator("#go-on")

    @classmethod
    def open(cls, context: BrowserContext, address: str) -> ExpertTab:
        """A link in a new tab, once there is something to see."""
        page = context.new_page()
        page.goto(address)
        tab = cls(page)
        expect(tab.state).to_have_attribute("data-phase", re.compile("task|end"))
        return tab

    @property
    def task(self) -> str:
        """Number of the task that is shown."""
        return self.state.get_attribute("data-task") or ""

    def vote(self, number: int) -> Locator:
        """One of the four buttons, from 1."""
        return self.page.locator(f"#vote-{number}")

    def answer(self, side: str) -> Locator:
        """The answers on one side."""
        return self.page.locator(f"#panel-{side} .message.bot")

    def reason(self, name: str) -> Locator:
        """The tick box of a reason."""
        return self.page.locator(f'.expert-reasons input[value="{name}"]')

    def expect_done(self, done: int, total: int) -> None:
        """Waits for so many judgements, and for buttons that can be pressed again."""
        expect(self.progress).to_have_text(f"{done} of {total} judged")
        expect(self.vote(1)).to_be_enabled()

    def expect_end(self) -> None:
        """Waits for the thanks."""
        expect(self.state).to_have_attribute("data-phase", "end")
