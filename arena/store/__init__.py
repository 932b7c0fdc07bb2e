"""The only room that speaks SQL: tables, migrations, queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import text

from arena.store.battle_records import BattleRecords
from arena.store.chosen_votes import (
    Exclusion,
    VoteRecord,
    VoterRecord,
    VoteSelection,
    VoteTotals,
)
from arena.store.engine import open_engine
from arena.store.errors import DatabaseBusy, DatabaseDamaged, StoreError
from arena.store.expert_assignments import (
    Assignment,
    AssignmentBegun,
    ExpertAssignments,
    NameTaken,
    Share,
)
from arena.store.expert_records import ExpertRecords
from arena.store.imported_rows import ImportedBattle, ImportedRows
from arena.store.judge_verdicts import CallRecord, JudgeVerdict, JudgeVerdicts
from arena.store.judged_battles import JudgedBattles
from arena.store.judgement_rows import UNPARSABLE, JudgementRow, JudgementRows
from arena.store.judgings import Claim, Judgings, KnownJudge
from arena.store.prompt_set_records import PromptSetRecords
from arena.store.published_rows import Extent, PublishedRows
from arena.store.snapshots import Snapshot, Snapshots
from arena.store.token_counts import TokenCounts, Tokens
from arena.store.vote_counts import Detail, DetailedCount, OutcomeCount, Tally, VoteCounts
from arena.store.vote_exclusions import VoteExclusions
from arena.store.voted_answers import VotedAnswer, VotedAnswers, VotedBattle
from arena.store.voter_habits import VoterHabits
from arena.store.workers import HEARTBEAT_SECONDS, Heartbeat, Workers

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

__all__ = [
    "HEARTBEAT_SECONDS",
    "UNPARSABLE",
    "Assignment",
    "AssignmentBegun",
    "CallRecord",
    "Claim",
    "DatabaseBusy",
    "DatabaseDamaged",
    "Detail",
    "DetailedCount",
    "Exclusion",
    "ExpertAssignments",
    "ExpertRecords",
    "Extent",
    "Heartbeat",
    "ImportedBattle",
    "ImportedRows",
    "JudgeVerdict",
    "JudgeVerdicts",
    "JudgedBattles",
    "JudgementRow",
    "JudgementRows",
    "Judgings",
    "KnownJudge",
    "NameTaken",
    "OutcomeCount",
    "PromptSetRecords",
    "PublishedRows",
    "Share",
    "Snapshot",
    "Snapshots",
    "Store",
    "StoreError",
    "Tally",
    "TokenCounts",
    "Tokens",
    "VoteCounts",
    "VoteExclusions",
    "VoteRecord",
    "VoteSelection",
    "VoteTotals",
    "VotedAnswer",
    "VotedBattle",
    "VoterHabits",
    "VoterRecord",
    "Workers",
    "open_store",
]


@dataclass(frozen=True, slots=True)
class Store:
    """Everything on record, a part for each kind of question."""

    engine: Engine
    battles: BattleRecords
    votes: VoteCounts
    exclusions: VoteExclusions
    habits: VoterHabits
    answers: VotedAnswers
    snapshots: Snapshots
    workers: Workers
    tokens: TokenCounts
    judgings: Judgings
    experts: ExpertRecords
    assignments: ExpertAssignments
    judge_verdicts: JudgeVerdicts
    judged_battles: JudgedBattles
    judgements: JudgementRows
    prompt_sets: PromptSetRecords
    published: PublishedRows
    imported: ImportedRows

    def ask(self) -> None:
        """Asks the database for next to nothing.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: it does not answer.
        """
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Closes all connections."""
        self.engine.dispose()


def open_store(url: str) -> Store:
    """Opens the database and brings its tables up to date.

    Raises:
        StoreError: it cannot be opened; the message names the URL and the remedy.
    """
    engine = open_engine(url)
    return Store(
        engine=engine,
        battles=BattleRecords(engine),
        votes=VoteCounts(engine),
        exclusions=VoteExclusions(engine),
        habits=VoterHabits(engine),
        answers=VotedAnswers(engine),
        snapshots=Snapshots(engine),
        workers=Workers(engine),
        tokens=TokenCounts(engine),
        judgings=Judgings(engine),
        experts=ExpertRecords(engine),
        assignments=ExpertAssignments(engine),
        judge_verdicts=JudgeVerdicts(engine),
        judged_battles=JudgedBattles(engine),
        judgements=JudgementRows(engine),
        prompt_sets=PromptSetRecords(engine),
        published=PublishedRows(engine),
        imported=ImportedRows(engine),
    )
