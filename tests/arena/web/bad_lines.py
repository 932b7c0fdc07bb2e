"""What goes wrong between a browser and an arena, when, and what must be right afterwards.

A case is an event of a page, a cut of the line and the moment of the cut. `play` plays one in
a real browser and raises where something was lost, counted twice or needed a reload by hand.
"""

from __future__ import annotations

import re
import secrets
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx2
from board_votes import cast_many, register
from expert_steps import answer_battle, assign, invite
from experts_at_work import key_of
from misbehaving_proxy import Manner, MisbehavingProxy
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena
from sqlalchemy import create_engine, select
from visitors import PATIENCE

from arena.agreement.keys import AnalystKeys
from arena.rules.battles import Outcome
from arena.settings import Settings, read_signing_secret
from arena.store import open_store
from arena.store.expert_tables import assignment_tasks, experts, judgements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Locator, Page
    from serving_arena import RunningArena

# Names that are also below, in votes.
MODELS = ("Amber", "Birch")
WORDS = 24
# A dead line must be told from a slow one in less time than the product allows (20 s); the
# server's sign of life is quicker by as much.
HURRIED = {
    "silence": 4000, "slow": 1500, "probe": 1000, "answer": 4000, "longest": 500, "first": 100,
    "back": 500,
}  # fmt: skip
HEARTBEAT_SECONDS = "0.5"
OUTAGE_MS = 1200
DEAD_MS = 4000
# Streams that an arena of these tests keeps for those who are not listening.
PENDING_STREAMS = 20
DRAFT = "typed meanwhile"


def answers() -> dict[str, dict[str, object]]:
    """What the recorded models answer: words, ten a second."""
    text = " ".join(f"word{number}" for number in range(WORDS))
    return {"*": {"answer": text, "tokens": WORDS, "tokens_per_second": 10}}


class Workers:
    """The processes of an arena, each of which may be killed and started again.

    Args:
        folder: an empty one.
        record: where the votes are.
        database: the same as the processes see it; `None` for a file in the folder.

    Attributes:
        record: where the votes are, for looking beside them.
    """

    def __init__(self, folder: Path, *, record: str, database: str | None = None) -> None:
        self._folder = folder
        self.record = create_engine(record)
        self._models = [recorded_model(name, folder, answers=answers()) for name in MODELS]
        self._database = {} if database is None else {"database": {"url": database}}
        self._running = ExitStack()
        self.first = self._start(0)
        self.second: RunningArena | None = None

    def _start(self, port: int) -> RunningArena:
        return self._running.enter_context(
            running_arena(
                self._models,
                data_dir=self._folder / "data",
                port=port,
                battles={"grace_seconds": 6.0},
                leaderboard={"refresh_seconds": 0.5, "replicates": 100},
                seams={"PENDING_STREAMS": PENDING_STREAMS},
                **self._database,
            )
        )

    def restart(self) -> None:
        """Kills the first process; it is back once this returns."""
        self.first.kill()
        self.first = self._start(port_of(self.first))

    def other(self) -> RunningArena:
        """A second process on the same record."""
        if self.second is None:
            self.second = self._start(0)
        return self.second

    def close(self) -> None:
        self._running.close()
        self.record.dispose()

    def count(self, query: str, *values: object) -> int:
        """The only value of the only row."""
        if self.record.dialect.name == "postgresql":
            query = query.replace("?", "%s")
        with self.record.connect() as connection:
            value = connection.exec_driver_sql(query, values).scalar_one()
        assert isinstance(value, int)
        return value


def port_of(arena: RunningArena) -> int:
    return int(arena.address.rsplit(":", 1)[1])


@dataclass
class Line:
    """What lies between a browser and an arena.

    Attributes:
        workers: the arena.
        proxy: in front of it.
        context: the browser's.
        database: the proxy between the arena and its database, where there is one.
    """

    workers: Workers
    proxy: MisbehavingProxy
    context: BrowserContext
    database: MisbehavingProxy | None = None

    def wait(self, milliseconds: float) -> None:
        """Lets the browser go on meanwhile."""
        self.context.pages[0].wait_for_timeout(milliseconds)


# Cuts


@contextmanager
def _offline(line: Line) -> Iterator[None]:
    line.context.set_offline(True)
    line.proxy.reset()  # the switch leaves open streams alone; a phone without a network does not
    yield
    line.wait(OUTAGE_MS)
    line.context.set_offline(False)


