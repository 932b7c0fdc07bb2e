"""Votes counted inside the database, so that a million of them cost a few thousand rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import and_, exists, func, select

from arena.rules.battles import Outcome
from arena.store.conditions import cast_between, joined_votes, votes_that_count
from arena.store.tables import battles, exclusions, votes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.engine import Connection, Engine

    Cell = tuple[str, str, str]
    CategoryCell = tuple[str, str, str, str | None]

Detail = Literal["voter_id", "probability", "day", "category", "language"]

# PostgreSQL may commit vote 7 after vote 8 was counted. A vote is on record a few
# milliseconds after its time; after this long no lower number can still be missing.
_SETTLED_AFTER = timedelta(seconds=60)
_OUTCOME_KEYS = (battles.c.model_a, battles.c.model_b, votes.c.outcome)


class OutcomeCount(NamedTuple):
    """How often a pair, sides as shown, ended like this."""

    model_a: str
    model_b: str
    outcome: Outcome
    votes: int


class DetailedCount(NamedTuple):
    """The same, told apart by what was asked for; the rest is `None`.

    Attributes:
        model_a: on the left.
        model_b: on the right.
        outcome: how it ended.
        votes: how many.
        voter_id: who voted.
        probability: that the matchmaker gave this pair.
        day: of the vote (UTC).
        category: of the first prompt, `None` also where it is not known.
        language: of the first prompt, `None` also where it is not known.
    """

    model_a: str
    model_b: str
    outcome: Outcome
    votes: int
    voter_id: str | None = None
    probability: float | None = None
    day: date | None = None
    category: str | None = None
    language: str | None = None


class _Marks(NamedTuple):
    """What moves when a vote that was counted stops counting, or one that was not begins to."""

    last_exclusion_id: int
    lifted: int
    last_lift: datetime | None
    retractions: int
    last_retraction: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts that can be brought up to date by counting the newest votes alone.

    Attributes:
        settled: votes per (model_a, model_b, outcome, category) up to number `settled_until`.
        settled_until: no vote up to this number can still appear.
        recent: votes after that number.
        last_vote_id: the newest vote that was there; none after it is counted.
        marks: what would have moved, had one of the settled votes stopped counting.
        first_vote_ids: the oldest vote that counts on each model that has one.
    """

    settled: Mapping[CategoryCell, int]
    settled_until: int
    recent: Mapping[CategoryCell, int]
    last_vote_id: int
    marks: _Marks
    first_vote_ids: Mapping[str, int]

    @property
    def votes(self) -> int:
        """How many votes count."""
        return sum(self.settled.values()) + sum(self.recent.values())

    def counts(self) -> list[OutcomeCount]:
        """Counts per (model_a, model_b, outcome), in a fixed order."""
        cells: Counter[Cell] = Counter()
        for part in (self.settled, self.recent):
            for (a, b, outcome, _), count in part.items():
                cells[a, b, outcome] += count
        return _list_counts(cells)

    def counts_by_category(self) -> dict[str, list[OutcomeCount]]:
        """The same for each category by name; votes without one are in none."""
        split: dict[str, Counter[Cell]] = {}
        for part in (self.settled, self.recent):
            for (a, b, outcome, category), count in part.items():
                if category is not None:
                    split.setdefault(category, Counter())[a, b, outcome] += count
        return {category: _list_counts(split[category]) for category in sorted(split)}


