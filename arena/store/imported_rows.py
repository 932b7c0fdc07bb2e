"""Battles from elsewhere, marked with where they came from; and texts removed for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, or_, select, text, update

from arena.rules.battles import BattleStatus, VoterKind
from arena.store.expert_tables import assignment_items, assignment_tasks, judgements
from arena.store.judge_tables import judge_calls
from arena.store.tables import battles, exclusions, models, responses, turns, voters, votes
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

_AT_ONCE = 500
_CAST = ("voter_id", "outcome", "created_at", "retracted_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedBattle:
    """A battle that took place elsewhere.

    Attributes:
        battle: the columns of `battles`, but for the source and the last change.
        turns: of `turns`, but for the battle.
        responses: likewise.
        votes: likewise, each with its `exclusions`.
    """

    battle: Mapping[str, Any]
    turns: Sequence[Mapping[str, Any]] = ()
    responses: Sequence[Mapping[str, Any]] = ()
    votes: Sequence[Mapping[str, Any]] = ()


class ImportedRows:
    """Writes what comes from elsewhere, and removes what somebody wants forgotten."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register_models(self, cards: Iterable[Mapping[str, Any]]) -> None:
        """Records models that are not on record yet."""
        with begin_write(self._engine) as connection:
            known = set(connection.scalars(select(models.c.name)))
            new = [{"updated_at": datetime.now(UTC), **card} for card in cards]
            new = [card for card in new if card["name"] not in known]
            if new:
                connection.execute(insert(models), new)

    def register_voters(self, found: Iterable[Mapping[str, Any]]) -> None:
        """Records voters that are not on record yet."""
        waiting = iter(found)
        while chunk := list(islice(waiting, _AT_ONCE)):
            with begin_write(self._engine) as connection:
                _add_new_voters(connection, chunk)

    def add(self, source: str, found: Iterable[ImportedBattle]) -> tuple[int, int]:
        """Records battles, but for those that are there.

        Returns:
            How many were new, and how many were known.
        """
        waiting, new, known = iter(found), 0, 0
        while chunk := list(islice(waiting, _AT_ONCE)):
            with begin_write(self._engine) as connection:
                ids = [one.battle["id"] for one in chunk]
                there = set(connection.scalars(select(battles.c.id).where(battles.c.id.in_(ids))))
                fresh = [one for one in chunk if one.battle["id"] not in there]
                _insert(connection, source, fresh)
            new, known = new + len(fresh), known + len(chunk) - len(fresh)
        return new, known

    def forget(self, voter_id: str, *, with_votes: bool) -> int | None:
        """Removes what a voter wrote and was answered, from the tables and from the file.

        Args:
            voter_id: who.
            with_votes: also takes their votes back; else the bare outcomes still count.

        Returns:
            The number of battles without text now; `None` where there is no such voter.
        """
        now = datetime.now(UTC)
        with begin_write(self._engine) as connection:
            if connection.dialect.name == "sqlite":
                connection.execute(text("PRAGMA secure_delete = ON"))
            who = update(voters).where(voters.c.id == voter_id)
            if connection.execute(who.values(forgotten_at=now)).rowcount == 0:
                return None
            count = _remove_texts(connection, voter_id)
            if with_votes:
                own = votes.c.voter_id == voter_id, votes.c.retracted_at.is_(None)
                connection.execute(update(votes).where(*own).values(retracted_at=now))
        self._rewrite_files()
        return count

    def _rewrite_files(self) -> None:
        """Leaves no old copy of a row in the database's files."""
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if self._engine.dialect.name == "sqlite":
                connection.commit()
                raw = connection.connection.dbapi_connection
                if raw is not None:
                    raw.execute("VACUUM")
                    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return
            for table in (turns, responses, judge_calls, judgements):
                connection.execute(text(f"VACUUM (FULL) {table.name}"))


def _remove_texts(connection: Connection, voter_id: str) -> int:
    own = select(battles.c.id).where(battles.c.voter_id == voter_id)
    connection.execute(
        update(turns).where(turns.c.battle_id.in_(own)).values(prompt="", reference=None)
    )
    connection.execute(
        update(responses)
        .where(responses.c.battle_id.in_(own))
        .values(text="", reasoning="", error_message=None)
    )
    connection.execute(
        update(judge_calls)
        .where(judge_calls.c.battle_id.in_(own))
        .values(request={}, output="", reasoning="", failure_message=None)
    )
    tasks = (
        select(assignment_tasks.c.id)
        .join(assignment_items, assignment_items.c.id == assignment_tasks.c.item_id)
        .where(or_(assignment_items.c.battle_id.in_(own), assignment_tasks.c.voter_id == voter_id))
    )
    connection.execute(update(judgements).where(judgements.c.task_id.in_(tasks)).values(comment=""))
    return len(connection.execute(own).all())


def _add_new_voters(connection: Connection, found: Iterable[Mapping[str, Any]]) -> None:
    wanted = {one["id"]: one for one in found}
    there = connection.scalars(select(voters.c.id).where(voters.c.id.in_(wanted)))
    for known in there:
        del wanted[known]
    if wanted:
        empty = dict.fromkeys(("excluded_reason", "consent_version", "consented_at"))
        rows = [{"kind": VoterKind.CROWD, "bucket": 0, **empty, **one} for one in wanted.values()]
        connection.execute(insert(voters), rows)


def _insert(connection: Connection, source: str, found: Sequence[ImportedBattle]) -> None:
    """Each kind of row at once; numbers of votes follow the order in which they are given."""
    rows = [
        {"source": source, "status": BattleStatus.VOTED, "updated_at": one.battle["created_at"],
         **one.battle}
        for one in found
    ]  # fmt: skip
    if not rows:
        return
    _add_new_voters(
        connection,
        [{"id": row["voter_id"], "created_at": row["created_at"]} for row in rows],
    )
    connection.execute(insert(battles), rows)
    for table, name in ((turns, "turns"), (responses, "responses")):
        parts = [
            {"battle_id": one.battle["id"], **part} for one in found for part in getattr(one, name)
        ]
        if parts:
            connection.execute(insert(table), parts)
    for one in found:
        for vote in one.votes:
            told = {key: value for key, value in vote.items() if key in _CAST}
            cast = connection.execute(insert(votes).values(battle_id=one.battle["id"], **told))
            key = cast.inserted_primary_key
            reasons = (
                [{"vote_id": key[0], **reason} for reason in vote["exclusions"]] if key else []
            )
            if reasons:
                connection.execute(insert(exclusions), reasons)
