"""Votes one by one: kept only where voters, weights, covariates or groups matter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import InvalidVote
from ranking.votes.comparisons import Comparisons
from ranking.votes.encoding import (
    BOTH_BAD,
    TIE,
    BothBad,
    check_both_bad,
    check_columns,
    encode_models,
    encode_outcomes,
    factorize,
)
from ranking.votes.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# Rows looked at to decide whether merging equal ones is worth the sorting.
_SAMPLE = 2_048


@dataclass(frozen=True, eq=False)
class Group:
    """A label of each vote: its category, language, voter.

    Attributes:
        codes: Index into `names`, −1 where a vote has no label, shape (votes,).
        names: Distinct labels, sorted.
    """

    codes: NDArray[np.intp]
    names: tuple[str, ...]

    @classmethod
    def from_column(cls, column: Sequence[Any] | NDArray[Any]) -> Group:
        """Number the labels of a column by sorted name."""
        codes, labels = factorize(column)
        texts = [str(label) for label in labels]
        names = tuple(sorted(set(texts)))
        position = {name: i for i, name in enumerate(names)}
        table = np.array([*(position[text] for text in texts), -1], dtype=np.intp)
        return cls(codes=table[codes], names=names)

    def drop_absent(self) -> Group:
        """The same labels over only those names that occur."""
        seen = np.bincount(self.codes + 1, minlength=len(self.names) + 1)[1:] > 0
        number = np.append(np.cumsum(seen) - 1, -1)
        names = tuple(name for name, here in zip(self.names, seen, strict=True) if here)
        return Group(number[self.codes], names)

    def select(self, keep: NDArray[Any]) -> Group:
        """The labels of some votes, over the same names."""
        return Group(self.codes[keep], self.names)


@dataclass(frozen=True, eq=False)
class Votes:
    """One row a vote, in integer columns.

    Attributes:
        models: Names, sorted.
        model_a: Index of the left model, shape (votes,).
        model_b: Index of the right model, shape (votes,).
        outcome: Index into `OUTCOMES`, shape (votes,).
        weight: Weight of each vote, or None for 1 each.
        draw_probability: Chance the matchmaker gave each vote's pair, or None.
        voter: Who voted, or None.
        covariates: Left minus right, shape (votes, k).
        covariate_names: Of the k covariates.
        groups: Labels by which boards can be split.
        time: Seconds since 1970 of each vote, NaN where it is unknown, or None.
    """

    models: tuple[str, ...]
    model_a: NDArray[np.int32]
    model_b: NDArray[np.int32]
    outcome: NDArray[np.int8]
    weight: Floats | None = None
    draw_probability: Floats | None = None
    voter: Group | None = None
    covariates: Floats | None = None
    covariate_names: tuple[str, ...] = ()
    groups: Mapping[str, Group] = field(default_factory=dict)
    time: Floats | None = None

    def __len__(self) -> int:
        return len(self.outcome)

    @classmethod
    def from_columns(
        cls,
        model_a: Sequence[Any] | NDArray[Any],
        model_b: Sequence[Any] | NDArray[Any],
        outcome: Sequence[Any] | NDArray[Any],
        *,
        weight: ArrayLike | None = None,
        draw_probability: ArrayLike | None = None,
        voter: Sequence[Any] | NDArray[Any] | None = None,
        covariates: Mapping[str, ArrayLike] | None = None,
        groups: Mapping[str, Sequence[Any] | NDArray[Any]] | None = None,
        time: ArrayLike | None = None,
    ) -> Votes:
        """Check and encode columns of equal length.

        Raises:
            InvalidVote: As `Comparisons.from_counts`; also a missing voter, a weight below 0
                or not finite, a covariate that is not finite.
        """
        models, a, b = encode_models(model_a, model_b)
        same = np.flatnonzero(a == b)
        if same.size:
            row = int(same[0])
            name = models[a[row]]
            raise InvalidVote(f"model {name!r} against itself", row=row, value=name)
        voters = None if voter is None else Group.from_column(voter)
        if voters is not None and (voters.codes < 0).any():
            raise InvalidVote("the voter is missing", row=int(np.argmin(voters.codes)), value=None)
        z = {name: _read_numbers(name, column) for name, column in (covariates or {}).items()}
        votes = cls(
            models=models,
            model_a=a,
            model_b=b,
            outcome=encode_outcomes(outcome),
            weight=None if weight is None else _read_numbers("weight", weight, least=0.0),
            draw_probability=None
            if draw_probability is None
            else _read_numbers("draw probability", draw_probability, least=0.0),
            voter=voters,
            covariates=np.stack(list(z.values()), axis=1) if z else None,
            covariate_names=tuple(z),
            groups={name: Group.from_column(column) for name, column in (groups or {}).items()},
            time=None if time is None else _read_times(time),
        )
        votes._check_lengths()
        return votes

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        model_a: str = "model_a",
        model_b: str = "model_b",
        outcome: str = "winner",
        weight: str | None = None,
        draw_probability: str | None = None,
        voter: str | None = None,
        covariates: Sequence[str] = (),
        groups: Sequence[str] = (),
        time: str | None = None,
    ) -> Votes:
        """Build from a table with one row a vote; columns are chosen by name.

        Raises:
            InvalidVote: As `from_columns`; a missing column is named.
        """
        numbers = (weight, draw_probability, voter, time)
        optional = [name for name in numbers if name is not None]
        check_columns(frame, [model_a, model_b, outcome, *optional, *covariates, *groups])
        return cls.from_columns(
            frame[model_a].array,
            frame[model_b].array,
            frame[outcome].array,
            weight=None if weight is None else frame[weight].to_numpy(),
            draw_probability=None
            if draw_probability is None
            else frame[draw_probability].to_numpy(),
            voter=None if voter is None else frame[voter].array,
            covariates={name: frame[name].to_numpy() for name in covariates},
            groups={name: frame[name].array for name in groups},
            time=None if time is None else _seconds(frame[time]),
        )

    def select(self, keep: NDArray[Any]) -> Votes:
        """Some of the votes, over the same models."""
        return replace(
            self,
            model_a=self.model_a[keep],
            model_b=self.model_b[keep],
            outcome=self.outcome[keep],
            weight=_take(self.weight, keep),
            draw_probability=_take(self.draw_probability, keep),
            voter=None if self.voter is None else self.voter.select(keep),
            covariates=_take(self.covariates, keep),
            groups={name: group.select(keep) for name, group in self.groups.items()},
            time=_take(self.time, keep),
        )

    def drop_absent_models(self) -> Votes:
        """The same votes over only those models that have any."""
        seen = np.zeros(len(self.models), dtype=bool)
        seen[self.model_a] = seen[self.model_b] = True
        number = (np.cumsum(seen) - 1).astype(np.int32)
        return replace(
            self,
            models=tuple(name for name, here in zip(self.models, seen, strict=True) if here),
            model_a=number[self.model_a],
            model_b=number[self.model_b],
        )

    def drop_absent_covariates(self) -> Votes:
        """The same votes without the covariates that are 0 in every one of them."""
        if self.covariates is None:
            return self
        seen = [bool(column.any()) for column in self.covariates.T]
        names = zip(self.covariate_names, seen, strict=True)
        return replace(
            self,
            covariates=self.covariates[:, seen] if any(seen) else None,
            covariate_names=tuple(name for name, is_seen in names if is_seen),
        )

    def drop_absent_labels(self) -> Votes:
        """The same votes with only those voters and labels of groups that have any."""
        return replace(
            self,
            voter=None if self.voter is None else self.voter.drop_absent(),
            groups={name: group.drop_absent() for name, group in self.groups.items()},
        )

    def split(self, group: str) -> Iterator[tuple[str, Votes]]:
        """The votes of each label of a group, in one pass over the data.

        Raises:
            KeyError: There is no such group.
        """
        labels = self.groups[group]
        order = np.argsort(labels.codes, kind="stable")
        edges = np.searchsorted(labels.codes[order], np.arange(len(labels.names) + 1))
        for code, name in enumerate(labels.names):
            yield name, self.select(order[edges[code] : edges[code + 1]])

    def count(self) -> Comparisons:
        """The votes as counts, weights and covariates left aside."""
        return Comparisons.from_codes(self.models, self.model_a, self.model_b, self.outcome)

    def to_rows(
        self,
        *,
        both_bad: BothBad = "tie",
        cluster: bool = False,
        adjust: bool = True,
    ) -> Rows:
        """Distinct battles for `fit_paired`; votes that are alike in every respect merge.

        Args:
            both_bad: "tie" counts both-bad votes as ties, "keep" and "drop" leave them out.
            cluster: Keep the voters apart, as clusters.
            adjust: Keep the covariates, to adjust strengths for them.

        Raises:
            InvalidVote: Clustering is asked for, but the votes name no voters.
        """
        if cluster and self.voter is None:
            raise InvalidVote("the votes name no voters to cluster by", value=None)
        kept = self if check_both_bad(both_bad) else self.select(self.outcome != BOTH_BAD)
        z = kept.covariates if adjust else None
        size = np.int64(len(kept.models))
        outcome = np.minimum(kept.outcome, TIE)
        key = (outcome * size + kept.model_a) * size + kept.model_b
        parts: list[NDArray[Any]] = [key]
        if cluster and kept.voter is not None:
            parts.append(kept.voter.codes)
        if kept.weight is not None:
            parts.append(kept.weight)
        if z is not None:
            parts.extend(z.T)
        first, count = _merge(parts)
        return Rows(
            models=kept.models,
            first=kept.model_a[first],
            second=kept.model_b[first],
            outcome=outcome[first].astype(np.int8),
            count=count,
            vote_weight=np.ones(len(first)) if kept.weight is None else kept.weight[first],
            covariates=np.empty((len(first), 0)) if z is None else z[first],
            names=kept.covariate_names if z is not None else (),
            cluster=kept.voter.codes[first] if cluster and kept.voter is not None else None,
        )

    def _check_lengths(self) -> None:
        columns = {
            "model_a": self.model_a, "model_b": self.model_b, "outcome": self.outcome,
            "weight": self.weight, "draw_probability": self.draw_probability,
            "covariates": self.covariates, "time": self.time,
            "voter": None if self.voter is None else self.voter.codes,
            **{name: group.codes for name, group in self.groups.items()},
        }  # fmt: skip
        lengths = {name: len(column) for name, column in columns.items() if column is not None}
        if len(set(lengths.values())) > 1:
            raise InvalidVote(f"columns of different lengths: {lengths}", value=lengths)


def _take(column: Floats | None, keep: NDArray[Any]) -> Floats | None:
    return None if column is None else column[keep]


def _merge(parts: list[NDArray[Any]]) -> tuple[NDArray[np.intp], Floats]:
    """First position and number of each distinct combination.

    Where hardly any two rows are alike (measured lengths, weights of their own), sorting
    them would cost more than it saves: then every row stands for itself.
    """
    rows = len(parts[0])
    distinct = max(len(np.unique(part[:_SAMPLE])) for part in parts[1:]) if parts[1:] else 0
    if rows > _SAMPLE and distinct > _SAMPLE // 2:
        return np.arange(rows), np.ones(rows)
    code = np.zeros(len(parts[0]), dtype=np.int64)
    for part in parts:
        found, position = np.unique(part, return_inverse=True)
        # Renumbered after each part, so that the product never overflows.
        code = np.unique(code * len(found) + position, return_inverse=True)[1]
    _, first, count = np.unique(code, return_index=True, return_counts=True)
    return first, count.astype(float)


def _read_numbers(name: str, column: ArrayLike, *, least: float = -np.inf) -> Floats:
    values = np.asarray(column, dtype=float)
    wrong = np.flatnonzero(~np.isfinite(values) | (values < least))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidVote(f"{name} {values[row]} is unusable", row=row, value=float(values[row]))
    return values


def _read_times(column: ArrayLike) -> Floats:
    values = np.asarray(column, dtype=float)
    wrong = np.flatnonzero(np.isinf(values))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidVote(f"time {values[row]} is unusable", row=row, value=float(values[row]))
    return values


def _seconds(column: pd.Series) -> Floats:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return np.asarray(column, dtype=float)
    stamps = pd.to_datetime(column, utc=True, format="ISO8601")
    return np.asarray((stamps - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=float)
