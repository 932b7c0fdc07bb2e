"""How answers on record look, for strengths that are adjusted for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.battles import Side
from ranking import Votes
from ranking.style import compare_style, count_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.store import Answer, VotedBattle

__all__ = ["FEATURES", "measure_votes"]

FEATURES = ("length", "headers", "bold", "lists")


def measure_votes(voted: Iterable[VotedBattle], features: Sequence[str]) -> Votes | None:
    """Votes with the differences in style between their two answers.

    Length is in tokens where both models' servers counted them, else in characters; it and
    the Markdown elements are summed over the turns.

    Args:
        voted: the votes.
        features: some of `FEATURES`.

    Returns:
        The votes with all that is on record of them; `None` if there are none.
    """
    kept: list[VotedBattle] = []
    amounts: dict[Side, list[dict[str, float]]] = {side: [] for side in Side}
    for battle in voted:
        kept.append(battle._replace(answers=()))
        in_tokens = all(answer.tokens is not None for answer in battle.answers)
        for side in Side:
            answers = [answer for answer in battle.answers if answer.side is side]
            amounts[side].append(_measure(answers, in_tokens=in_tokens))
    if not kept:
        return None
    left, right = (
        {name: [measured[name] for measured in amounts[side]] for name in features}
        for side in (Side.A, Side.B)
    )
    return Votes.from_columns(
        [vote.model_a for vote in kept],
        [vote.model_b for vote in kept],
        [vote.outcome for vote in kept],
        voter=[vote.voter_id for vote in kept],
        draw_probability=[vote.probability for vote in kept],
        time=[vote.created_at.timestamp() for vote in kept],
        groups={
            "category": [vote.category for vote in kept],
            "language": [vote.language for vote in kept],
        },
        covariates=compare_style(left, right),
    )


def _measure(answers: Sequence[Answer], *, in_tokens: bool) -> dict[str, float]:
    marks = [count_markdown(answer.text) for answer in answers]
    lengths = [(answer.tokens or 0) if in_tokens else len(answer.text) for answer in answers]
    return {
        "length": sum(lengths),
        "headers": sum(mark.headers for mark in marks),
        "bold": sum(mark.bold for mark in marks),
        "lists": sum(mark.lists for mark in marks),
    }
