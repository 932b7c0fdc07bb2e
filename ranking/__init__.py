"""Statistics of pairwise preference: arrays and tables in, frozen results out.

What needs a library that few calls use (plotly, scikit-learn), and what analysts use now and
then, is imported when it is first asked for: `ranking.plots`, `ranking.simulate`,
`ranking.diagnostics`, `ranking.estimator`, `ranking.baselines`, `ranking.style`, and the names in
them, such as `from ranking import PairedComparisonClassifier, simulate_votes`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ranking.agreement.intervals import Estimate
from ranking.agreement.judgements import CATEGORIES, Judgements
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
from ranking.agreement.reading import read_judgements
from ranking.agreement.report import AgreementReport, agreement_report
from ranking.boards.entries import Entry
from ranking.boards.fragility import Fragility, Overturn, measure_fragility
from ranking.boards.leaderboard import Coefficient, Leaderboard, compute_leaderboard
from ranking.boards.options import Options
from ranking.boards.ranks import compute_rank_ranges, compute_ranks
from ranking.boards.split import BoardPart, compute_boards
from ranking.errors import InvalidVote, NoMaximum, NotConverged, RankingError, UnknownModel
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

if TYPE_CHECKING:
    from ranking import baselines as baselines
    from ranking import estimator as estimator
    from ranking import plots as plots
    from ranking.baselines import compare_baselines as compare_baselines
    from ranking.boards import diagnostics as diagnostics
    from ranking.boards.diagnostics import measure_calibration as measure_calibration
    from ranking.boards.diagnostics import measure_drift as measure_drift
    from ranking.boards.diagnostics import measure_side_bias as measure_side_bias
    from ranking.estimator import PairedComparisonClassifier as PairedComparisonClassifier
    from ranking.pairing import simulate as simulate
    from ranking.pairing.simulate import draw_strengths as draw_strengths
    from ranking.pairing.simulate import simulate_votes as simulate_votes
    from ranking.plots import plot_battle_counts as plot_battle_counts
    from ranking.plots import plot_calibration as plot_calibration
    from ranking.plots import plot_drift as plot_drift
    from ranking.plots import plot_intervals as plot_intervals
    from ranking.plots import plot_rank_ranges as plot_rank_ranges
    from ranking.plots import plot_win_rates as plot_win_rates
    from ranking.plots import save_picture as save_picture
    from ranking.votes import style as style

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
    "Fragility",
    "Group",
    "Intervals",
    "InvalidVote",
    "Judgements",
    "Leaderboard",
    "NoMaximum",
    "NotConverged",
    "Options",
    "OrderAudit",
    "Overturn",
    "PairedFit",
    "PairedIntervals",
    "RankingError",
    "Reading",
    "Rows",
    "UnknownModel",
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
    "measure_fragility",
    "paired_intervals",
    "read_judgements",
    "read_votes",
    "sandwich_intervals",
    "sideless_kappa",
]

_MODULES = {
    "baselines": "ranking.baselines",
    "diagnostics": "ranking.boards.diagnostics",
    "estimator": "ranking.estimator",
    "plots": "ranking.plots",
    "simulate": "ranking.pairing.simulate",
    "style": "ranking.votes.style",
}
_LATER = {
    **dict.fromkeys(_MODULES, ""),
    "PairedComparisonClassifier": "estimator",
    "compare_baselines": "baselines",
    "draw_strengths": "simulate",
    "measure_calibration": "diagnostics",
    "measure_drift": "diagnostics",
    "measure_side_bias": "diagnostics",
    "plot_battle_counts": "plots",
    "plot_calibration": "plots",
    "plot_drift": "plots",
    "plot_intervals": "plots",
    "plot_rank_ranges": "plots",
    "plot_win_rates": "plots",
    "save_picture": "plots",
    "simulate_votes": "simulate",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 # modules, functions and a class
    """Import what is asked for the first time."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_MODULES[_LATER[name] or name])
    return getattr(module, name) if _LATER[name] else module


def __dir__() -> list[str]:
    """The names that `__all__` has, and those imported later."""
    return sorted({*globals(), *_LATER})
