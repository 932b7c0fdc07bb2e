"""Strengths from files: a leaderboard as `arena rank` writes it, or any table of scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ranking.errors import RankingError
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE
from ranking.tables.cells import read_numbers
from ranking.tables.table import FileOptions, Table, fold_column, open_table
from ranking.votes.names import clean_name

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["StrengthFile", "read_strengths"]

_COLUMNS = ("strength", "score")
_MODELS = ("model", "name", "model_name")


class StrengthFile(NamedTuple):
    """Strengths, and how they were read.

    Attributes:
        strengths: By model, natural log-odds.
        told: How the file was read, in sentences.
    """

    strengths: dict[str, float]
    told: tuple[str, ...]


def read_strengths(
    path: str | Path, *, column: str | None = None, options: FileOptions | None = None
) -> StrengthFile:
    """Strengths by model, natural log-odds, from a file of any kind that votes may be in.

    Args:
        path: A table, or JSON with a list of models, also under "models".
        column: Where a table has them; by default "strength" (log-odds), else "score"
            (400 points are odds of ten to one). Any other column is read as log-odds.
        options: What is known of the file.

    Raises:
        OSError: The file cannot be read.
        RankingError: It holds no table of models; the message names the row and the value.
    """
    table = open_table(path, options, prefer="models", texts=_MODELS)
    folded = {fold_column(name): name for name in reversed(table.columns)}
    models = next((folded[name] for name in _MODELS if name in folded), None)
    if models is None:
        raise RankingError(
            'no models: need rows with "model" and "strength" or "score"; the table has '
            f"{', '.join(table.columns)}"
        )
    found = _find_strengths(table, column, folded)
    for row, what in table.broken.items():
        raise RankingError(f"row {row + 1}: {what}")
    values, wrong = read_numbers(table.read(found))
    texts = table.read_text(found).tolist()
    strengths: dict[str, float] = {}
    for number, label in enumerate(table.read_text(models).tolist(), start=1):
        name = clean_name(label or "")
        value = float(values[number - 1])
        if not name:
            raise RankingError(f"row {number}: the model is missing")
        if name in strengths:
            raise RankingError(f"row {number}: model {name!r} comes twice")
        if not math.isfinite(value) or texts[number - 1] in wrong:
            raise RankingError(f"row {number}: {texts[number - 1]!r} is no number")
        points = fold_column(found) == "score"
        strengths[name] = (value - SCORE_CENTRE) / POINTS_PER_LOG_ODDS if points else value
    facts = table.facts
    lines = (f"Read {facts.describe()}.", f"Columns: model from {models}, strength from {found}.")
    return StrengthFile(strengths, (*lines, *(f"Note: {note}." for note in facts.notes)))


def _find_strengths(table: Table, column: str | None, folded: dict[str, str]) -> str:
    if column is not None:
        found = table.find_column(column)
    else:
        found = next((folded[name] for name in _COLUMNS if name in folded), None)
    if found is None:
        wanted = column or '"strength" or "score"'
        raise RankingError(f"no column {wanted}: there are {', '.join(table.columns)}")
    return found
