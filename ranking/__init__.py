"""Statistics of pairwise preference: arrays and tables in, frozen results out."""

from ranking.bradley_terry import BradleyTerryFit, fit_bradley_terry
from ranking.comparisons import OUTCOMES, Comparisons
from ranking.errors import InvalidVote, NoMaximum, NotConverged, RankingError
from ranking.intervals import Intervals, bootstrap_intervals, sandwich_intervals
from ranking.leaderboard import Entry, Leaderboard, compute_leaderboard
from ranking.paired import PairedFit, fit_paired
from ranking.ranks import compute_rank_ranges, compute_ranks
from ranking.rows import Rows

__all__ = [
    "OUTCOMES",
    "BradleyTerryFit",
    "Comparisons",
    "Entry",
    "Intervals",
    "InvalidVote",
    "Leaderboard",
    "NoMaximum",
    "NotConverged",
    "PairedFit",
    "RankingError",
    "Rows",
    "bootstrap_intervals",
    "compute_leaderboard",
    "compute_rank_ranges",
    "compute_ranks",
    "fit_bradley_terry",
    "fit_paired",
    "sandwich_intervals",
]
