"""Reads a verdict from what a judge wrote; what is not exactly one is none.

Nothing is ever guessed: a judge that says "A is better" in prose has not answered.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from arena.rules.battles import Outcome, turn_round
from arena.rules.judgements import Reading, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a judge may say, about the answers as it sees them.
VERDICTS: Mapping[str, Outcome] = {
    "A": Outcome.MODEL_A,
    "B": Outcome.MODEL_B,
    "tie": Outcome.TIE,
    "both_bad": Outcome.BOTH_BAD,
}
_MARKER = re.compile(r"\[\[(.*?)\]\]")
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


def read_verdict(text: str, *, swapped: bool) -> Verdict:
    """Reads the JSON object that was asked for, or else the marker on the last line.

    Args:
        text: all that the judge wrote.
        swapped: whether what it calls A is the battle's side B.
    """
    said, reading = _read_object(text), Reading.STRUCTURED
    if said is None:
        said, reading = _read_marker(text), Reading.FALLBACK
    if said is None:
        return Verdict(None, Reading.UNPARSABLE)
    return Verdict(turn_round(said, swapped=swapped), reading)


def _read_object(text: str) -> Outcome | None:
    """The `verdict` of a text that is one JSON object, fenced or not."""
    whole = text.strip()
    fenced = _FENCED.fullmatch(whole)
    try:
        value = json.loads(fenced[1] if fenced else whole, object_pairs_hook=_refuse_repeated_names)
    except (ValueError, RecursionError):
        return None
    said = value.get("verdict") if isinstance(value, dict) else None
    return VERDICTS.get(said) if isinstance(said, str) else None


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that names a verdict twice could be read in two ways."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _read_marker(text: str) -> Outcome | None:
    """The verdict of a last line such as `[[A]]`, unless another line says otherwise."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    last = _MARKER.fullmatch(lines[-1])
    alone = {found[1] for line in lines if (found := _MARKER.fullmatch(line))}
    return VERDICTS.get(last[1]) if last is not None and len(alone) == 1 else None
