"""What may be done in a battle when: one table, and the arena's own limits on it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from battle_steps import PAIRING, TERMS, VOTER, answer, battle_with
from hypothesis import given
from hypothesis import strategies as st

from arena.rules.actions import (
    FIRST_ACTIONS,
    Action,
    Terms,
    check_action,
    check_vote,
    coming_actions,
    exclusion_of,
    names_itself,
    open_actions,
)
from arena.rules.battles import (
    Battle,
    BattleBusy,
    BattleClosed,
    BattleError,
    BattleStatus,
    ExclusionReason,
    InvalidPrompt,
    ModelGone,
    NothingToRetry,
    Outcome,
    ResponseStatus,
    Side,
    TurnUnanswered,
    UnknownBattle,
    Vote,
    VoteNotOpen,
    VoteStale,
    settled_status,
)

OPEN = {
    BattleStatus.ANSWERING: {Action.LEAVE},
    BattleStatus.READY: {Action.VOTE, Action.FOLLOW_UP, Action.REGENERATE, Action.LEAVE},
    BattleStatus.FAILED: {Action.RETRY, Action.LEAVE},
    BattleStatus.ABANDONED: {Action.RETRY, Action.LEAVE},
    BattleStatus.VOTED: {Action.START, Action.LEAVE},
}


def standing_at(status: BattleStatus) -> Battle:
    """A battle with two complete answers that stands so."""
    battle = battle_with(*map(answer, Side), status=status)
    if status is not BattleStatus.VOTED:
        return battle
    at = battle.created_at
    vote = Vote(id=1, battle_id=battle.id, voter_id=VOTER, outcome=Outcome.TIE, created_at=at)
    return replace(battle, vote=vote)


def test_before_the_first_prompt_there_is_only_the_first_prompt() -> None:
    assert open_actions(None, TERMS) == FIRST_ACTIONS == {Action.START}


@pytest.mark.parametrize("status", BattleStatus)
def test_what_is_open_follows_from_where_the_battle_stands(status: BattleStatus) -> None:
    assert open_actions(standing_at(status), TERMS) == OPEN[status]


@pytest.mark.parametrize(("status", "action"), [*product(BattleStatus, Action)])
def test_what_is_not_open_is_refused_and_nothing_else(status: BattleStatus, action: Action) -> None:
    battle = standing_at(status)
    if action in open_actions(battle, TERMS):
        check_action(action, battle, TERMS)
    else:
        with pytest.raises(BattleError, match=battle.id):
            check_action(action, battle, TERMS)


@pytest.mark.parametrize(
    ("status", "action", "refusal"),
    [
        (BattleStatus.ANSWERING, Action.FOLLOW_UP, BattleBusy),
        (BattleStatus.ANSWERING, Action.VOTE, VoteNotOpen),
        (BattleStatus.READY, Action.RETRY, NothingToRetry),
        (BattleStatus.FAILED, Action.FOLLOW_UP, TurnUnanswered),
        (BattleStatus.FAILED, Action.REGENERATE, TurnUnanswered),
        (BattleStatus.FAILED, Action.VOTE, VoteNotOpen),
        (BattleStatus.ABANDONED, Action.VOTE, VoteNotOpen),
        (BattleStatus.VOTED, Action.FOLLOW_UP, BattleClosed),
        (BattleStatus.VOTED, Action.VOTE, BattleClosed),
        (BattleStatus.VOTED, Action.RETRY, BattleClosed),
    ],
)
def test_a_refusal_says_what_is_in_the_way(
    status: BattleStatus, action: Action, refusal: type[BattleError]
) -> None:
    with pytest.raises(refusal):
        check_action(action, standing_at(status), TERMS)


@pytest.mark.parametrize(("a", "b"), [*product(ResponseStatus, repeat=2)])
def test_no_vote_without_two_complete_answers_whatever_the_status_says(
    a: ResponseStatus, b: ResponseStatus
) -> None:
    battle = battle_with(answer(Side.A, status=a), answer(Side.B, status=b))
    if a is b is ResponseStatus.COMPLETE:
        check_vote(battle)
        return
    with pytest.raises(VoteNotOpen):
        check_vote(battle)
    assert open_actions(battle, TERMS) == OPEN[BattleStatus.FAILED]


@pytest.mark.parametrize("status", [ResponseStatus.FAILED, ResponseStatus.CANCELLED])
def test_a_conversation_with_a_gap_does_not_go_on(status: ResponseStatus) -> None:
    settled = settled_status((ResponseStatus.COMPLETE, status))
    battle = battle_with(answer(Side.A), answer(Side.B, status=status), status=settled)
    check_action(Action.RETRY, battle, TERMS)
    with pytest.raises(TurnUnanswered):
        check_action(Action.FOLLOW_UP, battle, TERMS)


def test_a_vote_is_on_the_answers_that_were_read() -> None:
    battle = standing_at(BattleStatus.READY)
    check_vote(battle, edition=2)
    for other in (0, 1, 3):
        with pytest.raises(VoteStale):
            check_vote(battle, edition=other)


def test_a_battle_is_its_owners_alone() -> None:
    battle = standing_at(BattleStatus.READY)
    battle.check_owner(VOTER)
    with pytest.raises(UnknownBattle):
        battle.check_owner("voter-2")


# What is on its way


def test_what_comes_with_the_answers_is_what_will_be_open_then() -> None:
    answering = battle_with(status=BattleStatus.ANSWERING)
    ready = replace(answering, responses=tuple(map(answer, Side)), status=BattleStatus.READY)
    assert coming_actions(answering, TERMS) == open_actions(ready, TERMS)
    for status in set(BattleStatus) - {BattleStatus.ANSWERING}:
        assert coming_actions(standing_at(status), TERMS) == frozenset()


# What the arena cannot do


@pytest.mark.parametrize("gone", [PAIRING.model_a, PAIRING.model_b])
def test_a_battle_whose_model_is_gone_can_be_voted_on_and_left(gone: str) -> None:
    terms = replace(TERMS, models=TERMS.models - {gone})
    assert open_actions(standing_at(BattleStatus.READY), terms) == {Action.VOTE, Action.LEAVE}
    assert open_actions(standing_at(BattleStatus.FAILED), terms) == {Action.LEAVE}
    assert open_actions(standing_at(BattleStatus.VOTED), terms) == {Action.START, Action.LEAVE}
    with pytest.raises(ModelGone):
        check_action(Action.RETRY, standing_at(BattleStatus.ABANDONED), terms)


@pytest.mark.parametrize(
    ("terms", "reason", "limit"),
    [
        (Terms(models=TERMS.models, max_turns=2), "too_many_turns", 2),
        (Terms(models=TERMS.models, max_turns=9, is_recorded=True), "no_follow_up", 1),
    ],
)
def test_a_last_turn_is_followed_by_none(terms: Terms, reason: str, limit: int) -> None:
    answers = (answer(side, turn=turn) for turn in range(2) for side in Side)
    battle = battle_with(*answers, prompts=("One?", "Two?"))
    assert Action.FOLLOW_UP in open_actions(battle, TERMS)
    assert open_actions(battle, terms) == OPEN[BattleStatus.READY] - {Action.FOLLOW_UP}
    answering = replace(battle, status=BattleStatus.ANSWERING)
    assert Action.FOLLOW_UP not in coming_actions(answering, terms)
    with pytest.raises(InvalidPrompt) as refused:
        check_action(Action.FOLLOW_UP, battle, terms)
    assert (refused.value.reason, refused.value.value, refused.value.limit) == (reason, 3, limit)


# Names


def said(text: str, *, model: str = "Zebra-9", prompts: tuple[str, ...] = ("Why?",)) -> Battle:
    pairing = replace(PAIRING, model_a=model)
    last = len(prompts) - 1
    return battle_with(
        answer(Side.A, text=text, turn=last),
        answer(Side.B, turn=last),
        prompts=prompts,
        pairing=pairing,
    )


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("Zebra-9", "I am Zebra-9."),
        ("Zebra-9", "zebra-9 here"),
        ("Zebra-9", "**ZEBRA-9**"),
        ("a.b (c)+", "I'm a.b (c)+, hello"),
        ("通义千问", "我是 通义千问。"),
        ("通义千问", "我是通义千问，很高兴。"),
        ("Amber-7B", "我是Amber-7B模型。"),
        ("gpt-4o-mini", "I'm GPT‑4o mini, made by a company."),
        ("gpt-4o-mini", "Call me **GPT**-4o-mini!"),
        ("Llama 3.1 8B", "I am Llama-3.1-8B."),
        ("llama-3.1-8b", "I am LLaMA 3.1 8B"),
        ("Qwen3", "Ｑｗｅｎ３です"),
        ("Amber", "I am A\u200bm\u200dber."),
        ("org/model-x", "I am org/model-x"),
        ("openai/gpt-4o", "I am GPT-4o."),
        ("c++ coder", "C++ Coder here"),
        ("Größe-2", "ich bin GRÖSSE 2"),
    ],
)
def test_an_answer_that_names_its_model_is_noticed(model: str, text: str) -> None:
    assert names_itself(said(text, model=model))
    assert exclusion_of(said(text, model=model)) is ExclusionReason.IDENTITY_REVEALED


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("Zebra-9", "I am Zebra-90."),
        ("Zebra-9", "Ask Birch."),  # the other side's model is not its own
        ("one", "Someone said so."),
        ("gpt-4", "gpt-4o is another"),
        ("gpt-4", "GPT 40 watts"),
        ("Qwen3", "Qwen30 is another"),
        ("Amber", "Ambers and chamber"),
        ("o1", "o10, foo1"),
        ("a.b", "axb"),
    ],
)
def test_other_words_are_not_a_name(model: str, text: str) -> None:
    assert not names_itself(said(text, model=model))
    assert exclusion_of(said(text, model=model)) is None


def test_a_prompt_that_lists_all_names_does_not_let_answers_tell_theirs() -> None:
    asked = "Which are you: Zebra-9, Birch or Amber?"
    assert names_itself(said("I am Zebra-9.", prompts=(asked,)))
    assert names_itself(said("I am Zebra-9.", prompts=("Are you zebra-9?", "Sure?")))
    assert not names_itself(said("I may not say.", prompts=(asked,)))


def test_a_follow_up_that_takes_up_the_name_does_not_undo_the_revelation() -> None:
    first = said("I am Zebra-9.")
    later = (answer(Side.A, turn=1), answer(Side.B, turn=1))
    prompts = ("Why?", "Really, Zebra-9?")
    assert names_itself(replace(first, prompts=prompts, responses=(*first.responses, *later)))


def test_a_regeneration_does_not_undo_the_revelation() -> None:
    first = said("I am Zebra-9.")
    again = answer(Side.A, attempt=1, text="No names.")
    assert names_itself(replace(first, responses=(*first.responses, again)))


@given(st.text(min_size=1).map(str.strip).filter(bool), st.text())
def test_every_name_is_found_however_it_is_spelt(model: str, rest: str) -> None:
    assert names_itself(said(f"{rest} {model} {rest}", model=model))
