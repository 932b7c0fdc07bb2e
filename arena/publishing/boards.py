"""The leaderboards of an export, made from its files alone: when written, and when verified."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from arena.leaderboards.judges import rank_verdicts
from arena.publishing.counts import count_buckets
from arena.publishing.files import read_columns
from arena.rules.battles import Outcome
from arena.store.judge_verdicts import JudgeVerdict
from ranking import Comparisons, RankingError, Votes, combine_verdicts, compute_leaderboard
from ranking.boards.bucketed import compute_bucketed_leaderboard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from arena.leaderboards.recipe import Recipe
    from ranking import Options
    from ranking.votes.buckets import BucketedCounts

LEADERBOARDS = "leaderboards.json"


def rank_export(
    folder: Path, recipe: Recipe, *, buckets: int, threads: int | None = None
) -> dict[str, Any]:
    """All leaderboards that the files of an export give.

    Args:
        folder: of the export.
        recipe: how boards are made.
        buckets: of the counts, 0 for none.
        threads: of the bootstrap; the result does not depend on it.

    Returns:
        `overall`, `categories`, `judges` and `by_bucket` (the overall one again, from counts
        alone, with intervals by voter), as `ranking` writes boards.

    Raises:
        ExportError: a file cannot be read.
    """
    columns = ["voter", "model_a", "model_b", "winner", "category", "probability", "counts"]
    votes = read_columns(folder, "votes", columns)
    votes = votes.filter(votes["counts"])
    counts = count_buckets(folder, buckets)
    return {
        "overall": _rank(votes, recipe.options, threads),
        "categories": _rank_categories(votes, recipe, threads),
        "judges": _rank_judges(folder, recipe, threads),
        "by_bucket": None if counts is None else rank_buckets(counts, recipe.options),
    }


def rank_buckets(counts: BucketedCounts, options: Options) -> dict[str, Any] | None:
    """The board of bucketed counts, its intervals by bucket of voters; `None` if there is none."""
    try:
        return compute_bucketed_leaderboard(counts, options).to_dict()
    except RankingError:
        return None


def _rank(votes: pa.Table, options: Options, threads: int | None) -> dict[str, Any] | None:
    """The board of some votes, `None` where they give none."""
    try:
        read = _read_votes(votes, options)
        told = options.change(adjust=False)
        return compute_leaderboard(read, told, threads=threads, fragility=True).to_dict()
    except RankingError:
        return None


def _read_votes(votes: pa.Table, options: Options) -> Comparisons | Votes:
    """Counts where those are enough."""
    if options.cluster or options.weights == "design":
        a, b, winner = (votes[name].to_pylist() for name in ("model_a", "model_b", "winner"))
        return Votes.from_columns(
            a,
            b,
            winner,
            voter=votes["voter"].to_pylist() if options.cluster else None,
            draw_probability=votes["probability"].to_numpy(),
        )
    keys = ["model_a", "model_b", "winner"]
    grouped = votes.select(keys).group_by(keys, use_threads=False).aggregate([([], "count_all")])
    grouped = grouped.sort_by([(name, "ascending") for name in keys])
    a, b, winner = (grouped[name].to_pylist() for name in keys)
    return Comparisons.from_counts(a, b, winner, grouped["count_all"].to_numpy())


def _rank_categories(votes: pa.Table, recipe: Recipe, threads: int | None) -> dict[str, Any]:
    import pyarrow.compute as pc

    boards = {}
    for name in sorted(name for name in votes["category"].unique().to_pylist() if name):
        of_category = votes.filter(pc.equal(votes["category"], name))
        if of_category.num_rows >= recipe.min_votes:
            boards[name] = _rank(of_category, recipe.options, threads)
    return boards


def _rank_judges(folder: Path, recipe: Recipe, threads: int | None) -> dict[str, Any]:
    columns = [
        "battle_id", "turn", "judge", "judge_model", "model_a", "model_b", "verdict", "swapped",
        "category",
    ]  # fmt: skip
    rows = read_columns(folder, "judge_verdicts", columns).to_pylist()
    boards = {}
    for judge, of_judge in groupby(rows, key=lambda row: str(row["judge"])):
        verdicts = []
        for _, both in groupby(of_judge, key=lambda row: (row["battle_id"], row["turn"])):
            pair = list(both)
            if len(pair) == 2:
                verdicts.append(_combine(pair[0], pair[1]))
        try:
            board = rank_verdicts(verdicts, recipe, threads=threads)
        except RankingError:
            board = None
        boards[judge] = None if board is None else board.to_dict()
    return boards


def _combine(first: Mapping[str, Any], second: Mapping[str, Any]) -> JudgeVerdict:
    verdict, consistency = combine_verdicts(first["verdict"], second["verdict"])
    told = {name: first[name] for name in JudgeVerdict._fields if name in first}
    outcome = None if verdict is None else Outcome(verdict)
    return JudgeVerdict(**{**told, "verdict": outcome, "consistency": consistency})
