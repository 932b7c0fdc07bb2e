"""How answers on record look, for strengths that are adjusted for it."""

from __future__ import annotations

from array import array
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.rules.battles import Side
from ranking import Votes
from ranking.votes.style import compare_style, count_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.store import Store, Tally, VotedAnswer, VotedBattle

__all__ = ["FEATURES", "StyleRecord", "measure_votes"]

FEATURES = ("length", "headers", "bold", "lists")

# Votes whose texts are read in one go: measured, a millisecond each where both answers are a
# kilobyte of Markdown, so this is a second in which pages may wait a little longer.
_VOTES_AT_ONCE = 1_000


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
        for side, measured in _measure_sides(battle).items():
            amounts[side].append(measured)
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


class StyleRecord:
    """The style of every vote's answers, each text read once in a process.

    A vote takes about 100 bytes here: eight numbers and references to four shared names.

    Args:
        store: where the texts are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read_until = 0
        self._measured = _Measured.empty()

    def catch_up(self, tally: Tally) -> bool:
        """Reads some of the texts not read yet; whether all that are settled are read now.

        Args:
            tally: the votes to catch up with.
        """
        end = min(self._read_until + _VOTES_AT_ONCE, tally.settled_until)
        if end > self._read_until:
            # All first: a read that breaks off is made again, and adds nothing twice.
            read = list(self._store.answers.read(after=self._read_until, through=end))
            self._measured.extend(read)
            self._read_until = end
        return self._read_until >= tally.settled_until

    def votes(self, tally: Tally) -> Votes | None:
        """The votes with texts up to a tally that was caught up with, `None` if there are none.

        Their covariates are `FEATURES`, their only group is the category.

        Args:
            tally: the votes.
        """
        # Votes that are not settled may be joined by others: they are read again next time.
        recent = _Measured.empty()
        recent.extend(self._store.answers.read(after=self._read_until, through=tally.last_vote_id))
        return self._measured.joined(recent).to_votes(without=self._store.answers.taken_out())


class _Measured(NamedTuple):
    """Columns of votes; `amounts` has the left and then the right features of each."""

    ids: array[int]
    model_a: list[str]
    model_b: list[str]
    outcome: list[str]
    category: list[str | None]
    amounts: array[float]

    @classmethod
    def empty(cls) -> _Measured:
        return cls(array("q"), [], [], [], [], array("f"))

    def extend(self, voted: Iterable[VotedBattle]) -> None:
        """Adds votes; equal names are kept once."""
        for battle in voted:
            self.ids.append(battle.vote_id)
            self.model_a.append(intern(battle.model_a))
            self.model_b.append(intern(battle.model_b))
            self.category.append(battle.category and intern(battle.category))
            self.outcome.append(battle.outcome)
            sides = _measure_sides(battle)
            for side in (Side.A, Side.B):
                self.amounts.extend(sides[side][name] for name in FEATURES)

    def joined(self, other: _Measured) -> _Measured:
        """These votes, then others."""
        return _Measured(
            self.ids + other.ids,
            self.model_a + other.model_a,
            self.model_b + other.model_b,
            self.outcome + other.outcome,
            self.category + other.category,
            self.amounts + other.amounts,
        )

    def to_votes(self, *, without: set[int]) -> Votes | None:
        """All but some of them, for a fit."""
        taken_out = np.isin(np.array(self.ids), np.fromiter(without, dtype=np.int64))
        keep = np.flatnonzero(~taken_out)
        if not keep.size:
            return None
        amounts = np.array(self.amounts, dtype=float).reshape(len(self.ids), 2, len(FEATURES))
        left, right = (
            {name: amounts[keep, side, i] for i, name in enumerate(FEATURES)} for side in (0, 1)
        )
        return Votes.from_columns(
            *(
                np.array(column, dtype=object)[keep]
                for column in (self.model_a, self.model_b, self.outcome)
            ),
            groups={"category": np.array(self.category, dtype=object)[keep]},
            covariates=compare_style(left, right),
        )


def _measure_sides(battle: VotedBattle) -> dict[Side, dict[str, float]]:
    in_tokens = all(answer.tokens is not None for answer in battle.answers)
    return {
        side: _measure([a for a in battle.answers if a.side is side], in_tokens=in_tokens)
        for side in Side
    }


def _measure(answers: Sequence[VotedAnswer], *, in_tokens: bool) -> dict[str, float]:
    marks = [count_markdown(answer.text) for answer in answers]
    lengths = [(answer.tokens or 0) if in_tokens else len(answer.text) for answer in answers]
    return {
        "length": sum(lengths),
        "headers": sum(mark.headers for mark in marks),
        "bold": sum(mark.bold for mark in marks),
        "lists": sum(mark.lists for mark in marks),
    }
