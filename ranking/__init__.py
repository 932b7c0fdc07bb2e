"""Statistics of pairwise preference: arrays and tables in, frozen results out."""

from ranking.boards import Board, compute_boards
from ranking.bradley_terry import BradleyTerryFit, fit_bradley_terry
from ranking.comparisons import OUTCOMES, Comparisons
from ranking.errors import InvalidVote, NoMaximum, NotConverged, RankingError
from ranking.intervals import (
    Intervals,
    PairedIntervals,
    bootstrap_intervals,
    paired_intervals,
    sandwich_intervals,
)
from ranking.leaderboard import Coefficient, Leaderboard, compute_leaderboard
from ranking.paired import PairedFit, fit_paired
from ranking.ranks import compute_rank_ranges, compute_ranks
from ranking.readers import Reading, read_votes
from ranking.rows import Rows
from ranking.tables import Entry
from ranking.votes import Group, Votes
from ranking.weights import DesignWeights, compute_design_weights

__all__ = [
    "OUTCOMES",
    "Board",
    "BradleyTerryFit",
    "Coefficient",
    "Comparisons",
    "DesignWeights",
    "Entry",
    "Group",
    "Intervals",
    "InvalidVote",
    "Leaderboard",
    "NoMaximum",
    "NotConverged",
    "PairedFit",
    "PairedIntervals",
    "RankingError",
    "Reading",
    "Rows",
    "Votes",
    "bootstrap_intervals",
    "compute_boards",
    "compute_design_weights",
    "compute_leaderboard",
    "compute_rank_ranges",
    "compute_ranks",
    "fit_bradley_terry",
    "fit_paired",
    "paired_intervals",
    "read_votes",
    "sandwich_intervals",
]
