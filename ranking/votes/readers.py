"""Votes from files, in the layouts that people have, and how each was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import InvalidVote
from ranking.tables.cells import read_numbers
from ranking.tables.table import FileOptions, Table, fold_column, open_table
from ranking.tables.times import read_times
from ranking.votes.both_orders import UNPARSABLE, combine_codes
from ranking.votes.comparisons import Comparisons
from ranking.votes.encoding import MODEL_A, MODEL_B, OUTCOMES, TIE
from ranking.votes.labels import UNREADABLE
from ranking.votes.names import read_names, say_rows
from ranking.votes.pair_counts import find_count_columns, read_pairs, take_counts
from ranking.votes.repeats import count_repeats
from ranking.votes.roles import list_columns
from ranking.votes.style import read_style_metadata
from ranking.votes.verdict_rows import VerdictRows, read_rows
from ranking.votes.votes import Group, Votes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from ranking.votes.reading_report import ReadingReport

    Mask = NDArray[np.bool_]

__all__ = ["ROLES", "Reading", "read_votes"]

_KNOWN: dict[str, tuple[str, ...]] = {
    "model_a": ("model_a", "left_model", "model_left", "left", "model_1", "model1",
                "model_a_name", "model_name_a", "system_a", "assistant_a", "player_a",
                "generator_1", "model_a_id", "a"),
    "model_b": ("model_b", "right_model", "model_right", "right", "model_2", "model2",
                "model_b_name", "model_name_b", "system_b", "assistant_b", "player_b",
                "generator_2", "model_b_id", "b"),
    "outcome": ("winner", "outcome", "verdict", "vote", "label", "result", "choice",
                "preference", "preferred", "chosen", "chosen_model_name", "winner_model",
                "judgment", "judgement", "answer"),
    "voter": ("voter", "voter_id", "judge", "judge_hash", "worker", "worker_id", "annotator",
              "annotator_id", "rater", "reviewer", "user_id", "visitor_id", "evaluation_session_id",
              "session_hash", "user"),
    "weight": ("weight",),
    "draw_probability": ("draw_probability", "propensity"),
    "time": ("time", "timestamp", "tstamp", "created_at", "voted_at", "date", "datetime"),
    "count": ("count",),
    "id": ("id", "vote_id", "uid", "question_id", "conversation_pair_id"),
}  # fmt: skip
_TEXTS = frozenset(
    name for role in ("model_a", "model_b", "outcome", "voter") for name in _KNOWN[role]
)
ROLES = tuple(_KNOWN)
"""What a column may hold."""

_GROUPS = ("category", "language", "turn", "voter_kind")
_OTHERS = {"tie (inconsistent)": TIE, "inconsistent": TIE}


@dataclass(frozen=True)
class Reading:
    """What a file held.

    Attributes:
        votes: Single votes, or counts where the file holds counts.
        report: How the file was read.
        rejected: Rows left out by reason, empty unless bad rows were skipped.
        columns: Which column was taken for what.
    """

    votes: Votes | Comparisons
    report: ReadingReport
    rejected: dict[str, int] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


def read_votes(
    path: str | Path | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    outcomes: Mapping[str, str] | None = None,
    groups: Sequence[str] | None = None,
    covariates: Sequence[str] = (),
    style: bool = False,
    skip_bad_rows: bool = False,
    needs: Collection[str] = (),
    weighted: bool = True,
    options: FileOptions | None = None,
) -> Reading:
    """Read a file of votes; columns, labels and layouts are recognised by their usual names.

    Args:
        path: CSV and its kin, JSON, JSON Lines or Parquet, also packed; "-" is standard input;
            or a DataFrame.
        columns: Names (or places from 1 on) of columns by role: model_a, model_b, outcome,
            voter, weight, draw_probability, time, count, id.
        outcomes: What labels mean: model_a, model_b, tie, both_bad, "skip" for no verdict,
            "name" for a model's name.
        groups: Columns that boards can be split by; by default those of category,
            language, turn and voter_kind that the file has.
        covariates: Columns of differences (left minus right) to adjust strengths for; those
            of length and Markdown that the file lacks are read from the public `conv_metadata`.
        style: Adjust for all of the latter.
        skip_bad_rows: Leave out rows that cannot be counted and say how many and why,
            instead of an error. Refused where it would bend the result.
        needs: Roles that every row must have: voter, time, draw_probability. Elsewhere a gap
            in them costs nothing and is noted.
        weighted: Read the votes' weights, which every row must then have.
        options: What is known of the file: encoding, separator, whether it has a header.

    Raises:
        OSError: The file cannot be opened.
        RankingError: It is no table, or a reader for it is not installed.
        InvalidVote: A column is missing, or rows cannot be counted.
    """
    table = open_table(path, options, texts=_TEXTS)
    given = dict(columns or {})
    kinds = find_count_columns(table, given)
    if kinds:
        counts, left_out, report = read_pairs(
            table, kinds, known=_KNOWN, given=given, skip_bad_rows=skip_bad_rows
        )
        return Reading(counts, report, left_out, report.columns)
    needed = ("model_a", "model_b", "outcome")
    rows = read_rows(
        table, known=_KNOWN, given=given, outcomes=outcomes or {}, needed=needed, others=_OTHERS
    )
    if "count" in rows.columns:
        return _read_counts(rows, skip_bad_rows=skip_bad_rows)
    wanted = {*needs, "weight"} if weighted else set(needs)
    return _VoteReader(rows, needs=frozenset(wanted)).read(
        groups, tuple(covariates), style=style, skip=skip_bad_rows
    )


def _read_counts(rows: VerdictRows, *, skip_bad_rows: bool) -> Reading:
    count = take_counts(rows.table, rows.columns["count"])[rows.laid.rows]
    rows.faults.add(
        f"{rows.columns['count']} is no whole number ≥ 0", ~_is_whole(count), count.item
    )
    keep, left_out = rows.faults.choose_rows(skip=skip_bad_rows)
    counts = Comparisons.from_counts(
        rows.model_a.to_column()[keep], rows.model_b.to_column()[keep],
        _spell(rows.labels.codes[keep]), count[keep],
    )  # fmt: skip
    report = rows.report(left_out)
    return Reading(counts, report, left_out, report.columns)


def _is_whole(values: NDArray[np.float64]) -> Mask:
    return np.asarray(np.isfinite(values) & (values >= 0) & (values == np.floor(values)))


def _spell(codes: NDArray[np.int8]) -> pd.Categorical:
    import pandas as pd

    return pd.Categorical.from_codes(codes, categories=list(OUTCOMES))


@dataclass
class _VoteReader:
    """Single votes from rows of verdicts."""

    rows: VerdictRows
    needs: frozenset[str]

    def read(
        self, groups: Sequence[str] | None, covariates: tuple[str, ...], *, style: bool, skip: bool
    ) -> Reading:
        rows = self.rows
        voter = self._read_voter()
        time = self._read_time()
        numbers = {
            role: self._read_amount(role)
            for role in ("weight", "draw_probability")
            if rows.has(role) and (role in self.needs or role != "weight")
        }
        z = self._read_covariates(covariates, style=style)
        kept, left_out = rows.faults.choose_rows(skip=skip)
        codes, kept = self._combine_orders(kept, left_out)
        labels = self._read_groups(groups)
        self._note_repeats(codes, time, kept)
        models, a, b = rows.number_models()
        votes = Votes(
            models=models,
            model_a=a,
            model_b=b,
            outcome=codes,
            weight=numbers.get("weight"),
            draw_probability=numbers.get("draw_probability"),
            voter=voter,
            covariates=np.stack(list(z.values()), axis=1) if z else None,
            covariate_names=tuple(z),
            groups=labels,
            time=time,
        )
        if not kept.all():
            votes = votes.select(kept).drop_absent_models().drop_absent_labels()
        report = rows.report(left_out)
        return Reading(votes, report, left_out, report.columns)

    def _read_voter(self) -> Group | None:
        rows = self.rows
        if not rows.has("voter"):
            return None
        names = rows.read_names("voter")
        missing = np.asarray(names.codes < 0)
        if "voter" in self.needs:
            rows.faults.add("the voter is missing", missing)
        elif missing.any():
            rows.notes.append(
                f"{say_rows(int(missing.sum()))} without a voter, so voters are not told apart"
            )
            return None
        for name, number in names.find_nothings().items():
            rows.notes.append(f'"{name}" is taken for one voter ({say_rows(number)})')
        return names.to_group()

    def _read_time(self) -> NDArray[np.float64] | None:
        rows = self.rows
        if not rows.has("time"):
            return None
        column = rows.columns.get("time", "time")
        found = read_times(rows.read("time"))
        wrong = found.trouble or found.doubt
        if wrong and "time" in self.needs:
            raise InvalidVote(
                f"{column} holds no times: {wrong}. Write them like 2026-11-30T18:00Z, or as "
                "seconds since 1970",
                value=column,
            )
        if found.seconds is None:
            rows.notes.append(f"{column} is not read as a time: {found.trouble}")
            return None
        missing = int(np.isnan(found.seconds).sum())
        gap = f"; {say_rows(missing)} without one" if missing else ""
        rows.notes.append(f"{column} is read as {found.kind}{gap}")
        return found.seconds

    def _read_amount(self, role: str) -> NDArray[np.float64] | None:
        rows = self.rows
        column = rows.columns[role]
        values, wrong = read_numbers(rows.read(role))
        if wrong and "," in wrong[0]:
            raise InvalidVote(
                f'{column} "{wrong[0]}" may be a thousand or a fraction. Write it with a point or '
                "without a mark"
                + (", or weigh all votes alike with --weights uniform" * (role == "weight")),
                value=wrong[0],
            )
        bad = ~(np.isfinite(values) & (values >= 0))
        texts = rows.read(role)
        if role in self.needs:
            reason = f"{column} is unusable"
            rows.faults.add(reason, bad, lambda row: str(texts.iloc[row]))
            if role == "weight":
                rows.faults.also[reason] = "weigh all votes alike with --weights uniform"
            return values
        if bad.any():
            rows.notes.append(f"{column} is not used: {say_rows(int(bad.sum()))} without one")
            return None
        return values

    def _read_covariates(
        self, names: tuple[str, ...], *, style: bool
    ) -> dict[str, NDArray[np.float64]]:
        rows, table = self.rows, self.rows.table
        lacking = [name for name in names if table.find_column(name) is None]
        metadata = next((c for c in table.columns if fold_column(c) == "conv_metadata"), None)
        if style and metadata is None:
            raise InvalidVote(
                "no column 'conv_metadata' to read the style from", value="conv_metadata"
            )
        found: dict[str, NDArray[np.float64]] = {}
        if metadata is not None and (style or lacking):
            z = read_style_metadata(rows.pick(table.read(metadata)).tolist())
            found = {name: z[name] for name in z if style or name in lacking}
        for name in names:
            if name not in found:
                found[name] = self._read_difference(name)
        return {name: found[name] for name in dict.fromkeys((*names, *found))}

    def _read_difference(self, name: str) -> NDArray[np.float64]:
        rows = self.rows
        column = _require(rows.table, name)
        texts = rows.pick(rows.table.read(column))
        values, _ = read_numbers(texts)
        rows.faults.add(
            f"{name} is unusable", ~np.isfinite(values), lambda row: str(texts.iloc[row])
        )
        return values

    def _read_groups(self, groups: Sequence[str] | None) -> dict[str, Group]:
        rows, table = self.rows, self.rows.table
        chosen = groups
        if chosen is None:
            chosen = [name for name in _GROUPS if table.find_column(name) == name]
        found = {}
        for name in chosen:
            column = _require(table, name)
            found[name] = read_names(rows.pick(table.read_text(column))).to_group()
        return found

    def _combine_orders(
        self, kept: Mask, left_out: dict[str, int]
    ) -> tuple[NDArray[np.int8], Mask]:
        """One verdict a battle where a judge saw each in both orders."""
        rows = self.rows
        codes = rows.labels.codes
        if not rows.laid.both_orders:
            return codes, kept
        half = len(codes) // 2
        swap = np.arange(-2, UNREADABLE + 1, dtype=np.int8)
        swap[[MODEL_A + 2, MODEL_B + 2]] = MODEL_B, MODEL_A
        pair = [
            np.where(side >= len(OUTCOMES), UNPARSABLE, side)
            for side in (codes[:half], swap[codes[half:] + 2])
        ]
        whole = kept[:half] & kept[half:]
        verdict, how = combine_codes(*(np.where(whole, side, UNPARSABLE) for side in pair))
        unread = int((whole & (verdict == UNPARSABLE)).sum())
        if unread:
            left_out["no verdict could be read in one of the orders"] = unread
        told = np.bincount(how[whole], minlength=4)
        rows.notes.append(
            f"two orders are one vote: alike in {told[0]:,}, a tie where they differ "
            f"({told[1] + told[2]:,})"
        )
        result, used = codes.copy(), np.zeros(len(codes), dtype=bool)
        result[:half], used[:half] = verdict, verdict != UNPARSABLE
        return result, used

    def _note_repeats(
        self, codes: NDArray[np.int8], time: NDArray[np.float64] | None, kept: Mask
    ) -> None:
        number = count_repeats(self.rows, codes, time, kept)
        if number:
            self.rows.notes.append(
                f"{say_rows(number)} like an earlier one in models, outcome, voter and time or "
                "id; they are counted"
            )


def _require(table: Table, name: str) -> str:
    column = table.find_column(name)
    if column is None:
        raise InvalidVote(f"no column {name!r}; the table has {list_columns(table)}", value=name)
    return column
