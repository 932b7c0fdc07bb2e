"""The rows of battles, turns, responses and votes: written and read in somebody's transaction."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, bindparam, insert, select, update

from arena.rules.battles import (
    Battle,
    BattleStatus,
    Outcome,
    Pairing,
    Response,
    ResponseStatus,
    Side,
    UnknownBattle,
    Vote,
)
from arena.settings.shipped import read_prompts
from arena.store.conditions import is_excluded
from arena.store.tables import battles, exclusions, responses, turns, voters, votes
from arena.store.transactions import COUNTING_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import RowMapping
    from sqlalchemy.engine import Connection

    from arena.rules.battles import ExclusionReason

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
_EXCLUDE_AS_ITS_VOTER = (
    insert(exclusions)
    .from_select(
        ["vote_id", "reason", "note", "created_at"],
        select(
            bindparam("vote", type_=Integer),
            voters.c.excluded_reason,
            voters.c.excluded_note,
            bindparam("now", type_=exclusions.c.created_at.type),
        ).where(voters.c.id == bindparam("voter"), voters.c.excluded_reason.is_not(None)),
    )
    .execution_options(**COUNTING_ROWS)
)
_RESPONSE_FIELDS = tuple(Response.__dataclass_fields__)


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


def add_battle(connection: Connection, battle: Battle, worker_id: str) -> None:
    """Writes a battle that begins, with its only prompt."""
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
    add_turn(connection, battle.id, 0, prompt, battle.created_at)


def add_turn(connection: Connection, battle_id: str, turn: int, prompt: str, now: datetime) -> None:
    """Writes the prompt of a turn."""
    row = {"battle_id": battle_id, "turn": turn, "prompt": prompt, "created_at": now}
    connection.execute(_ADD_TURN, row)


def add_response(connection: Connection, battle_id: str, response: Response) -> None:
    """Writes an ended answer."""
    row = {name: getattr(response, name) for name in _RESPONSE_FIELDS}
    connection.execute(_ADD_RESPONSE, {"battle_id": battle_id, **row})


def set_status(
    connection: Connection, battle_id: str, status: BattleStatus, worker_id: str | None
) -> None:
    """Writes where a battle stands, and which process answers it."""
    told = {"battle": battle_id, "becomes": status, "worker": worker_id, "now": _now()}
    connection.execute(_SET_STATUS, told)


def settle(connection: Connection, battle_id: str, status: BattleStatus, worker_id: str) -> bool:
    """Writes how a battle ended, if it is this worker that answers it; whether it was."""
    told = {"battle": battle_id, "worker": worker_id, "settled": status, "now": _now()}
    return connection.execute(_SETTLE, told).rowcount == 1


def add_vote(
    connection: Connection, battle: Battle, outcome: Outcome, *, exclusion: ExclusionReason | None
) -> Vote:
    """Writes a vote, with the reasons why it does not count where there are some."""
    row = {
        "battle_id": battle.id,
        "voter_id": battle.voter_id,
        "outcome": outcome,
        "created_at": _now(),
    }
    vote_id = connection.execute(_ADD_VOTE, row).scalar_one()
    set_status(connection, battle.id, BattleStatus.VOTED, None)
    if exclusion is not None:
        excluded = {"vote_id": vote_id, "reason": exclusion, "note": "", "created_at": _now()}
        connection.execute(insert(exclusions), excluded)
    told = {"vote": vote_id, "now": _now(), "voter": battle.voter_id}
    as_voter = connection.execute(_EXCLUDE_AS_ITS_VOTER, told).rowcount > 0
    return _vote({**row, "id": vote_id, "is_excluded": exclusion is not None or as_voter})


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


def _now() -> datetime:
    return datetime.now(UTC)
