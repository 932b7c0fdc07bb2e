"""Agreement of crowd, experts and judges: from the record to the report of `ranking`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING

from arena.rules.battles import Outcome, VoterKind, turn_round
from arena.rules.experts import Arm
from arena.store import UNPARSABLE, JudgementRow
from ranking import Judgements, agreement_report, combine_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.rules.judgements import AnsweredTurn
    from arena.store import Store
    from ranking import AgreementReport, Consistency


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
    frame = pd.DataFrame(rows, columns=JudgementRow._fields)
    frame = frame.drop(columns=["comment", "swapped"])
    has_judges = any(row.kind == VoterKind.JUDGE for row in rows)
    if frame["arm"].isna().all():
        frame = frame.drop(columns=["arm", "shown"])
    return Judgements.from_frame(
        frame,
        groups=["category", "language"],
        both_orders=[VoterKind.JUDGE.value] if has_judges else [],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one individual said about a battle.

    Attributes:
        kind: `crowd`, `expert` or `judge`.
        judge: voter id of a crowd voter, name of an expert or of a judge.
        verdict: in the battle's own orientation; a judge's two orders taken together, `None`
            where either could not be read.
        comment: of an expert.
        reasons: of an expert, as `arena.experts.Reason` names them.
        consistency: of a judge's two orders, `None` for people.
        arm: of an expert's task, `None` for others.
    """

    kind: str
    judge: str
    verdict: Outcome | None
    comment: str = ""
    reasons: tuple[str, ...] = ()
    consistency: Consistency | None = None
    arm: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """All that was said of the answers to one prompt.

    Attributes:
        battle_id: which battle.
        turn: which prompt, from 1.
        model_a: on the battle's left.
        model_b: on its right.
        said: by whom, crowd first.
    """

    battle_id: str
    turn: int
    model_a: str
    model_b: str
    said: tuple[Said, ...]

    def differ(self, first: str, second: str) -> bool:
        """Whether somebody of one kind and somebody else of the other said different things.

        Both bad counts as a tie. As in the report, judgements made after seeing a verdict do
        not count, and neither do a judge's that could not be read.
        """
        blind = [
            one for one in self.said if one.arm in (None, Arm.BLIND) and one.verdict is not None
        ]
        return any(
            _collapse(one.verdict) != _collapse(other.verdict)
            for one in blind
            if one.kind == first
            for other in blind
            if other.kind == second and other is not one
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementView:
    """The report on the record as it was read.

    Attributes:
        report: who agrees with whom.
        verdicts: what was said, a battle and prompt after the other.
        assignments: the studies that there are.
        assignment: the one that this is about, `None` for all battles.
    """

    report: AgreementReport
    verdicts: tuple[Verdicts, ...]
    assignments: tuple[str, ...]
    assignment: str | None


class AgreementDesk:
    """Computes the report when somebody asks, and again only when something new was said.

    Args:
        store: the record.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._views: dict[str | None, tuple[tuple[int, ...], AgreementView]] = {}

    def assignments(self) -> tuple[str, ...]:
        """The names of the studies that there are."""
        return tuple(assignment.name for assignment in self._store.assignments.all())

    def view(self, assignment: str | None = None) -> AgreementView:
        """The report, computed where it is not at hand; safe in any thread.

        Args:
            assignment: only battles of this study.

        Raises:
            NothingToCompare: nobody but the crowd has judged any.
        """
        with self._lock:  # two who ask at once get the same report, computed once
            version = self._store.judgements.version()
            known = self._views.get(assignment)
            if known is None or known[0] != version:
                known = self._views[assignment] = version, self._compute(assignment)
            return known[1]

    def texts(self, battle_ids: Sequence[str]) -> dict[str, tuple[AnsweredTurn, ...]]:
        """Prompts and answers of battles, by id."""
        return {battle.id: battle.turns for battle in self._store.judged_battles.read(battle_ids)}

    def _compute(self, assignment: str | None) -> AgreementView:
        rows = self._store.judgements.read(assignment)
        judgements = gather_judgements(rows)
        report = agreement_report(
            judgements,
            by=("category", "pair"),
            arms=any(row.arm not in (None, Arm.BLIND) for row in rows),
        )
        return AgreementView(
            report=report,
            verdicts=tuple(collect_verdicts(rows)),
            assignments=self.assignments(),
            assignment=assignment,
        )


def collect_verdicts(rows: Sequence[JudgementRow]) -> Iterator[Verdicts]:
    """The rows of the record, taken together by battle and prompt, in their order."""
    for (battle_id, turn), group in groupby(rows, key=lambda row: (row.item, row.turn)):
        lines = list(group)
        seen = lines[0]
        a, b = (seen.model_b, seen.model_a) if seen.swapped else (seen.model_a, seen.model_b)
        yield Verdicts(
            battle_id=battle_id, turn=turn, model_a=a, model_b=b, said=tuple(_say(lines))
        )


def _say(lines: Sequence[JudgementRow]) -> Iterator[Said]:
    for (kind, judge), group in groupby(lines, key=lambda row: (row.kind, row.judge)):
        own = list(group)
        if kind != VoterKind.JUDGE:
            yield from (
                Said(
                    kind=kind,
                    judge=judge,
                    verdict=Outcome(row.winner),
                    comment=row.comment,
                    reasons=tuple(row.reasons.split()),
                    arm=row.arm,
                )
                for row in own
            )
            continue
        orders = {row.swapped: _read(row) for row in own}
        if len(orders) == 2:
            verdict, consistency = combine_verdicts(orders[False], orders[True])
            yield Said(
                kind=kind,
                judge=judge,
                verdict=None if verdict is None else Outcome(verdict),
                consistency=consistency,
            )


def _read(row: JudgementRow) -> Outcome | None:
    """A judge's verdict in one order, turned to the battle's orientation."""
    if row.winner == UNPARSABLE:
        return None
    return turn_round(Outcome(row.winner), swapped=row.swapped)


def _collapse(verdict: Outcome | None) -> Outcome | None:
    return Outcome.TIE if verdict is Outcome.BOTH_BAD else verdict
