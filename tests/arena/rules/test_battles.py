"""The rules between battles, answers and votes."""

from __future__ import annotations

import pytest
from battle_steps import PAIRING, answer, battle_with
from hypothesis import given
from hypothesis import strategies as st

from arena.rules.battles import (
    BattleStatus,
    InvalidPrompt,
    Outcome,
    ResponseStatus,
    Side,
    clean_prompt,
    settled_status,
    storable,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def clean(prompt: str) -> str:
    return clean_prompt(prompt, max_characters=50)


def test_the_outcomes_have_their_public_names() -> None:
    # As in LMSYS' lmsys/chatbot_arena_conversations and lmarena-ai/arena-human-preference-55k.
    assert [*Outcome] == ["model_a", "model_b", "tie", "tie (bothbad)"]


def test_a_pairing_has_a_model_on_each_side() -> None:
    assert [PAIRING.model(side) for side in Side] == ["Amber", "Birch"]


# Prompts


@given(ANY_TEXT)
def test_what_is_storable_can_be_written_anywhere(text: str) -> None:
    kept = storable(text)
    kept.encode("utf-8")
    assert "\0" not in kept
    assert storable(kept) == kept
    assert len(text) - len(kept) == sum(c == "\0" or 0xD800 <= ord(c) <= 0xDFFF for c in text)


@given(ANY_TEXT)
def test_a_prompt_is_cleaned_or_refused_with_the_reason(prompt: str) -> None:
    left = storable(prompt).strip()
    if len(prompt) <= 50 and left:
        assert clean(prompt) == left == clean(left)
        return
    with pytest.raises(InvalidPrompt) as refused:
        clean(prompt)
    assert refused.value.reason == ("too_long" if len(prompt) > 50 else "empty")
    assert refused.value.limit == 50


def test_a_prompt_of_exactly_the_limit_is_taken() -> None:
    assert clean("x" * 50) == "x" * 50
    with pytest.raises(InvalidPrompt, match="too_long: 51, allowed 50"):
        clean("x" * 51)


# How answers make a battle


@given(st.tuples(*[st.sampled_from(ResponseStatus)] * 2))
def test_a_battle_is_ready_only_if_both_are_complete(
    statuses: tuple[ResponseStatus, ResponseStatus],
) -> None:
    settled = settled_status(statuses)
    assert settled is settled_status(statuses[::-1])
    assert (settled is BattleStatus.READY) == (set(statuses) == {ResponseStatus.COMPLETE})
    assert (settled is BattleStatus.ABANDONED) == (ResponseStatus.CANCELLED in statuses)
    assert settled in {BattleStatus.READY, BattleStatus.ABANDONED, BattleStatus.FAILED}


def test_the_latest_attempt_counts_in_whatever_order_they_ended() -> None:
    first, second = answer(Side.A), answer(Side.A, attempt=1, text="Better.")
    for responses in ((first, second), (second, first)):
        battle = battle_with(*responses)
        assert battle.response(0, Side.A) is second
        assert battle.next_attempt(Side.A) == 2
    assert battle_with().response(0, Side.A) is None
    assert battle_with().next_attempt(Side.A) == 0


def test_an_attempt_is_one_of_the_last_turn() -> None:
    battle = battle_with(answer(Side.A), answer(Side.B), prompts=("One?", "Two?"))
    assert battle.next_attempt(Side.A) == 0
    assert battle.unfinished_sides() == (Side.A, Side.B)


def test_a_retry_asks_the_sides_that_are_not_complete() -> None:
    failed = answer(Side.B, status=ResponseStatus.FAILED)
    assert battle_with(answer(Side.A), failed).unfinished_sides() == (Side.B,)
    repaired = answer(Side.B, attempt=1)
    assert battle_with(answer(Side.A), failed, repaired).unfinished_sides() == ()
