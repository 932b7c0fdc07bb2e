"""`arena votes` and `arena voters`: looking, excluding, undoing, on both databases."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from board_votes import cast, register
from sqlalchemy import make_url, select, update
from typer.testing import CliRunner

from arena.cli import app
from arena.leaderboards.keeper import LeaderboardKeeper
from arena.rules.battles import ExclusionReason, Outcome
from arena.settings import LeaderboardSettings
from arena.store import Store, VoteSelection, open_store
from arena.store.tables import battles, responses, votes
from arena.store.tally import Census

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

NAMES = ("Amber", "Birch", "Cedar")


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Twelve votes: Amber wins by all but the loud voter, who says Cedar six times."""
    opened = open_store(database_url)
    register(opened, NAMES)
    for number in range(3):
        cast(opened, "Amber", "Birch", Outcome.MODEL_A, voter_id=f"quiet-{number}")
        cast(opened, "Amber", "Cedar", Outcome.MODEL_A, voter_id=f"quiet-{number}")
    for _ in range(6):
        cast(opened, "Cedar", "Amber", Outcome.MODEL_A, voter_id="loud")
    yield opened
    opened.close()


@pytest.fixture
def config(store: Store, tmp_path: Path) -> Path:
    url = make_url(store.engine.url).render_as_string(hide_password=False)
    path = tmp_path / "arena.toml"
    path.write_text(
        f'data_dir = "."\n[database]\nurl = "{url}"\n[leaderboard]\nreplicates = 100\n'
        + "".join(
            f'[[models]]\nname = "{name}"\nbackend = "recorded"\npath = "answers.jsonl"\n'
            for name in NAMES
        )
    )
    return path


def run(config: Path, *words: str) -> Result:
    """`arena votes …` or `arena voters …` about that arena."""
    return CliRunner().invoke(app, [*words, "--config", str(config)])


def fine(done: Result) -> str:
    assert done.exit_code == 0, done.output
    return done.stdout


def counted(store: Store) -> int:
    return store.exclusions.totals().counted


def test_what_is_excluded_no_longer_counts_and_counts_again_when_restored(
    config: Path, store: Store
) -> None:
    board = LeaderboardKeeper(
        store, Census(store.votes), settings=LeaderboardSettings(replicates=100), models=NAMES
    )
    board.refresh()

    def leader() -> str:
        board.refresh()
        latest = board.latest()
        assert latest is not None
        assert latest.votes == counted(store)
        return latest.leaderboard.entries[0].model

    assert leader() == "Cedar"
    words = ("votes", "exclude", "--voter", "loud", "--reason", "automated", "--note", "a bot")
    said = fine(run(config, *words, "--yes"))
    assert "6 votes would no longer count (automated)." in said
    assert "6 votes got the reason automated." in said
    assert (counted(store), leader()) == (6, "Amber")
    # The board before and after, as a page would have it.
    rows = {
        line.split("│")[1].strip(): line.split("│")[2:] for line in said.splitlines() if "│" in line
    }
    assert [cell.strip() for cell in rows["Amber"]][:2] == ["2", "1"]
    # Once more is nothing new, and the undo is whole.
    assert "0 votes got the reason" in fine(run(config, *words, "--yes"))
    restored = run(config, "votes", "restore", "--reason", "automated", "--note", "no bot", "--yes")
    assert "6 votes would count again." in fine(restored)
    assert (counted(store), leader()) == (12, "Cedar")
    # Nothing is forgotten, and the same may be said again.
    told = json.loads(fine(run(config, "votes", "list", "--voter", "loud", "--json")))
    assert {
        (e["reason"], e["note"], e["lifted_note"]) for vote in told for e in vote["exclusions"]
    } == {("automated", "a bot", "no bot")}
    assert "6 votes got the reason" in fine(run(config, *words, "--yes"))
    assert counted(store) == 6


