"""Judgements from files, in the layouts that people have, and how each was read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.columns import find_kinds
from ranking.agreement.judgements import Judgements
from ranking.errors import InvalidVote
from ranking.tables.cells import read_numbers
from ranking.tables.table import FileOptions, open_table
from ranking.votes.encoding import factorize
from ranking.votes.labels import BAD_LABEL, INCONSISTENT, LABELS, UNREADABLE
from ranking.votes.names import quote_option
from ranking.votes.roles import list_columns
from ranking.votes.verdict_rows import VerdictRows, read_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

__all__ = ["ROLES", "read_judgements"]

_KNOWN: dict[str, tuple[str, ...]] = {
    "item": ("item", "battle_id", "battle", "question_id", "uid", "comparison_id",
             "conversation_pair_id", "prompt_id", "id"),
    "judge": ("judge", "voter", "voter_id", "worker", "worker_id", "annotator", "annotator_id",
              "rater", "reviewer", "judge_hash", "user_id", "visitor_id"),
    "kind": ("kind", "voter_kind", "judge_kind"),
    "model_a": ("model_a", "left_model", "model_left", "left", "model_1", "model1",
                "model_a_name", "system_a", "assistant_a", "generator_1"),
    "model_b": ("model_b", "right_model", "model_right", "right", "model_2", "model2",
                "model_b_name", "system_b", "assistant_b", "generator_2"),
    "outcome": ("winner", "outcome", "verdict", "vote", "label", "result", "choice",
                "preference", "judgment", "judgement"),
    "turn": ("turn",),
    "length_a": ("length_a",),
    "length_b": ("length_b",),
    "arm": ("arm",),
    "shown": ("shown",),
    "seconds": ("seconds",),
}  # fmt: skip
ROLES = ("winner", *_KNOWN)
"""What a column may hold; `winner` is another word for outcome."""

_OTHERS = {"tie (inconsistent)": INCONSISTENT, "inconsistent": INCONSISTENT,
           "unparsable": UNREADABLE, "error": UNREADABLE}  # fmt: skip
_TEXTS = ("turn", "arm", "shown")
_AMOUNTS = ("length_a", "length_b", "seconds")
_GROUPS = ("category", "language", "turn")


def read_judgements(
    path: str | Path | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    outcomes: Mapping[str, str] | None = None,
    groups: Sequence[str] | None = None,
    both_orders: Collection[str] = (),
    kind: str | None = None,
    skip_bad_rows: bool = False,
    options: FileOptions | None = None,
) -> Judgements:
    """Read a long table of judgements from a file; `reading` says how.

    Args:
        path: As for `read_votes`.
        columns: Names (or places from 1 on) of columns, by role.
        outcomes: What labels mean, as for `read_votes`.
        groups: Columns to split agreement by; category, language and turn by default.
        both_orders: As for `Judgements.from_frame`; files of judges in both orders say it
            themselves.
        kind: Of all judges, where no column has it.
        skip_bad_rows: Leave out rows that cannot be counted, as for `read_votes`.
        options: What is known of the file.

    Raises:
        OSError: The file cannot be opened.
        RankingError: It is no table, or a reader for it is not installed.
        InvalidVote: A column is missing, or rows cannot be counted.
    """
    table = open_table(path, options)
    given = {
        "outcome" if role == "winner" else role: name for role, name in (columns or {}).items()
    }
    rows = read_rows(
        table, known=_KNOWN, given=given, outcomes=outcomes or {},
        needed=("model_a", "model_b", "outcome"), others=_OTHERS,
    )  # fmt: skip
    reader = _Reader(rows, kind=kind, both_orders=frozenset(both_orders))
    return reader.read(groups, skip=skip_bad_rows)


@dataclass
class _Reader:
    """A long table from rows of verdicts."""

    rows: VerdictRows
    kind: str | None
    both_orders: frozenset[str]

    def read(self, groups: Sequence[str] | None, *, skip: bool) -> Judgements:
        import pandas as pd

        rows = self.rows
        kinds = self._read_kinds()
        find_kinds(tuple(sorted(map(str, kinds.categories))), self.both_orders)
        frame = {
            "kind": kinds,
            "item": self._read_needed("item"),
            "judge": self._read_needed("judge"),
        }
        frame |= {"model_a": rows.model_a.to_column(), "model_b": rows.model_b.to_column()}
        frame |= {role: rows.read_names(role).to_column() for role in _TEXTS if rows.has(role)}
        frame |= {role: self._read_amount(role) for role in _AMOUNTS if rows.has(role)}
        names, labels = self._read_groups(groups)
        frame |= {name: column for name, column in labels.items() if name not in frame}
        orders = self.both_orders | ({str(kinds[0])} if rows.laid.both_orders else set())
        self._settle_unreadable(kinds, orders)
        keep, left_out = rows.faults.choose_rows(skip=skip)
        codes = rows.labels.codes
        frame["winner"] = pd.Categorical.from_codes(
            np.where(keep, codes, BAD_LABEL), categories=list(LABELS)
        )
        try:
            found = Judgements.from_frame(
                pd.DataFrame(frame)[keep], groups=names, both_orders=sorted(orders)
            )
        except InvalidVote as error:
            raise self._find_row(error, keep) from None
        return replace(found, reading=rows.report(left_out))

    def _find_row(self, error: InvalidVote, keep: Mask) -> InvalidVote:
        """The same error with the row of the file."""
        if error.row is None:
            return error
        row = int(self.rows.laid.rows[np.flatnonzero(keep)[error.row]])
        return InvalidVote(error.reason, row=row, value=error.value)

    def _read_kinds(self) -> pd.Categorical:
        import pandas as pd

        rows = self.rows
        alike = self.kind or (rows.laid.kind if not rows.has("kind") else "")
        if alike:
            return pd.Categorical.from_codes([0] * len(rows), categories=[alike])
        if not rows.has("kind"):
            raise InvalidVote(
                "no column for kind (looked for kind, voter_kind, judge_kind); the table has "
                f"{list_columns(rows.table)}. Name it with --column kind=NAME, or say of what "
                "kind all judges are with --kind expert (or crowd, judge, …)",
                value="kind",
            )
        return self._read_needed("kind")

    def _read_needed(self, role: str) -> pd.Categorical:
        rows = self.rows
        if not rows.has(role):
            names = _KNOWN[role]
            raise InvalidVote(
                f"no column for {role} (looked for {', '.join(names[:6])}, …); the table has "
                f"{list_columns(rows.table)}. Name it with --column {role}=NAME",
                value=role,
            )
        found = rows.read_names(role)
        rows.find_missing(found, f"the {role}")
        return found.to_column()

    def _read_amount(self, role: str) -> NDArray[np.float64]:
        rows = self.rows
        texts = rows.read(role)
        values, wrong = read_numbers(texts)
        bad = (values < 0) | np.isinf(values)
        if wrong:
            bad |= texts.astype("str").str.strip().isin(wrong).to_numpy(dtype=bool)
        rows.faults.add(
            f"{rows.columns[role]} must be a number ≥ 0", bad, lambda row: str(texts.iloc[row])
        )
        return values

    def _read_groups(
        self, groups: Sequence[str] | None
    ) -> tuple[list[str], dict[str, pd.Categorical]]:
        rows = self.rows
        names = list(groups) if groups is not None else [
            name for name in _GROUPS if rows.table.find_column(name) == name
        ]  # fmt: skip
        found = {}
        for name in names:
            column = rows.table.find_column(name)
            if column is None:
                raise InvalidVote(
                    f"no column {name!r}; the table has {list_columns(rows.table)}", value=name
                )
            found[name] = _name_column(rows, column)
        return names, found

    def _settle_unreadable(self, kinds: pd.Categorical, orders: Collection[str]) -> None:
        """A verdict may be unreadable only where another order may tell of it."""
        rows = self.rows
        twice = np.isin(np.asarray(kinds, dtype=object), list(orders))
        codes = rows.labels.codes.copy()
        blank = _is_blank(rows.laid.columns["outcome"])
        unknown = dict(rows.labels.unknown)
        told = dict(rows.labels.told)
        gap = blank & twice & (codes == BAD_LABEL)
        if gap.any():
            codes[gap] = UNREADABLE
            told[""] = (LABELS[UNREADABLE], int(gap.sum()))
            left = unknown.pop("", 0) - int(gap.sum())
            unknown |= {"": left} if left else {}
        odd = (codes == UNREADABLE) & ~twice
        if odd.any():
            codes[odd] = BAD_LABEL
            unknown["unparsable"] = int(odd.sum())
            found = sorted({str(kind) for kind in np.asarray(kinds, dtype=object)[odd]})
            rows.faults.hint = (
                ". If these judges saw every battle in both orders, say "
                f"--both-orders {quote_option(found[0])}"
            )
        rows.labels = replace(rows.labels, codes=codes, unknown=unknown, told=told)
        rows.faults.labels = rows.labels


def _name_column(rows: VerdictRows, column: str) -> pd.Categorical:
    from ranking.votes.names import read_names

    return read_names(rows.pick(rows.table.read_text(column))).to_column()


def _is_blank(column: pd.Series) -> Mask:
    codes, labels = factorize(column.array)
    table = np.array([*(not str(label).strip() for label in labels), True])
    return np.asarray(table[codes])