def _behaving(
    manner: Manner, milliseconds: float
) -> Callable[[Line], AbstractContextManager[None]]:
    @contextmanager
    def cut(line: Line) -> Iterator[None]:
        with line.proxy.behaving(manner):
            yield
            line.wait(milliseconds)

    return cut


@contextmanager
def _clean_end(line: Line) -> Iterator[None]:
    line.proxy.end_streams()
    yield
    line.proxy.end_streams()


@contextmanager
def _restarted(line: Line) -> Iterator[None]:
    line.workers.first.kill()
    yield
    line.workers.restart()


@contextmanager
def _other_worker(line: Line) -> Iterator[None]:
    line.proxy.point_at(port_of(line.workers.other()))
    yield
    line.wait(OUTAGE_MS)
    line.proxy.point_at(port_of(line.workers.first))


@contextmanager
def _pushed_out(line: Line) -> Iterator[None]:
    push_out(line.workers.first.address)
    yield
    push_out(line.workers.first.address)


@contextmanager
def _database_away(line: Line) -> Iterator[None]:
    assert line.database is not None
    with line.database.behaving(Manner.RESET):
        yield
        line.wait(OUTAGE_MS)


CUTS: Mapping[str, Callable[[Line], AbstractContextManager[None]]] = {
    "offline": _offline,
    "reset": _behaving(Manner.RESET, OUTAGE_MS),
    "502": _behaving(Manner.BAD_GATEWAY, OUTAGE_MS),
    "clean end": _clean_end,
    "dead line": _behaving(Manner.SILENT, DEAD_MS),
    "slow": _behaving(Manner.LATE, DEAD_MS),
    "restarted": _restarted,
    "other worker": _other_worker,
    "pushed out": _pushed_out,
    "database away": _database_away,
}


def push_out(address: str) -> None:
    """Takes the places of all sessions of the battle and experts' pages."""
    with httpx2.Client(base_url=address, trust_env=False) as client:
        for page in ("/en", "/en/expert"):
            config = client.get(f"{page}/config").json()
            event = next(each for each in config["dependencies"] if each["queue"] is not False)
            for _ in range(PENDING_STREAMS + 5):
                sent = {
                    "data": ["" for _ in event["inputs"]],
                    "fn_index": event["id"],
                    "session_hash": secrets.token_hex(8),
                }
                client.post(f"{page}/gradio_api/queue/join", json=sent)


# Pages