class VoteCounts:
    """Counts of the votes that count: cast by the crowd, not retracted, not excluded."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_outcome(
        self, *, since: datetime | None = None, until: datetime | None = None
    ) -> list[OutcomeCount]:
        """Counts per (model_a, model_b, outcome), in a fixed order.

        Args:
            since: no vote before this time.
            until: no vote at this time or after it.
        """
        with self._engine.connect() as connection:
            query = _count_by(*_OUTCOME_KEYS).where(cast_between(since, until))
            cells = {(a, b, o): count for a, b, o, count in connection.execute(query)}
        return _list_counts(cells)

    def by_detail(
        self,
        details: Collection[Detail],
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[DetailedCount]:
        """The same counts, told apart further, in a fixed order.

        Args:
            details: by what.
            since: no vote before this time.
            until: no vote at this time or after it.
        """
        columns: dict[Detail, ColumnElement[Any]] = {
            "voter_id": votes.c.voter_id,
            "probability": battles.c.probability,
            "day": func.date(votes.c.created_at),
            "category": battles.c.category,
            "language": battles.c.language,
        }
        told = [columns[name] for name in details]
        keys = [battles.c.model_a, battles.c.model_b, votes.c.outcome, *told]
        query = (
            select(func.count(), *keys)
            .select_from(joined_votes())
            .where(votes_that_count(), cast_between(since, until))
            .group_by(*keys)
            .order_by(*keys)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [_read_count(row, details) for row in rows]

    def tally(self, known: Tally | None = None) -> Tally:
        """All counts, in a form from which the next are cheap.

        Args:
            known: an earlier tally. Only votes newer than its settled ones are counted,
                unless one of those was excluded or retracted since: then all are.
        """
        with self._engine.connect() as connection:
            # Read before the counts: a change in between is then one that comes after.
            marks = _read_marks(connection)
            last = _read_last_id(connection)
            if known is not None and _has_past_changed(connection, known, marks):
                known = None
            start = 0 if known is None else known.settled_until
            end = _find_settled(connection, start, last)
            newly = _count_cells(connection, votes.c.id > start, votes.c.id <= end)
            recent = _count_cells(connection, votes.c.id > end, votes.c.id <= last)
        return Tally(
            settled=Counter({} if known is None else known.settled) + Counter(newly.votes),
            settled_until=end,
            recent=recent.votes,
            last_vote_id=last,
            marks=marks,
            first_vote_ids=_find_least(
                newly.first_ids, recent.first_ids, {} if known is None else known.first_vote_ids
            ),
        )

    def count_voters(self, *, since: datetime | None = None, until: datetime | None = None) -> int:
        """How many people cast the votes that count.

        Args:
            since: no vote before this time.
            until: no vote at this time or after it.
        """
        query = (
            select(func.count(votes.c.voter_id.distinct()))
            .select_from(joined_votes())
            .where(votes_that_count(), cast_between(since, until))
        )
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def last_id(self) -> int:
        """The number of the newest vote of any kind, 0 where there is none."""
        with self._engine.connect() as connection:
            return _read_last_id(connection)


def _count_by(*keys: ColumnElement[Any]) -> Select[Any]:
    """Votes that count, the keys first and then the number."""
    return (
        select(*keys, func.count())
        .select_from(joined_votes())
        .where(votes_that_count())
        .group_by(*keys)
    )


def _find_least(*parts: Mapping[str, int]) -> dict[str, int]:
    """The least of the numbers that each name has in some of the parts."""
    least: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            least[name] = min(number, least.get(name, number))
    return least


class _Cells(NamedTuple):
    """Votes of some range of numbers: counts, and the oldest on each model."""

    votes: dict[CategoryCell, int]
    first_ids: dict[str, int]


def _count_cells(connection: Connection, *where: ColumnElement[bool]) -> _Cells:
    query = _count_by(*_OUTCOME_KEYS, battles.c.category).add_columns(func.min(votes.c.id))
    cells = _Cells({}, {})
    for a, b, outcome, category, count, first in connection.execute(query.where(*where)):
        cells.votes[a, b, outcome, category] = count
        for model in (a, b):
            cells.first_ids[model] = min(first, cells.first_ids.get(model, first))
    return cells


def _list_counts(cells: Mapping[Cell, int]) -> list[OutcomeCount]:
    return [OutcomeCount(a, b, Outcome(o), n) for (a, b, o), n in sorted(cells.items())]


def _read_marks(connection: Connection) -> _Marks:
    last_exclusion = connection.scalar(select(func.max(exclusions.c.id)))
    retracted = select(func.count(), func.max(votes.c.retracted_at)).where(
        votes.c.retracted_at.is_not(None)
    )
    retractions, last = connection.execute(retracted).one()
    lifting = select(func.count(), func.max(exclusions.c.lifted_at)).where(
        exclusions.c.lifted_at.is_not(None)
    )
    lifted, last_lift = connection.execute(lifting).one()
    return _Marks(last_exclusion or 0, lifted, last_lift, retractions, last)


def _has_past_changed(connection: Connection, known: Tally, marks: _Marks) -> bool:
    """Whether a settled vote was excluded, or any restored or retracted, since a tally."""
    if marks[1:] != known.marks[1:]:
        return True
    excluded = exists().where(
        exclusions.c.id > known.marks.last_exclusion_id,
        exclusions.c.vote_id <= known.settled_until,
    )
    return bool(connection.scalar(select(excluded)))


def _read_last_id(connection: Connection) -> int:
    return connection.scalar(select(func.max(votes.c.id))) or 0


def _find_settled(connection: Connection, start: int, last: int) -> int:
    """The number of the last vote before the first recent one."""
    newer = and_(votes.c.id > start, votes.c.id <= last)
    recent = votes.c.created_at >= datetime.now(UTC) - _SETTLED_AFTER
    first_recent = connection.scalar(select(func.min(votes.c.id)).where(newer, recent))
    older = newer if first_recent is None else and_(newer, votes.c.id < first_recent)
    return connection.scalar(select(func.max(votes.c.id)).where(older)) or start


def _read_count(row: Sequence[Any], details: Collection[Detail]) -> DetailedCount:
    count, a, b, outcome, *rest = row
    told: dict[str, Any] = dict(zip(details, rest, strict=True))
    if isinstance(told.get("day"), str):  # SQLite has no dates of its own
        told["day"] = date.fromisoformat(told["day"])
    return DetailedCount(a, b, Outcome(outcome), count, **told)
