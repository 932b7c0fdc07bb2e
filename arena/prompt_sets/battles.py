"""Makes battles of a prompt set's answers, for experts and judges."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import TYPE_CHECKING

from arena.rules.battles import Pairing, Response, ResponseStatus, Side
from arena.store.judged_battles import PROMPT_SET_POLICY
from arena.store.prompt_set_records import SetBattle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.prompt_sets.answers import AnswerFolder, RecordedTurn
    from arena.prompt_sets.files import PromptSet, Question
    from arena.store import Store

    Answers = Mapping[tuple[str, int], RecordedTurn]

__all__ = ["StoredBattles", "store_battles"]

_POLICY_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBattles:
    """What became of a prompt set's battles.

    Attributes:
        added: new on record.
        present: there already.
        incomplete: left out, since a side lacks an answer.
    """

    added: int
    present: int
    incomplete: int


def store_battles(
    store: Store,
    prompts: PromptSet,
    folder: AnswerFolder,
    *,
    models: Sequence[str],
    pairs_per_prompt: int | None = None,
    seed: int = 0,
) -> StoredBattles:
    """Records a battle for each prompt and pair; those that are there stay as they are.

    Args:
        store: the record, which knows the models' cards.
        prompts: what was asked.
        folder: what was answered.
        models: who is paired.
        pairs_per_prompt: so many pairs a prompt, drawn with the seed; all if `None`. The
            chance of a pair to be drawn is recorded with its battle.
        seed: of that draw, and of the sides.
    """
    answers = {model: folder.read(model) for model in models}
    found = list(_pair(prompts, folder.identity, models, pairs_per_prompt, seed))
    complete = [
        (battle_id, question, pairing)
        for battle_id, question, pairing in found
        if all(
            (question.id, turn) in answers[model]
            for model in (pairing.model_a, pairing.model_b)
            for turn in range(len(question.turns))
        )
    ]
    added = store.prompt_sets.add(
        _make_battle(battle_id, question, pairing, answers)
        for battle_id, question, pairing in complete
    )
    return StoredBattles(
        added=added, present=len(complete) - added, incomplete=len(found) - len(complete)
    )


def _pair(
    prompts: PromptSet,
    identity: str,
    models: Sequence[str],
    pairs_per_prompt: int | None,
    seed: int,
) -> Iterator[tuple[str, Question, Pairing]]:
    pairs = list(combinations(sorted(models), 2))
    drawn = len(pairs) if pairs_per_prompt is None else min(pairs_per_prompt, len(pairs))
    for question in prompts.questions:
        chance = random.Random(json.dumps([identity, seed, question.id]))  # noqa: S311  repeatable
        for a, b in sorted(chance.sample(pairs, drawn)):
            left, right = (a, b) if chance.random() < 0.5 else (b, a)
            yield (
                _name_battle(identity, question, a, b),
                question,
                Pairing(
                    model_a=left,
                    model_b=right,
                    policy=PROMPT_SET_POLICY,
                    policy_version=_POLICY_VERSION,
                    probability=drawn / len(pairs),
                    candidates=len(models),
                ),
            )


def _name_battle(identity: str, question: Question, a: str, b: str) -> str:
    """The same battle's id again: so one that is on record is known."""
    text = json.dumps([identity, question.id, a, b], ensure_ascii=False)
    return f"set-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def _make_battle(
    battle_id: str, question: Question, pairing: Pairing, answers: Mapping[str, Answers]
) -> SetBattle:
    return SetBattle(
        id=battle_id,
        pairing=pairing,
        category=question.category,
        language=question.language,
        prompts=question.turns,
        references=question.references,
        responses=tuple(
            _respond(answers[pairing.model(side)][question.id, turn], side)
            for turn in range(len(question.turns))
            for side in Side
        ),
    )


def _respond(turn: RecordedTurn, side: Side) -> Response:
    return Response(
        turn=turn.turn,
        side=side,
        attempt=0,
        status=ResponseStatus.COMPLETE,
        text=turn.answer,
        reasoning=turn.reasoning,
        finish_reason=turn.finish_reason,
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens,
        time_to_first_token=turn.time_to_first_token,
        duration=turn.duration,
        model_id=turn.model_id,
        created_at=datetime.now(UTC),
    )
