"""Labels to outcomes: the usual spellings, a model's name, what a person says they mean.

A label that nobody knows is never an outcome. Bare numbers are none either: 1 is the first
of two in some files and "the left one won" in others, where 0 is its opposite.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.errors import InvalidVote
from ranking.votes.encoding import BOTH_BAD, MODEL_A, MODEL_B, OUTCOMES, TIE, spell_outcome
from ranking.votes.names import clean_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from ranking.votes.names import Names

__all__ = [
    "BAD_LABEL",
    "INCONSISTENT",
    "LABELS",
    "SKIPPED",
    "UNREADABLE",
    "Labels",
    "check_outcomes",
    "fold_label",
    "is_outcome",
    "read_labels",
]

BAD_LABEL = -1
"""The code of a label that is no outcome, and of a missing one."""
SKIPPED = -2
"""The code of a label that was said to mean no verdict."""
INCONSISTENT, UNREADABLE = len(OUTCOMES), len(OUTCOMES) + 1
"""Codes of what only judges say: a tie of two opposite verdicts, and nothing readable."""
LABELS = (*OUTCOMES, "tie (inconsistent)", "unparsable")
"""What each code is called."""

NO_VERDICT, BY_NAME = "skip", "name"
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_FLAGS = frozenset({"true", "false", "yes", "no", "t", "f", "y", "n"})

_SIDES: dict[int, tuple[str, ...]] = {
    MODEL_A: ("a", "model a", "assistant a", "answer a", "response a", "system a", "output a",
               "option a", "left", "first", "model 1", "model1", "left model", "modela", "左",
               "a比b好"),
    MODEL_B: ("b", "model b", "assistant b", "answer b", "response b", "system b", "output b",
               "option b", "right", "second", "model 2", "model2", "right model", "modelb", "右",
               "b比a好"),
}  # fmt: skip
_VERBS = ("{} is better", "{} better", "{} wins", "{} won", "{} win", "{}vote", "{} vote",
          "{} is much better", "{} is slightly better", "{} slightly better", "{} much better",
          "prefer {}", "{} preferred")  # fmt: skip
_GRADES = {
    MODEL_A: ("a>>b", "a>b", "b<a", "b<<a", "left>right"),
    MODEL_B: ("b>>a", "b>a", "a<b", "a<<b", "right>left"),
    TIE: ("a=b", "b=a", "a==b", "a~b", "a≈b"),
}
_WHOLE = {
    TIE: ("tie", "tied", "draw", "equal", "equals", "same", "both equal", "neither better",
          "no preference", "tievote", "tie vote", "both good", "tie (bothgood)",
          "tie (both good)", "bothgood", "equally good", "about the same",
          "a and b are equal", "平局", "平手", "一样好", "égalité"),
    BOTH_BAD: ("both bad", "bothbad", "tie (bothbad)", "tie (both bad)", "tie bothbad",
               "tie (both_bad)", "both are bad", "bothbad vote", "both bad vote",
               "both poor", "both are poor", "equally bad", "都不好", "都差"),
}  # fmt: skip
_SPELLINGS: dict[str, int] = {}


def fold_label(text: str) -> str:
    """A label as it is looked up: one width, one case, spaces for _ and -, no brackets."""
    plain = unicodedata.normalize("NFKC", text).casefold().strip().strip("[]\"'.! ")
    return re.sub(r"[\s_-]+", " ", plain).strip()


def _list_spellings() -> dict[str, int]:
    found = {fold_label(label): code for code, label in enumerate(OUTCOMES)}
    for side, words in _SIDES.items():
        found |= {fold_label(word): side for word in words}
        found |= {fold_label(verb.format(word)): side for verb in _VERBS for word in words}
    for table in (_GRADES, _WHOLE):
        found |= {fold_label(word): code for code, words in table.items() for word in words}
    return found


_SPELLINGS.update(_list_spellings())


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of labels, read.

    Attributes:
        codes: Index into `LABELS`, `BAD_LABEL` or `SKIPPED`, shape (rows,).
        told: Each label with what it was taken for and its rows.
        unknown: Labels that are no outcome, with their rows; "" is a missing one.
    """

    codes: NDArray[np.int8]
    told: dict[str, tuple[str, int]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)


def check_outcomes(outcomes: Mapping[str, str]) -> dict[str, int | str]:
    """What labels were said to mean, by folded label.

    Raises:
        InvalidVote: A meaning is none.
    """
    found: dict[str, int | str] = {}
    for label, meaning in outcomes.items():
        code = spell_outcome(meaning) if not _NUMBER.fullmatch(meaning.strip()) else None
        said = meaning.strip().casefold()
        if code is None and said not in (NO_VERDICT, BY_NAME):
            known = "model_a, model_b, tie, both_bad, skip or name"
            raise InvalidVote(f'"{label}={meaning}": an outcome is one of {known}', value=meaning)
        found[_key(label)] = said if code is None else code
    return found


