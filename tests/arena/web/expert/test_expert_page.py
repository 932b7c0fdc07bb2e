"""The experts' page: the door, the bytes, and people at work in a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING

import httpx2
import pytest
from answers_on_record import HOSTILE, MARKDOWN
from byte_recorder import find_words, recording
from expert_steps import answer_battle, assign, invite
from experts_at_work import ExpertClient, ExpertTab, key_of, record_of
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena
from visitors import is_in_view

from arena.rules.battles import Outcome
from arena.rules.experts import Arm, ExpertKeys
from arena.web.expert.gate import COOKIE
from arena.web.texts import load_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Visit
    from serving_arena import RunningArena

    from arena.rules.experts import Expert

# Names that are nowhere in Gradio's files, as are the crowd's ids.
MODELS = ("Zebra-9000-qx", "Okapi Ultra/88b")
CARDS = {"Stripes & Söhne Manufaktur", "Frobnicate-2.7", "Trained on marmalade labels only."}
CROWD = "crowd-tapir-4711"
OUTCOMES = set(Outcome) - {Outcome.TIE}  # a tie is also what a button says


@pytest.fixture(scope="module")
def panel_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    folder = tmp_path_factory.mktemp("panel")
    organisation, license_name, description = sorted(CARDS)
    models = [
        recorded_model(
            name,
            folder,
            answers={"*": "Hello."},
            organisation=organisation,
            license=license_name,
            description=description,
        )
        for name in MODELS
    ]
    with running_arena(models, data_dir=folder / "data") as served:
        yield served


def give(
    arena: RunningArena,
    *names: str,
    battles: int = 3,
    shares: dict[Arm, float] | None = None,
    prompts: tuple[str, ...] = ("Why?",),
) -> list[Expert]:
    """Experts of these names with new battles, an assignment of their own."""
    with record_of(arena) as store:
        for number in range(battles):
            battle_id = answer_battle(
                store,
                models=MODELS,
                prompts=prompts,
                texts=(f"Left {number}.\n\n{MARKDOWN}", f"Right {number}.\n\n{HOSTILE}"),
                voter_id=f"{CROWD}-{names[0]}-{number}",
            )
            store.battles.vote(
                battle_id,
                voter_id=f"{CROWD}-{names[0]}-{number}",
                outcome=[*Outcome][number % 4],
            )
        verdicts = {one.battle_id: Outcome.MODEL_A for one in store.assignments.candidates()}
        experts = [invite(store, name) for name in names]
        assign(
            store, experts, battles=battles, name=f"for {names[0]}", shares=shares,
            verdicts=verdicts,
        )  # fmt: skip
    return experts


def link(arena: RunningArena, expert: Expert, *, language: str = "en") -> str:
    return f"{arena.address}/{language}/expert/?key={key_of(arena, expert)}"


# The door


def test_a_link_becomes_a_cookie_and_leaves_the_address(panel_arena: RunningArena) -> None:
    (ada,) = give(panel_arena, "Ada at the door")
    answer = httpx2.get(link(panel_arena, ada))
    assert (answer.status_code, answer.headers["location"]) == (303, "/en/expert/")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "same-origin"
    morsel = SimpleCookie(answer.headers["set-cookie"])[COOKIE]
    assert morsel["httponly"]
    assert morsel["samesite"].lower() == "lax"
    assert not morsel["secure"]
    assert 29 * 86_400 < int(morsel["max-age"]) <= 30 * 86_400
    cookies = {COOKIE: morsel.value}
    for path in ("/en/expert/", "/zh/expert/"):
        page = httpx2.get(panel_arena.address + path, cookies=cookies)
        assert page.status_code == 200
        assert morsel.value not in page.text


def test_every_refusal_is_the_same_page(panel_arena: RunningArena) -> None:
    with record_of(panel_arena) as store:
        expired = invite(store, "Expired", days=-1)
        revoked = invite(store, "Revoked")
        store.experts.revoke("Revoked")
        replaced = invite(store, "Replaced")
        invite(store, "Replaced")
    stranger = replace(revoked, voter_id="nobody", name="nobody")
    forged = ExpertKeys("a secret of somebody else").sign(replaced)
    keys = [key_of(panel_arena, one) for one in (expired, revoked, replaced, stranger)]
    keys += [forged, keys[0][:-1], "", "x" * 5_000]
    address = f"{panel_arena.address}/en/expert/"
    answers = [httpx2.get(address, params={"key": key}) for key in keys]
    answers += [httpx2.get(address), httpx2.get(address, cookies={COOKIE: keys[0]})]
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.content for answer in answers}) == 1
    assert {COOKIE in answer.headers.get("set-cookie", "") for answer in answers} == {False}
    assert load_texts("en")["expert"]["refused"] in answers[0].text
    assert "default-src 'self'" in answers[0].headers["content-security-policy"]
    chinese = httpx2.get(f"{panel_arena.address}/zh/expert/?key=no")
    assert chinese.status_code == 403
    assert load_texts("zh")["expert"]["refused"] in chinese.text
    assert 'lang="zh-Hans"' in chinese.text


def test_events_without_a_key_show_nothing_and_store_nothing(panel_arena: RunningArena) -> None:
    give(panel_arena, "Ada within", battles=1)
    with ExpertClient(panel_arena.address) as inside, ExpertClient(panel_arena.address) as outside:
        with record_of(panel_arena) as store:
            (ada,) = [one for one in store.experts.all() if one.name == "Ada within"]
        inside.enter(key_of(panel_arena, ada))
        task = inside.look()["task"]
        outside._events = inside._events
        for event in ("go-on", "undo", "vote-1", "cannot-judge"):
            state = outside.send(event, task=task, cannot="other")
            assert state["phase"] == "refused"
            assert "Left 0" not in state["html"]
        outside.http.cookies.set(COOKIE, "forged")
        assert outside.send("vote-1", task=task)["phase"] == "refused"
        # Revoked while the page is open.
        with record_of(panel_arena) as store:
            store.experts.revoke("Ada within")
        assert inside.send("vote-1", task=task)["phase"] == "refused"
    with record_of(panel_arena) as store:
        (share,) = [one for one in store.assignments.shares() if one.expert == "Ada within"]
    assert (share.judged, share.cannot_judge) == (0, 0)


def test_what_the_page_did_not_write_is_refused_and_not_stored(panel_arena: RunningArena) -> None:
    ada, bob = give(panel_arena, "Ada forging", "Bob forging", battles=2)
    words = load_texts("en")["expert"]
    with ExpertClient(panel_arena.address) as client, ExpertClient(panel_arena.address) as other:
        client.enter(key_of(panel_arena, ada))
        other.enter(key_of(panel_arena, bob))
        task, others = client.look()["task"], other.look()["task"]
        invalid = [
            "", "no JSON", "[]", "7", "null", '{"task": "1"}', '{"task": "1", "reasons": 7}',
            json.dumps({"task": task, "edition": "0", "reasons": ["beauty"]}),
            json.dumps({"task": task, "edition": "0", "reasons": [], "comment": "x" * 2_001}),
            json.dumps({"task": "9" * 30, "edition": "0", "reasons": []}),
            json.dumps({"task": "-1", "edition": "0", "reasons": []}),
            json.dumps({"task": task, "edition": "-1", "reasons": []}),
            json.dumps({"task": task, "reasons": []}),
        ]  # fmt: skip
        for sent in invalid:
            assert words["invalid"] in client.send_raw("vote-1", sent)["html"], sent
        assert words["invalid"] in client.send("cannot-judge", task=task, cannot="no")["html"]
        for wrong in (others, "999999999"):
            assert words["unknown"] in client.send("vote-1", task=wrong)["html"]
        assert words["no_undo"] in client.send("undo")["html"]
        assert client.look()["task"] == task
        following = client.send("vote-2", task=int(task), seconds="a while")
        assert following["task"] not in ("", task)
        again = client.send("vote-1", task=task)
        assert words["again"] in again["html"]
        assert again["task"] == following["task"]
    with record_of(panel_arena) as store:
        shares = {one.expert: one for one in store.assignments.shares()}
    assert (shares["Ada forging"].judged, shares["Bob forging"].judged) == (1, 0)


# The bytes


def test_no_byte_names_a_model_a_vote_or_an_arm(panel_arena: RunningArena) -> None:
    shares = {Arm.BLIND: 0.4, Arm.SHOWN: 0.2, Arm.PLANTED: 0.4}
    (ada,) = give(panel_arena, "Ada on record", battles=5, shares=shares)
    secret = {*MODELS, *CARDS, CROWD, *OUTCOMES, "assignment", "for Ada on record", *Arm}
    secret -= {Arm.SHOWN}  # a word of every script
    told = load_texts("en")["expert"]["arm_planted"]
    with recording(panel_arena.address) as recorder, ExpertClient(recorder.address) as client:
        html = client.enter(key_of(panel_arena, ada))
        state = client.look()
        advised = set()
        while state["phase"] == "task":
            assert find_words(secret, recorder.received) == set()
            advised.add("expert-advice" in state["html"])
            state = client.send("vote-1", task=state["task"])
        assert advised == {True, False}
        received = recorder.received
        assert received.count(b"Left 3.") == 2  # it sees what is sent: as HTML, and for copying
        # Told at the very end, once nothing can be undone: the search would have found it.
        assert find_words([told, Arm.PLANTED], received) == {told, Arm.PLANTED}
        assert find_words({*MODELS, *CARDS, CROWD, *OUTCOMES}, received) == set()
        for address in re.findall(r'(?:src|href)="(\.?/[^"]+)"', html):
            client.http.get(f"/en/expert/{address}" if address.startswith(".") else address)
        assert find_words({*MODELS, *CARDS, CROWD}, recorder.received) == set()


@pytest.mark.browser
def test_no_byte_that_reaches_a_browser_names_a_model_or_a_vote(
    panel_arena: RunningArena, visit: Visit
) -> None:
    (ada,) = give(panel_arena, "Ada recorded", battles=2)
    with recording(panel_arena.address) as recorder:
        within = replace(panel_arena, address=recorder.address)
        tab = ExpertTab.open(visit(within).context, link(within, ada))
        assert "key=" not in tab.page.url
        tab.expect_done(0, 2)
        tab.vote(1).click()
        tab.expect_done(1, 2)
        tab.page.reload()
        tab.expect_done(1, 2)
        tab.page.locator("#language-switch").click()
        expect(tab.progress).to_have_text("已评 1 场，共 2 场")
        tab.vote(4).click()
        tab.expect_end()
        received = recorder.received
        assert b".js" in received
        assert find_words({*MODELS, *CARDS, CROWD, "tie (bothbad)"}, received) == set()
        tab.page.close()


# People at work


@pytest.mark.browser
def test_two_experts_judge_the_same_battles_by_their_links(
    panel_arena: RunningArena, visit: Visit
) -> None:
    experts = give(panel_arena, "Ada at work", "Bob at work", battles=3)
    for expert, button in zip(experts, (1, 3), strict=True):
        tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, expert))
        for done in range(3):
            tab.expect_done(done, 3)
            for side in "ab":
                expect(tab.answer(side)).to_have_text(re.compile(r"(Left|Right) \d"))
            sides = [tab.answer(side).inner_text().split()[0] for side in "ab"]
            assert sorted(sides) == ["Left", "Right"]
            tab.vote(button).click()
        tab.expect_end()
        expect(tab.page.locator("h1")).to_have_text("Thank you!")
        expect(tab.page.locator("#panels")).to_be_hidden()
    with record_of(panel_arena) as store:
        rows = store.judgements.read("for Ada at work")
    assert [row.kind for row in rows] == ["crowd", "expert", "expert"] * 3
    assert {row.winner for row in rows if row.judge == "Bob at work"} == {"tie"}
    assert {row.winner for row in rows if row.judge == "Ada at work"} <= {"model_a", "model_b"}
    seconds = [row.seconds for row in rows if row.kind == "expert"]
    assert all(value is not None and 0 < value < 120 for value in seconds)


@pytest.mark.browser
def test_the_conversation_is_rendered_as_the_crowd_saw_it(
    panel_arena: RunningArena, visit: Visit
) -> None:
    prompts = ("Why is $x$ < 5?", "And then?")
    (ada,) = give(panel_arena, "Ada reading", battles=1, prompts=prompts)
    tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, ada))
    tab.expect_done(0, 1)
    for side in "ab":
        expect(tab.answer(side)).to_have_count(2)
        expect(tab.page.locator(f"#panel-{side} .message.user")).to_have_count(2)
        expect(tab.answer(side).last).to_have_text(re.compile(r"(Left|Right) \d"))
        # From the first turn on, unlike a battle in progress.
        scrolled = tab.page.locator(f"#panel-{side} [role=log]").evaluate("log => log.scrollTop")
        assert scrolled == 0
    expect(tab.page.locator("#panels .katex").first).to_be_visible()
    expect(tab.page.locator("#panels pre code").first).to_be_visible()
    expect(tab.page.locator("#panels table").first).to_be_visible()
    expect(tab.page.locator("#panels").get_by_text("<script>").first).to_be_visible()
    assert tab.page.evaluate("window.__xss") is None


@pytest.mark.browser
def test_reasons_and_a_comment_are_stored_and_come_back_on_undo(
    panel_arena: RunningArena, visit: Visit
) -> None:
    (ada,) = give(panel_arena, "Ada saying why", battles=2)
    tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, ada))
    tab.expect_done(0, 2)
    expect(tab.undo).to_be_hidden()
    first = tab.task
    tab.reason("clarity").check()
    tab.reason("safety").check()
    tab.comment.fill("Clear, and <b>safe</b>.")
    tab.vote(2).click()
    tab.expect_done(1, 2)
    expect(tab.reason("clarity")).not_to_be_checked()
    expect(tab.comment).to_have_value("")
    tab.undo.click()
    tab.expect_done(0, 2)
    assert tab.task == first
    expect(tab.reason("clarity")).to_be_checked()
    expect(tab.reason("format")).not_to_be_checked()
    expect(tab.comment).to_have_value("Clear, and <b>safe</b>.")
    tab.vote(3).click()
    tab.expect_done(1, 2)
    with record_of(panel_arena) as store:
        (row,) = [one for one in store.judgements.read("for Ada saying why") if one.arm is not None]
    assert (row.winner, row.reasons) == ("tie", "clarity safety")
    assert row.comment == "Clear, and <b>safe</b>."


@pytest.mark.browser
def test_who_cannot_judge_says_why_and_goes_on(panel_arena: RunningArena, visit: Visit) -> None:
    (ada,) = give(panel_arena, "Ada at a loss", battles=2)
    tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, ada))
    tab.expect_done(0, 2)
    expect(tab.cannot).to_be_disabled()
    tab.cannot_reason.select_option("language")
    tab.cannot.click()
    tab.expect_done(1, 2)
    expect(tab.cannot_reason).to_have_value("")
    with record_of(panel_arena) as store:
        (share,) = [one for one in store.assignments.shares() if one.expert == "Ada at a loss"]
        rows = store.judgements.read("for Ada at a loss")
    assert (share.judged, share.cannot_judge) == (0, 1)
    assert {row.kind for row in rows} == {"crowd"}


@pytest.mark.browser
def test_a_double_click_two_tabs_and_a_reload_make_one_judgement(
    panel_arena: RunningArena, visit: Visit
) -> None:
    (ada,) = give(panel_arena, "Ada in a hurry", battles=3)
    visitor = visit(panel_arena)
    one = ExpertTab.open(visitor.context, link(panel_arena, ada))
    one.expect_done(0, 3)
    two = ExpertTab.open(visitor.context, f"{panel_arena.address}/en/expert/")
    two.expect_done(0, 3)
    assert one.task == two.task
    before = len([url for url in visitor.requests if "queue/join" in url])
    # In the page, so that a busy machine cannot put time between them.
    one.page.evaluate(
        "() => { const press = number => document.getElementById(`vote-${number}`).click();"
        " press(1); press(1); window.setTimeout(() => press(2), 20); }"
    )
    one.expect_done(1, 3)
    sent = len([url for url in visitor.requests if "queue/join" in url]) - before
    assert sent == 1
    two.vote(2).click()
    expect(two.notice).to_have_text(load_texts("en")["expert"]["again"])
    two.expect_done(1, 3)
    two.page.goto("about:blank")
    two.page.go_back()
    two.expect_done(1, 3)
    assert one.task == two.task
    with record_of(panel_arena) as store:
        (share,) = [part for part in store.assignments.shares() if part.expert == "Ada in a hurry"]
        (judged,) = store.experts.judged(store.assignments.all()[-1].id, voter_id=ada.voter_id)
    assert share.judged == 1
    assert judged.answer.outcome is Outcome.MODEL_A


@pytest.mark.browser
def test_a_click_meant_for_the_last_battle_judges_nothing_unread(
    panel_arena: RunningArena, visit: Visit
) -> None:
    (ada,) = give(panel_arena, "Ada too quick", battles=3)
    tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, ada))
    tab.expect_done(0, 3)
    # As soon as the next battle is there, and a hand's breadth later.
    tab.page.evaluate(
        "() => { const task = () => document.querySelector('.expert').dataset.task;"
        " const first = task(); window.clicks = 0;"
        " const click = () => { window.clicks += 1;"
        " document.getElementById('vote-2').click(); };"
        " const observer = new MutationObserver(() => { if (task() === first) return;"
        " observer.disconnect(); click(); window.setTimeout(click, 100); });"
        " observer.observe(document.body, { childList: true, subtree: true,"
        " attributeFilter: ['data-task'] }); }"
    )
    tab.vote(1).click()
    tab.expect_done(1, 3)
    assert tab.page.evaluate("window.clicks") == 2
    tab.vote(3).click()
    tab.expect_done(2, 3)
    with record_of(panel_arena) as store:
        rows = [row for row in store.judgements.read("for Ada too quick") if row.arm]
    assert len(rows) == 2
    assert [row.winner for row in rows].count("tie") == 1


@pytest.mark.browser
def test_the_keyboard_alone_is_enough(panel_arena: RunningArena, visit: Visit) -> None:
    (ada,) = give(panel_arena, "Ada typing", battles=3)
    tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, ada))
    tab.expect_done(0, 3)
    tab.reason("format").focus()
    tab.page.keyboard.press("Space")
    tab.page.keyboard.press("2")  # in a tick box a number is a vote
    tab.expect_done(1, 3)
    # Where the reading begins, so that Enter does not press the same button again.
    expect(tab.state).to_be_focused()
    tab.comment.focus()
    tab.page.keyboard.type("10 of 10, 4 sure")
    expect(tab.comment).to_have_value("10 of 10, 4 sure")
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.id") == "vote-1"
    tab.page.keyboard.press("Enter")
    tab.expect_done(2, 3)
    tab.page.keyboard.press("4")
    tab.expect_end()
    with record_of(panel_arena) as store:
        rows = [row for row in store.judgements.read("for Ada typing") if row.arm is not None]
    assert sorted(row.comment for row in rows) == ["", "", "10 of 10, 4 sure"]
    assert sorted(row.reasons for row in rows) == ["", "", "format"]
    assert [row.winner for row in rows].count("tie (bothbad)") == 1


@pytest.mark.browser
def test_time_is_counted_while_the_tab_is_in_view_only(
    panel_arena: RunningArena, visit: Visit
) -> None:
    (ada,) = give(panel_arena, "Ada with a watch", battles=1)
    visitor = visit(panel_arena)
    visitor.context.clock.install(time=datetime.now(UTC) - timedelta(days=1))
    tab = ExpertTab.open(visitor.context, link(panel_arena, ada))
    tab.expect_done(0, 1)

    def read() -> float:
        return float(json.loads(tab.page.evaluate("window.arenaAnswer()"))["seconds"])

    def set_hidden(*, hidden: bool) -> None:
        tab.page.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden',"
            " { value: hidden, configurable: true });"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    tab.page.clock.run_for(10_000)
    begun = read()
    assert 10 <= begun < 60
    set_hidden(hidden=True)
    tab.page.clock.run_for(100_000)
    assert read() < begun + 60
    set_hidden(hidden=False)
    tab.page.clock.run_for(20_000)
    assert read() >= begun + 20
    tab.page.reload()
    tab.expect_done(0, 1)
    assert read() >= begun + 20
    tab.vote(1).click()
    tab.expect_end()
    with record_of(panel_arena) as store:
        (row,) = [one for one in store.judgements.read("for Ada with a watch") if one.arm]
    # Not what the page's clock says: that of the server has run for less.
    assert row.seconds is not None
    assert 0 < row.seconds < 30


@pytest.mark.browser
def test_a_verdict_is_shown_before_and_explained_after(
    panel_arena: RunningArena, visit: Visit
) -> None:
    shares = {Arm.SHOWN: 0.5, Arm.PLANTED: 0.5}
    prompt = "What is ${1+1}, {{value}} or <b>bold</b>?"
    (ada,) = give(panel_arena, "Ada advised", battles=2, shares=shares, prompts=(prompt,))
    tab = ExpertTab.open(visit(panel_arena).context, link(panel_arena, ada))
    tab.expect_done(0, 2)
    expect(tab.advice).to_have_text(re.compile("An AI judge prefers: Model [AB]"))
    for part in (tab.advice, tab.vote(1), tab.vote(4), tab.page.locator("#panels")):
        assert is_in_view(part)
    tab.vote(1).click()
    tab.expect_done(1, 2)
    expect(tab.undo).to_be_visible()
    expect(tab.page.locator(".expert-final")).to_have_text(load_texts("en")["expert"]["final"])
    tab.vote(2).click()
    tab.expect_end()
    cells = tab.page.locator(".expert-told tbody tr")
    expect(cells).to_have_count(2)
    told = " ".join(cells.all_inner_texts())
    assert told.count(prompt) == 2
    assert "showed a planted, wrong verdict" in told
    assert "showed the AI judge's verdict" in told
    expect(tab.undo).to_be_hidden()
    tab.page.reload()
    expect(tab.page.locator(".expert-told tbody tr")).to_have_count(2)


@pytest.mark.browser
@pytest.mark.parametrize("phone", [False, True])
def test_everything_fits_on_a_desk_and_on_a_phone(
    panel_arena: RunningArena, visit: Visit, *, phone: bool
) -> None:
    (ada,) = give(panel_arena, f"Ada {'on a phone' if phone else 'at a desk'}", battles=1)
    visitor = visit(panel_arena, phone=phone, scheme="dark")
    tab = ExpertTab.open(visitor.context, link(panel_arena, ada, language="zh"))
    expect(tab.progress).to_have_text("已评 0 场，共 1 场")
    wide: int = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    for number in range(1, 5):
        assert is_in_view(tab.vote(number))
    assert tab.page.evaluate("document.body.classList.contains('dark')")
    if not phone:
        for part in (tab.comment, tab.cannot_reason):
            assert is_in_view(part)
    named = tab.page.locator("#panel-a [role=log], #comment, #cannot-reason, #expert-done")
    expect(tab.page.get_by_role("progressbar", name="已评 0 场，共 1 场")).to_be_visible()
    expect(tab.page.get_by_role("textbox", name="备注（可不填）")).to_be_visible()
    expect(tab.page.get_by_role("group", name="您依据什么判断？（可不填）")).to_be_visible()
    expect(tab.page.get_by_role("combobox", name="我无法评判，因为……")).to_be_visible()
    expect(tab.page.get_by_role("log", name="模型 A")).to_be_visible()
    assert named.count() == 4
