"""The analysts' page: who may see it, what it says, and where judges differ."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from expert_steps import JUDGE, assign, invite, let_judge, vote_on_battles
from fastapi import FastAPI
from fastapi.testclient import TestClient

from arena.agreement.desk import AgreementDesk
from arena.agreement.keys import AnalystKeys
from arena.agreement.sections import LEFT_ALIGNED, Name, Phrase, list_sections
from arena.rules.battles import Outcome
from arena.rules.experts import Answer, Reason
from arena.store import Store, open_store
from arena.web.agreement.battles import BATTLES_A_PAGE
from arena.web.agreement.page import COOKIE, agreement_routes
from arena.web.agreement.tables import _translate
from arena.web.texts import LANGUAGES, load_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "a secret of sixteen or more"  # noqa: S105  made up
KEYS = AnalystKeys(SECRET)
A, B, TIE = Outcome.MODEL_A, Outcome.MODEL_B, Outcome.TIE
EVIL = "<script>window.hacked=1</script>"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/arena.db")
    yield opened
    opened.close()


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(
        agreement_routes(AgreementDesk(store), KEYS, title="Test Arena", secure_cookies=False)
    )
    with TestClient(app, base_url="https://arena.example.org") as opened:
        yield opened


def key(**left: float) -> str:
    return KEYS.sign(datetime.now(UTC) + timedelta(**left))


def judge_everything(store: Store, name: str, outcome: Outcome, *, comment: str = "") -> None:
    """One expert says the same of every battle of a study of all."""
    expert = invite(store, name)
    assign(store, [expert], battles=len(store.judged_battles.find()), name=f"study of {name}")
    while (task := store.experts.next_task(expert.voter_id)) is not None:
        said = {A: B, B: A}.get(outcome, outcome) if task.swapped else outcome
        answer = Answer(
            outcome=said, seconds=9.0, comment=comment, reasons=(Reason.CLARITY, Reason.SAFETY)
        )
        store.experts.judge(task.id, voter_id=expert.voter_id, answer=answer)


@pytest.mark.parametrize(
    "refused",
    [
        "",
        "?key=",
        "?key=made-up",
        f"?key={AnalystKeys('another secret of sixteen').sign(datetime(2099, 1, 1, tzinfo=UTC))}",
        f"?key={KEYS.sign(datetime(2020, 1, 1, tzinfo=UTC))}",
    ],
)
def test_without_a_key_that_works_nothing_is_told(
    store: Store, client: TestClient, refused: str
) -> None:
    vote_on_battles(store, [A, B], prompts=("A private question",))
    judge_everything(store, "Ada", A)
    for language in LANGUAGES:
        answer = client.get(f"/{language}/agreement/{refused}", follow_redirects=False)
        assert answer.status_code == 403
        assert load_texts(language)["agreement"]["refused_title"] in answer.text
        assert not any(word in answer.text for word in ("private", "Ada", "Amber"))
        assert "set-cookie" not in answer.headers


def test_a_link_becomes_a_cookie_and_leaves_the_address(store: Store, client: TestClient) -> None:
    vote_on_battles(store, [A])
    judge_everything(store, "Ada", A)
    answer = client.get(f"/en/agreement/?key={key(days=2)}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/en/agreement/")
    cookie = answer.headers["set-cookie"]
    for word in (COOKIE, "HttpOnly", "Secure", "samesite=lax"):
        assert word.lower() in cookie.lower()
    assert client.get("/en/agreement/").status_code == 200
    client.cookies.clear()
    client.cookies.set(COOKIE, key(seconds=-1))
    assert client.get("/en/agreement/").status_code == 403


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_matrix_says_who_agrees_with_whom(
    store: Store, client: TestClient, language: str
) -> None:
    battles = vote_on_battles(store, [A] * 12 + [B] * 4)
    judge_everything(store, "Ada", A)
    let_judge(store, dict.fromkeys(battles, (B, B)))
    client.get(f"/{language}/agreement/?key={key(days=1)}")
    page = client.get(f"/{language}/agreement/").text
    words = load_texts(language)["agreement"]
    assert "<b>75% (" in page  # crowd and expert, 12 of 16
    assert "<b>25% (" in page  # crowd and judge
    assert "<b>0% (" in page  # expert and judge
    assert words["pairs"].format(pairs="16") in page
    assert page.count(words["see"]) == 6  # three pairs of kinds, on both sides of the diagonal
    assert words["none_within"] in page
    assert JUDGE in page
    told = {"en": "48 judgements of 16 items;", "zh": "16 场对战的 48 次评判；"}
    assert told[language] in page
    table = {"en": "Place of the answers", "zh": "回答的位置"}
    assert f"<summary>{table[language]}</summary>" in page


def test_the_battles_where_they_differ_are_shown_with_all_that_was_said(
    store: Store, client: TestClient
) -> None:
    battles = vote_on_battles(store, [A, A, B, TIE], prompts=(f"Why {EVIL}?",))
    judge_everything(store, "Ada", A, comment=f"It is right. {EVIL}")
    let_judge(store, {battles[0]: (A, A), battles[2]: (A, B)})
    client.get(f"/en/agreement/?key={key(days=1)}")
    page = client.get("/en/agreement/?first=crowd&second=expert").text
    differing = page.partition('id="battles"')[2]
    assert differing.count("<details") == 2
    assert "First answer, 2." in differing
    assert "First answer, 3." in differing
    assert "First answer, 0." not in differing
    assert "Amber is better" in differing
    assert "Birch is better" in differing
    # What the judge did on the third.
    assert load_texts("en")["agreement"]["order_first_biased"] in differing
    assert "It is right." in differing
    assert "(Clarity; Safety)" in differing
    assert EVIL not in page
    assert "&lt;script&gt;" in differing
    same = client.get("/en/agreement/?first=expert&second=expert").text
    assert load_texts("en")["agreement"]["battles_none"] in same


def test_a_study_is_chosen_and_many_battles_have_pages(store: Store, client: TestClient) -> None:
    vote_on_battles(store, [B] * (BATTLES_A_PAGE + 3))
    judge_everything(store, "Ada", A)
    vote_on_battles(store, [])
    client.get(f"/en/agreement/?key={key(days=1)}")
    first = client.get("/en/agreement/?first=crowd&second=expert").text
    second = client.get("/en/agreement/?first=crowd&second=expert&page=2").text
    assert first.partition('id="battles"')[2].count("<details") == BATTLES_A_PAGE
    assert second.partition('id="battles"')[2].count("<details") == 3
    assert "Page 2 of 2" in second
    chosen = client.get("/en/agreement/?study=study+of+Ada").text
    assert 'aria-current="true">study of Ada</a>' in chosen
    assert "first=crowd&amp;second=expert&amp;study=study+of+Ada" in chosen
    assert client.get("/en/agreement/?study=none+such").text.count("arena experts invite") == 1


def test_what_is_said_later_is_seen_and_the_same_is_not_computed_twice(
    store: Store, client: TestClient
) -> None:
    vote_on_battles(store, [A, A])
    client.get(f"/en/agreement/?key={key(days=1)}")
    assert "arena judge run" in client.get("/en/agreement/").text  # nothing to compare yet
    judge_everything(store, "Ada", A)
    assert "<b>100% (" in client.get("/en/agreement/").text
    desk = AgreementDesk(store)
    view = desk.view()
    assert desk.view() is view
    store.experts.undo(store.experts.all()[0].voter_id)
    assert desk.view() is not view


@pytest.mark.parametrize("name", ["majority", "crowd", "judge", "Ties", "longer answer"])
def test_a_name_that_is_also_a_word_is_translated_nowhere(name: str) -> None:
    texts = load_texts("zh")
    called = _translate(Name(name), texts)
    assert called == name
    assert _translate(Phrase("By {group}", group=Name(name)), texts).endswith(name)


def test_individuals_and_families_are_names_in_every_table(store: Store) -> None:
    battles = vote_on_battles(store, [A, B, A, TIE])
    let_judge(store, dict.fromkeys(battles, (A, A)))
    view = AgreementDesk(store).view(None)
    for section in list_sections(view.report):
        for row in section.rows:
            for column, cell in zip(section.columns, row, strict=True):
                if column in LEFT_ALIGNED and JUDGE in cell:
                    assert isinstance(cell, Name), section.title
