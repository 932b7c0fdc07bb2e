"""Whether people agree with a machine's verdict because it was shown to them.

A study has three arms: `blind` judgements; `shown` ones, made after seeing a machine's
verdict; `planted` ones, made after seeing a wrong one. The effect of an arm is its
agreement with what was shown minus the agreement of blind judgements with the same
verdicts, which they have by chance (or because the verdict is right).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.intervals import ClusteredResampling, Estimate, difference, ratio
from ranking.errors import InvalidVote

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranking.agreement.judgements import Judgements
    from ranking.votes.votes import Group

    Verdicts = NDArray[np.int8]

__all__ = ["ARMS", "ArmEffect", "measure_arms", "select_blind"]

ARMS = ("blind", "shown", "planted")


@dataclass(frozen=True)
class ArmEffect:
    """What showing a verdict did.

    Attributes:
        arm: `shown` or `planted`.
        judgements: Made after seeing a verdict.
        blind_judgements: Made without, on battles whose verdict of this arm is known.
        unmatched: Blind judgements on other battles; they are left out.
        agreement: Share of `judgements` that agree with what was shown.
        chance: Share of `blind_judgements` that agree with the same verdicts.
        effect: `agreement` minus `chance`.
    """

    arm: str
    judgements: int
    blind_judgements: int
    unmatched: int
    agreement: Estimate
    chance: Estimate
    effect: Estimate


def select_blind(table: Judgements) -> Judgements:
    """The judgements made without seeing a verdict: in the arm `blind`, or in no study.

    Raises:
        InvalidVote: An arm is unknown; the row is named.
    """
    if table.arm is None:
        return table
    rows = _find_arms(table.arm)
    return table.select(~(rows["shown"] | rows["planted"]))


def measure_arms(table: Judgements, resampling: ClusteredResampling) -> tuple[ArmEffect, ...]:
    """The effect of each arm in which a verdict was shown.

    Rows without an arm are in no study, such as the crowd's votes, and are left out.
    A blind row's own `shown` is the verdict that would have been planted there; where it has
    none, the one planted (or shown) to somebody else on the same battle is taken.

    Raises:
        InvalidVote: The table has no arms or no verdicts shown, an arm is unknown, or
            nothing was shown in an arm that shows.
    """
    if table.arm is None or table.shown is None:
        raise InvalidVote("arms need the columns arm and shown", value=None)
    rows = _find_arms(table.arm)
    silent = np.flatnonzero((rows["shown"] | rows["planted"]) & (table.shown < 0))
    if silent.size:
        row = int(silent[0])
        arm = table.arm.names[table.arm.codes[row]]
        raise InvalidVote(f"no verdict shown in the arm {arm!r}", row=row, value=None)
    return tuple(
        _measure(table, table.shown, arm, rows[arm], rows["blind"], resampling)
        for arm in ARMS[1:]
        if rows[arm].any()
    )


def _measure(
    table: Judgements,
    shown: Verdicts,
    arm: str,
    here: NDArray[np.bool_],
    blind: NDArray[np.bool_],
    resampling: ClusteredResampling,
) -> ArmEffect:
    by_battle = np.full(int(table.battle.max()) + 1, -1, dtype=np.int8)
    by_battle[table.battle[here]] = shown[here]
    wanted = by_battle[table.battle]
    if arm == "planted":
        wanted = np.where(shown >= 0, shown, wanted)
    wanted = np.where(here, shown, wanted)
    rows = np.flatnonzero((here | blind) & (wanted >= 0))
    agree = table.verdict[rows] == wanted[rows]
    exposed, unexposed = here[rows], blind[rows]
    terms = np.column_stack([agree & exposed, exposed, agree & unexposed, unexposed]).astype(float)
    item, judge = table.item[rows], table.judge[rows]
    return ArmEffect(
        arm=arm,
        judgements=int(exposed.sum()),
        blind_judgements=int(unexposed.sum()),
        unmatched=int((blind & (wanted < 0)).sum()),
        agreement=resampling.estimate_rows(item, judge, terms[:, :2], ratio),
        chance=resampling.estimate_rows(item, judge, terms[:, 2:], ratio),
        effect=resampling.estimate_rows(item, judge, terms, difference),
    )


def _find_arms(arm: Group) -> dict[str, NDArray[np.bool_]]:
    """The rows of each arm; those without one are in none."""
    codes = {name: arm.names.index(name) if name in arm.names else None for name in ARMS}
    rows = {name: np.zeros(len(arm.codes), dtype=bool) if code is None else arm.codes == code
            for name, code in codes.items()}  # fmt: skip
    wrong = np.flatnonzero((arm.codes >= 0) & ~np.any(list(rows.values()), axis=0))
    if wrong.size:
        row = int(wrong[0])
        name = arm.names[arm.codes[row]]
        raise InvalidVote(f"unknown arm {name!r}; expected {', '.join(ARMS)}",
                          row=row, value=name)  # fmt: skip
    return rows
