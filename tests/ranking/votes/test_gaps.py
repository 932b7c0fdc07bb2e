"""What a file lacks costs nothing that was not asked for, and is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ranking import InvalidVote, Votes, compute_leaderboard, read_votes
from ranking.votes.names import find_look_alikes

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "model_a,model_b,winner,judge,tstamp\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "votes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_without_a_time_is_told_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "x,y,a,v,2024-01-01\ny,x,a,v,\nx,y,tie,v,2024-01-03\n")
    reading = read_votes(path)
    assert isinstance(reading.votes, Votes)
    assert len(reading.votes) == 3
    assert reading.votes.time is not None
    assert np.isnan(reading.votes.time).tolist() == [False, True, False]
    assert "1 row without one" in " ".join(reading.report.notes)
    assert compute_leaderboard(reading.votes, interval="sandwich").diagnostics["votes"] == 3


def test_times_that_are_none_stop_only_those_who_ask_for_them(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "x,y,a,v,yesterday\ny,x,a,v,today\n")
    reading = read_votes(path)
    assert isinstance(reading.votes, Votes)
    assert reading.votes.time is None
    assert 'tstamp is not read as a time: "yesterday" is no time' in reading.report.notes
    with pytest.raises(InvalidVote, match="Write them like 2026-11-30T18:00Z"):
        read_votes(path, needs=["time"])


def test_voters_01_and_1_are_two_people(tmp_path: Path) -> None:
    ids = ("01", "1", "1.0", "9007199254740993", "9007199254740992")
    path = write(tmp_path, HEADER + "".join(f"x,y,a,{v},2024-01-0{n + 1}\n" for n, v in
                                           enumerate(ids)))  # fmt: skip
    votes = read_votes(path).votes
    assert isinstance(votes, Votes)
    assert votes.voter is not None
    assert set(votes.voter.names) == set(ids)


def test_a_missing_voter_stops_only_those_who_cluster(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "x,y,a,v,2024-01-01\ny,x,a,,2024-01-02\n")
    reading = read_votes(path)
    assert isinstance(reading.votes, Votes)
    assert reading.votes.voter is None
    assert "1 row without a voter, so voters are not told apart" in reading.report.notes
    with pytest.raises(InvalidVote, match="the voter is missing"):
        read_votes(path, needs=["voter"])


def test_rows_that_repeat_an_earlier_one_are_told_and_counted(tmp_path: Path) -> None:
    row = "x,y,a,v,2024-01-01T00:00:00\n"
    other = "x,y,a,v,2024-01-01T00:00:01\nx,y,b,v,2024-01-01T00:00:00\n"
    reading = read_votes(write(tmp_path, HEADER + row + other + row))
    assert len(reading.votes) == 4
    assert "1 row like an earlier one" in " ".join(reading.report.notes)
    plain = read_votes(write(tmp_path, "model_a,model_b,winner\nx,y,a\nx,y,a\nx,y,b\n"))
    assert plain.report.notes == ()


def test_answers_to_one_question_are_no_repeated_rows(tmp_path: Path) -> None:
    rows = "".join(f"q{n % 4},x,y,{'ab'[n % 2]}\n" for n in range(40))
    reading = read_votes(write(tmp_path, "question_id,model_a,model_b,winner\n" + rows))
    assert reading.report.notes == ()


def test_a_weight_that_is_missing_can_be_left_aside(tmp_path: Path) -> None:
    path = write(tmp_path, "model_a,model_b,winner,weight\nx,y,a,2\ny,x,a,\n")
    with pytest.raises(InvalidVote, match="with --weights uniform"):
        read_votes(path)
    votes = read_votes(path, weighted=False).votes
    assert isinstance(votes, Votes)
    assert votes.weight is None


def test_a_column_n_is_no_count_until_it_is_said(tmp_path: Path) -> None:
    # 400 votes with a row number made "79,800 votes".
    rows = "".join(f"x,y,{'ab'[n % 2]},{n}\n" for n in range(400))
    path = write(tmp_path, "model_a,model_b,winner,n\n" + rows)
    assert compute_leaderboard(read_votes(path).votes).diagnostics["votes"] == 400
    counted = read_votes(path, columns={"count": "n"}).votes
    assert compute_leaderboard(counted).diagnostics["votes"] == 79_800


def test_leaving_out_all_wins_of_one_side_is_refused(tmp_path: Path) -> None:
    # With 1 for the left and 2 for the right, 1 was known and 2 was not: a 20.8 % model led.
    rows = "x,y,1\ny,x,2\n" * 300
    path = write(tmp_path, "model_a,model_b,winner\n" + rows)
    with pytest.raises(InvalidVote, match=r'"1" \(300 rows\), "2" \(300 rows\)'):
        read_votes(path, skip_bad_rows=True)
    few = "x,y,a\n" * 600 + "x,y,2\n" * 5
    with pytest.raises(InvalidVote, match="no row that stays is a win for one of the sides"):
        read_votes(write(tmp_path, "model_a,model_b,winner\n" + few), skip_bad_rows=True)


def test_leaving_out_rows_that_hang_together_with_the_outcome_is_refused(tmp_path: Path) -> None:
    good = "x,y,a\nx,y,b\nx,y,tie\n" * 400
    path = write(tmp_path, "model_a,model_b,winner\n" + good + ",y,tie\n" * 9)
    with pytest.raises(InvalidVote, match="9 of the 9 rows that would go are tie"):
        read_votes(path, skip_bad_rows=True)
    spread = ",y,tie\n,y,a\n,y,b\n" * 3
    path = write(tmp_path, "model_a,model_b,winner\n" + good + spread)
    assert read_votes(path, skip_bad_rows=True).rejected == {"model_a is missing": 9}


@pytest.mark.parametrize(
    "names",
    [
        ("gpt-4", "GPT-4"), ("gpt-4", "gpt 4"), ("gpt-4o", "gpt-40"), ("alpha", "аlpha"),
        ("llama-1", "llama-l"), ("gpt–4", "gpt-4"), ("ｇｐｔ", "gpt"), ("a\u200bb", "ab"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_found(names: tuple[str, str]) -> None:
    assert find_look_alikes(names) == [tuple(sorted(names))]


def test_names_that_differ_are_not_called_alike() -> None:
    assert find_look_alikes(["3.1", "3.10", "gpt-4", "gpt-4o", "qwen", "claude", "é", "e"]) == []
