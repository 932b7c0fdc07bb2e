from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ranking import OUTCOMES, Comparisons, InvalidVote, RankingError, Votes, compute_leaderboard
from ranking.votes.readers import read_votes

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pd.DataFrame(
    {
        "model_a": ["x", "y", "z", "x"],
        "model_b": ["y", "z", "x", "z"],
        "winner": ["model_a", "model_b", "tie", "tie (bothbad)"],
        "judge": ["v1", "v2", "v1", "v3"],
        "language": ["English", "German", "English", None],
        "tstamp": [1.7e9, 1.7e9 + 60, 1.7e9 + 120, 1.7e9 + 180],
    }
)


def write(path: Path, table: pd.DataFrame) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        table.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".json":
        table.to_json(path, orient="records")
    else:
        table.to_json(path, orient="records", lines=True)
    return path


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.ndjson", "v.json"])
def test_the_public_layout_in_every_format(tmp_path: Path, name: str) -> None:
    reading = read_votes(write(tmp_path / name, TABLE))
    votes = reading.votes
    assert isinstance(votes, Votes)
    assert votes.models == ("x", "y", "z")
    assert [OUTCOMES[o] for o in votes.outcome] == TABLE["winner"].tolist()
    assert votes.voter is not None
    assert votes.voter.names == ("v1", "v2", "v3")
    assert votes.groups["language"].names == ("English", "German")
    assert votes.groups["language"].codes.tolist() == [0, 1, 0, -1]
    assert votes.time is not None
    assert votes.time.tolist() == TABLE["tstamp"].tolist()
    assert reading.columns["outcome"] == "winner"
    assert reading.rejected == {}


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in TABLE.drop(columns="language")
                       .to_dict("records"))  # fmt: skip
    assert len(read_votes(path).votes) == 4


def test_parquet_or_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    if find_spec("pyarrow"):
        TABLE.to_parquet(path)
        assert len(read_votes(path).votes) == 4
    else:
        path.write_bytes(b"PAR1")
        with pytest.raises(RankingError, match="pip install pyarrow"):
            read_votes(path)


def test_left_and_right_columns_chosen_by_name(tmp_path: Path) -> None:
    table = pd.DataFrame({"links": ["x"], "rechts": ["y"], "urteil": ["left"]})
    reading = read_votes(
        write(tmp_path / "v.csv", table),
        columns={"model_a": "links", "model_b": "rechts", "outcome": "urteil"},
    )
    assert reading.votes.models == ("x", "y")


def test_counts_per_pair_and_flags_per_vote(tmp_path: Path) -> None:
    pairs = pd.DataFrame(
        {"model_a": ["x"], "model_b": ["y"], "wins_a": [3], "wins_b": [2], "ties": [1],
         "both_bad": [4]}
    )  # fmt: skip
    counted = read_votes(write(tmp_path / "pairs.csv", pairs)).votes
    assert isinstance(counted, Comparisons)
    assert counted.outcome_counts[:, 0, 1].tolist() == [3, 2, 1, 4]
    flags = pd.DataFrame(
        {"model_a": ["x", "x"], "model_b": ["y", "y"], "winner_model_a": [1, 0],
         "winner_model_b": [0, 0], "winner_tie": [0, 1]}
    )  # fmt: skip
    flagged = read_votes(write(tmp_path / "flags.csv", flags)).votes
    assert isinstance(flagged, Votes)
    assert flagged.outcome.tolist() == [0, 2]
    long = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["a"], "count": [5]})
    assert read_votes(write(tmp_path / "long.csv", long)).votes.models == ("x", "y")


def test_a_bad_pair_of_counts_is_named_by_its_own_row(tmp_path: Path) -> None:
    good = pd.DataFrame(
        {"left": [f"m{i}" for i in range(400)], "right": "y", "wins_a": 3, "wins_b": 2, "ties": 1}
    )
    bad = pd.DataFrame(
        {"left": ["y", "z", None, "x"], "right": ["z", "z", "x", "z"],
         "wins_a": [1, 1, 1, 1.5], "wins_b": 1, "ties": [np.nan, 1, 1, 1]}
    )  # fmt: skip
    path = write(tmp_path / "pairs.csv", pd.concat([good, bad]))
    with pytest.raises(InvalidVote, match="row 400: ties is no whole number ≥ 0") as caught:
        read_votes(path)
    for reason in ("left is missing", "a model against itself", "wins_a is no whole number"):
        assert reason in str(caught.value)
    reading = read_votes(path, skip_bad_rows=True)
    assert isinstance(reading.votes, Comparisons)
    assert reading.votes.votes == 2_400
    assert reading.rejected == {
        "left is missing": 1,
        "a model against itself": 1,
        "wins_a is no whole number ≥ 0": 1,
        "ties is no whole number ≥ 0": 1,
    }
    renamed = good.rename(columns={"left": "eins", "right": "zwei"})
    counted = read_votes(
        write(tmp_path / "pairs.csv", renamed), columns={"model_a": "eins", "model_b": "zwei"}
    ).votes
    assert counted.models[-1] == "y"


