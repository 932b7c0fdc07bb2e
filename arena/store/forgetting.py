"""Texts removed for good, because whoever wrote them wants it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import or_, select, text, update

from arena.store.expert_tables import assignment_items, assignment_tasks, judgements
from arena.store.judge_tables import judge_calls
from arena.store.tables import battles, responses, turns, voters, votes
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine


def forget_voter(engine: Engine, voter_id: str, *, with_votes: bool) -> int | None:
    """Removes what a voter wrote and was answered, from the tables and from the file.

    Args:
        engine: of the record.
        voter_id: who.
        with_votes: also takes their votes back; else the bare outcomes still count.

    Returns:
        The number of battles without text now; `None` where there is no such voter.

    Raises:
        DatabaseBusy: other writers did not come to an end.
    """
    now = datetime.now(UTC)
    with begin_write(engine) as connection:
        if connection.dialect.name == "sqlite":
            connection.execute(text("PRAGMA secure_delete = ON"))
        who = update(voters).where(voters.c.id == voter_id)
        if connection.execute(who.values(forgotten_at=now)).rowcount == 0:
            return None
        count = _remove_texts(connection, voter_id)
        if with_votes:
            own = votes.c.voter_id == voter_id, votes.c.retracted_at.is_(None)
            connection.execute(update(votes).where(*own).values(retracted_at=now))
    _rewrite_files(engine)
    return count


def _rewrite_files(engine: Engine) -> None:
    """Leaves no old copy of a row in the database's files."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "sqlite":
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
