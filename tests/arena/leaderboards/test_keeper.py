"""Boards end to end on SQLite: votes to snapshot to strengths to what a page shows."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from board_votes import NOW, cast, cast_many, cast_with_texts, register
from sqlalchemy import create_engine, func, insert, select, text, update

import arena
from arena.leaderboards import style as styles_module
from arena.leaderboards.keeper import LeaderboardKeeper
from arena.leaderboards.published import OVERALL, Choice
from arena.leaderboards.style import FEATURES, measure_votes
from arena.rules.battles import ExclusionReason, Outcome, VoterKind
from arena.settings import LeaderboardSettings
from arena.store import Store, open_store
from arena.store import tally as census_module
from arena.store.tables import exclusions, snapshots, voters, votes
from arena.store.tally import Census
from ranking import Comparisons, Options, compute_leaderboard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.store import Tally, VotedBattle
    from arena.store.voted_answers import VotedAnswers

NAMES = ("Amber", "Birch", "Cedar", "Dune")
LONG_AGO = datetime(2024, 11, 1, tzinfo=UTC)


@pytest.fixture
def store(store: Store) -> Store:
    """With what these tests need, on both databases."""
    register(store, NAMES)
    return store


@pytest.fixture
def sqlite_store(sqlite_database: str) -> Iterator[Store]:
    """For what is compared with the other database, or with a pace that was measured on this."""
    opened = open_store(sqlite_database)
    register(opened, NAMES)
    yield opened
    opened.close()


def make_boards(
    store: Store, *, models: tuple[str, ...] = NAMES,
    replicates: int = 100, refresh_seconds: float = 5.0,
) -> LeaderboardKeeper:  # fmt: skip
    settings = LeaderboardSettings(replicates=replicates, refresh_seconds=refresh_seconds)
    return LeaderboardKeeper(store, Census(store.votes), settings=settings, models=models)


def count_snapshots(store: Store) -> int:
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(snapshots)) or 0


def measure(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def test_without_votes_there_is_no_board_and_the_page_knows_what_is_missing(store: Store) -> None:
    boards = make_boards(store)
    boards.refresh()
    assert boards.latest() is None
    assert count_snapshots(store) == 0
    view = boards.view()
    assert [model.name for model in view.unranked] == list(NAMES)
    assert view.unranked[0].organisation == "Makers of Amber"
    assert (view.snapshot_id, view.lines) == (0, ())
    # 4 models × 30 votes, and every vote counts for two of them.
    assert (view.votes_to_settle, view.votes_to_settle_from_none) == (60, 60)


def test_one_vote_makes_a_board_on_which_everything_is_provisional(store: Store) -> None:
    boards = make_boards(store)
    cast(store, "Birch", "Amber", Outcome.MODEL_B)
    boards.refresh()
    board = boards.latest()
    assert board is not None
    assert (board.votes, board.last_vote_id, board.code_version) == (1, 1, arena.__version__)
    view = boards.view()
    assert [line.model.name for line in view.lines] == ["Amber", "Birch"]
    assert all(line.is_provisional for line in view.lines)
    assert [model.name for model in view.unranked] == ["Cedar", "Dune"]
    assert view.votes_to_settle == 59


def test_the_board_is_what_ranking_makes_of_the_same_votes_and_can_be_made_again(
    store: Store,
) -> None:
    cast_many(store, NAMES, 400)
    boards = make_boards(store)
    boards.refresh()
    board = boards.latest()
    assert board is not None
    a, b, outcomes, counts = zip(*store.votes.by_outcome(), strict=True)
    again = compute_leaderboard(
        Comparisons.from_counts(a, b, outcomes, counts),
        Options.from_dict(board.settings["options"]),
        fragility=True,
    )
    assert board.leaderboard == again
    assert board.settings["models"] == sorted(NAMES)
    assert board.leaderboard.method["seed"] == board.settings["options"]["seed"]
    view = boards.view()
    assert [line.entry.rank for line in view.lines] == [1, 2, 3, 4]
    assert not any(line.is_provisional for line in view.lines)
    assert (view.votes_to_settle, view.unranked) == (0, ())


def test_a_restarted_board_shows_what_the_last_one_computed(store: Store) -> None:
    boards = make_boards(store)
    cast_many(store, NAMES, 400)
    boards.refresh()
    again = make_boards(store)
    assert again.view() == boards.view()
    again.refresh()
    assert count_snapshots(store) == 1


def test_nothing_is_computed_without_new_votes(store: Store) -> None:
    boards = make_boards(store)
    cast(store, "Amber", "Birch", Outcome.TIE)
    boards.refresh()
    first = boards.view()
    boards.refresh()
    assert count_snapshots(store) == 1
    assert boards.view() is first
    cast(store, "Amber", "Birch", Outcome.BOTH_BAD)
    boards.refresh()
    assert count_snapshots(store) == 2
    assert boards.view().snapshot_id == 2


def test_excluded_votes_do_not_count(store: Store) -> None:
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    cast(
        store, "Amber", "Cedar", Outcome.MODEL_B, exclusion=ExclusionReason.IDENTITY_REVEALED
    )  # fmt: skip
    boards = make_boards(store)
    boards.refresh()
    board = boards.latest()
    assert board is not None
    assert (board.votes, board.last_vote_id) == (1, 2)
    assert "Cedar" not in board.leaderboard.models


@pytest.mark.parametrize("how", ["retracted", "excluded"])
def test_a_vote_taken_out_later_leaves_the_board_at_the_next_refresh(
    store: Store, how: str
) -> None:
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    cast(store, "Cedar", "Birch", Outcome.MODEL_B)
    boards = make_boards(store)
    boards.refresh()
    with store.engine.begin() as connection:
        if how == "retracted":
            connection.execute(update(votes).where(votes.c.id == 2).values(retracted_at=NOW))
        else:
            reason = ExclusionReason.MAINTAINER
            row = {"vote_id": 2, "reason": reason, "note": "a test", "created_at": NOW}
            connection.execute(insert(exclusions).values(row))
    boards.refresh()
    board = boards.latest()
    assert board is not None
    assert (board.votes, board.leaderboard.models) == (1, ("Amber", "Birch"))
    boards.refresh()
    assert count_snapshots(store) == 2


def test_a_hand_that_changes_the_record_is_seen_at_the_next_recount(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    cast(store, "Cedar", "Birch", Outcome.MODEL_B, voter_id="voter-2")
    with store.engine.begin() as connection:
        connection.execute(update(votes).values(created_at=LONG_AGO))
    boards = make_boards(store)
    boards.refresh()
    with store.engine.begin() as connection:
        expert = voters.c.id == "voter-2"
        connection.execute(update(voters).where(expert).values(kind=VoterKind.EXPERT))
    boards.refresh()
    assert count_snapshots(store) == 1
    monkeypatch.setattr(census_module, "RECOUNT_SECONDS", 0.0)
    monkeypatch.setattr(census_module, "RECOUNT_REST_PER_SECOND", 0.0)
    recounting = make_boards(store)
    recounting.refresh()
    boards.refresh()
    for each in (recounting, boards):
        board = each.latest()
        assert board is not None
        assert board.votes == 1
    assert count_snapshots(store) == 2


def test_when_no_vote_counts_any_more_the_board_is_empty_again(store: Store) -> None:
    cast(store, "Amber", "Birch", Outcome.MODEL_A, exclusion=ExclusionReason.IDENTITY_REVEALED)
    boards = make_boards(store)
    boards.refresh()
    assert boards.latest() is None
    assert len(boards.view().unranked) == 4
    boards.refresh()
    assert count_snapshots(store) == 1  # and it is not computed for ever


def test_two_boards_on_one_store_share_what_one_of_them_computed(store: Store) -> None:
    one, other = make_boards(store), make_boards(store)
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    one.refresh()
    other.refresh()
    assert count_snapshots(store) == 1
    assert one.view() == other.view()
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    other.refresh()
    one.refresh()
    assert count_snapshots(store) == 2
    assert one.view().snapshot_id == other.view().snapshot_id == 2


def test_other_settings_make_a_new_board_once_at_the_start(store: Store) -> None:
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    old = make_boards(store)
    old.refresh()
    new = make_boards(store, replicates=200)
    new.refresh()
    assert count_snapshots(store) == 2
    old.refresh()  # processes of two settings do not outdo each other for ever
    new.refresh()
    assert count_snapshots(store) == 2
    fewer = make_boards(store, models=NAMES[1:], replicates=200)
    fewer.refresh()
    assert count_snapshots(store) == 3
    assert [line.is_retired for line in fewer.view().lines] == [True, False]


def test_a_vote_that_comes_while_counting_is_found_by_the_next_refresh(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards = make_boards(store)
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    count = type(store.votes).tally

    def count_then_vote(self: object, known: Tally | None) -> Tally:
        counted = count(store.votes, known)
        monkeypatch.undo()
        cast(store, "Amber", "Birch", Outcome.MODEL_B)
        return counted

    monkeypatch.setattr(type(store.votes), "tally", count_then_vote)
    boards.refresh()
    boards.refresh()
    board = boards.latest()
    assert board is not None
    assert board.votes == 2


def test_cards_that_are_registered_after_the_start_are_shown(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/new.db")
    boards = make_boards(store)
    assert boards.view().unranked[0].organisation == ""
    register(store, NAMES)
    boards.refresh()
    assert boards.view().unranked[0].organisation == "Makers of Amber"
    store.close()


def test_a_vote_is_known_to_be_missing_until_the_board_has_it(store: Store) -> None:
    boards = make_boards(store)
    assert not boards.is_behind()
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    assert boards.is_behind()
    boards.refresh()
    assert not boards.is_behind()


def test_a_vote_is_looked_for_often_enough_to_be_on_the_board_within_two_seconds() -> None:
    assert LeaderboardSettings().refresh_seconds <= 1.0


async def test_the_loop_keeps_fresh_and_survives_a_failure(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards = make_boards(store, refresh_seconds=0.02)
    cast(store, "Amber", "Birch", Outcome.MODEL_A)
    last_id = type(store.votes).last_id

    def fail_once(self: object) -> int:
        monkeypatch.setattr(type(store.votes), "last_id", last_id)
        raise OSError("the disk is gone")

    monkeypatch.setattr(type(store.votes), "last_id", fail_once)
    with caplog.at_level(logging.ERROR):
        loop = asyncio.create_task(boards.keep_fresh())
        for _ in range(1000):
            if boards.latest() is not None:
                break
            await asyncio.sleep(0.02)
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
    assert boards.latest() is not None
    assert "could not be refreshed" in caplog.text
    assert "the disk is gone" in caplog.text


async def test_one_slow_refresh_delays_no_vote_and_a_habit_of_them_rests(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one loads what it computes with: seconds, and then a vote waited a minute."""
    boards = make_boards(sqlite_store, refresh_seconds=1.0)
    now = 0.0
    takes = iter((3.0, 0.01, 3.0, 4.0))
    rests: list[float] = []

    def refresh() -> None:
        nonlocal now
        now += next(takes)

    async def rest(seconds: float) -> None:
        rests.append(round(seconds, 6))
        if len(rests) == 4:
            raise asyncio.CancelledError

    monkeypatch.setattr(boards, "refresh", refresh)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(asyncio, "sleep", rest)
    with pytest.raises(asyncio.CancelledError):
        await boards.keep_fresh()
    assert rests == [1.0, 1.0, 1.0, 60.0]


