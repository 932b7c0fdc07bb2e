"""Battles, responses and votes on record. Every method is one committed transaction."""

from __future__ import annotations

import secrets
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from arena.rules.actions import (
    Action,
    Terms,
    check_action,
    check_edition,
    check_turn,
    check_vote,
)
from arena.rules.battles import (
    Battle,
    BattleStatus,
    Outcome,
    Pairing,
    Response,
    ResponseStatus,
    SentTwice,
    Side,
    UnknownBattle,
    Vote,
    VoterKind,
    exclusion_of,
)
from arena.settings.shipped import read_prompts
from arena.store.conditions import is_excluded
from arena.store.tables import battles, exclusions, models, responses, turns, voters, votes
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, RowMapping, Table
    from sqlalchemy.engine import Connection, Engine


# Made once: to put a statement together takes longer than to run it.
_ADD_BATTLE, _ADD_TURN, _ADD_RESPONSE = insert(battles), insert(turns), insert(responses)
_ADD_VOTE = insert(votes).returning(votes.c.id)
_SETTLE = (
    update(battles)
    .where(
        battles.c.id == bindparam("battle"),
        battles.c.status == BattleStatus.ANSWERING,
        battles.c.worker_id == bindparam("worker"),
    )
    .values(status=bindparam("settled"), worker_id=None, updated_at=bindparam("now"))
)
_SET_STATUS = (
    update(battles)
    .where(battles.c.id == bindparam("battle"))
    .values(status=bindparam("becomes"), worker_id=bindparam("worker"), updated_at=bindparam("now"))
)
_BATTLE = select(battles).where(battles.c.id == bindparam("battle"))
# SQLite has no row locks; its write lock is held by whoever means to write.
_LOCKED_BATTLE = _BATTLE.with_for_update()
_PROMPTS = (
    select(turns.c.prompt).where(turns.c.battle_id == bindparam("battle")).order_by(turns.c.turn)
)
_RESPONSES = (
    select(responses).where(responses.c.battle_id == bindparam("battle")).order_by(responses.c.id)
)
_OWN_VOTE = select(votes, is_excluded().label("is_excluded")).where(
    votes.c.battle_id == bindparam("battle"), votes.c.voter_id == bindparam("voter")
)
_RESPONSE_FIELDS = tuple(Response.__dataclass_fields__)


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
                _add_battle(connection, battle, worker_id)
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
            _add_turn(connection, battle_id, len(battle.prompts), prompt, _now())
            _set_status(connection, battle_id, BattleStatus.ANSWERING, worker_id)
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
            _set_status(connection, battle_id, BattleStatus.ANSWERING, worker_id)
        return replace(battle, status=BattleStatus.ANSWERING)

    def add_response(self, battle_id: str, response: Response) -> None:
        """Records an ended answer."""
        with begin_write(self._engine) as connection:
            _add_response(connection, battle_id, response)

    def add_last_response(
        self, battle_id: str, response: Response, status: BattleStatus, *, worker_id: str
    ) -> bool:
        """Records the answer that ended last, and what both make of the battle.

        Returns:
            Whether the battle was settled, see `settle`; the answer is on record anyway.
        """
        with begin_write(self._engine) as connection:
            _add_response(connection, battle_id, response)
            return _settle(connection, battle_id, status, worker_id)

    def settle(self, battle_id: str, status: BattleStatus, *, worker_id: str) -> bool:
        """Records that both sides have ended and what that makes of the battle.

        Only the worker that is answering may say so: one that was taken for dead must not
        reopen what its successor has finished, or what has been voted on.

        Returns:
            Whether it was for this worker to say.
        """
        with begin_write(self._engine) as connection:
            return _settle(connection, battle_id, status, worker_id)

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
                vote = _add_vote(connection, battle, outcome)
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


def _now() -> datetime:
    return datetime.now(UTC)


def _check_is_new(connection: Connection, battle: Battle) -> None:
    """Raises unless no battle has this one's id; only pages send an id that may be taken."""
    try:
        known = load_battle(connection, battle.id)
    except UnknownBattle:
        return
    known.check_owner(battle.voter_id)
    raise SentTwice(known)