def test_a_dry_run_shows_and_changes_nothing(config: Path, store: Store) -> None:
    ids = [str(one.vote_id) for one in store.exclusions.find(VoteSelection(voter_ids=("loud",)))]
    said = fine(run(config, "votes", "exclude", *ids, "--note", "why", "--dry-run"))
    assert "6 votes would no longer count (maintainer)." in said
    assert counted(store) == 12
    said = fine(run(config, "voters", "exclude", "loud", "--note", "why", "--dry-run"))
    assert "nor any to come" in said
    assert counted(store) == 12
    assert store.exclusions.voters(["loud"])[0].excluded_reason is None


def test_votes_with_two_reasons_count_when_both_are_lifted(config: Path, store: Store) -> None:
    for reason in ("trial", "interested"):
        fine(
            run(
                config,
                "votes",
                "exclude",
                "--voter",
                "loud",
                "--reason",
                reason,
                "--note",
                "x",
                "-y",
            )
        )
    said = fine(run(config, "votes", "restore", "--reason", "trial", "--note", "y", "-y"))
    assert "0 votes would count again." in said
    assert counted(store) == 6
    said = fine(run(config, "votes", "restore", "--voter", "loud", "--note", "y", "-y"))
    assert "6 votes would count again." in said
    assert counted(store) == 12


def test_battles_from_elsewhere_do_not_come_to_count_by_being_restored(
    config: Path, store: Store
) -> None:
    with store.engine.begin() as connection:
        connection.execute(update(battles).where(battles.c.voter_id == "loud").values(source="x"))
    assert counted(store) == 6
    assert store.exclusions.totals().votes == 6
    said = fine(run(config, "votes", "exclude", "--voter", "loud", "--note", "x", "--yes"))
    assert "0 votes would no longer count" in said
    said = fine(run(config, "votes", "restore", "--voter", "loud", "--note", "x", "--yes"))
    assert "0 votes would count again." in said
    assert counted(store) == 6


def test_a_voter_who_is_excluded_adds_nothing_any_more(config: Path, store: Store) -> None:
    words = ("voters", "exclude", "loud", "--reason", "automated", "--note", "a bot", "--yes")
    assert "6 votes got the reason automated; so will those to come." in fine(run(config, *words))
    battle = cast(store, "Cedar", "Birch", Outcome.MODEL_A, voter_id="loud")
    assert counted(store) == 6
    vote = store.battles.get(battle, voter_id="loud").vote
    assert vote is not None
    assert vote.is_excluded  # so that the next draw does not learn from it
    cast(store, "Cedar", "Birch", Outcome.MODEL_A, voter_id="quiet-1")
    assert counted(store) == 7
    (known,) = store.exclusions.voters(["loud"])
    assert (known.votes, known.counted, known.excluded_note) == (7, 0, "a bot")
    shown = fine(run(config, "voters", "show", "loud"))
    assert "Excluded as a whole: automated (a bot)" in shown
    assert "Said, sides as shown: model_a 7." in shown
    assert "Between two votes:" in shown
    fine(run(config, "voters", "restore", "loud", "--note", "a classroom", "--yes"))
    assert counted(store) == 14
    cast(store, "Cedar", "Birch", Outcome.MODEL_A, voter_id="loud")
    assert counted(store) == 15


def test_votes_are_chosen_by_everything_that_is_said(config: Path, store: Store) -> None:
    def listed(*words: str) -> int:
        return len(json.loads(fine(run(config, "votes", "list", *words, "--json"))))

    with store.engine.connect() as connection:
        middle = connection.scalars(select(votes.c.created_at).order_by(votes.c.id)).all()[6]
    assert listed() == 12
    assert listed("--model", "Birch") == 3
    assert listed("--model", "Amber", "--model", "Cedar") == 9
    assert listed("--model", "Amber", "--model", "Cedar", "--voter", "quiet-0") == 1
    assert listed("--since", middle.isoformat()) == 6
    assert listed("--until", middle.isoformat()) == 6
    assert listed("--limit", "5") == 5
    assert listed("--excluded") == 0
    fine(run(config, "votes", "exclude", "--model", "Birch", "--note", "x", "--yes"))
    assert (listed("--excluded"), listed("--counted")) == (3, 9)
    assert listed("--reason", "maintainer") == 3
    assert "maintainer (x)" in fine(run(config, "votes", "list", "--format", "csv"))
    assert "12 votes, 9 of which count." in fine(run(config, "votes"))
    assert "3 excluded: maintainer" in fine(run(config, "votes"))
    busiest = json.loads(fine(run(config, "voters", "list", "--json")))[0]
    assert (busiest["voter_id"], busiest["votes"]) == ("loud", 6)
    assert "loud" in fine(run(config, "voters"))


