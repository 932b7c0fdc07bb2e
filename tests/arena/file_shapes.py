"""The same twelve votes in the shapes in which people have files."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    Rows = Sequence[tuple[str, str, str]]

A, B, TIE, BAD = "model_a", "model_b", "tie", "tie (bothbad)"
VOTES: Rows = (
    ("alpha", "beta", A), ("alpha", "beta", A), ("beta", "alpha", B), ("beta", "alpha", A),
    ("alpha", "gamma", A), ("gamma", "alpha", B), ("gamma", "alpha", TIE), ("beta", "gamma", A),
    ("gamma", "beta", A), ("beta", "gamma", TIE), ("beta", "gamma", BAD), ("gamma", "beta", B),
)  # fmt: skip
HEADER = ("model_a", "model_b", "winner")
Tally = dict[str, tuple[int, int, int, int]]


def tally(rows: Rows = VOTES, names: Callable[[str], str] = str) -> Tally:
    """Wins, losses, ties and both-bad votes of every model."""
    found: dict[str, list[int]] = {}
    for a, b, outcome in rows:
        for model, won, lost in ((a, A, B), (b, B, A)):
            counts = found.setdefault(names(model), [0, 0, 0, 0])
            counts[(won, lost, TIE, BAD).index(outcome)] += 1
    return {model: (w, lo, t, b) for model, (w, lo, t, b) in found.items()}


def merged(rows: Rows = VOTES) -> Rows:
    """The same where both-bad votes cannot be told from ties."""
    return [(a, b, TIE if outcome == BAD else outcome) for a, b, outcome in rows]


def relabel(labels: dict[str, str], rows: Rows = VOTES) -> Rows:
    return [(a, b, labels.get(outcome, outcome)) for a, b, outcome in rows]


def rename(names: dict[str, str], rows: Rows = VOTES) -> Rows:
    return [(names.get(a, a), names.get(b, b), outcome) for a, b, outcome in rows]


def table(
    rows: Sequence[Sequence[object]] = VOTES,
    header: Sequence[str] | None = HEADER,
    **dialect: Any,  # noqa: ANN401
) -> str:
    text = io.StringIO()
    writer = csv.writer(text, **{"lineterminator": "\n", **dialect})
    writer.writerows([*([header] if header else []), *rows])
    return text.getvalue()


def records(rows: Rows = VOTES) -> list[dict[str, Any]]:
    return [dict(zip(HEADER, row, strict=True)) for row in rows]


def lines(values: Sequence[object]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def zipped(**files: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_csv", ".csv"), text)
    return data.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    data = io.BytesIO()
    frame.to_parquet(data)
    return data.getvalue()


def flags(rows: Rows = VOTES) -> list[tuple[object, ...]]:
    return [(n, a, b, int(o == A), int(o == B), int(o in (TIE, BAD))) for n, (a, b, o) in
            enumerate(rows)]  # fmt: skip


def chats(rows: Rows = VOTES) -> list[dict[str, Any]]:
    kinds = {A: "leftvote", B: "rightvote", TIE: "tievote", BAD: "bothbad_vote"}
    votes = [
        {"tstamp": 1.7e9 + n, "type": kinds[o], "models": ["", ""], "ip": "10.0.0.1",
         "states": [{"model_name": a, "messages": []}, {"model_name": b, "messages": []}]}
        for n, (a, b, o) in enumerate(rows)
    ]  # fmt: skip
    chat = {"tstamp": 1.7e9, "type": "chat", "model": "alpha", "state": {}}
    return [chat, *votes, chat]


def chosen(rows: Rows = VOTES) -> list[tuple[object, ...]]:
    return [
        (n, a, b, {A: a, B: b}.get(o, ""), str(o in (TIE, BAD)), f"2025-01-01T00:00:{n:02d}", "v")
        for n, (a, b, o) in enumerate(rows)
    ]


CHOSEN = ("id", "model_a_name", "model_b_name", "chosen_model_name", "both_equal", "timestamp",
          "visitor_id")  # fmt: skip


def by_pair(rows: Rows = VOTES) -> dict[tuple[str, str], list[int]]:
    counts: dict[tuple[str, str], list[int]] = {}
    for a, b, outcome in rows:
        cell = counts.setdefault((a, b), [0, 0, 0, 0])
        cell[(A, B, TIE, BAD).index(outcome)] += 1
    return counts


def names_of_winners(rows: Rows = VOTES) -> Rows:
    return [(a, b, {A: a, B: b}.get(o, o)) for a, b, o in rows]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "votes.csv.gz": gzip.compress, "votes.csv.bz2": bz2.compress, "votes.csv.xz": lzma.compress,
}  # fmt: skip
