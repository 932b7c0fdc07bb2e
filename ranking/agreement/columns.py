"""The columns of a long table of judgements, each checked and encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.agreement.orders import UNPARSABLE
from ranking.errors import InvalidVote
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, TIE, spell_outcome
from ranking.votes.votes import Group

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Verdicts = NDArray[np.int8]

_ALIASES: dict[str, tuple[str, ...]] = {
    "item": ("item", "battle_id", "battle", "question_id"),
    "judge": ("judge", "voter", "worker", "annotator"),
    "kind": ("kind", "voter_kind"),
    "model_a": ("model_a", "left_model", "model_left", "model_1"),
    "model_b": ("model_b", "right_model", "model_right", "model_2"),
    "winner": ("winner", "outcome", "verdict", "vote"),
    "turn": ("turn",),
    "length_a": ("length_a",),
    "length_b": ("length_b",),
    "arm": ("arm",),
    "shown": ("shown",),
    "seconds": ("seconds",),
}
_REQUIRED = ("item", "judge", "kind", "model_a", "model_b", "winner")
_GROUPS = ("category", "language", "turn")
_INCONSISTENT = ("tie (inconsistent)", "inconsistent")
_NO_VERDICT = ("unparsable", "error")
_SWAP = np.array([MODEL_B, MODEL_A, TIE, BOTH_BAD], dtype=np.int8)


def find_columns(frame: pd.DataFrame, given: dict[str, str]) -> dict[str, str]:
    """Which column plays which role; names that are given override the known ones.

    Raises:
        InvalidVote: A role is unknown, a column is missing, or there is no row.
    """
    unknown = sorted(set(given) - set(_ALIASES))
    if unknown:
        raise InvalidVote(
            f"unknown role {unknown[0]!r}; known are {', '.join(_ALIASES)}", value=unknown[0]
        )
    found = dict(given)
    for role, aliases in _ALIASES.items():
        match = next((name for name in aliases if name in frame.columns), None)
        if role not in found and match is not None:
            found[role] = match
    for role in (*given, *_REQUIRED):
        if found.get(role) not in frame.columns:
            wanted = given.get(role) or " or ".join(_ALIASES[role])
            raise InvalidVote(
                f"no column {wanted} for {role}; the table has {list(frame.columns)}", value=role
            )
    if not len(frame):
        raise InvalidVote("there are no judgements", value=0)
    return found


def read_names(frame: pd.DataFrame, column: str, role: str) -> Group:
    """A column that must name something in every row.

    Raises:
        InvalidVote: A name is missing or empty.
    """
    names = Group.from_column(frame[column].array)
    empty = [code for code, name in enumerate(names.names) if not name.strip()]
    wrong = np.flatnonzero((names.codes < 0) | np.isin(names.codes, empty))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidVote(f"the {role} is missing", row=row, value=_value(frame[column], row))
    return names


def find_kinds(kinds: tuple[str, ...], wanted: Collection[str]) -> list[int]:
    """Indices of some kinds.

    Raises:
        InvalidVote: There is no such kind.
    """
    for name in wanted:
        if name not in kinds:
            raise InvalidVote(f"no judge of kind {name!r}; there are {', '.join(kinds)}",
                              value=name)  # fmt: skip
    return [kinds.index(name) for name in wanted]


def refuse_own_opponents(
    models: tuple[str, ...], a: NDArray[np.int32], b: NDArray[np.int32]
) -> None:
    """Every battle needs two models.

    Raises:
        InvalidVote: A model stands against itself.
    """
    same = np.flatnonzero(a == b)
    if same.size:
        row = int(same[0])
        name = models[a[row]]
        raise InvalidVote(f"model {name!r} against itself", row=row, value=name)


def read_verdicts(
    column: pd.Series, swapped: NDArray[np.bool_], twice: NDArray[np.bool_]
) -> tuple[Verdicts, NDArray[np.bool_]]:
    """Verdicts by sorted name, and which are ties of opposite ones.

    `UNPARSABLE` is allowed only where there may be another order to tell of it.

    Raises:
        InvalidVote: A label is missing or unknown.
    """
    labels = Group.from_column(column.array)
    plain = [name.strip().lower() for name in labels.names]
    unclear = np.array([*(name in _INCONSISTENT for name in plain), False])
    void = np.array([*(name in _NO_VERDICT for name in plain), True])
    meaning = [TIE if name in _INCONSISTENT else spell_outcome(name) for name in plain]
    table = np.array([UNPARSABLE if m is None else m for m in [*meaning, None]], dtype=np.int8)
    verdict = table[labels.codes]
    _refuse_unknown(column, (verdict == UNPARSABLE) & ~(twice & void[labels.codes]))
    verdict = np.where(swapped & (verdict >= 0), _SWAP[verdict], verdict)
    return verdict.astype(np.int8), unclear[labels.codes]


def read_shown(column: pd.Series, swapped: NDArray[np.bool_]) -> Verdicts:
    """The verdicts that judges were shown, by sorted name; −1 where there was none.

    Raises:
        InvalidVote: A label is unknown.
    """
    labels = Group.from_column(column.array)
    meaning = [spell_outcome(name) for name in labels.names]
    table = np.array([-1 if m is None else m for m in [*meaning, None]], dtype=np.int8)
    verdict = table[labels.codes]
    _refuse_unknown(column, (verdict < 0) & (labels.codes >= 0))
    return np.where(swapped & (verdict >= 0), _SWAP[verdict], verdict).astype(np.int8)


def _refuse_unknown(column: pd.Series, bad: NDArray[np.bool_]) -> None:
    wrong = np.flatnonzero(bad)
    if wrong.size:
        row = int(wrong[0])
        value = _value(column, row)
        raise InvalidVote(
            f"unknown verdict {value!r} in {column.name}; expected one of model_a, model_b, tie, "
            "tie (bothbad), tie (inconsistent)",
            row=row,
            value=value,
        )


def read_groups(frame: pd.DataFrame, groups: Sequence[str] | None) -> dict[str, Group]:
    """Labels of the rows by some columns; of the usual ones by default.

    Raises:
        InvalidVote: A column is missing.
    """
    chosen = [name for name in _GROUPS if name in frame.columns] if groups is None else groups
    for name in chosen:
        if name not in frame.columns:
            raise InvalidVote(
                f"no column {name!r}; the table has {list(frame.columns)}", value=name
            )
    return {name: Group.from_column(frame[name].array) for name in chosen}


def compare_lengths(
    frame: pd.DataFrame, found: dict[str, str], swapped: NDArray[np.bool_]
) -> Verdicts | None:
    """Which answer is longer, by sorted name; None where the table has no lengths."""
    if "length_a" not in found or "length_b" not in found:
        return None
    a, b = (read_amounts(frame[found[role]]) for role in ("length_a", "length_b"))
    longer = np.select([a > b, a < b, a == b], [MODEL_A, MODEL_B, TIE], -1).astype(np.int8)
    return np.where(swapped & (longer >= 0), _SWAP[longer], longer).astype(np.int8)


def read_amounts(column: pd.Series) -> NDArray[np.float64]:
    """Numbers ≥ 0, NaN where unknown.

    Raises:
        InvalidVote: A value is no such number.
    """
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    bad = (np.isnan(values) & column.notna().to_numpy(dtype=bool)) | (values < 0) | np.isinf(values)
    wrong = np.flatnonzero(bad)
    if wrong.size:
        row = int(wrong[0])
        value = _value(column, row)
        raise InvalidVote(f"{column.name} {value!r} must be a number ≥ 0", row=row, value=value)
    return np.asarray(values)


def _value(column: pd.Series, row: int) -> object:
    """What a row holds, as a person would write it."""
    value = column.iloc[row]
    return value.item() if isinstance(value, np.generic) else value