@pytest.mark.slow
def test_refreshing_200_000_votes_costs_little_more_than_counting_them(sqlite_store: Store) -> None:
    """Measured: 1.3 to 1.9 times the bare GROUP BY, and 0.2 times after one more vote.

    A million votes: tests/benchmarks/leaderboard.py.
    """
    cast_many(sqlite_store, NAMES, 200_000)
    with sqlite_store.engine.begin() as connection:
        connection.execute(update(votes).values(created_at=LONG_AGO))
    boards = make_boards(sqlite_store, replicates=1000)
    counted = measure(sqlite_store.votes.by_outcome)
    refreshed = measure(boards.refresh)
    board = boards.latest()
    assert board is not None
    cast(sqlite_store, "Amber", "Birch", Outcome.TIE)
    refreshed_again = measure(boards.refresh)
    again = boards.latest()
    assert again is not None
    assert (again.votes, again.last_vote_id) == (board.votes + 1, 200_001)
    print(f"{refreshed / counted:.2f} and {refreshed_again / counted:.2f} × {counted:.3f} s")
    assert refreshed <= 3 * counted
    assert refreshed_again <= counted


@pytest.mark.postgres
def test_boards_on_postgresql_agree_with_those_on_sqlite(
    sqlite_store: Store, postgres_url: str
) -> None:
    server = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text("CREATE DATABASE boards"))  # other tests have the default one
    server.dispose()
    other = open_store(postgres_url.rpartition("/")[0] + "/boards")
    register(other, NAMES)
    boards = []
    for each in (sqlite_store, other):
        cast_many(each, NAMES, 300)
        made = make_boards(each)
        made.refresh()
        boards.append(make_boards(each).latest())  # read back as a restarted process would
    other.close()
    on_sqlite, on_postgresql = boards
    assert on_sqlite is not None
    assert on_postgresql is not None
    assert on_postgresql.leaderboard == on_sqlite.leaderboard
    assert on_postgresql.settings == on_sqlite.settings


