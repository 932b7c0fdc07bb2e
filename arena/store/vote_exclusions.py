"""Votes taken out of the count by hand, and taken back in: every step stays on record."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import and_, case, exists, func, insert, literal, select, true, update

from arena.rules.battles import ExclusionReason, Outcome, VoterKind
from arena.store.chosen_votes import (
    Exclusion,
    VoteRecord,
    VoterRecord,
    VoteSelection,
    VoteTotals,
    select_votes,
)
from arena.store.conditions import (
    is_excluded,
    is_of_own_crowd,
    joined_votes,
    votes_that_count,
    votes_that_may_count,
)
from arena.store.tables import battles, exclusions, voters, votes
from arena.store.transactions import COUNTING_ROWS, begin_write
from arena.store.vote_counts import OutcomeCount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, RowMapping, Select
    from sqlalchemy.engine import Engine


class VoteExclusions:
    """Which votes count, as maintainers decide it. Nothing is deleted.

    Args:
        engine: of the record.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def totals(self) -> VoteTotals:
        """What becomes of all votes of the arena's own crowd."""
        is_crowd = is_of_own_crowd()
        by_reason = (
            select(exclusions.c.reason, func.count(exclusions.c.vote_id.distinct()))
            .select_from(joined_votes().join(exclusions, exclusions.c.vote_id == votes.c.id))
            .where(is_crowd, exclusions.c.lifted_at.is_(None))
            .group_by(exclusions.c.reason)
            .order_by(exclusions.c.reason)
        )
        with self._engine.connect() as connection:

            def count(*where: ColumnElement[bool]) -> int:
                query = select(func.count()).select_from(joined_votes()).where(*where)
                return int(connection.execute(query).scalar_one())

            return VoteTotals(
                votes=count(is_crowd),
                counted=count(votes_that_count()),
                retracted=count(is_crowd, votes.c.retracted_at.is_not(None)),
                excluded={
                    ExclusionReason(reason): n for reason, n in connection.execute(by_reason)
                },
            )

    def find(
        self, chosen: VoteSelection, *, counts: bool | None = None, limit: int | None = None
    ) -> list[VoteRecord]:
        """Votes with every reason that they have or had, the newest first.

        Args:
            chosen: which.
            counts: only those that count, or only those that do not.
            limit: at most so many.
        """
        is_counted = votes_that_count().label("counts")
        query = select_votes(chosen).add_columns(
            votes.c.battle_id, votes.c.voter_id, battles.c.model_a, battles.c.model_b,
            votes.c.outcome, votes.c.created_at, votes.c.retracted_at, is_counted,
        )  # fmt: skip
        if counts is not None:
            query = query.where(votes_that_count() if counts else ~votes_that_count())
        query = query.order_by(votes.c.id.desc()).limit(limit)
        reasons = (
            select(exclusions)
            .where(exclusions.c.vote_id.in_(query.with_only_columns(votes.c.id)))
            .order_by(exclusions.c.id)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
            told: dict[int, list[Exclusion]] = {}
            for row in connection.execute(reasons).mappings():
                told.setdefault(row["vote_id"], []).append(
                    Exclusion(
                        reason=ExclusionReason(row["reason"]),
                        note=row["note"],
                        created_at=row["created_at"],
                        lifted_at=row["lifted_at"],
                        lifted_note=row["lifted_note"],
                    )
                )
        return [
            VoteRecord(
                **{
                    **row,
                    "outcome": Outcome(row["outcome"]),
                    "counts": bool(row["counts"]),
                    "exclusions": tuple(told.get(row["vote_id"], ())),
                }
            )
            for row in rows
        ]

    def would_leave(self, chosen: VoteSelection) -> list[OutcomeCount]:
        """Counts of the votes that would no longer count, were the chosen ones excluded."""
        return self._count(select_votes(chosen).where(votes_that_count()))

    def would_return(self, chosen: VoteSelection) -> list[OutcomeCount]:
        """Counts of the votes that would count again, were the chosen ones restored."""
        remaining = and_(exclusions.c.vote_id == votes.c.id, exclusions.c.lifted_at.is_(None))
        if chosen.reason is None:
            kept: ColumnElement[bool] = ~true()
        else:
            kept = exists().where(remaining, exclusions.c.reason != chosen.reason)
        return self._count(select_votes(chosen).where(is_excluded(), ~kept, votes_that_may_count()))

    def exclude(self, chosen: VoteSelection, *, reason: ExclusionReason, note: str) -> int:
        """Takes votes out of the count; how many did not have this reason already.

        Args:
            chosen: which.
            reason: why.
            note: the same in a maintainer's words.

        Raises:
            DatabaseBusy: other writers did not come to an end.
        """
        has_it = exists().where(
            exclusions.c.vote_id == votes.c.id,
            exclusions.c.reason == reason,
            exclusions.c.lifted_at.is_(None),
        )
        new = select_votes(chosen).where(~has_it, voters.c.kind == VoterKind.CROWD)
        values = new.with_only_columns(
            votes.c.id, literal(str(reason)), literal(note), literal(datetime.now(UTC), _TIME)
        )
        into = insert(exclusions).from_select(["vote_id", "reason", "note", "created_at"], values)
        with begin_write(self._engine) as connection:
            return connection.execute(into, execution_options=COUNTING_ROWS).rowcount

    def restore(self, chosen: VoteSelection, *, note: str) -> int:
        """Lifts the reasons of votes, all or the chosen one; how many votes had some.

        Args:
            chosen: which.
            note: why, in a maintainer's words.

        Raises:
            DatabaseBusy: other writers did not come to an end.
        """
        ids = select_votes(chosen).with_only_columns(votes.c.id)
        lifted: list[ColumnElement[bool]] = [
            exclusions.c.vote_id.in_(ids),
            exclusions.c.lifted_at.is_(None),
        ]
        if chosen.reason is not None:
            lifted.append(exclusions.c.reason == chosen.reason)
        which = select(func.count(exclusions.c.vote_id.distinct())).where(*lifted)
        lifting = {"lifted_at": datetime.now(UTC), "lifted_note": note}
        with begin_write(self._engine) as connection:
            restored = int(connection.execute(which).scalar_one())
            connection.execute(update(exclusions).where(*lifted).values(lifting))
        return restored

    def exclude_voter(self, voter_id: str, *, reason: ExclusionReason, note: str) -> int | None:
        """Takes all that a voter said and will say out of the count.

        Args:
            voter_id: who.
            reason: why.
            note: the same in a maintainer's words.

        Returns:
            How many votes did not have this reason already, `None` where the crowd has no such
            voter.

        Raises:
            DatabaseBusy: other writers did not come to an end.
        """
        told = {"excluded_reason": reason, "excluded_note": note}
        if not self._tell_voter(voter_id, told):
            return None
        return self.exclude(VoteSelection(voter_ids=(voter_id,)), reason=reason, note=note)

    def restore_voter(self, voter_id: str, *, note: str) -> int | None:
        """Lifts what `exclude_voter` did; the votes' other reasons stay.

        Args:
            voter_id: who.
            note: why, in a maintainer's words.

        Returns:
            How many votes lost the reason, `None` where the crowd has no such voter.

        Raises:
            DatabaseBusy: other writers did not come to an end.
        """
        known = self.voters([voter_id])
        if not known:
            return None
        reason = known[0].excluded_reason
        self._tell_voter(voter_id, {"excluded_reason": None, "excluded_note": None})
        if reason is None:
            return 0
        return self.restore(VoteSelection(voter_ids=(voter_id,), reason=reason), note=note)

    def _tell_voter(self, voter_id: str, told: Mapping[str, str | None]) -> bool:
        who = (voters.c.id == voter_id, voters.c.kind == VoterKind.CROWD)
        with begin_write(self._engine) as connection:
            return connection.execute(update(voters).where(*who).values(told)).rowcount == 1

    def voters(
        self, voter_ids: Sequence[str] = (), *, limit: int | None = None
    ) -> list[VoterRecord]:
        """Those of the crowd who voted, the busiest first; those asked for even if they did not.

        Args:
            voter_ids: only these; all where it is empty.
            limit: at most so many.
        """
        cast = votes.join(battles, votes.c.battle_id == battles.c.id)
        number = func.count(votes.c.id)
        query = (
            select(
                voters, number.label("votes"), func.max(votes.c.created_at).label("last_at"),
                func.sum(case((votes_that_count() & votes.c.id.is_not(None), 1), else_=0)).label(
                    "counted"
                ),
            )
            .select_from(voters.outerjoin(cast, votes.c.voter_id == voters.c.id))
            .where(voters.c.kind == VoterKind.CROWD)
            .group_by(voters.c.id)
            .order_by(number.desc(), voters.c.id)
            .limit(limit)
        )  # fmt: skip
        query = query.where(voters.c.id.in_(voter_ids)) if voter_ids else query.having(number > 0)
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
            said: dict[str, dict[Outcome, int]] = {row["id"]: {} for row in rows}
            outcomes = (
                select(votes.c.voter_id, votes.c.outcome, func.count())
                .where(votes.c.voter_id.in_(said))
                .group_by(votes.c.voter_id, votes.c.outcome)
                .order_by(votes.c.outcome)
            )
            for voter, outcome, count in connection.execute(outcomes):
                said[voter][Outcome(outcome)] = count
        return [_read_voter(row, said[row["id"]]) for row in rows]

    def _count(self, chosen: Select[tuple[int]]) -> list[OutcomeCount]:
        keys = (battles.c.model_a, battles.c.model_b, votes.c.outcome)
        query = chosen.with_only_columns(*keys, func.count()).group_by(*keys)
        cells: Counter[tuple[str, str, str]] = Counter()
        with self._engine.connect() as connection:
            for a, b, outcome, number in connection.execute(query):
                cells[a, b, outcome] += number
        return [OutcomeCount(a, b, Outcome(o), n) for (a, b, o), n in sorted(cells.items())]


_TIME = exclusions.c.created_at.type


def _read_voter(row: RowMapping, outcomes: dict[Outcome, int]) -> VoterRecord:
    reason = row["excluded_reason"]
    return VoterRecord(
        voter_id=row["id"],
        votes=row["votes"],
        counted=int(row["counted"]),
        created_at=row["created_at"],
        last_at=row["last_at"],
        outcomes=outcomes,
        excluded_reason=None if reason is None else ExclusionReason(reason),
        excluded_note=row["excluded_note"],
    )
