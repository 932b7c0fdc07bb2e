"""Rows that cannot be counted: named, or left out where that bends nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ranking.errors import InvalidVote
from ranking.votes.encoding import MODEL_A, MODEL_B, OUTCOMES
from ranking.votes.labels import BAD_LABEL, SKIPPED, Labels
from ranking.votes.names import quote_option, say_names, say_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

__all__ = ["MOST_LEFT_OUT", "Faults", "suggest_outcomes"]

MOST_LEFT_OUT = 0.01
"""Leaving out a greater share of the rows is refused."""

_UNLIKELY = 0.001
# With more unknown labels than this the column is hardly one of outcomes.
_MANY_LABELS = 12
_NOTHING = frozenset({"", "na", "n/a", "nan", "none", "null", "error", "unparsable", "skip",
                      "invalid", "unknown", "unclear", "?", "-", "no flag", "several flags",
                      "not sure", "unsure", "i don't know"})  # fmt: skip
_NUMBERS: dict[str, str] = {"1": "model_a", "0": "model_b", "0.5": "tie", "-1": "model_b"}
_PLACES: dict[str, str] = {"1": "model_a", "2": "model_b", "0": "tie", "1.5": "tie", "3": "tie"}


@dataclass
class Faults:
    """What is wrong with which rows.

    Attributes:
        labels: The outcomes, read.
        column: Where they come from.
        reasons: Rows by what is wrong with them.
        show: What a row holds that is wrong, by reason.
        hint: What else may be done about unknown labels.
        also: What else may be done about a reason.
    """

    labels: Labels
    column: str
    reasons: dict[str, Mask] = field(default_factory=dict)
    show: dict[str, Callable[[int], object]] = field(default_factory=dict)
    hint: str = ""
    also: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, wrong: Mask, show: Callable[[int], object] | None = None) -> None:
        """Note rows that are wrong, if there are any."""
        if wrong.any():
            self.reasons[reason] = wrong
            if show is not None:
                self.show[reason] = show

    def choose_rows(self, *, skip: bool) -> tuple[Mask, dict[str, int]]:
        """Which rows are kept, and how many are not, by the first reason that fits.

        Args:
            skip: Leave out bad rows instead of refusing them all.

        Raises:
            InvalidVote: There are bad rows, and they are not to be left out or must not be.
        """
        codes = self.labels.codes
        skipped = codes == SKIPPED
        left_out: dict[str, int] = {}
        if skipped.any():
            left_out[f"{self.column} was said to be no verdict"] = int(skipped.sum())
        bad = self._find_bad()
        if not bad.any():
            return ~skipped, left_out
        against = self._find_objection(bad)
        if not skip or against:
            self._refuse(bad, against, skip=skip)
        done = skipped.copy()
        for reason, wrong in self._list_reasons():
            number = int((wrong & ~done).sum())
            if number:
                left_out[reason] = number
            done |= wrong
        return ~done, left_out

    def _list_reasons(self) -> list[tuple[str, Mask]]:
        missing = self.labels.codes == BAD_LABEL
        kinds = {"is unknown" if label else "is missing" for label in self.labels.unknown}
        named = "is missing or unknown" if len(kinds) > 1 else "".join(kinds)
        return [*self.reasons.items(), (f"{self.column} {named}", missing)]

    def _find_bad(self) -> Mask:
        bad = self.labels.codes == BAD_LABEL
        for wrong in self.reasons.values():
            bad = bad | wrong
        return np.asarray(bad & (self.labels.codes != SKIPPED))

    def _find_objection(self, bad: Mask) -> str:
        """Why the bad rows must not be left out, "" if they may be."""
        number, rows = int(bad.sum()), len(bad)
        if number > MOST_LEFT_OUT * rows:
            return f"{number:,} of {rows:,} rows are more than {MOST_LEFT_OUT:.0%}"
        codes = self.labels.codes
        kept = codes[~bad]
        if any(self.labels.unknown) and not ((kept == MODEL_A).any() and (kept == MODEL_B).any()):
            return "no row that stays is a win for one of the sides"
        from scipy.stats import hypergeom

        known = codes >= 0
        drawn = int((bad & known).sum())
        for code, outcome in enumerate(OUTCOMES):
            with_it = int((codes == code).sum())
            hit = int((bad & (codes == code)).sum())
            chance = hypergeom.sf(hit - 1, int(known.sum()), with_it, drawn) if hit else 1.0
            if chance < _UNLIKELY / len(OUTCOMES):
                return f"{hit:,} of the {drawn:,} rows that would go are {outcome}"
        return ""

    def _refuse(self, bad: Mask, against: str, *, skip: bool) -> None:
        if self.labels.unknown:
            raise InvalidVote(self._say_labels(against if skip else ""), value=self.column)
        rows = int(bad.sum())
        said = []
        for reason, wrong in self.reasons.items():
            row = int(np.argmax(wrong))
            value = self.show[reason](row) if reason in self.show else None
            shown = "" if value is None else f" ({value!r})"
            number = int(wrong.sum())
            said.append((row, f"{reason}{shown}" + (f", {say_rows(number)}" if number > 1 else "")))
        first = min(said)
        others = "; ".join(text for _, text in said if text != first[1])
        also = f"; also {others}" if others else ""
        it = "it" if rows == 1 else "them"
        more = "".join(f", or {do}" for reason, do in self.also.items() if reason in self.reasons)
        remedy = (
            f"Correct {it}{more}; --skip-bad-rows would bend the result: {against}"
            if against
            else f"Correct {it}{more}, or leave {it} out with --skip-bad-rows"
        )
        message = f"{first[1]}{also} (rows are counted from 0, without a header). {remedy}"
        raise InvalidVote(message, row=first[0], value=None)

    def _say_labels(self, against: str) -> str:
        unknown = sorted(self.labels.unknown.items(), key=lambda item: -item[1])
        shown = ", ".join(
            f"{say_names([label]) if label else 'nothing'} ({say_rows(rows)})"
            for label, rows in unknown[:_MANY_LABELS]
        )
        more = len(unknown) - _MANY_LABELS
        head = f"{self.column} holds labels that are no known outcome: {shown}"
        tail = f", and {more:,} more" if more > 0 else ""
        objection = f"; --skip-bad-rows would bend the result: {against}" if against else ""
        if more > 0:
            return (
                f"{head}{tail}{objection}. Is it the right column? Name another with "
                "--column outcome=NAME"
            )
        flags = " ".join(
            f"--outcome {quote_option(f'{label}={meaning}')}"
            for label, meaning in suggest_outcomes([label for label, _ in unknown]).items()
        )
        return (
            f"{head}{objection}. Say what they mean, such as {flags} (or model_a, model_b, tie, "
            f"both_bad, skip for no verdict, name for a model's name){self.hint}"
        )


def suggest_outcomes(labels: Sequence[str]) -> dict[str, str]:
    """What some labels may mean: only a person can know."""
    known = set(labels)
    numbers = _PLACES if "2" in known else _NUMBERS
    found = {}
    for label in labels:
        plain = label.strip().casefold()
        if plain in _NOTHING:
            found[label] = "skip"
        elif plain in ("true", "yes", "t", "y"):
            found[label] = "model_a"
        elif plain in ("false", "no", "f", "n"):
            found[label] = "model_b"
        elif any(word in plain for word in ("bad", "neither", "worse")):
            found[label] = "both_bad"
        elif any(word in plain for word in ("tie", "draw", "equal", "same")):
            found[label] = "tie"
        else:
            found[label] = _suggest_number(plain, numbers)
    return found


def _suggest_number(plain: str, numbers: dict[str, str]) -> str:
    try:
        return numbers.get(f"{float(plain):g}", "tie")
    except ValueError:
        return "skip"
