"""The leaderboard page: what its HTML says, what it downloads, and how it behaves in a browser."""

from __future__ import annotations

import asyncio
import csv
import io
import string
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol
from zoneinfo import ZoneInfo

import gradio as gr
import pytest
import uvicorn
from board_votes import cast, cast_many, cast_with_texts, register
from expert_steps import JUDGE, let_judge
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from visitors import PATIENCE

import arena
from arena.leaderboards.judges import JudgeBoardKeeper
from arena.leaderboards.keeper import LeaderboardKeeper
from arena.leaderboards.published import OVERALL, Choice
from arena.leaderboards.recipe import DEFAULT_RECIPE
from arena.matchmaking.matchmaker import Matchmaker, Outlook, Prospect
from arena.matchmaking.strengths import Strengths
from arena.rules.battles import Outcome
from arena.settings import LeaderboardSettings
from arena.store import Store, open_store
from arena.store.tally import Census
from arena.web.identity import VoterTokens
from arena.web.leaderboard.judges import render_judges
from arena.web.leaderboard.next import PAIRS_SHOWN, render_next
from arena.web.leaderboard.page import build_leaderboard_page, leaderboard_routes, render_board
from arena.web.leaderboard.plots import MOST_MODELS, choose_ticks
from arena.web.leaderboard.table import COLUMNS
from arena.web.shell import PageShell
from arena.web.texts import LANGUAGES, load_texts
from arena.web.theme import build_theme
from ranking import Leaderboard, Options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Request

EVIL = "<script>window.hacked=1</script>"
TEMPLATE = "Cedar ${window.hacked=2} {{value}}"
NAMES = ("Amber", EVIL, TEMPLATE, 'Dune "& <b>Sons', "Elm")


@dataclass
class Cell:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class ParsedTable:
    attributes: dict[str, str | None]
    caption: str = ""
    rows: list[list[Cell]] = field(default_factory=list)


