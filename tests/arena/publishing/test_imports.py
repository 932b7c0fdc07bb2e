"""Battles come in from public layouts and from exports: marked, once, and none the worse."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from published_record import record_arena
from sklearn.linear_model import LogisticRegression
from sqlalchemy import make_url, select

from arena.leaderboards.recipe import DEFAULT_RECIPE, Recipe
from arena.publishing.exports import Request, export_record
from arena.publishing.files import ExportError
from arena.publishing.imports import import_file
from arena.publishing.verification import verify_export
from arena.rules.battles import Outcome
from arena.store import Extent, Store, open_store
from arena.store.forgetting import forget_voter
from arena.store.tables import battles, turns, votes
from ranking import compute_leaderboard, read_votes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECIPE = Recipe(options=DEFAULT_RECIPE.options.change(replicates=50), min_votes=50)
CUT = datetime(2026, 6, 1, tzinfo=UTC)


def ask(**changes: Any) -> Request:  # noqa: ANN401  fields of a request
    extent = Extent(cut=CUT, kinds=("crowd",), imported=True)
    told = {"extent": extent, "recipe": RECIPE, "bucket_key": b"k", "salt": b"s" * 32}
    return Request(**{**told, **changes})


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/other.db")
    yield opened
    opened.close()


def outcomes_of(store: Store) -> list[str]:
    with store.engine.connect() as connection:
        return list(connection.scalars(select(votes.c.outcome).order_by(votes.c.id)))


def test_export_import_export_is_equal(store: Store, other: Store, tmp_path: Path) -> None:
    record_arena(store, 300)
    first = export_record(store, ask(texts=True), tmp_path / "first")
    report = import_file(other, tmp_path / "first", source="partner")
    assert (report.added, report.known) == (300, 0)
    again = import_file(other, tmp_path / "first", source="partner")
    assert (again.added, again.known) == (0, 300)
    assert other.votes.tally().votes == 0, "imported votes were counted with our own"
    second = export_record(other, ask(texts=True), tmp_path / "second")
    third_store = open_store(f"sqlite:///{tmp_path}/third.db")
    import_file(third_store, tmp_path / "second", source="partner")
    third = export_record(third_store, ask(texts=True), tmp_path / "third")
    third_store.close()
    told = {name for name in first.files if name not in ("README.md", "croissant.json")}
    assert {n: second.files[n].sha256 for n in told} == {n: third.files[n].sha256 for n in told}
    marked = {"battles.parquet", "votes.parquet", "exclusions.parquet"}  # by their source
    for name in told - marked:
        assert second.files[name].sha256 == first.files[name].sha256, name
    for name in marked:
        one, two = (pq.read_table(tmp_path / f / name) for f in ("first", "second"))
        assert one.drop_columns(["source"]).equals(two.drop_columns(["source"])), name
    assert verify_export(tmp_path / "second") == []


def talk(*texts: str) -> list[dict[str, str]]:
    return [
        {"role": "user" if i % 2 == 0 else "assistant", "content": text}
        for i, text in enumerate(texts)
    ]


ARENA_33K = [
    {"question_id": "q1", "model_a": "x", "model_b": "y", "winner": winner, "judge": "arena_user_1",
     "conversation_a": talk("Hi\0", "A"), "conversation_b": talk("Hi\0", "B"), "turn": 1,
     "anony": True, "language": "English", "tstamp": 1682351591.1}
    for winner in ("model_a", "model_b", "tie", "tie (bothbad)", "maybe")
]  # fmt: skip


@pytest.mark.parametrize(
    "spoilt",
    [
        {"conversation_a": ["no message"]},
        {"conversation_a": 5, "conversation_b": [None]},
        {"conversation_a": [{"role": "user", "content": {"a": 1}}]},
        {"model_a": None},
        {"model_a": ["x"]},
        {"winner": None},
        {"winner": {"a": 1}},
        {"tstamp": "last week"},
        {"tstamp": [1]},
        {"conversation_a": [{"role": "user", "content": ["part"]}]},
    ],
    ids=str,
)
def test_a_row_in_no_shape_is_rejected_and_the_others_come_in(
    store: Store, tmp_path: Path, spoilt: dict[str, object]
) -> None:
    path = tmp_path / "33k.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in (ARENA_33K[0], {**ARENA_33K[1], **spoilt}))
    )
    report = import_file(store, path)
    assert (report.added, report.rejected.total()) == (1, 1)
    assert report.rows[0][0] == 2


def test_lines_that_break_off_and_half_characters_spoil_nothing_else(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "33k.jsonl"
    half = {**ARENA_33K[1], "model_a": "x\ud800y\0", "judge": "\udfff", "language": "en\0"}
    lines = [json.dumps(ARENA_33K[0]), '{"model_a": "x", "mod', "[1, 2]", json.dumps(half)]
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    for added, known in ((2, 0), (0, 2)):
        report = import_file(store, path)
        assert (report.added, report.known) == (added, known)
        assert report.rows == [
            (2, "not in the shape of arena-33k"),
            (3, "not in the shape of arena-33k"),
        ]
    with store.engine.connect() as connection:
        assert set(connection.scalars(select(battles.c.model_a))) == {"x", "xy"}


@pytest.mark.parametrize("begin", ["[", "\n  [", "\ufeff["])
def test_a_list_in_json_is_read_however_it_begins(store: Store, tmp_path: Path, begin: str) -> None:
    path = tmp_path / "33k.json"
    path.write_text(begin + json.dumps(ARENA_33K[0]) + ", 5]", encoding="utf-8")
    report = import_file(store, path)
    assert (report.added, report.rows) == (1, [(2, "not in the shape of arena-33k")])


def test_lines_of_csv_with_too_few_or_too_many_cells_are_read_as_far_as_they_go(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "55k.csv"
    head = (
        "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie"
    )
    texts = '"[""p""]","[""a""]","[""b""]"'
    path.write_text(f"{head}\n1,x,y,{texts},1,0,0,more,and more\n2,x,y\n3,x,y,{texts},0,1,0\n")
    report = import_file(store, path)
    assert (report.added, report.rejected.total()) == (2, 1)


def test_the_33k_layout_keeps_four_outcomes_and_names_what_it_rejects(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "33k.parquet"
    same = {**ARENA_33K[0], "model_b": "x"}
    shown = {**ARENA_33K[0], "anony": False}
    pq.write_table(pa.Table.from_pylist([*ARENA_33K, same, shown, ARENA_33K[0]]), path)
    report = import_file(store, path)
    assert (report.layout, report.added) == ("arena-33k", 5)  # equal rows are two votes
    assert report.rows == [
        (5, "an unknown winner: 'maybe'"),
        (6, "a model against itself"),
        (7, "the names were shown before the vote"),
    ]
    assert outcomes_of(store) == [*list(Outcome), Outcome.MODEL_A]
    assert import_file(store, path).known == 5
    with store.engine.connect() as connection:
        row = connection.execute(select(battles, turns.c.prompt).join(turns)).mappings().first()
    assert row is not None
    assert (row["prompt"], row["language"], row["source"]) == ("Hi", "en", "arena-33k")
    assert row["created_at"] == datetime.fromtimestamp(1682351591.1, UTC)


def test_the_55k_layout_has_nulls_and_half_characters_in_its_arrays(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "55k.csv"
    heads = ["id", "model_a", "model_b", "prompt", "response_a", "response_b", "winner_model_a",
             "winner_model_b", "winner_tie"]  # fmt: skip
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        writer.writerow([1, "x", "y", '["a","b"]', '[null,"\\ud800c"]', '["d","e"]', 0, 0, 1])
        writer.writerow([2, "x", "y", '["a"]', '["b"]', '["c"]', 1, 1, 0])
        writer.writerow([3, "x", "y", '["a"]', '["b"]', '["c","d"]', 1, 0, 0])
    report = import_file(store, path)
    assert outcomes_of(store) == [Outcome.TIE]
    assert [row for row, _ in report.rows] == [2, 3]


def test_the_140k_comparia_mt_bench_and_fastchat_layouts_are_read(
    store: Store, tmp_path: Path
) -> None:
    def write(name: str, *rows: dict[str, Any]) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, rows)))
        return path

    part = [
        {"role": m["role"], "content": [{"type": "text", "text": m["content"]}]}
        for m in talk("Q", "A")
    ]
    new = {"id": "1", "model_a": "x", "model_b": "y", "winner": "both_bad",
           "evaluation_session_id": "s", "conversation_a": part, "conversation_b": part,
           "timestamp": "2025-06-01T00:00:00"}  # fmt: skip
    assert import_file(store, write("140k.jsonl", new)).layout == "arena-140k"
    comparia = {"model_a_name": "x", "model_b_name": "y", "chosen_model_name": "y",
                "both_equal": False, "conversation_a": json.dumps(talk("Q", "A")),
                "conversation_b": json.dumps(talk("Q", "B")), "visitor_id": "v"}  # fmt: skip
    neither = {**comparia, "chosen_model_name": None}
    found = import_file(store, write("comparia.jsonl", comparia, neither))
    assert (found.added, found.rejected.total()) == (1, 1)
    machine = {"question_id": 81, "model_a": "x", "model_b": "y", "winner": "model_a",
               "judge": ["gpt-4", "pair-v2"], "conversation_a": talk("Q", "A"),
               "conversation_b": talk("Q", "B"), "turn": 1}  # fmt: skip
    found = import_file(store, write("mt.jsonl", machine, {**machine, "judge": "expert_1"}))
    assert (found.added, dict(found.rejected)) == (1, {"a verdict of a machine": 1})
    state = {"model_name": "x", "offset": 0, "messages": [["USER", "Q"], ["ASSISTANT", "A"]]}
    log = {"tstamp": 1.5, "type": "bothbad_vote", "models": ["", ""], "ip": "203.0.113.9",
           "states": [state, {**state, "model_name": "y"}]}  # fmt: skip
    found = import_file(store, write("conv.json", {**log, "type": "chat"}, log))
    assert (found.added, dict(found.rejected)) == (1, {"a message, and no vote": 1})
    assert outcomes_of(store) == [
        Outcome.BOTH_BAD, Outcome.MODEL_B, Outcome.MODEL_A, Outcome.BOTH_BAD
    ]  # fmt: skip


def test_files_that_hold_no_battles_are_refused_with_what_to_do(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    for row, told in (
        ({"refers_to_model": "x"}, "import comparia-votes instead"),
        ({"games": [], "judge": "j"}, "arena rank"),
        ({"a": 1}, "none of the layouts that are known"),
    ):
        path.write_text(json.dumps(row))
        with pytest.raises(ExportError, match=told):
            import_file(store, path)
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(ExportError, match="only"):
        import_file(store, tmp_path / "x.txt")


@pytest.mark.parametrize("layout", ["arena-33k", "arena-55k", "arena-140k"])
def test_our_own_public_layouts_are_read_back_with_the_same_counts(
    other: Store, tmp_path: Path, layout: str
) -> None:
    record_arena(other, 120)
    folder = tmp_path / "out"
    manifest = export_record(other, ask(texts=True, layouts=(layout,)), folder)
    (name,) = (name for name in manifest.files if name.startswith(layout))
    counted = other.votes.tally().votes
    assert manifest.files[name].rows == counted
    read = read_votes(folder / name).votes
    assert len(read) == counted
    third = open_store(f"sqlite:///{tmp_path}/third.db")
    assert import_file(third, folder / name).added == counted
    assert len(outcomes_of(third)) == counted
    third.close()


def test_what_was_forgotten_is_in_no_byte_of_the_database_and_no_later_export(
    store: Store, tmp_path: Path
) -> None:
    record_arena(store, 120)
    with store.engine.connect() as connection:
        voter = connection.scalar(select(battles.c.voter_id).where(battles.c.id == f"b{7:020d}"))
    counted = store.votes.tally().votes
    assert forget_voter(store.engine, "nobody", with_votes=False) is None
    assert (forget_voter(store.engine, voter or "", with_votes=False) or 0) >= 1
    assert store.votes.tally().votes == counted
    export_record(store, ask(texts=True, jsonl=True), tmp_path / "later")
    assert "Why 7?" not in (tmp_path / "later" / "turns.jsonl").read_text()
    assert "Why 8?" in (tmp_path / "later" / "turns.jsonl").read_text()
    if store.engine.dialect.name == "sqlite":
        store.engine.dispose()
        path = make_url(str(store.engine.url)).database or ""
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        data = b"".join(p.read_bytes() for p in tmp_path.glob("arena.db*"))
        assert b"Why 7?" not in data
        assert b"Why 8?" in data
    forget_voter(store.engine, voter or "", with_votes=True)
    assert store.votes.tally().votes < counted


def test_public_files_are_imported_with_their_exact_counts(other: Store, shared_data: Path) -> None:
    crowd = import_file(other, shared_data / "arena33k_en_single" / "battles.csv")
    assert (crowd.added, crowd.rejected.total()) == (25_938, 0)
    told = Counter(outcomes_of(other))
    assert [told[outcome] for outcome in Outcome] == [9_252, 9_068, 2_846, 4_772]
    people = import_file(other, shared_data / "mtbench" / "human_votes_partial.csv", source="mt")
    assert (people.added, people.rejected.total()) == (1_751, 0)
    machine = import_file(other, shared_data / "mtbench" / "gpt4_pair_partial.csv", source="mt")
    assert (machine.added, dict(machine.rejected)) == (0, {"a verdict of a machine": 1_240})


def fit_as_the_public_notebook(frame: pd.DataFrame) -> pd.Series:
    """Its `compute_mle_elo` (Chatbot Arena, lmsys.org, 2023), without the anchor."""
    models = pd.concat([frame["model_a"], frame["model_b"]]).unique()
    places = pd.Series(np.arange(len(models)), index=models)
    twice = pd.concat([frame, frame], ignore_index=True)
    design = np.zeros([len(twice), len(models)])
    design[np.arange(len(twice)), places[twice["model_a"]]] = math.log(10)
    design[np.arange(len(twice)), places[twice["model_b"]]] = -math.log(10)
    won = np.zeros(len(twice))
    won[twice["winner"] == "model_a"] = 1.0
    tied = (twice["winner"] == "tie") | (twice["winner"] == "tie (bothbad)")
    tied[len(tied) // 2 :] = False
    won[tied] = 1.0
    fit = LogisticRegression(fit_intercept=False, C=np.inf, tol=1e-10, max_iter=10_000)
    return pd.Series(400 * fit.fit(design, won).coef_[0] + 1000, index=models)


def test_our_33k_layout_is_ranked_by_the_public_notebook_as_by_us(
    other: Store, tmp_path: Path
) -> None:
    record_arena(other, 600)
    export_record(other, ask(layouts=("arena-33k",)), tmp_path / "out")
    path = tmp_path / "out" / "arena-33k.parquet"
    told = fit_as_the_public_notebook(pd.read_parquet(path))
    board = compute_leaderboard(read_votes(path).votes, prior=None, interval="sandwich")
    assert board.diagnostics["votes"] == other.votes.tally().votes
    for entry in board:
        assert entry.score == pytest.approx(told[entry.model], abs=0.01)
