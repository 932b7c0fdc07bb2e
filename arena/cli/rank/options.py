"""The options of `arena rank` that are more than a word or a number."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING

from arena.cli.refusals import Refusal

if TYPE_CHECKING:
    from pathlib import Path

    from ranking.boards.options import Prior

__all__ = [
    "check_anchor",
    "check_folder",
    "check_level",
    "read_anchor",
    "read_prior",
    "read_time",
]


def read_time(option: str, text: str | None) -> datetime | None:
    """A date or a time; without a zone it is UTC.

    Raises:
        Refusal: it is neither.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(
            f'{option} "{text}" is not a time. Write for example 2026-11-30 or '
            "2026-11-30T18:00+01:00."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def check_level(level: float) -> float:
    """The level itself.

    Raises:
        Refusal: it is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise Refusal(f"--level {level:g} is not between 0 and 1. Write for example 0.95.")
    return level


def read_prior(text: str) -> Prior:
    """A standard deviation in log-odds, "fitted" for that of the strengths, `None` for none.

    Raises:
        Refusal: it is no positive number.
    """
    if text.lower() == "none":
        return None
    if text.lower() == "fitted":
        return "fitted"
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise Refusal(
            f'--prior "{text}" is no standard deviation > 0. Write for example 3, fitted or none.'
        )
    return value


def read_anchor(text: str | None) -> tuple[str, float] | None:
    """A model and its score; the name may hold equals signs.

    Raises:
        Refusal: it is not NAME=SCORE.
    """
    if text is None:
        return None
    name, _, number = text.rpartition("=")
    try:
        score = float(number)
    except ValueError:
        score = float("nan")
    if not name or not isfinite(score):
        raise Refusal(f'--anchor "{text}" is not NAME=SCORE. Write for example "My model=1000".')
    return name, score


def check_anchor(anchor: tuple[str, float] | None, models: tuple[str, ...]) -> None:
    """Refuses an anchor that has no votes, and says which model may have been meant."""
    if anchor is None or anchor[0] in models:
        return
    close = difflib.get_close_matches(anchor[0], models, n=1)
    hint = f'Did you mean "{close[0]}"?' if close else f"There are: {', '.join(models)}."
    raise Refusal(f'--anchor: no model named "{anchor[0]}" has votes. {hint}')


def check_folder(output: Path | None) -> None:
    """Refuses a file whose folder is missing, before the work instead of after it."""
    if output is not None and not output.parent.is_dir():
        raise Refusal(
            f"{output} cannot be written: there is no folder {output.parent}. "
            "Name another with --output."
        )