def _key(label: str) -> str:
    return fold_label(label) or label.strip()


def read_labels(
    labels: Sequence[str],
    codes: NDArray[np.signedinteger[Any]],
    *,
    models: tuple[Names, Names],
    outcomes: Mapping[str, int | str],
    others: Mapping[str, int] | None = None,
) -> Labels:
    """Read labels as outcomes.

    Args:
        labels: Distinct texts, "" for a missing one.
        codes: Index into `labels` of each row, shape (rows,).
        models: The left and the right models.
        outcomes: What some labels mean, from `check_outcomes`.
        others: Further labels that are known here, by folded label.

    Raises:
        InvalidVote: A label is an outcome and a model's name, which would differ.
    """
    known = {**(others or {}), **outcomes}
    keys = [_key(label) for label in labels]
    meaning = [known.get(key, _spell(key)) for key in keys]
    given = [key in outcomes for key in keys]
    table = np.array([m if isinstance(m, int) else BAD_LABEL for m in meaning], dtype=np.int8)
    table[[m == NO_VERDICT for m in meaning]] = SKIPPED
    found = table[codes] if len(labels) else np.empty(len(codes), np.int8)
    named = _read_model_names(labels, codes, found, meaning=meaning, given=given, models=models)
    told, unknown = _tell(labels, _count(codes, found, table), named)
    return Labels(found, told, unknown)


def is_outcome(text: str) -> bool:
    """Whether a text is one of the usual spellings."""
    return _spell(_key(text)) is not None


def _spell(key: str) -> int | None:
    return None if _NUMBER.fullmatch(key) or key in _FLAGS else _SPELLINGS.get(key)


def _read_model_names(
    labels: Sequence[str],
    codes: NDArray[np.signedinteger[Any]],
    found: NDArray[np.int8],
    *,
    meaning: Sequence[int | str | None],
    given: Sequence[bool],
    models: tuple[Names, Names],
) -> set[int]:
    """Rows whose label is the name of one of their two models, into `found`; which labels."""
    by_name = set()
    places = [{name: code for code, name in enumerate(side.names)} for side in models]
    for code, label in enumerate(labels):
        name = clean_name(label)
        wanted = meaning[code]
        if not (name and any(name in place for place in places)) or wanted == NO_VERDICT:
            continue
        rows = np.flatnonzero(codes == code)
        a, b = (
            side.codes[rows] == place.get(name, -2)
            for side, place in zip(models, places, strict=True)
        )
        named = np.select([a & ~b, b & ~a], [MODEL_A, MODEL_B], BAD_LABEL).astype(np.int8)
        if wanted is None or wanted == BY_NAME:
            found[rows] = named
            by_name.add(code)
        elif not given[code] and (named != wanted).any():
            raise InvalidVote(
                f'"{label}" is both an outcome and the name of a model. Say which with '
                f'--outcome "{label}={OUTCOMES[int(wanted)]}" or --outcome "{label}=name"',
                value=label,
            )
    return by_name


def _tell(
    labels: Sequence[str],
    counts: NDArray[np.intp],
    named: Collection[int],
) -> tuple[dict[str, tuple[str, int]], dict[str, int]]:
    """Count what each label was taken for."""
    told: dict[str, tuple[str, int]] = {}
    unknown: dict[str, int] = {}
    for code, row in enumerate(counts):
        outcomes = np.flatnonzero(row)
        if row[1]:
            unknown[labels[code]] = int(row[1])
        taken = [LABELS[o - 2] for o in outcomes if o > 1] + ["skip"] * bool(row[0])
        if taken:
            word = "the model of that name" if code in named else taken[0]
            told[labels[code]] = (word, int(row.sum() - row[1]))
    return told, unknown


def _count(
    codes: NDArray[np.signedinteger[Any]], found: NDArray[np.int8], table: NDArray[np.int8]
) -> NDArray[np.intp]:
    """Rows of each label by what they were taken for, shifted by two."""
    size = len(LABELS) + 2
    if np.array_equal(found, table[codes]):  # no label is a model's name
        cells = np.zeros((len(table), size), dtype=np.intp)
        cells[np.arange(len(table)), table + 2] = np.bincount(codes, minlength=len(table))
        return cells
    flat = np.bincount((codes * size + found + 2).astype(np.intp), minlength=size * len(table))
    return flat.reshape(-1, size)
