"""Statistics of pairwise preference: arrays and tables in, frozen results out."""

from ranking.agreement.intervals import Estimate
from ranking.agreement.judgements import CATEGORIES, Judgements, read_judgements
from ranking.agreement.kappas import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    sideless_kappa,
)
from ranking.agreement.orders import (
    CombinedVerdict,
    Consistency,
    OrderAudit,
    audit_orders,
    combine_verdicts,
)
from ranking.agreement.rates import Agreement
from ranking.agreement.report import AgreementReport, agreement_report
from ranking.boards.entries import Entry
from ranking.boards.leaderboard import Coefficient, Leaderboard, compute_leaderboard
from ranking.boards.options import Options
from ranking.boards.ranks import compute_rank_ranges, compute_ranks
from ranking.boards.split import BoardPart, compute_boards
from ranking.errors import InvalidVote, NoMaximum, NotConverged, RankingError
from ranking.fits.bradley_terry import BradleyTerryFit, fit_bradley_terry
from ranking.fits.paired import PairedFit, fit_paired
from ranking.intervals.intervals import bootstrap_intervals, paired_intervals, sandwich_intervals
from ranking.intervals.result import Intervals, PairedIntervals
from ranking.votes.comparisons import OUTCOMES, Comparisons
from ranking.votes.readers import Reading, read_votes
from ranking.votes.rows import Rows
from ranking.votes.voters import VoterTest, check_voters
from ranking.votes.votes import Group, Votes
from ranking.votes.weights import DesignWeights, compute_design_weights

__all__ = [
    "CATEGORIES",
    "OUTCOMES",
    "Agreement",
    "AgreementReport",
    "BoardPart",
    "BradleyTerryFit",
    "Coefficient",
    "CombinedVerdict",
    "Comparisons",
    "Consistency",
    "DesignWeights",
    "Entry",
    "Estimate",
    "Group",
    "Intervals",
    "InvalidVote",
    "Judgements",
    "Leaderboard",
    "NoMaximum",
    "NotConverged",
    "Options",
    "OrderAudit",
    "PairedFit",
    "PairedIntervals",
    "RankingError",
    "Reading",
    "Rows",
    "VoterTest",
    "Votes",
    "agreement_report",
    "audit_orders",
    "bootstrap_intervals",
    "check_voters",
    "cohen_kappa",
    "combine_verdicts",
    "compute_boards",
    "compute_design_weights",
    "compute_leaderboard",
    "compute_rank_ranges",
    "compute_ranks",
    "fit_bradley_terry",
    "fit_paired",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "paired_intervals",
    "read_judgements",
    "read_votes",
    "sandwich_intervals",
    "sideless_kappa",
]
