"""What a judge wrote is read exactly or not at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.judging.reading import VERDICTS, read_verdict
from arena.rules.battles import Outcome, turn_round
from arena.rules.judgements import Reading, Verdict
from ranking import Consistency, combine_verdicts

A, B, TIE, BOTH_BAD = Outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"reason": "Right.", "verdict": "A"}', A),
        ('  {"verdict": "B"}\n', B),
        ('```json\n{"reason": "", "verdict": "tie"}\n```', TIE),
        ('```\n{"verdict": "both_bad", "reason": "[[A]]"}\n```', BOTH_BAD),
        ('{"own_answer": "{\\"verdict\\": \\"A\\"}", "verdict": "B"}', B),
    ],
)
def test_an_object_is_read(text: str, outcome: Outcome) -> None:
    assert read_verdict(text, swapped=False) == Verdict(outcome, Reading.STRUCTURED)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The first is right.\n[[A]]", A),
        ("[[B]]\n\n", B),
        ("Both are.\n  [[tie]]  \n", TIE),
        ("[[A]]? No:\n[[both_bad]]", BOTH_BAD),
        ('{"reason": "cut in the mid\n[[A]]', A),
    ],
)
def test_a_marker_on_the_last_line_is_read(text: str, outcome: Outcome) -> None:
    assert read_verdict(text, swapped=False) == Verdict(outcome, Reading.FALLBACK)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "Answer A is better.",
        "verdict: [[A]]",
        "[[A]]\nor rather\n[[B]]",
        "[[A]]\nI am sure.",
        "[[a]]",
        "[[C]]",
        "[[A]] [[A]]",
        '{"verdict": "a"}',
        '{"verdict": "A", "verdict": "B"}',
        '{"verdict": ["A"]}',
        '{"winner": "A"}',
        '["A"]',
        '{"reason": "It goes on and on',
        'Here it is: {"verdict": "A"}',
        '{"verdict": "A"} {"verdict": "B"}',
        "[" * 100_000,
    ],
)
def test_anything_else_is_no_verdict(text: str) -> None:
    for swapped in (False, True):
        assert read_verdict(text, swapped=swapped) == Verdict(None, Reading.UNPARSABLE)


@given(st.sampled_from(list(VERDICTS)), st.text(), st.booleans())
def test_whatever_the_reason_says_the_verdict_counts(said: str, reason: str, turned: bool) -> None:
    text = json.dumps({"reason": reason, "verdict": said}, ensure_ascii=False)
    found = read_verdict(text, swapped=turned)
    expected = turn_round(VERDICTS[said], swapped=turned)
    assert found == Verdict(expected, Reading.STRUCTURED)


def test_in_the_other_order_a_verdict_means_the_other_side() -> None:
    said = [read_verdict(f"[[{name}]]", swapped=True).outcome for name in VERDICTS]
    assert said == [B, A, TIE, BOTH_BAD]


def test_a_judge_that_always_takes_the_first_is_first_biased() -> None:
    readings = [read_verdict('{"verdict": "A"}', swapped=swapped) for swapped in (False, True)]
    assert combine_verdicts(*(reading.outcome for reading in readings)) == (
        TIE, Consistency.FIRST_BIASED,
    )  # fmt: skip