def _add_battle(connection: Connection, battle: Battle, worker_id: str) -> None:
    (prompt,) = battle.prompts
    known = read_prompts().get(prompt)
    row = {
        "id": battle.id,
        "voter_id": battle.voter_id,
        "status": battle.status,
        "worker_id": worker_id,
        "created_at": battle.created_at,
        "updated_at": battle.created_at,
        "category": known and known.category,
        "language": known and known.language,
        **asdict(battle.pairing),
    }
    connection.execute(_ADD_BATTLE, row)
    _add_turn(connection, battle.id, 0, prompt, battle.created_at)


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


def _add_turn(
    connection: Connection, battle_id: str, turn: int, prompt: str, now: datetime
) -> None:
    row = {"battle_id": battle_id, "turn": turn, "prompt": prompt, "created_at": now}
    connection.execute(_ADD_TURN, row)


def _add_response(connection: Connection, battle_id: str, response: Response) -> None:
    row = {name: getattr(response, name) for name in _RESPONSE_FIELDS}
    connection.execute(_ADD_RESPONSE, {"battle_id": battle_id, **row})


def _settle(connection: Connection, battle_id: str, status: BattleStatus, worker_id: str) -> bool:
    told = {"battle": battle_id, "worker": worker_id, "settled": status, "now": _now()}
    return connection.execute(_SETTLE, told).rowcount == 1


def _set_status(
    connection: Connection, battle_id: str, status: BattleStatus, worker_id: str | None
) -> None:
    told = {"battle": battle_id, "becomes": status, "worker": worker_id, "now": _now()}
    connection.execute(_SET_STATUS, told)


def _add_vote(connection: Connection, battle: Battle, outcome: Outcome) -> Vote:
    row = {
        "battle_id": battle.id,
        "voter_id": battle.voter_id,
        "outcome": outcome,
        "created_at": _now(),
    }
    vote_id = connection.execute(_ADD_VOTE, row).scalar_one()
    _set_status(connection, battle.id, BattleStatus.VOTED, None)
    reason = exclusion_of(battle)
    if reason is not None:
        excluded = {"vote_id": vote_id, "reason": reason, "note": "", "created_at": _now()}
        connection.execute(insert(exclusions), excluded)
    return _vote({**row, "id": vote_id, "is_excluded": reason is not None})


def load_battle(connection: Connection, battle_id: str, *, lock: bool = False) -> Battle:
    """Reads a battle; `lock` keeps its row from other writers until the commit."""
    which = {"battle": battle_id}
    row = connection.execute(_LOCKED_BATTLE if lock else _BATTLE, which).mappings().one_or_none()
    if row is None:
        raise UnknownBattle(battle_id)
    vote = None
    if row["status"] == BattleStatus.VOTED:
        own = {**which, "voter": row["voter_id"]}
        vote = connection.execute(_OWN_VOTE, own).mappings().one()
    return _battle(
        row,
        prompts=tuple(connection.scalars(_PROMPTS, which)),
        answers=connection.execute(_RESPONSES, which).mappings().all(),
        vote=vote,
    )


def _battle(
    row: RowMapping,
    *,
    prompts: tuple[str, ...],
    answers: Sequence[RowMapping],
    vote: RowMapping | None,
) -> Battle:
    pairing = {name: row[name] for name in Pairing.__dataclass_fields__}
    return Battle(
        id=row["id"],
        voter_id=row["voter_id"],
        pairing=Pairing(**pairing),
        status=BattleStatus(row["status"]),
        prompts=prompts,
        responses=tuple(_response(answer) for answer in answers),
        vote=None if vote is None else _vote(vote),
        created_at=row["created_at"],
    )


def _response(row: RowMapping) -> Response:
    values = {name: row[name] for name in _RESPONSE_FIELDS}
    values["side"] = Side(values["side"])
    values["status"] = ResponseStatus(values["status"])
    return Response(**values)


def _vote(row: Mapping[Any, Any]) -> Vote:
    return Vote(
        id=row["id"],
        battle_id=row["battle_id"],
        voter_id=row["voter_id"],
        outcome=Outcome(row["outcome"]),
        created_at=row["created_at"],
        is_excluded=row["is_excluded"],
    )