@dataclass
class Visit:
    """A page in a tab, with what must still be so in the end.

    Attributes:
        line: to the arena.
        page: the tab.
        loads: how often a document was loaded.
        voter: the expert's or the voter's id, where it matters.
        facts: what the preparation found.
    """

    line: Line
    page: Page
    loads: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def part(self, selector: str) -> Locator:
        return self.page.locator(selector)

    @property
    def prompt(self) -> Locator:
        return self.part("#prompt textarea")

    def expect_status(self, *names: str) -> None:
        expect(self.part(".battle-status")).to_have_attribute(
            "data-status", re.compile("|".join(names))
        )

    @property
    def battle(self) -> str:
        return self.part(".battle-status").get_attribute("data-battle") or ""

    def count(self, query: str, *values: object) -> int:
        return self.line.workers.count(query, *values)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something a visitor does.

    Attributes:
        page: its path.
        prepare: brings the page to where it can be done.
        act: does it, without waiting for what comes of it.
        check: waits for what must come of it, and that it came once.
        streams: whether there is a middle of it.
        draft: whether a text typed before must still be there afterwards.
    """

    prepare: Callable[[Visit], None]
    act: Callable[[Visit], None]
    check: Callable[[Visit], None]
    streams: bool = False
    draft: str = ""


def _open(visit: Visit, path: str) -> None:
    visit.page.goto(visit.line.proxy.address + path)


def _open_battle(visit: Visit) -> None:
    _open(visit, "/en/")
    expect(visit.prompt).to_be_editable()


def _ask(visit: Visit, words: str = "Hello") -> None:
    visit.prompt.fill(words)
    visit.prompt.press("Enter")


def _make_ready(visit: Visit) -> None:
    _open_battle(visit)
    _ask(visit, "The first question")
    visit.expect_status("ready")
    visit.facts["battle"] = visit.battle


def _make_abandoned(visit: Visit) -> None:
    _open_battle(visit)
    visit.page.on("dialog", lambda dialog: dialog.accept())
    _ask(visit, "Never mind")
    expect(visit.part("#panel-a")).to_contain_text("word1 ")
    battle = visit.battle
    visit.part("#new-battle").click()
    visit.expect_status("idle")
    _open(visit, f"/en/?battle={battle}")
    visit.expect_status("abandoned")


def _click(selector: str) -> Callable[[Visit], None]:
    return lambda visit: visit.part(selector).click()


def _is_whole(visit: Visit) -> None:
    for side in "ab":
        expect(visit.part(f"#panel-{side}")).to_contain_text(f"word{WORDS - 1}")


def _check_asked(visit: Visit) -> None:
    """The prompt is on record once, with two answers, and can be voted on."""
    _finish_answers(visit)
    voter = "SELECT voter_id FROM battles WHERE id = ?"
    asked = "SELECT count(*) FROM battles b JOIN turns t ON t.battle_id = b.id AND t.turn = 0"
    where = f"{asked} WHERE b.voter_id = ({voter}) AND t.prompt = 'Hello'"
    assert visit.count(where, visit.battle) == 1
    expect(visit.prompt).to_have_value("")


def _finish_answers(visit: Visit) -> None:
    """Where the process died the voter goes on by one press, on the page as it is."""
    visit.page.wait_for_function("window.arenaConnection.pending() === 0", timeout=PATIENCE)
    visit.expect_status("ready", "abandoned", "failed")
    if visit.part(".battle-status").get_attribute("data-status") != "ready":
        visit.part("#retry").click()
        visit.expect_status("ready")
    _is_whole(visit)


def _check_followed(visit: Visit) -> None:
    expect(visit.part(".battle-status")).to_have_attribute("data-turns", "2")
    _finish_answers(visit)
    assert visit.count("SELECT count(*) FROM turns WHERE battle_id = ?", visit.battle) == 2
    expect(visit.prompt).to_have_value("")


def _check_regenerated(visit: Visit) -> None:
    expect(visit.part(".battle-status")).not_to_have_attribute("data-edition", "2")
    _finish_answers(visit)
    complete = "SELECT count(*) FROM responses WHERE battle_id = ? AND status = 'complete'"
    assert visit.count(complete, visit.battle) == 4
    begun = "SELECT count(*) FROM responses WHERE battle_id = ? AND attempt > 2"
    assert visit.count(begun, visit.battle) == 0


def _check_retried(visit: Visit) -> None:
    _finish_answers(visit)
    complete = "SELECT count(*) FROM responses WHERE battle_id = ? AND status = 'complete'"
    assert visit.count(complete, visit.battle) == 2


def _check_voted(visit: Visit) -> None:
    visit.expect_status("voted")
    expect(visit.part(".reveal-card h3")).to_have_count(2)
    assert visit.count("SELECT count(*) FROM votes WHERE battle_id = ?", visit.battle) == 1
    told = "SELECT count(*) FROM votes WHERE battle_id = ? AND outcome = 'model_b'"
    assert visit.count(told, visit.battle) == 1


def _accept_dialogs(visit: Visit) -> None:
    _make_ready(visit)
    visit.page.on("dialog", lambda dialog: dialog.accept())


def _check_new(visit: Visit) -> None:
    visit.expect_status("idle")
    assert "battle=" not in visit.page.url


def _check_surprised(visit: Visit) -> None:
    expect(visit.prompt).not_to_have_value("")


def _restore(visit: Visit) -> None:
    visit.page.evaluate("document.getElementById('restore').click()")


def _check_restored(visit: Visit) -> None:
    visit.expect_status("ready")
    assert visit.battle == visit.facts["battle"]
    _is_whole(visit)


def _open_expert(visit: Visit, *, battles: int = 3, judged: int = 0, studies: int = 1) -> None:
    name = f"Expert {secrets.token_hex(4)}"
    visit.facts["expert"] = name
    url = visit.line.workers.record.url.render_as_string(hide_password=False)
    with closing(open_store(url)) as store:
        expert = invite(store, name)
        for study in range(studies):
            for number in range(battles):
                voter = f"{name} {study} {number}"
                battle_id = answer_battle(store, models=MODELS, voter_id=voter)
                store.battles.vote(battle_id, voter_id=voter, outcome=Outcome.TIE)
            assign(store, [expert], battles=battles, name=f"{name} {study}")
    key = key_of(visit.line.workers.first, expert)
    _open(visit, f"/en/expert/?key={key}")
    for number in range(judged):
        expect(visit.part(".expert-progress label")).to_contain_text(f"{number} of ")
        visit.part("#vote-3").click()
    if judged < battles:
        expect(visit.part(".expert-progress label")).to_contain_text(f"{judged} of ")
        expect(visit.part("#vote-1")).to_be_enabled()
    else:
        expect(visit.part("#go-on")).to_be_enabled()


def _verdicts(visit: Visit) -> list[tuple[object, ...]]:
    """What is on record of the expert: why there is no verdict, comment, whether taken back."""
    url = visit.line.workers.record.url.render_as_string(hide_password=False)
    with closing(open_store(url)) as store, store.engine.connect() as connection:
        query = (
            select(judgements)
            .join(assignment_tasks, assignment_tasks.c.id == judgements.c.task_id)
            .join(experts, experts.c.voter_id == assignment_tasks.c.voter_id)
            .where(experts.c.name == visit.facts["expert"])
        )
        return [
            (row["cannot_judge"], row["comment"], row["retracted_at"] is not None)
            for row in connection.execute(query).mappings()
        ]


def _judge(visit: Visit) -> None:
    visit.part("#comment").fill("Neat, I think.")
    visit.part("#vote-1").click()


def _check_judged(visit: Visit) -> None:
    expect(visit.part(".expert-progress label")).to_contain_text("1 of 3")
    assert _verdicts(visit) == [(None, "Neat, I think.", False)]
    expect(visit.part("#comment")).to_have_value("")


def _say_no(visit: Visit) -> None:
    visit.part("#cannot-reason").select_option("subject")
    visit.part("#cannot-judge").click()


def _check_said_no(visit: Visit) -> None:
    expect(visit.part(".expert-progress label")).to_contain_text("1 of 3")
    assert _verdicts(visit) == [("subject", "", False)]


def _check_undone(visit: Visit) -> None:
    expect(visit.part(".expert-progress label")).to_contain_text("1 of 3")
    assert {taken_back for _, _, taken_back in _verdicts(visit)} == {False, True}
    assert len(_verdicts(visit)) == 2


def _check_gone_on(visit: Visit) -> None:
    expect(visit.part(".expert-progress label")).to_contain_text("0 of 1")


def _open_leaderboard(visit: Visit) -> None:
    _open(visit, "/en/leaderboard/")
    expect(visit.part('[data-choice="category"]')).to_be_visible()


def _choose(visit: Visit) -> None:
    visit.part('[data-choice="category"]').select_option("coding")


def _check_chosen(visit: Visit) -> None:
    expect(visit.part("#board .board")).to_have_attribute("data-category", "coding")
    expect(visit.part('[data-choice="category"]')).to_have_value("coding")
    assert "category=coding" in visit.page.url


def _open_agreement(visit: Visit) -> None:
    secret = read_signing_secret(Settings(data_dir=visit.line.workers.first.data_dir))
    key = AnalystKeys(secret).sign(datetime.now(UTC) + timedelta(days=1))
    _open(visit, f"/en/agreement/?key={key}")
    expect(visit.part("#agreement")).to_be_visible()


def _follow_link(visit: Visit) -> None:
    visit.part("#language-switch").click(no_wait_after=True)
    visit.loads.clear()


def _check_followed_link(visit: Visit) -> None:
    visit.page.wait_for_url("**/zh/agreement/**")
    expect(visit.part(".site-header")).to_be_visible()
    visit.loads.clear()


EVENTS: Mapping[str, Event] = {
    "send": Event(prepare=_open_battle, act=_ask, check=_check_asked, streams=True),
    "follow-up": Event(prepare=_make_ready, act=_ask, check=_check_followed, streams=True),
    "regenerate": Event(
        prepare=_make_ready, act=_click("#regenerate"), check=_check_regenerated, streams=True,
        draft="#prompt textarea",
    ),
    "retry": Event(
        prepare=_make_abandoned, act=_click("#retry"), check=_check_retried, streams=True
    ),
    "vote": Event(
        prepare=_make_ready, act=_click("#vote-2"), check=_check_voted, draft="#prompt textarea"
    ),
    "new battle": Event(prepare=_accept_dialogs, act=_click("#new-battle"), check=_check_new),
    "surprise": Event(prepare=_open_battle, act=_click("#surprise"), check=_check_surprised),
    "restore": Event(
        prepare=_make_ready, act=_restore, check=_check_restored, draft="#prompt textarea"
    ),
    "verdict": Event(prepare=_open_expert, act=_judge, check=_check_judged),
    "cannot judge": Event(prepare=_open_expert, act=_say_no, check=_check_said_no),
    "take back": Event(
        prepare=lambda visit: _open_expert(visit, judged=2),
        act=_click("#undo"),
        check=_check_undone,
    ),
    "next study": Event(
        prepare=lambda visit: _open_expert(visit, battles=1, judged=1, studies=2),
        act=_click("#go-on"),
        check=_check_gone_on,
    ),
    "category": Event(prepare=_open_leaderboard, act=_choose, check=_check_chosen),
    "link": Event(prepare=_open_agreement, act=_follow_link, check=_check_followed_link),
}  # fmt: skip
MOMENTS = ("sending", "first 60 ms", "mid-answer", "at rest")


def _press_again(visit: Visit, event: Event) -> None:
    """Without its database the arena says so, and leaves the page as it is for another try."""
    page = visit.page
    page.wait_for_function("window.arenaConnection.pending() === 0", timeout=PATIENCE)
    if page.locator(".notice:not(:empty)").count():
        event.act(visit)


def cases(*, cuts: tuple[str, ...] = tuple(CUTS)) -> list[tuple[str, str, str]]:
    """Every event at every moment that it has, under every cut."""
    return [
        (event, moment, cut)
        for event, about in EVENTS.items()
        for moment in MOMENTS
        if about.streams or moment != "mid-answer"
        for cut in cuts
    ]


@contextmanager
def open_workers(
    folder: Path, *, record: str | None = None, database: str | None = None
) -> Iterator[Workers]:
    """An arena with votes in two categories.

    Args:
        folder: does not exist yet.
        record: the URL of an empty database, `None` for a file in the folder.
        database: the same as the processes see it.
    """
    (folder / "data").mkdir(parents=True)
    record = record or f"sqlite:///{folder}/data/arena.db"
    with closing(open_store(record)) as store:
        register(store, MODELS)
        for seed, category in enumerate(("coding", "mathematics")):
            cast_many(store, MODELS, 400, seed=seed, category=category)
    workers = Workers(folder, record=record, database=database)
    try:
        yield workers
    finally:
        workers.close()


@contextmanager
def open_line(
    browser: Browser,
    workers: Workers,
    proxy: MisbehavingProxy,
    *,
    database: MisbehavingProxy | None = None,
    limits: Mapping[str, int] = HURRIED,
) -> Iterator[Line]:
    """A new visitor behind the proxy."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(f"window.arenaLimits = {dict(limits)}")
    try:
        yield Line(workers, proxy, context, database)
    finally:
        context.close()


