"""Battles, responses and votes on record. Every method is one committed transaction."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from arena.rules.actions import (
    Action,
    Terms,
    check_action,
    check_edition,
    check_turn,
    check_vote,
    exclusion_of,
)
from arena.rules.battles import (
    Battle,
    BattleStatus,
    Outcome,
    Pairing,
    Response,
    SentTwice,
    UnknownBattle,
    VoterKind,
)
from arena.store.battle_rows import (
    add_battle,
    add_response,
    add_turn,
    add_vote,
    load_battle,
    set_status,
    settle,
)
from arena.store.tables import models, voters, votes
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection, Engine


class BattleRecords:
    """The record of battles."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register_models(self, cards: Iterable[Mapping[str, Any]]) -> None:
        """Writes the cards of the models that may be drawn; known names are updated.

        Args:
            cards: mappings with the columns of `models`.
        """
        with begin_write(self._engine) as connection:
            for card in cards:
                values = {**card, "updated_at": _now()}
                where = models.c.name == card["name"]
                if not _insert_new(connection, models, where, values):
                    connection.execute(update(models).where(where).values(values))

    def cards(self) -> dict[str, dict[str, Any]]:
        """The card of every model that ever could be drawn, by name."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(models)).mappings()
            return {row["name"]: dict(row) for row in rows}

    def start(
        self,
        *,
        voter_id: str,
        pairing: Pairing,
        prompt: str,
        worker_id: str,
        battle_id: str | None = None,
    ) -> Battle:
        """Records a new battle, and its voter if new, before any model is asked.

        Args:
            voter_id: who asks.
            pairing: who answers.
            prompt: the first.
            worker_id: the process that will ask the models.
            battle_id: made by the page, `None` for one made here.

        Raises:
            SentTwice: the voter's battle of that id is on record; it stays as it was.
            UnknownBattle: the id is somebody else's battle.
        """
        now = _now()
        battle = Battle(
            id=battle_id or secrets.token_urlsafe(16),
            voter_id=voter_id,
            pairing=pairing,
            status=BattleStatus.ANSWERING,
            prompts=(prompt,),
            responses=(),
            vote=None,
            created_at=now,
        )
        try:
            with begin_write(self._engine) as connection:
                _check_is_new(connection, battle)
                _ensure_voter(connection, voter_id, now)
                add_battle(connection, battle, worker_id)
        except IntegrityError:  # another process was first
            with self._engine.connect() as connection:
                _check_is_new(connection, battle)
            raise
        return battle

    def add_turn(
        self,
        battle_id: str,
        *,
        voter_id: str,
        prompt: str,
        worker_id: str,
        terms: Terms,
        turn: int | None = None,
    ) -> Battle:
        """Records a follow-up prompt; the battle is then being answered.

        Args:
            battle_id: the battle.
            voter_id: who asks.
            prompt: the next.
            worker_id: the process that will ask the models.
            terms: of the arena.
            turn: the index that the page expects it to have, `None` for whichever is next.

        Raises:
            SentTwice: the prompt is on record as that turn.
            BattleError: it is somebody else's, or no follow-up is open.
        """
        with begin_write(self._engine) as connection:
            battle = load_battle(connection, battle_id, lock=True)
            battle.check_owner(voter_id)
            check_turn(battle, prompt, turn=turn)
            check_action(Action.FOLLOW_UP, battle, terms)
            add_turn(connection, battle_id, len(battle.prompts), prompt, _now())
            set_status(connection, battle_id, BattleStatus.ANSWERING, worker_id)
        prompts = (*battle.prompts, prompt)
        return replace(battle, prompts=prompts, status=BattleStatus.ANSWERING)

    def reopen(
        self,
        battle_id: str,
        action: Action,
        *,
        voter_id: str,
        worker_id: str,
        terms: Terms,
        edition: int | None = None,
    ) -> Battle:
        """Marks a battle as being answered again, for a retry or a regeneration.

        Args:
            battle_id: the battle.
            action: which of the two.
            voter_id: who asks for it.
            worker_id: the process that will ask the models.
            terms: of the arena.
            edition: the answers that the page shows, `None` for whichever there are.

        Raises:
            SentTwice: those answers are being, or have been, replaced.
            BattleError: it is somebody else's, or that is not open.
        """
        with begin_write(self._engine) as connection:
            battle = load_battle(connection, battle_id, lock=True)
            battle.check_owner(voter_id)
            check_edition(battle, edition=edition)
            check_action(action, battle, terms)
            set_status(connection, battle_id, BattleStatus.ANSWERING, worker_id)
        return replace(battle, status=BattleStatus.ANSWERING)

    def add_response(self, battle_id: str, response: Response) -> None:
        """Records an ended answer."""
        with begin_write(self._engine) as connection:
            add_response(connection, battle_id, response)

    def add_last_response(
        self, battle_id: str, response: Response, status: BattleStatus, *, worker_id: str
    ) -> bool:
        """Records the answer that ended last, and what both make of the battle.

        Returns:
            Whether the battle was settled, see `settle`; the answer is on record anyway.
        """
        with begin_write(self._engine) as connection:
            add_response(connection, battle_id, response)
            return settle(connection, battle_id, status, worker_id)

    def settle(self, battle_id: str, status: BattleStatus, *, worker_id: str) -> bool:
        """Records that both sides have ended and what that makes of the battle.

        Only the worker that is answering may say so: one that was taken for dead must not
        reopen what its successor has finished, or what has been voted on.

        Returns:
            Whether it was for this worker to say.
        """
        with begin_write(self._engine) as connection:
            return settle(connection, battle_id, status, worker_id)

    def get(self, battle_id: str, *, voter_id: str) -> Battle:
        """A voter's battle.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
        """
        with self._engine.connect() as connection:
            battle = load_battle(connection, battle_id)
        battle.check_owner(voter_id)
        return battle

    def vote(
        self, battle_id: str, *, voter_id: str, outcome: Outcome, edition: int | None = None
    ) -> Battle:
        """Records a vote; a vote that is already there stays as it was.

        A vote that the rules exclude is recorded with the reason: they are asked about the
        very answers that are voted on, while no other writer can change them.

        Args:
            battle_id: the battle.
            voter_id: who votes.
            outcome: the button.
            edition: the answers that the voter has read, `None` for whichever there are.

        Returns:
            The battle with the vote that is on record, which is the first one cast.

        Raises:
            UnknownBattle: there is none of that id, or it is somebody else's.
            VoteNotOpen: its answers are not both complete.
            VoteStale: the answers on record are other ones.
        """
        try:
            with begin_write(self._engine) as connection:
                battle = load_battle(connection, battle_id, lock=True)
                battle.check_owner(voter_id)
                if battle.vote is not None:
                    return battle
                check_vote(battle, edition=edition)
                vote = add_vote(connection, battle, outcome, exclusion=exclusion_of(battle))
            return replace(battle, status=BattleStatus.VOTED, vote=vote)
        except IntegrityError:
            battle = self.get(battle_id, voter_id=voter_id)
            if battle.vote is None:
                raise
            return battle  # another process was first; its vote is the one that counts

    def votes_of(self, voter_id: str) -> dict[Outcome, int]:
        """How often a voter pressed each button."""
        query = (
            select(votes.c.outcome, func.count())
            .where(votes.c.voter_id == voter_id, votes.c.retracted_at.is_(None))
            .group_by(votes.c.outcome)
        )
        with self._engine.connect() as connection:
            found = {Outcome(outcome): count for outcome, count in connection.execute(query)}
        return {outcome: found.get(outcome, 0) for outcome in Outcome}


def _check_is_new(connection: Connection, battle: Battle) -> None:
    """Raises unless no battle has this one's id; only pages send an id that may be taken."""
    try:
        known = load_battle(connection, battle.id)
    except UnknownBattle:
        return
    known.check_owner(battle.voter_id)
    raise SentTwice(known)


def _ensure_voter(connection: Connection, voter_id: str, now: datetime) -> None:
    values = {"id": voter_id, "kind": VoterKind.CROWD, "created_at": now}
    _insert_new(connection, voters, voters.c.id == voter_id, values)


def _insert_new(
    connection: Connection, table: Table, where: ColumnElement[bool], values: Mapping[str, Any]
) -> bool:
    """Inserts a row unless it is there, which on PostgreSQL another writer may see to meanwhile."""
    if connection.scalar(select(exists().where(where))):
        return False
    if connection.dialect.name == "sqlite":  # no other writer: a savepoint would guard nothing
        connection.execute(insert(table), dict(values))
        return True
    try:
        with connection.begin_nested():
            connection.execute(insert(table), dict(values))
    except IntegrityError:
        return False
    return True


def _now() -> datetime:
    return datetime.now(UTC)
