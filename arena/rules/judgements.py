"""Judges, what they are asked and what they mean, and the rules between them. No I/O.

A judge sees each pair of answers in both orders; what the two verdicts come to is said in
`ranking.combine_verdicts`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from arena.rules.battles import Outcome


class JudgeMode(StrEnum):
    """How a judge is asked."""

    PLAIN = "plain"
    ANSWER_FIRST = "answer-first"  # it writes an answer of its own before it judges
    REFERENCE = "reference"  # it is shown a right answer


class CallStatus(StrEnum):
    """Where a question to a judge stands."""

    ASKED = "asked"  # committed before the request; its end is not on record yet
    ANSWERED = "answered"
    FAILED = "failed"


class Reading(StrEnum):
    """How a verdict was read from an answer."""

    STRUCTURED = "structured"
    FALLBACK = "fallback"  # from the marker line
    UNPARSABLE = "unparsable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model as a judge: asked otherwise, it would be another one.

    Attributes:
        model: its name in the settings.
        mode: how it is asked.
        prompts_hash: of the texts it is asked with.
        sampling: how its answers are drawn, as JSON has it.
    """

    model: str
    mode: JudgeMode
    prompts_hash: str
    sampling: dict[str, Any]

    @property
    def voter_id(self) -> str:
        """A digest of all that makes it distinct."""
        parts = [self.model, self.mode, self.prompts_hash, self.sampling]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return f"judge-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTurn:
    """One turn of a battle with the answers that count.

    Attributes:
        prompt: what was asked.
        answer_a: of side A.
        answer_b: of side B.
        reference: a right answer, `None` where the prompt came without one.
    """

    prompt: str
    answer_a: str
    answer_b: str
    reference: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBattle:
    """A battle as a judge is asked about it.

    Attributes:
        id: of the battle.
        turns: from the first on, as far as both sides have a complete answer.
    """

    id: str
    turns: tuple[AnsweredTurn, ...]


class CallKey(NamedTuple):
    """One question to a judge.

    Attributes:
        battle_id: about which battle.
        turn: about the answers to which prompt, from 0.
        swapped: whether the answer of the battle's side B is shown first.
    """

    battle_id: str
    turn: int
    swapped: bool


class Verdict(NamedTuple):
    """What was read.

    Attributes:
        outcome: in the battle's own orientation, `None` where none could be read.
        reading: how.
    """

    outcome: Outcome | None
    reading: Reading
