"""Votes in the layouts of public data sets, so that scripts for those read ours unchanged."""

from __future__ import annotations

import csv
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args

from arena.publishing.imports import read_battles
from arena.rules.battles import Outcome
from arena.writing import draft_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from arena.store.imported_rows import ImportedBattle

PublicLayout = Literal["arena-140k", "arena-33k", "arena-55k"]
LAYOUT_NAMES: tuple[str, ...] = get_args(PublicLayout)
_AT_ONCE = 512


def write_public(folder: Path, layout: str) -> tuple[str, int]:
    """Writes the votes of an export that count, in the order in which the battles began.

    Args:
        folder: of the export's tables.
        layout: a name in `LAYOUT_NAMES`.

    Returns:
        The name of the file and the number of its rows.

    Raises:
        OSError: the folder cannot be written.
    """
    if layout == "arena-55k":
        name = f"{layout}.csv"
        with draft_of(folder / name) as draft:
            return name, _write_csv(draft, folder)
    name = f"{layout}.parquet"
    with draft_of(folder / name) as draft:
        return name, _write_parquet(draft, folder, is_33k=layout == "arena-33k")


def _list_counted(folder: Path) -> Iterator[tuple[ImportedBattle, dict[str, Any]]]:
    """Battles with each vote that counts."""
    for found in read_battles(folder, ""):
        for vote in found.votes:
            if vote["counts"]:
                yield found, dict(vote)


def _write_parquet(draft: Path, folder: Path, *, is_33k: bool) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, make = (_schema_33k(), _make_33k) if is_33k else (_schema_140k(), _make_140k)
    rows = 0
    counted = _list_counted(folder)
    with pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        while chunk := [make(battle, vote) for battle, vote in islice(counted, _AT_ONCE)]:
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))
            rows += len(chunk)
    return rows


def _talk(battle: ImportedBattle, side: str) -> list[dict[str, str]]:
    """Prompts and the answers of a side that count, one after another."""
    latest = {
        part["turn"]: part["text"]
        for part in battle.responses  # in the order of attempts
        if part["side"] == side
    }
    return [
        message
        for turn in battle.turns
        for message in (
            {"role": "user", "content": turn["prompt"]},
            {"role": "assistant", "content": latest.get(turn["turn"], "")},
        )
    ]


def _count_tokens(battle: ImportedBattle, side: str) -> int | None:
    latest = {
        part["turn"]: part["completion_tokens"] for part in battle.responses if part["side"] == side
    }
    counts = [count for count in latest.values() if count is not None]
    return sum(counts) if len(counts) == len(latest) else None


def _make_33k(battle: ImportedBattle, vote: dict[str, Any]) -> dict[str, Any]:
    told = battle.battle
    return {
        "question_id": told["id"], "model_a": told["model_a"], "model_b": told["model_b"],
        "winner": vote["outcome"], "judge": vote["voter_id"],
        "conversation_a": _talk(battle, "a"), "conversation_b": _talk(battle, "b"),
        "turn": len(battle.turns), "anony": True, "language": told["language"] or "unknown",
        "tstamp": vote["created_at"].timestamp(),
    }  # fmt: skip


def _make_140k(battle: ImportedBattle, vote: dict[str, Any]) -> dict[str, Any]:
    told = battle.battle
    is_bad = vote["outcome"] == Outcome.BOTH_BAD
    return {
        "id": told["id"], "model_a": told["model_a"], "model_b": told["model_b"],
        "winner": "both_bad" if is_bad else vote["outcome"],
        "evaluation_session_id": vote["voter_id"], "evaluation_order": 1,
        "conversation_a": _part(_talk(battle, "a")), "conversation_b": _part(_talk(battle, "b")),
        "conv_metadata": {
            f"sum_assistant_{side}_tokens": _count_tokens(battle, side) for side in ("a", "b")
        },
        "language": told["language"], "is_code": told["category"] == "coding",
        "timestamp": vote["created_at"],
    }  # fmt: skip


def _part(talk: list[dict[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "role": message["role"],
            "content": [
                {"type": "text", "text": message["content"], "image": None, "mimeType": None}
            ],
        }
        for message in talk
    ]


def _schema_33k() -> pa.Schema:
    import pyarrow as pa

    talk = pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]))
    return pa.schema([
        ("question_id", pa.string()), ("model_a", pa.string()), ("model_b", pa.string()),
        ("winner", pa.string()), ("judge", pa.string()), ("conversation_a", talk),
        ("conversation_b", talk), ("turn", pa.int64()), ("anony", pa.bool_()),
        ("language", pa.string()), ("tstamp", pa.float64()),
    ])  # fmt: skip


def _schema_140k() -> pa.Schema:
    import pyarrow as pa

    texts = [(name, pa.string()) for name in ("type", "text", "image", "mimeType")]
    talk = pa.list_(pa.struct([("role", pa.string()), ("content", pa.list_(pa.struct(texts)))]))
    tokens = [(f"sum_assistant_{side}_tokens", pa.int64()) for side in ("a", "b")]
    return pa.schema([
        ("id", pa.string()), ("model_a", pa.string()), ("model_b", pa.string()),
        ("winner", pa.string()), ("evaluation_session_id", pa.string()),
        ("evaluation_order", pa.int64()), ("conversation_a", talk), ("conversation_b", talk),
        ("conv_metadata", pa.struct(tokens)), ("language", pa.string()), ("is_code", pa.bool_()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ])  # fmt: skip


def _write_csv(draft: Path, folder: Path) -> int:
    """Texts as JSON arrays; both-bad is a tie in this layout."""
    rows = 0
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([
            "id", "model_a", "model_b", "prompt", "response_a", "response_b", "winner_model_a",
            "winner_model_b", "winner_tie",
        ])  # fmt: skip
        for battle, vote in _list_counted(folder):
            told, outcome = battle.battle, vote["outcome"]
            talks = [_talk(battle, side) for side in ("a", "b")]
            texts = [talks[0][::2], talks[0][1::2], talks[1][1::2]]
            arrays = [json.dumps([m["content"] for m in t], ensure_ascii=False) for t in texts]
            won = [int(outcome == Outcome.MODEL_A), int(outcome == Outcome.MODEL_B)]
            writer.writerow(
                [told["id"], told["model_a"], told["model_b"], *arrays, *won, 1 - sum(won)]
            )
            rows += 1
    return rows
