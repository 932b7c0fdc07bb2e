"""Visitors of a running arena: a browser with its own cookies, and the battle page in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Locator, Page, Request
    from serving_arena import RunningArena

# The machine that runs the tests may be busy; nothing waits longer than it has to.
PATIENCE = 120_000
# What Gradio's client says when its page is left in the middle of a stream.
LEAVING = re.compile(r"AbortError: signal is aborted|\berrored out\b")
expect.set_options(timeout=PATIENCE)


def is_in_view(part: Locator) -> bool:
    """Whether the whole of it is inside the window, without scrolling."""
    inside: bool = part.evaluate(
        "part => { const box = part.getBoundingClientRect(); return box.width > 0"
        " && box.left >= 0 && box.top >= 0 && box.right <= innerWidth + 1"
        " && box.bottom <= innerHeight + 1 }"
    )
    return inside


class BattleTab:
    """The battle page in a tab."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.prompt = page.locator("#prompt textarea")
        self.send = page.locator("#send")
        self.status = page.locator(".battle-status")
        self.notice = page.locator(".notice")
        self.names = page.locator(".reveal-card h3")
        self.votes = page.locator("#votes button")
        self.regenerate = page.locator("#regenerate")
        self.retry = page.locator("#retry")
        self.new = page.locator("#new-battle")

    @property
    def battle_id(self) -> str:
        """The battle that is shown, empty where none is."""
        return self.status.get_attribute("data-battle") or ""

    def answers(self, side: str) -> Locator:
        """The answers of one side, a turn each."""
        return self.page.locator(f"#panel-{side} .message.bot")

    def note(self, side: str) -> Locator:
        """The line under a panel."""
        return self.page.locator(f".panel-column:has(#panel-{side}) .side-note")

    def vote(self, number: int) -> Locator:
        """One of the four buttons, from 1."""
        return self.page.locator(f"#vote-{number}")

    def expect_status(self, *names: str) -> None:
        """Waits until the battle stands so."""
        expect(self.status).to_have_attribute("data-status", re.compile("|".join(names)))

    def expect_edition(self, answers: int) -> None:
        """Waits until so many answers have ended."""
        expect(self.status).to_have_attribute("data-edition", str(answers))

    def ask(self, prompt: str) -> None:
        """Sends a prompt by Enter and waits until it was taken."""
        self.prompt.fill(prompt)
        self.prompt.press("Enter")
        expect(self.prompt).to_have_value("")

    def battle(self, prompt: str = "Hello") -> str:
        """Asks and waits for both answers; the battle's id."""
        self.ask(prompt)
        self.expect_status("ready")
        return self.battle_id

    def expect_reveal(self) -> list[str]:
        """Waits for the names, and returns them."""
        self.expect_status("voted")
        expect(self.names).to_have_count(2)
        return self.names.all_inner_texts()

    def reload(self) -> None:
        """Loads the page again and waits until it is alive."""
        self.page.reload()
        expect(self.prompt).to_be_editable()


@dataclass
class Visitor:
    """A browser with its own cookies, and what it asked for and complained about.

    Attributes:
        arena: the arena that is visited.
        context: the browser's.
        requests: every address asked for.
        complaints: errors and warnings of the console, and uncaught exceptions.
        dialogs: the questions that were asked; each is dismissed unless `agrees`.
        agrees: whether the next questions are answered with yes.
    """

    arena: RunningArena
    context: BrowserContext
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    agrees: bool = False

    def open(self, path: str = "/en/") -> BattleTab:
        """A new tab on a page of the arena, once it can be used."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._answer)
        page.goto(self.arena.address + path)
        tab = BattleTab(page)
        expect(tab.prompt).to_be_editable()
        return tab

    def watch(self) -> None:
        """Begins to keep requests and complaints."""
        self.context.on("request", self._keep_request)
        self.context.on("console", self._keep_complaint)

    @property
    def foreign_requests(self) -> list[str]:
        """What was asked for elsewhere than at the arena."""
        own = (self.arena.address, "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(own)]

    def config(self, language: str = "en") -> dict[str, object]:
        """What Gradio tells a browser about the page."""
        answer = self.context.request.get(f"{self.arena.address}/{language}/config")
        config = answer.json()
        assert isinstance(config, dict)
        return config

    def forge(self, elem_id: str, *data: str) -> str:
        """Clicks a button without its page: the raw event, and everything that came back.

        Args:
            elem_id: of the button.
            data: what its page would send, the battle's id at the end.
        """
        config = json.loads(json.dumps(self.config()))
        button = next(
            part["id"] for part in config["components"] if part["props"].get("elem_id") == elem_id
        )
        event = next(
            event["id"] for event in config["dependencies"] if [button, "click"] in event["targets"]
        )
        session = f"forged-{elem_id}-{data[-1][:8]}"
        queue = f"{self.arena.address}/en/gradio_api/queue"
        joined = self.context.request.post(
            f"{queue}/join",
            data={"data": data, "fn_index": event, "session_hash": session},
        )
        assert joined.ok, joined.text()
        return self.context.request.get(f"{queue}/data?session_hash={session}").text()

    def _answer(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        (dialog.accept if self.agrees else dialog.dismiss)()

    def _keep_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _keep_complaint(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not LEAVING.search(message.text):
            self.complaints.append(message.text)