def test_bad_rows_are_an_error_or_counted_by_reason(tmp_path: Path) -> None:
    good = pd.DataFrame({"model_a": ["x", "y"] * 400, "model_b": ["y", "x"] * 400, "winner": "a"})
    bad = pd.DataFrame(
        {"model_a": [None, "x", "y", "x"], "model_b": ["y", "x", "x", "y"],
         "winner": ["a", "b", "hm", None]}
    )  # fmt: skip
    path = write(tmp_path / "v.csv", pd.concat([good, bad]))
    with pytest.raises(InvalidVote, match=r'"hm" \(1 row\)'):
        read_votes(path)
    with pytest.raises(InvalidVote, match="win for one of the sides"):
        read_votes(path, skip_bad_rows=True, outcomes={"b": "model_a"})
    path = write(tmp_path / "v.csv", pd.concat([good, good.assign(winner="b"), bad]))
    reading = read_votes(path, skip_bad_rows=True)
    assert len(reading.votes) == 1_600
    assert reading.rejected == {
        "model_a is missing": 1,
        "a model against itself": 1,
        "winner is missing or unknown": 2,
    }


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"p": [1], "q": [2]}, {}, "no column for model_a"),
        ({"model_a": ["x"], "model_b": ["y"]}, {}, "no column for outcome"),
        (
            {"model_a": ["x"], "model_b": ["y"]},
            {"columns": {"model_a": "left"}},
            "no column 'left' for model_a",
        ),
        (
            {"model_a": ["x"], "model_b": ["y"]},
            {"columns": {"modela": "left"}},
            "unknown role 'modela'",
        ),
    ],
)
def test_missing_columns_are_named(
    tmp_path: Path, table: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "v.csv", pd.DataFrame(table))
    with pytest.raises(InvalidVote, match=message):
        read_votes(path, **options)


def test_public_files_read_as_they_come(shared_data: Path) -> None:
    arena = read_votes(shared_data / "arena33k_en_single/battles.csv").votes
    assert len(arena) == 25_938
    crowd = read_votes(shared_data / "llmfao/crowd_votes.csv").votes
    assert isinstance(crowd, Votes)
    assert len(crowd.models) == 59
    assert crowd.voter is not None
    assert len(crowd.voter.names) == 124
    pairs = read_votes(shared_data / "arena_counts_20240814/pairs.csv").votes
    assert isinstance(pairs, Comparisons)
    assert pairs.votes == 1_670_250
    board = compute_leaderboard(crowd, cluster=True, interval="sandwich")
    assert board.entries[0].model == "GPT 4"


def test_dates_become_seconds(tmp_path: Path) -> None:
    table = TABLE.assign(tstamp=["2024-08-14", "2024-08-14T12:00:00Z"] * 2)
    votes = read_votes(write(tmp_path / "v.csv", table)).votes
    assert isinstance(votes, Votes)
    assert votes.time is not None
    assert np.diff(votes.time).tolist() == [43_200, -43_200, 43_200]


def test_style_from_the_public_metadata(tmp_path: Path) -> None:
    def record(a: int, b: int) -> dict[str, Any]:
        return {
            "sum_assistant_a_tokens": a, "sum_assistant_b_tokens": b,
            "header_count_a": {"h1": 1, "h2": a}, "header_count_b": {"h1": 1, "h2": None},
            "list_count_a": {"ordered": 0, "unordered": 0},
            "list_count_b": {"ordered": 0, "unordered": b},
            "bold_count_a": {"**": 0, "__": 0}, "bold_count_b": {"**": 0, "__": 0},
        }  # fmt: skip

    table = TABLE.assign(conv_metadata=[record(10, 30), record(5, 5), record(1, 3), record(9, 1)])
    path = write(tmp_path / "v.jsonl", table)
    votes = read_votes(path, style=True).votes
    assert isinstance(votes, Votes)
    assert votes.covariate_names == ("length", "headers", "lists", "bold")
    assert votes.covariates is not None
    raw = np.array([-0.5, 0.0, -0.5, 0.8])
    assert votes.covariates[:, 0] == pytest.approx(raw / raw.std())
    assert votes.covariates[:, 3].tolist() == [0, 0, 0, 0]
    one = read_votes(path, covariates=["lists"]).votes
    assert isinstance(one, Votes)
    assert one.covariate_names == ("lists",)
    assert one.covariates is not None
    assert one.covariates[:, 0].tolist() == votes.covariates[:, 2].tolist()
    with pytest.raises(InvalidVote, match="no column 'conv_metadata'"):
        read_votes(write(tmp_path / "w.csv", TABLE), style=True)
    bad = table.assign(conv_metadata=[{}, {}, {}, {}])
    with pytest.raises(InvalidVote, match="row 0: conv_metadata has no sum_assistant_a_tokens"):
        read_votes(write(tmp_path / "x.jsonl", bad), style=True)
