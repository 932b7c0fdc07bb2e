"""Agreement of crowd, experts and judges: from the record to the report of `ranking`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.battles import VoterKind
from arena.store import JudgementRow
from ranking import Judgements

if TYPE_CHECKING:
    from collections.abc import Sequence


class NothingToCompare(Exception):
    """No battle was judged by anybody but the crowd."""


def gather_judgements(rows: Sequence[JudgementRow]) -> Judgements:
    """The rows of the record as the long table that `ranking` compares.

    Raises:
        NothingToCompare: there are none by experts or judges.
    """
    import pandas as pd

    if not any(row.kind != VoterKind.CROWD for row in rows):
        raise NothingToCompare(
            "no battle has been judged by an expert or a judge yet. Begin with: "
            "arena experts sample --help, or arena judge run --help"
        )
    frame = pd.DataFrame(rows, columns=JudgementRow._fields).drop(columns="comment")
    has_judges = any(row.kind == VoterKind.JUDGE for row in rows)
    if frame["arm"].isna().all():
        frame = frame.drop(columns=["arm", "shown"])
    return Judgements.from_frame(
        frame,
        groups=["category", "language"],
        both_orders=[VoterKind.JUDGE.value] if has_judges else [],
    )
