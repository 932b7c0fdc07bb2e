"""Battles of prompt sets on record: nobody's, complete from the start, never voted on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from arena.rules.battles import BattleStatus, Pairing, Response, VoterKind
from arena.store.tables import battles, responses, turns, voters
from arena.store.transactions import begin_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import Connection, Engine

# Who owns them: battles must be somebody's, and this voter never votes.
OWNER = "prompt-set"
_BATTLES_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBattle:
    """A battle that is complete before anybody sees it.

    Attributes:
        id: the same for the same prompt, pair and conditions.
        pairing: who answered, and how the pair was drawn.
        category: of the prompts, `None` where it is not known.
        language: likewise.
        prompts: one a turn.
        references: a right answer to each, `None` where there is none.
        responses: of both sides to each turn.
    """

    id: str
    pairing: Pairing
    category: str | None
    language: str | None
    prompts: tuple[str, ...]
    references: tuple[str | None, ...]
    responses: tuple[Response, ...]


class PromptSetRecords:
    """The record of prompt sets' battles."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, found: Iterable[SetBattle]) -> int:
        """Records battles, but for those that are there; returns how many were new."""
        waiting = iter(found)
        added = 0
        while chunk := list(islice(waiting, _BATTLES_AT_ONCE)):
            with begin_write(self._engine) as connection:
                added += _add_some(connection, chunk)
        return added


def _add_some(connection: Connection, found: Sequence[SetBattle]) -> int:
    now = datetime.now(UTC)
    if connection.scalar(select(voters.c.id).where(voters.c.id == OWNER)) is None:
        connection.execute(insert(voters).values(id=OWNER, kind=VoterKind.PROGRAM, created_at=now))
    known = set(
        connection.scalars(select(battles.c.id).where(battles.c.id.in_([b.id for b in found])))
    )
    new = [battle for battle in found if battle.id not in known]
    if not new:
        return 0
    connection.execute(insert(battles), [_battle_row(battle, now) for battle in new])
    connection.execute(
        insert(turns),
        [
            {
                "battle_id": battle.id,
                "turn": turn,
                "prompt": prompt,
                "reference": reference,
                "created_at": now,
            }
            for battle in new
            for turn, (prompt, reference) in enumerate(
                zip(battle.prompts, battle.references, strict=True)
            )
        ],
    )
    connection.execute(
        insert(responses),
        [
            {"battle_id": battle.id, **asdict(response)}
            for battle in new
            for response in battle.responses
        ],
    )
    return len(new)


def _battle_row(battle: SetBattle, now: datetime) -> dict[str, object]:
    return {
        "id": battle.id,
        "voter_id": OWNER,
        **asdict(battle.pairing),
        "category": battle.category,
        "language": battle.language,
        "status": BattleStatus.READY,
        "worker_id": None,
        "created_at": now,
        "updated_at": now,
    }
