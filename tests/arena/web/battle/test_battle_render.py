"""A battle's view as the page's values: nothing runs, nothing is told before the vote."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.battle.views import BattleView, Reveal, SideState, SideView
from arena.rules.actions import Action
from arena.rules.battles import BattleStatus, Outcome
from arena.web.battle.render import battle_state, notice_line, reveal_cards
from arena.web.texts import LANGUAGES, load_texts

EN = load_texts("en")
EVIL = "<script>x</script>\"' onload=x {total} &lt;"
NO_VOTES = dict.fromkeys(Outcome, 0)


def reveal(name: str = "Amber", **fields: object) -> Reveal:
    known: dict[str, object] = {
        "name": name,
        "organisation": "Amber Works",
        "license": "MIT",
        "description": "Says yes.",
        "tokens_per_second": 12.34,
        "completion_tokens": 7,
        "time_to_first_token": 0.256,
        "reasoning": "",
        "was_cut": False,
    }
    return Reveal(**{**known, **fields})  # type: ignore[arg-type]


def view_of(status: BattleStatus, *states: SideState, **fields: object) -> BattleView:
    a, b = (SideView(answers=(f"Answer {n}",), state=s) for n, s in enumerate(states))
    view = BattleView(
        battle_id="id-1",
        prompts=("Why?",),
        status=status,
        edition=2,
        open=frozenset({Action.VOTE, Action.LEAVE}),
        a=a,
        b=b,
    )
    return replace(view, **fields)  # type: ignore[arg-type]


READY = view_of(BattleStatus.READY, SideState.COMPLETE, SideState.COMPLETE)


def voted(
    a: Reveal | None = None, b: Reveal | None = None, outcome: Outcome = Outcome.MODEL_B
) -> BattleView:
    return replace(
        READY,
        status=BattleStatus.VOTED,
        outcome=outcome,
        a=replace(READY.a, reveal=a or reveal()),
        b=replace(READY.b, reveal=b or reveal("Birch")),
    )


class Seen(HTMLParser):
    """The elements and the words of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def status(self) -> dict[str, str | None]:
        return next(a for a in self.attributes if a.get("class") == "battle-status")

    @property
    def text(self) -> str:
        return " ".join(self.words)


# The state


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("status", BattleStatus)
@pytest.mark.parametrize("state", SideState)
def test_every_state_has_words_in_every_language(
    language: str, status: BattleStatus, state: SideState
) -> None:
    texts = load_texts(language)
    outcome = Outcome.TIE if status is BattleStatus.VOTED else None
    seen = Seen(battle_state(texts, view_of(status, state, state, outcome=outcome)))
    assert seen.text.strip()
    assert "{" not in seen.text
    assert seen.status["data-status"] == status
    assert seen.status["data-battle"] == "id-1"


def test_no_battle_is_idle() -> None:
    status = Seen(battle_state(EN, None)).status
    assert (status["data-status"], status["data-battle"], status["data-turns"]) == ("idle", "", "0")


def test_a_failure_has_a_sentence_of_ours_and_an_unknown_one_too() -> None:
    for problem, words in (
        ("TimedOut", EN["problem"]["TimedOut"]),
        ("SomethingNew", EN["problem"]["ServingError"]),
        (None, EN["problem"]["ServingError"]),
    ):
        failed = SideView(answers=("",), state=SideState.FAILED, problem=problem)
        seen = Seen(battle_state(EN, replace(READY, status=BattleStatus.FAILED, b=failed)))
        assert seen.status["data-b-note"] == words
        assert seen.status["data-b-state"] == "failed"
        assert seen.status["data-a-state"] == "complete"


def test_one_complete_answer_is_said_to_be() -> None:
    view = view_of(BattleStatus.ANSWERING, SideState.COMPLETE, SideState.WRITING)
    assert EN["status"]["one_done"] in Seen(battle_state(EN, view)).text


@pytest.mark.parametrize("outcome", Outcome)
def test_the_vote_is_said_back(outcome: Outcome) -> None:
    words = {
        Outcome.MODEL_A: "vote_model_a",
        Outcome.MODEL_B: "vote_model_b",
        Outcome.TIE: "vote_tie",
        Outcome.BOTH_BAD: "vote_bothbad",
    }
    assert EN["battle"][words[outcome]] in Seen(battle_state(EN, voted(outcome=outcome))).text


@given(st.text(), st.text())
def test_no_value_breaks_out_of_its_place(battle_id: str, words: str) -> None:
    html = battle_state(EN, replace(READY, battle_id=battle_id)) + notice_line(f"{words}{EVIL}")
    seen = Seen(html)
    assert set(seen.tags) == {"p"}
    assert len(seen.tags) == 2
    assert seen.status.keys() >= {"data-status", "data-battle"}
    assert not any(name.startswith("on") for each in seen.attributes for name in each)


def test_a_notice_is_an_alert_and_no_notice_is_nothing() -> None:
    (alert,) = Seen(notice_line("No.")).attributes
    assert (alert["role"], alert["class"]) == ("alert", "notice")
    assert notice_line("") == ""


# The names


def test_nothing_is_revealed_before_the_vote() -> None:
    assert reveal_cards(EN, READY, votes=NO_VOTES, language="en") == ""
    for view in (replace(voted(), outcome=None), replace(voted(), a=READY.a)):
        assert reveal_cards(EN, view, votes=NO_VOTES, language="en") == ""


def test_the_reveal_tells_all_there_is() -> None:
    a = reveal(reasoning="Because.", was_cut=True)
    votes = {**NO_VOTES, Outcome.TIE: 2, Outcome.MODEL_B: 1}
    seen = Seen(reveal_cards(EN, voted(a), votes=votes, language="en"))
    for words in (
        "Amber",
        "Birch",
        "by Amber Works",
        "Licence: MIT",
        "12.3 tokens/s",
        "7 tokens",
        "first token after 0.26 s",
        "Says yes.",
        "ended at its length limit",
        "Because.",
        "Your votes so far: 3",
        "your choice",
    ):
        assert words in seen.text
    assert seen.tags.count("details") == 1
    assert [a["data-chosen"] for a in seen.attributes if "data-chosen" in a] == ["false", "true"]
    assert "/en/leaderboard/" in [a.get("href") for a in seen.attributes]


def test_what_is_not_known_is_left_out() -> None:
    bare = reveal(
        organisation="",
        license="",
        description="",
        tokens_per_second=None,
        completion_tokens=None,
        time_to_first_token=None,
    )
    seen = Seen(reveal_cards(EN, voted(bare, bare), votes=NO_VOTES, language="en"))
    assert "speed unknown" in seen.text
    assert "None" not in seen.text
    assert "Licence" not in seen.text
    assert "by " not in seen.text


def test_what_models_are_called_runs_nothing() -> None:
    evil = reveal(EVIL, organisation=EVIL, license=EVIL, description=EVIL, reasoning=EVIL)
    seen = Seen(reveal_cards(EN, voted(evil), votes=NO_VOTES, language="en"))
    assert "script" not in seen.tags
    assert seen.text.count(EVIL) == 5
    assert not any(name.startswith("on") for each in seen.attributes for name in each)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_reveal_is_in_the_pages_language(language: str) -> None:
    texts = load_texts(language)
    seen = Seen(reveal_cards(texts, voted(), votes=NO_VOTES, language=language))
    assert texts["reveal"]["see_leaderboard"] in seen.text
    assert f"/{language}/leaderboard/" in [a.get("href") for a in seen.attributes]