def test_an_audit_names_who_stands_out_and_changes_nothing(config: Path, store: Store) -> None:
    assert "4 voters, and nothing stands out." in fine(run(config, "votes", "audit"))
    for _ in range(25):
        cast(store, "Cedar", "Birch", Outcome.MODEL_A, voter_id="bot")
    with store.engine.begin() as connection:  # as if each had been answered a moment ago
        ended = select(votes.c.created_at).where(votes.c.battle_id == responses.c.battle_id)
        connection.execute(update(responses).values(created_at=ended.scalar_subquery()))
    said = fine(run(config, "votes", "audit"))
    assert "1 of 5 voters stand out. The ranking without them:" in said
    (line,) = (line for line in said.splitlines() if "bot" in line and "│" in line)
    for sign in ("fast", "repeated", "one-sided"):
        assert sign in line
    (line,) = (line for line in said.splitlines() if "Cedar" in line)
    assert [cell.strip() for cell in line.split("│")][2:4] == ["1", "1"]
    assert [cell.strip() for cell in line.split("│")][6:8] == ["34", "9"]
    told = json.loads(fine(run(config, "votes", "audit", "--json")))
    assert told["voters"] == 5
    assert [one["voter_id"] for one in told["flagged"]] == ["bot"]
    assert counted(store) == 37


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("votes", "exclude", "--note", "x", "--yes"), "all votes would be meant"),
        (("votes", "exclude", "1", "999", "--note", "x", "--yes"), "there is no vote 999"),
        (("votes", "exclude", "1", "--note", " ", "--yes"), '--note "" says nothing'),
        (("votes", "exclude", "1", "--note", "x"), "Add --yes to do it, --dry-run"),
        (("votes", "exclude", "--voter", "nobody", "--note", "x", "-y"), "no vote is meant"),
        (("votes", "exclude", "--model", "Ambr", "--note", "x", "-y"), "no vote is meant"),
        (("votes", "list", "--since", "yesterday"), '--since "yesterday" is not a time'),
        (("votes", "list", "--since", "2026-02-02", "--until", "2026-02-01"), "is not before"),
        (("votes", "list", "--model", "A", "--model", "B", "--model", "C"), "at most two"),
        (("votes", "restore", "--note", "x", "--yes"), "all votes would be meant"),
        (("voters", "exclude", "nobody", "--note", "x", "-y"), 'there is no voter "nobody"'),
        (("voters", "show", "nobody"), "arena voters list"),
        (("voters", "restore", "loud", "--note", "x", "-y"), "arena votes restore --voter loud"),
    ],
)
def test_what_cannot_be_meant_changes_nothing_and_names_the_remedy(
    config: Path, store: Store, words: tuple[str, ...], said: str
) -> None:
    done = run(config, *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert counted(store) == 12


def test_an_empty_record_says_so(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/arena.db").close()
    for words, said in (
        (("votes",), "None has been cast yet."),
        (("votes", "list"), "No vote is meant by that."),
        (("voters",), "Nobody has voted yet."),
    ):
        done = CliRunner().invoke(app, [*words, "--data-dir", str(tmp_path)])
        assert said in fine(done)


def test_every_reason_can_be_given(config: Path, store: Store) -> None:
    for reason in ExclusionReason:
        fine(run(config, "votes", "exclude", "1", "--reason", reason, "--note", "x", "--yes"))
    (vote,) = store.exclusions.find(VoteSelection(vote_ids=(1,)))
    assert {one.reason for one in vote.exclusions} == set(ExclusionReason)
