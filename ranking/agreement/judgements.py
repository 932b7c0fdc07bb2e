"""Who judged what how: one row a judgement of one battle, whichever side was shown left.

A battle is an item (a question, or a stored battle) with its turn and its pair of models.
Judgements are compared within a battle only. The two models of a battle are told apart by
sorted name, so that the same verdict is the same number on whatever side it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.agreement.columns import (
    compare_lengths,
    find_columns,
    find_kinds,
    read_amounts,
    read_groups,
    read_names,
    read_shown,
    read_verdicts,
    refuse_own_opponents,
)
from ranking.agreement.orders import OrderAudit, combine_orders
from ranking.errors import InvalidVote
from ranking.votes.encoding import TIE, encode_models
from ranking.votes.votes import Group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from ranking.votes.reading_report import ReadingReport

    Codes = NDArray[np.intp]
    Verdicts = NDArray[np.int8]

__all__ = ["CATEGORIES", "Judgements"]

CATEGORIES = ("first model", "second model", "tie", "both bad")
"""What a verdict says of the two models in the order of their names."""


@dataclass(frozen=True, eq=False)
class Judgements:
    """A validated long table of judgements, in integer columns.

    Attributes:
        items: Names, sorted.
        models: Names, sorted.
        judges: Names of individuals, by kind, then name; one may occur in several kinds.
        kinds: Names of kinds of judges, sorted.
        judge_kind: Index into `kinds` of each judge, shape (judges,).
        item: Index into `items`, shape (rows,).
        battle: Number of the item, turn and pair of models, shape (rows,).
        first: Index of the model whose name sorts first, shape (rows,).
        second: Index of the other, shape (rows,).
        judge: Index into `judges`, shape (rows,).
        verdict: 0 the first model, 1 the second, 2 a tie, 3 both bad, shape (rows,).
        inconsistent: Ties that stand for two opposite verdicts, shape (rows,).
        groups: Labels of the rows by which agreement can be split.
        longer: Which answer is longer, 0, 1, 2 for neither, −1 unknown; or None.
        arm: Arm of a rubber-stamp study, or None.
        shown: The verdict the judge was shown (or would have been), −1 for none; or None.
        seconds: Time each judgement took, NaN where unknown; or None.
        orders: Audits of the judges whose verdicts were given in both orders.
        reading: How the file was read, or None where there was none.
    """

    items: tuple[str, ...]
    models: tuple[str, ...]
    judges: tuple[str, ...]
    kinds: tuple[str, ...]
    judge_kind: Codes
    item: Codes
    battle: Codes
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    judge: Codes
    verdict: Verdicts
    inconsistent: NDArray[np.bool_]
    groups: Mapping[str, Group] = field(default_factory=dict)
    longer: Verdicts | None = None
    arm: Group | None = None
    shown: Verdicts | None = None
    seconds: NDArray[np.float64] | None = None
    orders: tuple[OrderAudit, ...] = ()
    reading: ReadingReport | None = None

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def kind(self) -> Codes:
        """Index into `kinds` of each row, shape (rows,)."""
        return self.judge_kind[self.judge]

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        columns: Mapping[str, str] | None = None,
        groups: Sequence[str] | None = None,
        both_orders: Collection[str] = (),
    ) -> Judgements:
        """Check and encode a table with one row a judgement.

        Args:
            frame: Columns item, judge, kind, model_a, model_b, winner, and optionally turn,
                category, language, length_a, length_b, arm, shown, seconds. `winner` and
                `shown` are labels as in `OUTCOMES` and their known spellings; "tie
                (inconsistent)" is a tie between two opposite verdicts.
            columns: Names that override these, by role.
            groups: Columns to split agreement by; category, language and turn by default.
            both_orders: Kinds whose judges saw every battle twice, sides swapped: one row
                for each order. A verdict given in both counts once; two different ones are
                a tie marked inconsistent; "unparsable" or no verdict in either counts
                nowhere but in `orders`.

        Raises:
            InvalidVote: A column or value is missing or unknown; the row (from 0) and the
                value are named.
        """
        found = find_columns(frame, dict(columns or {}))
        models, a, b = encode_models(frame[found["model_a"]].array, frame[found["model_b"]].array)
        refuse_own_opponents(models, a, b)
        names = {role: read_names(frame, found[role], role) for role in ("item", "judge", "kind")}
        judge, kinds = _number_judges(names["kind"], names["judge"])
        swapped = a > b
        twice = np.isin(names["kind"].codes, find_kinds(kinds, both_orders))
        verdict, inconsistent = read_verdicts(frame[found["winner"]], swapped, twice)
        turn = Group.from_column(frame[found["turn"]].array) if "turn" in found else None
        first, second = np.minimum(a, b), np.maximum(a, b)
        table = cls(
            items=names["item"].names,
            models=models,
            judges=tuple(names["judge"].names[code] for _, code in judge.individuals),
            kinds=kinds,
            judge_kind=np.array([kind for kind, _ in judge.individuals], dtype=np.intp),
            item=names["item"].codes,
            battle=_number_battles(names["item"].codes, turn, first, second),
            first=first,
            second=second,
            judge=judge.codes,
            verdict=verdict,
            inconsistent=inconsistent,
            groups=read_groups(frame, groups),
            longer=compare_lengths(frame, found, swapped),
            arm=Group.from_column(frame[found["arm"]].array) if "arm" in found else None,
            shown=read_shown(frame[found["shown"]], swapped) if "shown" in found else None,
            seconds=read_amounts(frame[found["seconds"]]) if "seconds" in found else None,
        )
        return table.combine_orders(twice, swapped)

    def select(self, keep: NDArray[Any]) -> Judgements:
        """Some of the judgements, over the same names."""
        return replace(
            self,
            item=self.item[keep],
            battle=self.battle[keep],
            first=self.first[keep],
            second=self.second[keep],
            judge=self.judge[keep],
            verdict=self.verdict[keep],
            inconsistent=self.inconsistent[keep],
            groups={name: group.select(keep) for name, group in self.groups.items()},
            longer=None if self.longer is None else self.longer[keep],
            arm=None if self.arm is None else self.arm.select(keep),
            shown=None if self.shown is None else self.shown[keep],
            seconds=None if self.seconds is None else self.seconds[keep],
        )

    def collapse(self) -> Judgements:
        """The same with both-bad verdicts as ties, as published agreements have it."""
        shown = None if self.shown is None else np.minimum(self.shown, TIE).astype(np.int8)
        return replace(self, verdict=np.minimum(self.verdict, TIE).astype(np.int8), shown=shown)

    def pairs_of_models(self) -> Group:
        """The pair of models of each row as a label, `first / second`."""
        size = len(self.models)
        keys, codes = np.unique(self.first.astype(np.int64) * size + self.second,
                                return_inverse=True)  # fmt: skip
        names = tuple(f"{self.models[key // size]} / {self.models[key % size]}" for key in keys)
        return Group(codes.astype(np.intp), names)

    def split(self, group: str) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Labels of a group (or "pair") and the rows of each.

        Raises:
            InvalidVote: There is no such group.
        """
        if group != "pair" and group not in self.groups:
            known = ", ".join(("pair", *self.groups))
            raise InvalidVote(f"no group {group!r} to split by; there are {known}", value=group)
        labels = self.pairs_of_models() if group == "pair" else self.groups[group]
        for code, name in enumerate(labels.names):
            yield name, labels.codes == code

    def combine_orders(self, twice: NDArray[np.bool_], swapped: NDArray[np.bool_]) -> Judgements:
        """One verdict for each battle and judge of the rows that were given in both orders.

        Args:
            twice: Which rows are one of two orders, shape (rows,).
            swapped: Whether the second model was shown first, shape (rows,).

        Raises:
            InvalidVote: A judge has two verdicts in the same order.
        """
        if not twice.any():
            return self
        rows = np.flatnonzero(twice)
        merged = combine_orders(
            judge=self.judge[rows], battle=self.battle[rows], swapped=swapped[rows],
            verdict=self.verdict[rows], rows=rows, names=self.judges,
        )  # fmt: skip
        verdict, inconsistent = self.verdict.copy(), self.inconsistent.copy()
        verdict[merged.kept], inconsistent[merged.kept] = merged.verdict, merged.inconsistent
        kept = np.sort(np.concatenate([np.flatnonzero(~twice), merged.kept]))
        whole = replace(self, verdict=verdict, inconsistent=inconsistent, orders=merged.audits)
        return whole.select(kept)


@dataclass(frozen=True, eq=False)
class _Individuals:
    """Rows by individual: who is alike in kind and name."""

    individuals: list[tuple[int, int]]
    codes: Codes


def _number_judges(kind: Group, judge: Group) -> tuple[_Individuals, tuple[str, ...]]:
    size = len(judge.names)
    keys, codes = np.unique(kind.codes * size + judge.codes, return_inverse=True)
    individuals = [(int(key) // size, int(key) % size) for key in keys]
    return _Individuals(individuals, codes.astype(np.intp)), kind.names


def _number_battles(
    item: Codes, turn: Group | None, first: NDArray[np.int32], second: NDArray[np.int32]
) -> Codes:
    code = item.astype(np.int64)
    for part in (first, second, *(() if turn is None else (turn.codes + 1,))):
        # Renumbered after each part, so that the product never overflows.
        code = np.unique(code * (int(part.max()) + 1) + part, return_inverse=True)[1]
    return np.unique(code, return_inverse=True)[1].astype(np.intp)
