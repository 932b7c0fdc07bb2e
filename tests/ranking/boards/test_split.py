from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ranking import RankingError, Votes, compute_leaderboard
from ranking.boards.split import BoardPart, compute_boards, label_periods
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.votes.votes import Group

DAY = 86_400.0


@pytest.fixture(scope="module")
def votes() -> Votes:
    plain = simulate_votes(draw_strengths(5, seed=0), 3_000, seed=1, tie=0.5, voters=40)
    rng = np.random.default_rng(2)
    category = np.array(["code", "maths", "poetry"], dtype=object)[rng.integers(0, 3, 3_000)]
    category[:20] = "rare"
    category[20:50] = None
    return replace(
        plain,
        groups={"category": Group.from_column(category)},
        time=np.linspace(0, 90 * DAY, 3_000),
    )


def test_boards_by_category_are_those_of_its_votes_alone(votes: Votes) -> None:
    boards = compute_boards(votes, by=["category"], interval="sandwich")
    assert [(b.group, b.label) for b in boards] == [
        ("overall", ""), ("category", "code"), ("category", "maths"), ("category", "poetry"),
        ("category", "rare"),
    ]  # fmt: skip
    overall, code, *_, rare = boards
    assert overall.board == compute_leaderboard(votes, interval="sandwich")
    labels = votes.groups["category"]
    alone = votes.select(labels.codes == labels.names.index("code"))
    assert code.board == compute_leaderboard(alone, interval="sandwich")
    assert rare.board is None
    assert rare.votes == 20
    assert sum(b.votes for b in boards[1:]) == 3_000 - 30


def test_a_board_leaves_out_models_without_votes_in_it(votes: Votes) -> None:
    few = votes.select((votes.model_a < 3) & (votes.model_b < 3))
    (overall,) = compute_boards(few, interval="sandwich", anchor=("model-04", 1200.0))
    assert overall.board is not None
    assert len(overall.board.entries) == 3
    assert overall.board.method["anchor"] is None


def test_months_weeks_and_days(votes: Votes) -> None:
    boards = compute_boards(votes, by=["month"], interval="sandwich", min_votes=10)
    assert [b.label for b in boards] == ["", "1970-01", "1970-02", "1970-03", "1970-04"]
    assert label_periods(votes, "week").names[0] == "1970-W01"
    assert len(label_periods(votes, "day").names) == 91
    with pytest.raises(RankingError, match="no times"):
        compute_boards(replace(votes, time=None), by=["month"])
    with pytest.raises(RankingError, match="no group 'colour'"):
        compute_boards(votes, by=["colour"])


def test_boards_survive_json(votes: Votes) -> None:
    boards = compute_boards(votes, by=["category"], interval="sandwich")
    text = json.dumps([board.to_dict() for board in boards])
    assert tuple(BoardPart.from_dict(data) for data in json.loads(text)) == boards


def test_boards_with_and_without_style_in_one_call() -> None:
    styled = simulate_votes(draw_strengths(4, seed=3), 2_000, seed=4, style={"length": 0.5})
    (overall,) = compute_boards(styled, interval="sandwich", also_adjusted=True)
    assert overall.board == compute_leaderboard(styled, interval="sandwich")
    assert overall.adjusted == compute_leaderboard(styled, interval="sandwich", adjust=True)
    assert BoardPart.from_dict(json.loads(json.dumps(overall.to_dict()))) == overall


def test_the_replicates_of_all_boards_are_told_together(votes: Votes) -> None:
    told: list[tuple[int, int]] = []
    boards = compute_boards(
        votes,
        by=["category"],
        replicates=40,
        progress=lambda done, total: told.append((done, total)),
    )
    assert sum(board.board is not None for board in boards) == 4
    assert told == [
        (done, 160) for board in range(4) for done in (40 * board + 32, 40 * board + 40)
    ]


def test_a_part_of_dropped_votes_has_no_board(votes: Votes) -> None:
    labels = votes.groups["category"]
    code = labels.codes == labels.names.index("code")
    outcome = np.where(code & (np.arange(3_000) % 50 > 0), np.int8(3), votes.outcome)
    boards = compute_boards(
        replace(votes, outcome=outcome), by=["category"], interval="sandwich", both_bad="drop"
    )
    left = {board.label: (board.votes, board.board is None) for board in boards}
    assert left["code"] == (int((code & (np.arange(3_000) % 50 == 0)).sum()), True)
    overall = boards[0].board
    assert overall is not None
    assert overall.diagnostics["votes"] == boards[0].votes


def test_a_part_of_one_voter_has_no_board_by_voters(votes: Votes) -> None:
    assert votes.voter is not None
    labels = votes.groups["category"]
    code = labels.codes == labels.names.index("code")
    voter = replace(votes.voter, codes=np.where(code, 0, votes.voter.codes))
    boards = compute_boards(
        replace(votes, voter=voter), by=["category"], interval="sandwich", cluster=True
    )
    assert [board.label for board in boards if board.board is None] == ["code", "rare"]
    plain = compute_boards(replace(votes, voter=voter), by=["category"], interval="sandwich")
    assert [board.label for board in plain if board.board is None] == ["rare"]
