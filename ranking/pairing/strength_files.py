"""Strengths from files: a leaderboard as `arena rank` writes it, or any table of scores."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranking.errors import RankingError
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COLUMNS = ("strength", "score")


def read_strengths(path: str | Path, *, column: str | None = None) -> dict[str, float]:
    """Strengths by model, natural log-odds.

    Args:
        path: JSON (a list of models, or an object with one under "models") or CSV.
        column: Where a CSV has them; by default "strength" (log-odds), else "score"
            (400 points are odds of ten to one). Any other column is read as log-odds.

    Raises:
        OSError: The file cannot be read.
        RankingError: It holds no table of models; the message names the row and the value.
    """
    text = Path(path).read_text(encoding="utf-8-sig")
    rows = _read_json(text) if text.lstrip()[:1] in ("{", "[") else _read_csv(text)
    if not rows or "model" not in rows[0]:
        raise RankingError('no models: need rows with "model" and "strength" or "score"')
    found = column or next((name for name in _COLUMNS if name in rows[0]), None)
    if found is None or found not in rows[0]:
        wanted = column or '"strength" or "score"'
        raise RankingError(f"no column {wanted}: there are {', '.join(rows[0])}")
    strengths: dict[str, float] = {}
    for number, row in enumerate(rows, start=1):
        name = str(row.get("model"))
        if name in strengths:
            raise RankingError(f"row {number}: model {name!r} comes twice")
        strengths[name] = _read_value(row.get(found), number, points=found == "score")
    return strengths


def _read_json(text: str) -> Sequence[Mapping[str, Any]]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise RankingError(f"not JSON: {error}") from None
    rows = content.get("models") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RankingError('need a list of models, or an object with one under "models"')
    return rows


def _read_csv(text: str) -> Sequence[Mapping[str, Any]]:
    return list(csv.DictReader(io.StringIO(text)))


def _read_value(value: object, row: int, *, points: bool) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RankingError(f"row {row}: {value!r} is no number")
    return (number - SCORE_CENTRE) / POINTS_PER_LOG_ODDS if points else number
