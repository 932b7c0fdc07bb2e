"""The templates: whatever people and models are called or write, it is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile_texts import HOSTILE_TEXTS
from jinja2 import UndefinedError

import arena.web
from arena.battle.views import BattleView, Reveal, SideState, SideView
from arena.rules.battles import BattleStatus, Outcome
from arena.web.battle.render import notice_line, reveal_cards
from arena.web.expert.render import panel_state
from arena.web.layout import page_head, page_header, plain_document
from arena.web.templating import fill, render
from arena.web.texts import load_texts

if TYPE_CHECKING:
    from collections.abc import Callable

TEMPLATES = Path(arena.web.__file__).parent / "templates"
TEXTS = load_texts("en")


class Page(HTMLParser):
    """Elements with their attributes, and the words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]


def reveal_of(text: str) -> str:
    told = Reveal(
        name=text,
        organisation=text,
        license=text,
        description=text,
        tokens_per_second=5.0,
        completion_tokens=7,
        time_to_first_token=0.5,
        reasoning=text,
        was_cut=True,
    )
    side = SideView(answers=("Yes.",), state=SideState.COMPLETE, reveal=told)
    view = BattleView(
        battle_id="b",
        prompts=("Asked",),
        status=BattleStatus.VOTED,
        edition=2,
        open=frozenset(),
        a=side,
        b=side,
        outcome=Outcome.MODEL_A,
    )
    return reveal_cards(TEXTS, view, votes={Outcome.MODEL_A: 1}, language="en")


PARTS: dict[str, Callable[[str], str]] = {
    "header": lambda text: page_header(TEXTS, title=text, language="en", active="arena"),
    "head": lambda text: page_head(TEXTS, title=text, layout="edition").split("<script>")[0],
    "document": lambda text: plain_document(
        render("message.html", title=text, text=text, role="", id=""),
        TEXTS, title=text, language="en", active="expert",
    ),
    "notice": notice_line,
    "expert notice": lambda text: panel_state(TEXTS, None, notice=text),
    "reveal": reveal_of,
    "panel": lambda text: render("panel_title.html", title=text, side="a"),
    "empty board": lambda text: render(
        "leaderboard/heat_map.html", kind="battles", names=[text], rows=[[None]], title=text,
        note=text,
    ),
    "next": lambda text: render(
        "leaderboard/next.html", words=TEXTS["leaderboard"], lead=text, more=text,
        pairs=[{"names": text, "chance": text, "reason": text}],
    ),
    "judges": lambda text: render(
        "leaderboard/judges.html", words=TEXTS["leaderboard"], columns=("rank",), ranks={},
        boards=[{"caption": text, "entries": ()}],
    ),
    "choice": lambda text: render(
        "leaderboard/notes.html", notes=[text, fill("{model}", model=text)]
    ),
    "battles": lambda text: render(
        "agreement/battles.html", words=TEXTS["agreement"], title=text, last=1, links=(), place="",
        battles=[{
            "summary": text, "models": text,
            "said": [{"who": text, "verdict": text, "notes": text, "comment": text}],
            "turns": [{"prompt": text, "answers": [(text, text)]}],
        }],
    ),
    "sections": lambda text: render(
        "agreement/sections.html", title=text,
        sections=[{
            "title": text, "columns": [{"title": text, "is_number": False}],
            "rows": [[text]], "notes": [text],
        }],
    ),
    "studies": lambda text: render(
        "agreement/report.html", words=TEXTS["agreement"], parts=(),
        studies=[{"address": "?x", "label": text, "is_chosen": True}],
    ),
    "told": lambda text: render("expert/told.html", words=TEXTS["expert"], rows=[[text]]),
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("part", PARTS)
def test_a_hostile_name_or_text_is_words_and_never_an_element(part: str, text: str) -> None:
    harmless = Page(PARTS[part]("harmless"))
    hostile = Page(PARTS[part](text))
    assert hostile.shape == harmless.shape
    for _tag, attributes in hostile.elements:
        assert not any(name.startswith("on") for name in attributes)
        if "href" in attributes:
            assert re.match(r"/|#|\?|data:image/svg\+xml,%3Csvg", attributes["href"] or "")


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render("panel_title.html", side="a")
    with pytest.raises(UndefinedError, match="tagline"):
        render("battle/how.html", texts={"site": {}, "battle": {}})


def test_a_text_is_found_by_its_key_also_where_dictionaries_have_a_method_of_that_name() -> None:
    words = {"keys": "a text", "copy": "another"}
    assert "a text" in render("battle/keys_hint.html", words=words["keys"])
    shown = render(
        "panel.html", words=TEXTS["battle"], side="a", title="A", follows=True, formulas="",
        formula_style="",
    )  # fmt: skip
    assert 'data-copy="Copy"' in shown


def test_nothing_is_let_through_as_it_is_but_our_own_scripts() -> None:
    safe = {
        (path.name, found)
        for path in TEMPLATES.rglob("*")
        if path.is_file()
        for found in re.findall(r"\{\{([^}]*)\|\s*safe", path.read_text(encoding="utf-8"))
    }
    ours = {
        "head.html": " script ",
        "document.html": " in_the_dark ",
        "connection.html": " scripts ",
    }
    assert safe == set(ours.items())


def test_every_template_is_used() -> None:
    code = "".join(
        path.read_text(encoding="utf-8") for path in Path(arena.web.__file__).parent.rglob("*.py")
    )
    names = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*") if path.is_file()}
    assert {name for name in names if f'"{name}"' not in code} == set()
