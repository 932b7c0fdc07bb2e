"""How an answer looks, as covariates that strengths can be adjusted for.

Style control after Chiang et al. and LMSYS (2024): logit P = ξ_a − ξ_b + γ·z with z the
difference (x_a − x_b) / (x_a + x_b) of a length or a count of Markdown elements, scaled
to standard deviation 1. It is not centred, so that z = 0 means alike.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ranking.errors import InvalidVote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_METADATA = {
    "length": "sum_assistant_{side}_tokens",
    "headers": "header_count_{side}",
    "lists": "list_count_{side}",
    "bold": "bold_count_{side}",
}
# A text without any of these has no header, list or bold span, and most answers of a line or
# two have none.
_MARKUP = re.compile(r"[#*_=+-]|^[ \t>]*\d{1,9}[.)]", re.MULTILINE)
_BOLD = ("**", "__")


class Markdown(NamedTuple):
    """Markdown elements in a text."""

    headers: int
    bold: int
    lists: int


def count_markdown(text: str) -> Markdown:
    """Headers, bold spans and list items as a reader sees them.

    What stands in code is code, and what is escaped is text; see `ranking.votes.markdown`.
    """
    if _MARKUP.search(text) is None:
        return Markdown(headers=0, bold=0, lists=0)
    parser = _block_parser()
    counts = Counter({"heading_open": 0, "list_item_open": 0, "strong_open": 0})
    env: dict[str, Any] = {}
    for token in parser.parse(text, env):
        counts[token.type] += 1
        if token.type == "inline" and any(mark in token.content for mark in _BOLD):
            spans: list[Token] = []
            parser.inline.parse(token.content, parser, env, spans)
            counts.update(span.type for span in spans)
    return Markdown(
        headers=counts["heading_open"], bold=counts["strong_open"], lists=counts["list_item_open"]
    )


def compare_style(
    left: Mapping[str, ArrayLike], right: Mapping[str, ArrayLike]
) -> dict[str, Floats]:
    """Standardised relative differences of features of the left and right answers.

    Args:
        left: Feature name to non-negative amounts (tokens, headers, …), shape (votes,).
        right: The same features of the right answers.

    Returns:
        z per feature, 0 where both amounts are 0; ready for `Votes.from_columns`.

    Raises:
        InvalidVote: A feature is missing on one side, negative or not finite.
    """
    if set(left) != set(right):
        odd = sorted(set(left) ^ set(right))
        raise InvalidVote(f"features on one side only: {odd}", value=odd)
    return {name: _standardise(name, left[name], right[name]) for name in left}


def read_style_metadata(column: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """Style covariates from the `conv_metadata` of public arena data sets.

    Each record holds, for the sides a and b, the tokens of the answers and counts of
    headers, list items and bold spans by kind.

    Raises:
        InvalidVote: A record lacks a feature; the row is named.
    """
    sides: list[dict[str, list[float]]] = []
    for side in "ab":
        features: dict[str, list[float]] = {}
        for name, key in _METADATA.items():
            field = key.format(side=side)
            features[name] = [_read_amount(record, field, row) for row, record in enumerate(column)]
        sides.append(features)
    return compare_style(*sides)


@cache
def _block_parser() -> MarkdownIt:
    """A parser that leaves the text of a block alone: only some of it is worth reading."""
    # Reading votes from a file needs no parser.
    from ranking.votes.markdown import markdown_parser

    parser = markdown_parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _read_amount(record: Mapping[str, Any] | str, field: str, row: int) -> float:
    if isinstance(record, str):
        record = _read_object(record)
    amount = record.get(field) if hasattr(record, "get") else None
    if amount is None:
        raise InvalidVote(f"conv_metadata has no {field}", row=row, value=record)
    if hasattr(amount, "values"):
        return float(sum(float(count or 0) for count in amount.values()))
    return float(amount)


def _read_object(text: str) -> Mapping[str, Any]:
    """An object that a CSV file holds as JSON; an empty one where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _standardise(name: str, left: ArrayLike, right: ArrayLike) -> Floats:
    a, b = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    wrong = np.flatnonzero(~(np.isfinite(a) & np.isfinite(b) & (a >= 0) & (b >= 0)))
    if wrong.size:
        row = int(wrong[0])
        value = (float(a[row]), float(b[row]))
        raise InvalidVote(f"{name} {value} must be amounts ≥ 0", row=row, value=value)
    total = a + b
    z = np.divide(a - b, total, out=np.zeros_like(total), where=total > 0)
    spread = z.std()
    return np.asarray(z / spread if spread > 0 else z)
