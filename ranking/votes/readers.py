"""Votes from files: CSV, JSON Lines, JSON and Parquet, in the public layouts as they come."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ranking.checks import is_table, take_path
from ranking.errors import InvalidVote, RankingError
from ranking.votes.comparisons import Comparisons
from ranking.votes.encoding import factorize, spell_outcome
from ranking.votes.style import read_style_metadata
from ranking.votes.votes import Votes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

_ALIASES: dict[str, tuple[str, ...]] = {
    "model_a": ("model_a", "left_model", "model_left", "left", "model_1", "model_a_name"),
    "model_b": ("model_b", "right_model", "model_right", "right", "model_2", "model_b_name"),
    "outcome": ("winner", "outcome", "verdict", "vote", "label", "result"),
    "voter": ("voter", "judge", "judge_hash", "worker", "annotator", "user_id", "visitor_id"),
    "weight": ("weight",),
    "draw_probability": ("draw_probability", "propensity"),
    "time": ("time", "timestamp", "tstamp", "created_at"),
}
ROLES = (*_ALIASES, "count")
"""What a column may hold."""

_GROUPS = ("category", "language", "turn", "voter_kind")
_COUNT = ("count", "votes", "n")

# Layouts with one column an outcome: counts per pair, or one flag a vote.
_WIDE: tuple[dict[str, str], ...] = (
    {"wins_a": "model_a", "wins_b": "model_b", "ties": "tie", "both_bad": "tie (bothbad)"},
    {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie",
     "winner_tie_bothbad": "tie (bothbad)"},
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """What a file held.

    Attributes:
        votes: Single votes, or counts where the file holds counts.
        rejected: Rows left out by reason, empty unless bad rows were skipped.
        columns: Which column was taken for what.
    """

    votes: Votes | Comparisons
    rejected: dict[str, int] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


def read_votes(
    path: str | Path | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Sequence[str] | None = None,
    covariates: Sequence[str] = (),
    style: bool = False,
    skip_bad_rows: bool = False,
) -> Reading:
    """Read a file of votes; columns are recognised by their public names.

    Args:
        path: .csv, .tsv, .jsonl, .ndjson, .json or .parquet, also gzipped (.gz); or a table
            that is already read.
        columns: Names that override the recognised ones, by role: model_a, model_b,
            outcome, voter, weight, draw_probability, time, count.
        groups: Columns that boards can be split by; by default those of category,
            language, turn and voter_kind that the file has.
        covariates: Columns of differences (left minus right) to adjust strengths for; those
            of length and Markdown that the file lacks are read from the public `conv_metadata`.
        style: Adjust for all of the latter.
        skip_bad_rows: Leave out rows that cannot be counted and say how many and why,
            instead of an error at the first.

    Raises:
        RankingError: The file's kind is unknown, or a reader for it is not installed.
        InvalidVote: A column is missing, or a row cannot be counted (row and value named).
    """
    frame = path if is_table(path) else read_table(take_path(path))
    given = dict(columns or {})
    for wide in _WIDE:
        if set(given) <= {"model_a", "model_b"} and set(list(wide)[:2]) <= set(frame.columns):
            kinds = {name: label for name, label in wide.items() if name in frame.columns}
            found = _find_columns(frame, given, needed=("model_a", "model_b"))
            return _read_wide(frame, kinds, found, skip_bad_rows=skip_bad_rows)
    found = _find_columns(frame, given)
    rejected: dict[str, int] = {}
    if skip_bad_rows:
        frame, rejected = drop_bad_rows(frame, found)
    if "count" in found:
        counts = Comparisons.from_frame(
            frame,
            model_a=found["model_a"],
            model_b=found["model_b"],
            outcome=found["outcome"],
            count=found["count"],
        )
        return Reading(counts, rejected, found)
    kept = [g for g in _GROUPS if g in frame.columns] if groups is None else list(groups)
    names = list(covariates)
    if style and "conv_metadata" not in frame.columns:
        raise InvalidVote("no column 'conv_metadata' to read the style from", value=path)
    if "conv_metadata" in frame.columns and (style or set(names) - set(frame.columns)):
        z = read_style_metadata(frame["conv_metadata"].tolist())
        frame = frame.assign(**{name: z[name] for name in z if name not in frame.columns})
        names += [name for name in z if style and name not in names]
    votes = Votes.from_frame(frame, groups=kept, covariates=names, **found)
    return Reading(votes, rejected, found)


def read_table(path: Path) -> pd.DataFrame:
    """The file as a table, by its suffix.

    Raises:
        RankingError: The suffix is unknown, or Parquet is not installed.
    """
    import pandas as pd

    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix == ".csv":
        return pd.read_csv(path)
    if suffix == ".tsv":
        return pd.read_csv(path, sep="\t")
    if suffix in (".jsonl", ".ndjson"):
        return pd.read_json(path, lines=True, dtype=False)
    if suffix == ".json":
        return pd.read_json(path, dtype=False)
    if suffix == ".parquet":
        try:
            return pd.read_parquet(path)
        except ImportError as error:
            raise RankingError("Parquet needs pyarrow: pip install pyarrow") from error
    raise RankingError(
        f"{path.name}: unknown kind of file {suffix!r}; "
        "known are .csv, .tsv, .jsonl, .ndjson, .json and .parquet, also as .gz"
    )


def drop_bad_rows(
    frame: pd.DataFrame, columns: Mapping[str, str], *, counts: Sequence[str] = ()
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The rows that can be counted, and how many could not, by reason (the first that fits).

    Args:
        frame: The table.
        columns: Name of the column of each role.
        counts: Columns of counts, where each outcome has its own.
    """
    bad: dict[str, NDArray[np.bool_]] = {}
    for role in ("model_a", "model_b"):
        text = frame[columns[role]].astype("str")
        missing = frame[columns[role]].isna() | (text.str.strip() == "")
        bad[f"{columns[role]} is missing"] = missing.to_numpy(dtype=bool)
    same = frame[columns["model_a"]].astype("str") == frame[columns["model_b"]].astype("str")
    bad["a model against itself"] = same.to_numpy(dtype=bool)
    if "outcome" in columns:
        codes, labels = factorize(frame[columns["outcome"]].array)
        known = np.array([*(spell_outcome(label) is not None for label in labels), False])
        bad[f"{columns['outcome']} is missing"] = codes < 0
        bad[f"{columns['outcome']} is unknown"] = ~known[codes]
    if "voter" in columns:
        bad["the voter is missing"] = frame[columns["voter"]].isna().to_numpy(dtype=bool)
    for role in ("weight", "draw_probability"):
        if role in columns:
            values = frame[columns[role]].to_numpy(dtype=float)
            bad[f"{columns[role]} is unusable"] = ~(np.isfinite(values) & (values >= 0))
    for name in (*counts, *([columns["count"]] if "count" in columns else [])):
        values = frame[name].to_numpy(dtype=float)
        whole = np.isfinite(values) & (values >= 0) & (values == np.floor(values))
        bad[f"{name} is no whole number ≥ 0"] = ~whole
    kept = np.ones(len(frame), dtype=bool)
    rejected: dict[str, int] = {}
    for reason, wrong in bad.items():
        number = int((kept & wrong).sum())
        if number:
            rejected[reason] = number
        kept &= ~wrong
    return frame[kept], rejected