class TableParser(HTMLParser):
    """Collects tables, and the names of all elements."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tables: list[ParsedTable] = []
        self.elements: set[str] = set()
        self.choices: dict[str, dict[str, str | None]] = {}
        self.options: dict[str | None, bool] = {}
        self.text = ""
        self._in_caption = False
        self._cell: Cell | None = None
        self.feed(str(document))  # a template's pieces would escape what they are joined with

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        attributes = dict(attrs)
        if "data-choice" in attributes:
            self.choices[str(attributes["data-choice"])] = attributes
        if tag == "option":
            self.options[attributes["value"]] = "selected" in attributes
        if tag == "table":
            self.tables.append(ParsedTable(dict(attrs)))
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag in ("td", "th"):
            self._cell = Cell(tag, dict(attrs))
            self.tables[-1].rows[-1].append(self._cell)
        self._in_caption = tag == "caption"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_caption:
            self.tables[-1].caption += data
        if self._cell is not None:
            self._cell.text += data


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/arena.db")
    register(opened, NAMES, license_name="MIT <or> Apache-2.0")
    yield opened
    opened.close()


def make_boards(store: Store, names: tuple[str, ...] = NAMES) -> LeaderboardKeeper:
    settings = LeaderboardSettings(replicates=100, refresh_seconds=0.2)
    boards = LeaderboardKeeper(store, Census(store.votes), settings=settings, models=names)
    boards.refresh()
    return boards


def make_matchmaker(store: Store, names: tuple[str, ...] = NAMES) -> Matchmaker:
    standing = Strengths(names, Census(store.votes))
    with ThreadPoolExecutor(1) as pool:  # Playwright has a loop of its own in this thread
        pool.submit(lambda: asyncio.run(standing.catch_up())).result()
    return Matchmaker(names, standing, policy="uncertainty", exploration=0.1)


def render(
    boards: LeaderboardKeeper, language: str = "en", *, choice: Choice = OVERALL
) -> TableParser:
    view = boards.view(choice)
    return TableParser(render_board(view, load_texts(language), language=language))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_empty_page_says_how_many_votes_are_needed_and_where_to_cast_one(
    store: Store, language: str
) -> None:
    boards = make_boards(store)
    html = render_board(boards.view(), load_texts(language), language=language)
    assert f'href="/{language}/"' in html
    text = TableParser(html).text
    assert "75" in text  # 5 models × 30 votes / 2 models a vote
    assert all(name in text for name in NAMES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_has_a_caption_scopes_and_the_numbers_of_the_board(
    store: Store, language: str
) -> None:
    cast_many(store, NAMES[:4], 600)
    boards = make_boards(store)
    board = boards.latest()
    assert board is not None
    page = render(boards, language)
    table = page.tables[0]
    head, *rows = table.rows
    assert table.caption
    assert [cell.attributes["scope"] for cell in head] == ["col"] * len(COLUMNS)
    assert [cell.attributes.get("aria-sort") for cell in head] == ["ascending"] + [None] * 8
    assert [row[1].attributes.get("scope") for row in rows] == ["row"] * 5
    for row, entry in zip(rows, board.leaderboard.entries, strict=False):
        shown = [cell.text for cell in row]
        assert shown[0].startswith(str(entry.rank))
        assert shown[1].startswith(entry.model)
        assert shown[2:5] == [
            f"{entry.score:.0f}",
            f"{entry.lower:.0f} – {entry.upper:.0f}",
            f"{entry.votes:,}",
        ]
        assert shown[5:7] == [f"{entry.win_rate:.0%}", f"{entry.both_bad_rate:.0%}"]
        assert shown[7:] == [f"Makers of {entry.model}", "MIT <or> Apache-2.0"]
    assert "95%" in head[3].text
    unranked = rows[-1]
    assert [unranked[0].text, unranked[1].text] == ["–", "Elm"]
    assert "600" in page.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_which_pairs_come_next_and_why(store: Store, language: str) -> None:
    cast_many(store, NAMES[:4], 600)
    outlook = make_matchmaker(store).outlook()
    html = render_next(outlook, load_texts(language))
    page = TableParser(html)
    assert "script" not in page.elements
    likeliest = outlook.prospects[0]
    shown = outlook.prospects[:PAIRS_SHOWN]
    assert any("Elm" in {pair.model_a, pair.model_b} for pair in shown)  # nobody has voted on it
    assert f"{likeliest.probability:.0%}" in page.text
    assert all(pair.model_a in page.text for pair in outlook.prospects[:PAIRS_SHOWN])
    assert str(outlook.pairs - PAIRS_SHOWN) in page.text
    words = load_texts(language)["leaderboard"]
    assert words["next_late"].format(model="Elm", votes=0, due=300) in page.text
    assert words["next_none"] in render_next(None, load_texts(language))


def test_the_reason_follows_from_what_is_known_of_a_pair(store: Store) -> None:
    texts = load_texts("en")
    words = texts["leaderboard"]
    pair = Prospect(
        model_a="Amber",
        model_b="Elm",
        probability=0.004,
        battles=12,
        votes_a=400,
        votes_b=300,
        win_probability=0.55,
        stronger_probability=0.81,
        standard_error=20.0,
        newcomer=None,
        votes_due=0,
    )

    def told(**changes: float | str) -> str:
        prospect = replace(pair, **changes)  # type: ignore[arg-type]
        outlook = Outlook(policy="uncertainty", prospects=(prospect,), pairs=1, is_even=False)
        return TableParser(render_next(outlook, texts)).text

    assert words["next_open"].format(a="Amber", percent="81%", votes="12") in told()
    assert words["next_unmet"].format(a="Amber", percent="81%") in told(battles=0)
    assert words["next_new"].format(model="Elm", votes=29) in told(votes_b=29)
    assert words["next_known"].format(a="Amber", points="39") in told(stronger_probability=0.99)
    late = words["next_late"].format(model="Elm", votes="300", due="1,000")
    assert late in told(newcomer="Elm", votes_due=1_000)
    assert "<1%" in told()
    assert "All pairs are drawn alike" not in told()


@pytest.mark.parametrize("language", LANGUAGES)
def test_judges_have_boards_of_their_own_beside_that_of_people(store: Store, language: str) -> None:
    texts = load_texts(language)
    battles = [cast(store, "Amber", EVIL, Outcome.MODEL_A, voter_id=f"v{n}") for n in range(6)]
    boards, judged = make_boards(store), judge(store)
    judged.refresh()
    assert render_judges(judged.latest(), boards.latest(), texts) == ""
    let_judge(store, dict.fromkeys(battles, (Outcome.MODEL_B, Outcome.MODEL_B)))
    judged.refresh()
    (board,) = judged.latest()
    assert (board.judge, board.verdicts) == (JUDGE, 6)
    page = TableParser(render_judges(judged.latest(), boards.latest(), texts))
    assert "script" not in page.elements
    (table,) = page.tables
    assert JUDGE in table.caption
    # The judge holds the opposite of what people say.
    assert [[cell.text for cell in row][::5] for row in table.rows[1:]] == [["1", "2"], ["2", "1"]]
    assert [row[1].text for row in table.rows[1:]] == [EVIL, "Amber"]
    boards.refresh()
    people = boards.latest()
    assert people is not None
    assert people.votes == 6  # and none of the judge's counts among them


def test_names_and_cards_never_become_elements(store: Store) -> None:
    cast_many(store, NAMES, 300)
    page = render(make_boards(store))
    assert EVIL in page.text
    assert "script" not in page.elements
    assert "sons" not in page.elements


def test_both_heat_maps_have_the_pairs_of_the_board(store: Store) -> None:
    cast(store, "Amber", "Elm", Outcome.MODEL_A)
    cast(store, "Amber", "Elm", Outcome.TIE)
    cast(store, "Elm", TEMPLATE, Outcome.BOTH_BAD)
    boards = make_boards(store)
    board = boards.latest()
    assert board is not None
    _, rates, counts = render(boards).tables
    names = list(board.leaderboard.models)
    for table in (rates, counts):
        assert [cell.text for cell in table.rows[0][1:]] == names
        assert [row[0].text for row in table.rows[1:]] == names
    a, e = names.index("Amber"), names.index("Elm")
    assert rates.rows[a + 1][e + 1].text == "75"
    # Two battles say next to nothing: pale and hatched.
    assert rates.rows[a + 1][e + 1].attributes["style"] == "--share:0.750;--weight:0.17"
    assert rates.rows[a + 1][e + 1].attributes["class"] == "board-thin"
    assert rates.rows[e + 1][a + 1].text == "25"
    assert counts.rows[a + 1][e + 1].text == "2"
    t = names.index(TEMPLATE)
    assert rates.rows[e + 1][t + 1].text == ""  # only both-bad: there is no win rate
    assert counts.rows[e + 1][t + 1].text == "1"
    assert counts.rows[a + 1][t + 1].text == ""


def test_of_many_models_the_heat_maps_show_the_first(tmp_path: Path) -> None:
    names = tuple(f"model-{i:02}" for i in range(MOST_MODELS + 5))
    store = open_store(f"sqlite:///{tmp_path}/many.db")
    register(store, names)
    cast_many(store, names, 2000)
    page = render(make_boards(store, names))
    store.close()
    ranking, rates, counts = page.tables
    assert len(ranking.rows) == 1 + len(names)
    assert len(rates.rows) == len(counts.rows) == 1 + MOST_MODELS
    assert f"first {MOST_MODELS} of {len(names)} models" in page.text


def test_provisional_models_are_marked_and_explained_and_settled_ones_are_not(
    store: Store,
) -> None:
    cast_many(store, NAMES[:4], 600)
    cast(store, "Elm", "Amber", Outcome.MODEL_A)
    page = render(make_boards(store))
    marked = {
        row[1].text.split(" ")[0] for row in page.tables[0].rows[1:] if "provis" in row[1].text
    }
    assert marked == {"Elm"}
    assert "Fewer than 30 votes" in page.text
    assert "at least 15" in page.text  # Elm has 1 of 30 votes, and each vote counts for two

    settled = render(make_boards(store, NAMES[:4]))
    assert "Votes still needed" not in settled.text
    retired = [row[1].text for row in settled.tables[0].rows[1:] if "retired" in row[1].text]
    assert [name.split(" ")[0] for name in retired] == ["Elm"]


def test_islands_are_named_as_groups(store: Store) -> None:
    cast(store, "Amber", "Elm", Outcome.MODEL_A)
    cast(store, EVIL, TEMPLATE, Outcome.MODEL_A)
    page = render(make_boards(store))
    assert "group B" in page.text
    assert "1 of 2" in page.text
    assert "have never met" in page.text


def test_the_languages_have_the_same_texts_with_the_same_places_for_values() -> None:
    def places(language: str) -> dict[str, set[str | None]]:
        texts = load_texts(language)["leaderboard"]
        return {
            key: {name for _, name, _, _ in string.Formatter().parse(text) if name}
            for key, text in texts.items()
        }

    assert places("en") == places("zh")


@given(st.floats(-5000, 5000), st.floats(0, 5000))
def test_ticks_enclose_the_range_and_are_few_and_evenly_spaced(low: float, span: float) -> None:
    ticks = choose_ticks(low, low + span)
    steps = {round(b - a, 6) for a, b in pairwise(ticks)}
    assert ticks[0] <= low
    assert ticks[-1] >= low + span
    assert 2 <= len(ticks) <= 9
    assert len(steps) == 1


def judge(store: Store) -> JudgeBoardKeeper:
    return JudgeBoardKeeper(store.judge_verdicts, DEFAULT_RECIPE)


def make_app(boards: LeaderboardKeeper, judged: JudgeBoardKeeper) -> FastAPI:
    app = FastAPI()
    app.include_router(leaderboard_routes(boards, judged))
    return app


def test_downloads_before_the_first_vote_say_so(store: Store) -> None:
    client = TestClient(make_app(make_boards(store), judge(store)))
    for kind in ("csv", "json"):
        answer = client.get(f"/leaderboard.{kind}")
        assert answer.status_code == 404
        assert "no leaderboard yet" in answer.json()["error"]


def test_the_json_holds_the_board_and_what_made_it(store: Store) -> None:
    cast_many(store, NAMES, 300)
    boards = make_boards(store)
    board = boards.latest()
    assert board is not None
    answer = TestClient(make_app(boards, judge(store))).get("/leaderboard.json")
    data = answer.json()
    assert Leaderboard.from_dict(data["leaderboard"]) == board.leaderboard
    assert (data["snapshot"], data["votes"], data["last_vote_id"]) == (1, 300, 300)
    assert data["options"] == Options(replicates=100).to_dict()
    assert data["code_version"] == arena.__version__
    assert data["settings"]["options"]["replicates"] == 100
    assert 'filename="leaderboard-1.json"' in answer.headers["content-disposition"]


def test_the_csv_has_a_line_a_model_that_names_snapshot_level_method_and_seed(
    store: Store,
) -> None:
    cast_many(store, NAMES, 300)
    boards = make_boards(store)
    board = boards.latest()
    assert board is not None
    answer = TestClient(make_app(boards, judge(store))).get("/leaderboard.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert [line["model"] for line in lines] == list(board.leaderboard.models)
    for line, entry in zip(lines, board.leaderboard.entries, strict=True):
        assert float(line["score"]) == entry.score
        assert int(line["votes"]) == entry.votes
        origin = [line[key] for key in ("snapshot", "level", "tie_model", "interval", "seed")]
        assert origin == ["1", "0.95", "half", "bootstrap", "0"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_selector_and_the_switch_offer_what_there_is_and_say_what_is_shown(
    store: Store, language: str
) -> None:
    words = load_texts(language)["categories"]
    cast_with_texts(store, NAMES, 120, longer_wins=2.0, seed=1, category="coding")
    cast_with_texts(store, NAMES, 30, longer_wins=2.0, seed=2, category="math")
    boards = make_boards(store)
    overall = render(boards, language)
    assert overall.options == {"": True, "coding": False}
    assert words["coding"] in overall.text
    assert words["math"] not in overall.text
    assert "checked" not in overall.choices["style"]

    coding = render(boards, language, choice=Choice("coding"))
    assert coding.options == {"": False, "coding": True}
    board = boards.view(Choice("coding")).board
    assert board is not None
    shown = [row[2].text for row in coding.tables[0].rows[1:]]
    assert shown == [f"{entry.score:.0f}" for entry in board.leaderboard.entries]
    assert "120" in coding.text
    assert "150" in coding.text

    adjusted = render(boards, language, choice=Choice("coding", at_equal_style=True))
    assert "checked" in adjusted.choices["style"]
    assert adjusted.options == {"": False, "coding": True}
    assert [row[2].text for row in adjusted.tables[0].rows[1:]] != shown
    assert load_texts(language)["leaderboard"]["feature_length"] in adjusted.text
    assert "95%" in adjusted.text


def test_where_there_is_nothing_to_choose_nothing_is_offered(store: Store) -> None:
    cast_many(store, NAMES, 99, category="coding")
    page = render(make_boards(store))
    assert page.choices == {}
    assert page.options == {}


def test_a_category_that_a_maintainer_made_up_is_shown_by_its_name(store: Store) -> None:
    cast_many(store, NAMES, 100, category="<b>tea")
    page = render(make_boards(store), "zh")
    assert "<b>tea" in page.options
    assert "<b>tea" in page.text


def test_the_json_has_the_other_boards_too(store: Store) -> None:
    cast_with_texts(store, NAMES, 200, longer_wins=2.0, category="coding")
    boards = make_boards(store)
    board = boards.latest()
    assert board is not None
    assert board.style is not None
    assert board.style.overall is not None
    others = TestClient(make_app(boards, judge(store))).get("/leaderboard.json").json()["boards"]
    coding = others["category"]["coding"]
    assert coding["votes"] == 200
    assert Leaderboard.from_dict(coding["board"]) == board.categories["coding"].leaderboard
    style = Leaderboard.from_dict(others["style"]["overall"]["board"])
    assert style == board.style.overall.leaderboard
    assert style.method["interval"] == "sandwich"


@dataclass(frozen=True)
class Site:
    """A served arena of leaderboards alone."""

    address: str
    store: Store

    def vote(self, model_a: str, model_b: str) -> None:
        cast(self.store, model_a, model_b, Outcome.MODEL_A, voter_id="late")


@pytest.fixture
def styled_votes(store: Store) -> None:
    """Votes of two categories; asked for before `site`, whose first board has them all."""
    cast_with_texts(store, NAMES, 300, longer_wins=3.0, seed=1, category="coding")
    cast_with_texts(store, NAMES, 150, longer_wins=3.0, seed=2, category="math")


@pytest.fixture
def site(store: Store) -> Iterator[Site]:
    boards = make_boards(store)
    matchmaker = make_matchmaker(store)

    @asynccontextmanager
    async def keep_fresh(_app: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(boards.keep_fresh())
        yield
        task.cancel()

    app = FastAPI(lifespan=keep_fresh)
    app.include_router(leaderboard_routes(boards, judge(store)))
    for language in LANGUAGES:
        texts = load_texts(language)
        page = build_leaderboard_page(
            texts,
            boards,
            matchmaker,
            judge(store),
            title="Test Arena",
            language=language,
            refresh_seconds=0.5,
        )
        gr.mount_gradio_app(
            app,
            page,
            f"/{language}/leaderboard",
            theme=build_theme(),
            footer_links=[],
            run_history=False,
            ssr_mode=False,
        )
    tokens = VoterTokens("a secret for tests")
    shell = PageShell(
        app, title="Test Arena", layout="edition", tokens=tokens, secure_cookies=False
    )
    server = uvicorn.Server(
        uvicorn.Config(shell, port=0, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Site(f"http://127.0.0.1:{port}", store)
    server.should_exit = True
    thread.join(20)


class Visit(Protocol):
    """Opens the leaderboard as a visitor in Tokyo."""

    def __call__(
        self,
        *,
        language: str = "en",
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        watch: Callable[[Request], None] | None = None,
        query: str = "",
    ) -> Page: ...


@pytest.fixture
def visit(site: Site, browser: Browser) -> Iterator[Visit]:
    contexts: list[BrowserContext] = []

    def open_page(
        *,
        language: str = "en",
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        watch: Callable[[Request], None] | None = None,
        query: str = "",
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id="Asia/Tokyo",
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        if watch is not None:
            page.on("request", watch)
        page.goto(f"{site.address}/{language}/leaderboard/{query}")
        page.wait_for_selector(".board")
        return page

    yield open_page
    for context in contexts:
        context.close()


def column(page: Page, number: int) -> list[str]:
    cells = page.locator(f".board-table tbody[data-sortable] tr > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


@pytest.mark.browser
def test_the_page_sorts_by_mouse_and_keyboard_and_runs_no_name(
    store: Store, site: Site, visit: Visit
) -> None:
    cast_many(store, NAMES, 600)
    page = visit()
    page.wait_for_selector(".board-table")
    votes = page.locator("thead th", has_text="Votes")
    assert votes.get_attribute("aria-sort") is None
    votes.get_by_role("button").click()
    assert votes.get_attribute("aria-sort") == "descending"
    assert page.locator("thead [aria-sort]").count() == 1
    shown = [int(text) for text in column(page, 5)]
    assert shown == sorted(shown, reverse=True)
    page.keyboard.press("Enter")  # the button still has the focus
    assert votes.get_attribute("aria-sort") == "ascending"
    assert [int(text) for text in column(page, 5)] == sorted(shown)
    page.locator("thead button", has_text="Model").press("Space")
    names = [text.split("\n")[0] for text in column(page, 2)]
    assert names[:2] in ([EVIL, "Amber"], ["Amber", TEMPLATE])
    assert page.evaluate("window.hacked") is None
    assert page.locator(".board-table").get_by_text(TEMPLATE, exact=True).is_visible()


@pytest.mark.browser
def test_an_open_page_takes_over_a_newer_board_and_keeps_what_was_chosen(
    store: Store, site: Site, visit: Visit
) -> None:
    page = visit(width=390)
    assert page.locator(".board-empty").is_visible()
    site.vote("Amber", "Elm")
    page.wait_for_selector(".board-table")
    assert column(page, 2)[0].startswith("Amber")
    button = page.locator("thead button", has_text="Score")
    button.click()
    button.click()
    page.locator("[data-keep=table]").evaluate("box => { box.scrollLeft = 60 }")
    site.vote("Amber", EVIL)
    page.wait_for_function(
        "document.querySelectorAll('.board-table [data-sortable] tr').length === 3"
    )
    assert page.locator("thead [aria-sort=ascending]").inner_text().startswith("Score")
    scores = [int(text) for text in column(page, 3)]
    assert scores == sorted(scores)
    assert page.locator("[data-keep=table]").evaluate("box => box.scrollLeft") == 60
    assert page.evaluate("document.activeElement.dataset.column") == "score"


@pytest.mark.browser
def test_an_open_page_is_sent_nothing_while_the_board_stays_the_same(
    store: Store, site: Site, visit: Visit
) -> None:
    site.vote("Amber", "Elm")
    page = visit()
    page.wait_for_selector(".board-table")
    bodies: list[str] = []
    for _ in range(5):  # each time that it asks
        with page.expect_response(lambda answer: "/run/" in answer.url) as answer:
            pass
        bodies.append(answer.value.text())
    quiet = bodies[2:]  # what was asked for while the board came may bring it once more
    assert not any("board-table" in body for body in quiet)
    assert max(map(len, quiet)) < 1000


@pytest.mark.browser
def test_the_time_is_the_visitors_and_no_request_leaves(
    store: Store, site: Site, visit: Visit
) -> None:
    urls: list[str] = []

    def watch(request: Request) -> None:
        urls.append(request.url)

    site.vote("Amber", "Elm")
    page = visit(language="zh", watch=watch)
    page.wait_for_selector(".board-table")
    time = page.locator("time")
    moment = datetime.fromisoformat(time.get_attribute("datetime") or "")
    local = moment.astimezone(ZoneInfo("Asia/Tokyo"))
    assert f"{local:%H:%M}" in time.inner_text()
    assert f"{local.year}年{local.month}月{local.day}日" in time.inner_text()
    foreign = [url for url in urls if not url.startswith((site.address, "data:", "blob:"))]
    assert foreign == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_but_the_boxes_scrolls_sideways_and_text_stands_out(
    store: Store, site: Site, visit: Visit, width: int, scheme: Literal["light", "dark"]
) -> None:
    cast_many(store, NAMES, 300)
    page = visit(width=width, scheme=scheme)
    page.wait_for_selector(".board-table")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text, ground = (
        page.locator(".board-table tbody td").first.evaluate(
            f"cell => getComputedStyle(cell).{name}.match(/\\d+/g).slice(0, 3).map(Number)"
        )
        for name in ("color", "backgroundColor")
    )
    assert abs(sum(text) - sum(ground)) > 450
    assert (sum(ground) > 600) == (scheme == "light")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_category_and_equal_style_are_chosen_kept_and_in_the_address(
    styled_votes: None, site: Site, visit: Visit, width: int
) -> None:
    page = visit(width=width)
    page.wait_for_selector("[data-choice=style]")
    assert page.locator(".board-facts").inner_text().startswith("Votes")
    page.locator("[data-choice=category]").select_option(label="Coding")
    page.wait_for_selector(".board[data-category=coding][data-style='0']")
    assert page.url.endswith("?category=coding")
    plain = column(page, 3)
    page.get_by_role("switch").press("Space")
    page.wait_for_selector(".board[data-category=coding][data-style='1']")
    assert page.url.endswith("?category=coding&style=1")
    assert column(page, 3) != plain
    assert page.get_by_role("switch").is_checked()
    assert page.evaluate("document.activeElement.dataset.choice") == "style"
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    votes = page.locator(".board-facts dd").first
    assert votes.inner_text() == "300"
    shown = page.locator("time").get_attribute("datetime")
    site.vote("Amber", "Elm")
    page.locator("[data-choice=style]").click()
    page.wait_for_selector(".board[data-category=coding][data-style='0']")
    page.wait_for_function(
        "old => document.querySelector('.board time').dateTime !== old", arg=shown
    )
    page.wait_for_timeout(1500)  # the timer asked again
    assert page.locator(".board[data-category=coding][data-style='0']").count() == 1

    again = visit(width=width, query="?category=math&style=1")
    again.wait_for_selector(".board[data-category=math][data-style='1']")
    assert again.locator("[data-choice=category]").input_value() == "math"
    unknown = visit(width=width, query="?category=cooking&style=1")
    unknown.wait_for_selector(".board[data-category=''][data-style='0']")
    assert unknown.url.endswith("/leaderboard/")