def play(line: Line, event_name: str, moment: str, cut_name: str) -> None:
    """Plays one case.

    Raises:
        AssertionError: something was lost, counted twice, or needs a reload by hand.
    """
    event = EVENTS[event_name]
    page = line.context.new_page()
    visit = Visit(line, page)
    event.prepare(visit)
    if event.draft:
        visit.part(event.draft).fill(DRAFT)
    page.evaluate("window.isSamePage = true")
    page.on("load", lambda loaded: visit.loads.append(loaded.url))
    cut = CUTS[cut_name](line)
    if moment == "at rest":
        with cut:
            page.wait_for_timeout(50)
        event.act(visit)
    elif moment == "sending":
        with cut:
            event.act(visit)
    else:
        event.act(visit)
        if moment == "mid-answer":
            expect(visit.part("#panel-a")).to_contain_text("word2 ")
        with cut:
            pass
    # A page that could not be read comes by itself.
    if cut_name == "database away" and moment != "at rest" and event_name != "link":
        _press_again(visit, event)
    event.check(visit)
    if event_name != "link":
        assert visit.loads == [], f"the page was loaded again: {visit.loads}"
        assert page.evaluate("window.isSamePage"), "the page was loaded again"
    if event.draft:
        expect(visit.part(event.draft)).to_have_value(DRAFT)