def test_a_snapshot_of_another_version_is_computed_again_not_a_crash_at_the_start(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    cast(store, "Birch", "Amber", Outcome.MODEL_B)
    make_boards(store).refresh()
    with store.engine.begin() as connection:
        connection.execute(update(snapshots).values(board={"models": [{"model": "Birch"}]}))
    restarted = make_boards(store)
    assert restarted.latest() is None
    assert "cannot be read" in caplog.text
    restarted.refresh()
    board = restarted.latest()
    assert board is not None
    assert (board.votes, count_snapshots(store)) == (1, 2)


# Categories and style

EQUAL_STYLE = Choice(at_equal_style=True)


def test_a_category_gets_a_board_from_the_minimum_of_votes_on(store: Store) -> None:
    cast_many(store, NAMES, 100, seed=1, category="coding")
    cast_many(store, NAMES, 99, seed=2, category="math")
    cast_many(store, NAMES, 150, seed=3)
    boards = make_boards(store)
    boards.refresh()
    board = boards.latest()
    assert board is not None
    assert (board.votes, list(board.categories)) == (349, ["coding"])
    assert board.settings["categories"] == {"min_votes": 100}
    view = boards.view(Choice("coding"))
    assert view.board is not None
    assert (view.board.votes, view.choice, view.categories) == (100, Choice("coding"), ("coding",))
    counts = [c for c in store.votes.by_detail(["category"]) if c.category == "coding"]
    again = compute_leaderboard(
        Comparisons.from_counts(*zip(*(count[:4] for count in counts), strict=True)),
        Options.from_dict(board.settings["options"]),
        fragility=True,
    )
    assert view.board.leaderboard == again
    assert boards.view(Choice("math")).choice == OVERALL  # nothing is guessed
    assert boards.view().board is board

    cast_many(store, NAMES, 1, seed=4, category="math")
    boards.refresh()
    assert boards.view(Choice("math")).categories == ("coding", "math")
    assert boards.view(Choice("coding")).lines == view.lines
    assert make_boards(store).view(Choice("math")) == boards.view(Choice("math"))


def test_at_equal_style_a_model_that_only_writes_more_loses_its_lead(store: Store) -> None:
    cast_with_texts(store, NAMES, 900, longer_wins=3.0, seed=1, category="coding")
    cast_with_texts(store, NAMES, 90, longer_wins=3.0, seed=2, category="math")
    boards = make_boards(store)
    boards.refresh()
    plain, adjusted = boards.view(), boards.view(EQUAL_STYLE)
    assert plain.can_adjust
    assert plain.board is not None
    assert adjusted.board is not None
    assert adjusted.board.votes == 990
    (length,) = adjusted.board.leaderboard.coefficients  # nobody wrote any Markdown
    assert length.name == "length"
    assert 0 < length.lower < length.estimate < length.upper
    assert plain.board.leaderboard["Amber"].lower > 1050
    entry = adjusted.board.leaderboard["Amber"]
    assert entry.lower < 1000 < entry.upper
    assert boards.view(Choice("coding", at_equal_style=True)).choice.at_equal_style
    # Too few votes of math: its own board is not offered, nor guessed.
    assert boards.view(Choice("math", at_equal_style=True)).choice == OVERALL


def test_the_board_at_equal_style_can_be_made_again_from_what_its_snapshot_says(
    store: Store,
) -> None:
    cast_with_texts(store, NAMES, 300, longer_wins=1.0)
    make_boards(store).refresh()
    board = make_boards(store).latest()  # read back as a restarted process would
    assert board is not None
    told = board.settings["style"]
    assert told["features"] == list(FEATURES)
    voted = measure_votes(store.answers.read(through=board.last_vote_id), ["length"])
    assert voted is not None
    again = compute_leaderboard(voted, Options.from_dict(told["options"]))
    at_equal_style = board.choose(EQUAL_STYLE)
    assert at_equal_style is not None
    assert at_equal_style.leaderboard.method == again.method
    for entry in again.entries:
        kept = at_equal_style.leaderboard[entry.model]
        assert kept.score == pytest.approx(entry.score)
        assert (kept.lower, kept.upper) == pytest.approx((entry.lower, entry.upper))


def test_no_texts_or_texts_that_look_alike_offer_no_board_at_equal_style(store: Store) -> None:
    cast_many(store, NAMES, 200)
    for _ in range(2):
        cast(store, "Amber", "Birch", Outcome.TIE)
    boards = make_boards(store)
    boards.refresh()
    assert not boards.view().can_adjust
    assert boards.view(EQUAL_STYLE).choice == OVERALL
    boards.refresh()
    assert count_snapshots(store) == 1


def count_votes(boards: LeaderboardKeeper, choice: Choice) -> int:
    board = boards.view(choice).board
    return 0 if board is None else board.votes


def test_texts_are_read_once_and_the_board_at_equal_style_follows_when_it_is_due(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    answers = type(store.answers)
    read_texts = answers.read

    def count_reads(self: VotedAnswers, *, after: int, through: int) -> Iterator[VotedBattle]:
        for battle in read_texts(self, after=after, through=through):
            read.append(battle.vote_id)
            yield battle

    monkeypatch.setattr(answers, "read", count_reads)
    cast_with_texts(store, NAMES, 300, longer_wins=1.0, seed=1)
    with store.engine.begin() as connection:
        connection.execute(update(votes).values(created_at=LONG_AGO))
    boards = make_boards(store)
    boards.refresh()
    assert read == list(range(1, 301))
    cast_with_texts(store, NAMES, 5, longer_wins=1.0, seed=2)
    with store.engine.begin() as connection:
        reason = ExclusionReason.MAINTAINER
        row = {"vote_id": 7, "reason": reason, "note": "a test", "created_at": NOW}
        connection.execute(insert(exclusions).values(row))
    boards.refresh()
    assert count_snapshots(store) == 2
    assert (count_votes(boards, OVERALL), count_votes(boards, EQUAL_STYLE)) == (304, 300)
    boards.refresh()
    assert (count_snapshots(store), len(read)) == (2, 300)  # not due yet

    monkeypatch.setattr(boards._styles, "_rest", 0.0)
    boards.refresh()
    assert (count_votes(boards, OVERALL), count_votes(boards, EQUAL_STYLE)) == (304, 304)
    assert read == list(range(1, 306))
    boards.refresh()
    assert count_snapshots(store) == 3


def test_many_texts_are_read_in_turns(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cast_with_texts(store, NAMES, 250, longer_wins=1.0)
    with store.engine.begin() as connection:
        connection.execute(update(votes).values(created_at=LONG_AGO))
    monkeypatch.setattr(styles_module, "_VOTES_AT_ONCE", 100)
    boards = make_boards(store)
    for offered in (False, False, True):
        boards.refresh()
        assert boards.view().can_adjust == offered
    assert count_snapshots(store) == 2


def test_a_snapshot_of_the_overall_board_alone_is_still_read(store: Store) -> None:
    cast_with_texts(store, NAMES, 200, longer_wins=1.0, category="coding")
    make_boards(store).refresh()
    with store.engine.begin() as connection:
        (kept,) = connection.scalars(select(snapshots.c.board))
        del kept["boards"]
        connection.execute(update(snapshots).values(board=kept))
    view = make_boards(store).view()
    assert len(view.lines) == 4
    assert view.choices == (OVERALL,)