def _find_columns(
    frame: pd.DataFrame,
    given: dict[str, str],
    *,
    needed: Sequence[str] = ("model_a", "model_b", "outcome"),
) -> dict[str, str]:
    unknown = set(given) - set(ROLES)
    if unknown:
        known = ", ".join(ROLES)
        raise InvalidVote(f"unknown role {min(unknown)!r}; known are {known}", value=min(unknown))
    for role, name in given.items():
        if name not in frame.columns:
            raise InvalidVote(
                f"no column {name!r} for {role}; the table has {list(frame.columns)}", value=name
            )
    found = dict(given)
    for role, aliases in {**_ALIASES, "count": _COUNT}.items():
        if role not in found:
            match = next((name for name in aliases if name in frame.columns), None)
            if match is not None and match not in found.values():
                found[role] = match
    for role in needed:
        if role not in found:
            raise InvalidVote(
                f"no column for {role} (looked for {', '.join(_ALIASES[role])}); "
                f"the table has {list(frame.columns)}",
                value=role,
            )
    return found


def _read_wide(
    frame: pd.DataFrame, kinds: Mapping[str, str], found: dict[str, str], *, skip_bad_rows: bool
) -> Reading:
    """One row a pair and one column an outcome: wins_a, wins_b, ties, both_bad."""
    found = {role: found[role] for role in ("model_a", "model_b")}
    rejected: dict[str, int] = {}
    if skip_bad_rows:
        frame, rejected = drop_bad_rows(frame, found, counts=list(kinds))
    outcomes = len(kinds)
    a, b = (np.repeat(frame[found[role]].to_numpy(dtype=object), outcomes) for role in found)
    labels = np.tile(np.array(list(kinds.values()), dtype=object), len(frame))
    try:
        counts = Comparisons.from_counts(a, b, labels, frame[list(kinds)].to_numpy().ravel())
    except InvalidVote as error:
        if error.row is None:
            raise
        raise InvalidVote(error.reason, row=error.row // outcomes, value=error.value) from None
    return Reading(counts, rejected, {**found, **kinds})
