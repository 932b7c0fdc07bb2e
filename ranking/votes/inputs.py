"""What functions take for votes: tables, files as read, single votes, counts; or why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ranking.checks import is_table
from ranking.errors import InvalidVote, RankingError
from ranking.votes.comparisons import Comparisons
from ranking.votes.readers import Reading, read_votes
from ranking.votes.rows import Rows
from ranking.votes.votes import Votes
from ranking.votes.weights import compute_design_weights

if TYPE_CHECKING:
    import pandas as pd

    from ranking.votes.weights import Weighting

VotesLike: TypeAlias = "pd.DataFrame | Votes | Comparisons | Reading"

__all__ = [
    "VotesLike",
    "apply_weighting",
    "take_counts",
    "take_rows",
    "take_single_votes",
    "take_votes",
]


def take_votes(data: VotesLike) -> Votes | Comparisons:
    """Single votes or counts, whichever the data holds; a table as a file of it is read.

    Raises:
        RankingError: It holds no votes; the message says how to make some of it.
        InvalidVote: A column of the table is missing, or a row cannot be counted.
    """
    found = read_votes(data) if is_table(data) else data
    votes = found.votes if isinstance(found, Reading) else found
    if not isinstance(votes, (Votes, Comparisons)):
        raise RankingError(
            "votes must be a DataFrame, Votes, Comparisons or what read_votes returned, "
            f"not {type(data).__name__}: {_find_remedy(data)}"
        )
    if not len(votes):
        raise InvalidVote("there are no votes", value=0)
    return votes


def take_single_votes(data: VotesLike, purpose: str) -> Votes:
    """The same where counts do not do.

    Args:
        data: The votes.
        purpose: What needs single votes, as the beginning of a sentence.

    Raises:
        RankingError: As `take_votes`; also of counts.
    """
    votes = take_votes(data)
    if isinstance(votes, Comparisons):
        raise RankingError(
            f"{purpose} needs single votes, and these are counts: pass Votes, such as "
            "Votes.from_columns(model_a, model_b, outcome, …)"
        )
    return votes


def take_counts(data: VotesLike) -> Comparisons:
    """The votes as counts.

    Raises:
        RankingError: As `take_votes`; also of weighted votes, which counts would make equal.
    """
    votes = take_votes(data)
    if isinstance(votes, Comparisons):
        return votes
    if votes.weight is not None:
        raise RankingError(
            "these votes are weighted, and counts are not: fit_paired and compute_leaderboard "
            "heed weights; votes.count() leaves them aside"
        )
    return votes.count()


def take_rows(data: Rows | VotesLike) -> Rows:
    """The votes as rows of a likelihood: as `Votes.to_rows` has them unless told otherwise.

    Raises:
        RankingError: As `take_votes`.
    """
    if isinstance(data, Rows):
        return data
    votes = take_votes(data)
    return Rows.from_comparisons(votes) if isinstance(votes, Comparisons) else votes.to_rows()


def apply_weighting(votes: Votes, weighting: Weighting) -> Votes:
    """The votes with their own weights ("given"), none ("uniform") or design weights.

    Raises:
        RankingError: The option is unknown, or the votes do not say how likely they were
            drawn.
    """
    if weighting == "given":
        return votes
    if weighting == "uniform":
        return replace(votes, weight=None)
    if weighting != "design":
        raise RankingError(f"weights must be 'given', 'uniform' or 'design', not {weighting!r}")
    if votes.draw_probability is None:
        raise RankingError("design weights need the draw probability of every vote")
    return replace(votes, weight=compute_design_weights(votes.draw_probability).weight)


def _find_remedy(data: object) -> str:
    if isinstance(data, (str, Path)):
        return f"read the file first, read_votes({str(data)!r})"
    if isinstance(data, Rows):
        return "rows are for fit_paired"
    if hasattr(data, "to_pandas"):
        return "pass its to_pandas()"
    if type(data).__name__ == "Judgements":
        return "judgements are for agreement_report"
    if hasattr(data, "entries") or hasattr(data, "strengths"):
        return "pass the votes that it was made from"
    return (
        "make votes by Votes.from_columns(model_a, model_b, outcome), or counts by "
        "Comparisons.from_counts(model_a, model_b, outcome, count)"
    )
