"""Battles from elsewhere, marked with where they came from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from arena.rules.battles import BattleStatus, VoterKind
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
    """Writes what comes from elsewhere."""

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
