"""Everything a leaderboard shows, in one frozen result that survives JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranking.boards.entries import Entry, build_entries, build_pair_tables, diagnose, order_models
from ranking.errors import RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR, BradleyTerryFit, fit_bradley_terry
from ranking.fits.paired import PairedFit, fit_paired
from ranking.fits.prior import estimate_prior
from ranking.fits.threads import one_blas_thread
from ranking.intervals.intervals import (
    BootstrapKind,
    bootstrap_intervals,
    paired_intervals,
    sandwich_intervals,
)
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE
from ranking.votes.comparisons import BOTH_BAD, Comparisons
from ranking.votes.rows import Rows
from ranking.votes.weights import Weighting, apply_weighting, effective_sample_size

if TYPE_CHECKING:
    from ranking.fits.likelihoods import TieModel
    from ranking.intervals.bootstrap import Progress
    from ranking.intervals.result import Intervals, PairedIntervals
    from ranking.votes.encoding import BothBad
    from ranking.votes.votes import Votes

IntervalKind = Literal["bootstrap", "sandwich"]
StrengthModel = Literal["bradley-terry", "davidson", "rao-kupper"]
Prior = float | Literal["fitted"] | None

_TIE_MODELS: dict[str, TieModel] = {
    "bradley-terry": "half",
    "davidson": "davidson",
    "rao-kupper": "rao-kupper",
}


@dataclass(frozen=True)
class Coefficient:
    """Effect of a covariate (or the logarithm of a tie parameter) with its interval."""

    name: str
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Leaderboard:
    """A ranking with its method and diagnostics.

    Attributes:
        entries: Best first (by island, then strength, then name).
        battles: Battles per pair, symmetric, in the order of `entries`.
        win_rates: Share of battles won by the row over the column, ties as halves and
            both-bad left out; None where the two never met.
        coefficients: Of covariates and tie parameter, log-odds; empty for plain strengths.
        method: Everything needed to compute it again from the same votes.
        diagnostics: Islands, provisional models, votes a pair, side and tie rates, voters and
            whether they were ignored.
    """

    entries: tuple[Entry, ...]
    battles: tuple[tuple[int, ...], ...]
    win_rates: tuple[tuple[float | None, ...], ...]
    coefficients: tuple[Coefficient, ...] = ()
    method: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Names, best first."""
        return tuple(entry.model for entry in self.entries)

    def entry(self, model: str) -> Entry:
        """The line of one model.

        Raises:
            KeyError: The model is not on the board.
        """
        for entry in self.entries:
            if entry.model == model:
                return entry
        raise KeyError(model)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` gives the same leaderboard back."""
        return {
            "models": [asdict(entry) for entry in self.entries],
            "battles": [list(row) for row in self.battles],
            "win_rates": [list(row) for row in self.win_rates],
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "method": self.method,
            "diagnostics": self.diagnostics,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Leaderboard:
        """Read what `to_dict` wrote; unknown keys of an entry are ignored."""
        known = {f.name for f in fields(Entry)}
        return cls(
            entries=tuple(
                Entry(**{key: value for key, value in line.items() if key in known})
                for line in data["models"]
            ),
            battles=tuple(tuple(row) for row in data["battles"]),
            win_rates=tuple(tuple(row) for row in data["win_rates"]),
            coefficients=tuple(Coefficient(**line) for line in data.get("coefficients", ())),
            method=dict(data["method"]),
            diagnostics=dict(data["diagnostics"]),
        )


@dataclass(frozen=True)
class Settings:
    """The options of `compute_leaderboard` that decide what it says.

    Raises:
        RankingError: The interval or the model is unknown.
    """

    model: StrengthModel
    interval: IntervalKind
    replicates: int
    bootstrap: BootstrapKind
    cluster: bool
    covariates: bool
    weights: Weighting
    level: float
    prior: Prior
    both_bad: BothBad
    seed: int
    anchor: tuple[str, float] | None

    def __post_init__(self) -> None:
        if self.interval not in ("bootstrap", "sandwich"):
            raise RankingError(f"interval must be 'bootstrap' or 'sandwich', not {self.interval!r}")
        if self.model not in _TIE_MODELS:
            raise RankingError(f"model must be one of {list(_TIE_MODELS)}, not {self.model!r}")

    @property
    def resampled(self) -> bool:
        """Whether intervals come from a bootstrap."""
        return self.interval == "bootstrap"

    def check_counts(self) -> None:
        """Refuse options that need single votes."""
        if self.cluster or self.covariates or self.weights == "design":
            raise RankingError(
                "counts name no voters, covariates or draw probabilities; pass Votes instead"
            )

    def describe(self) -> dict[str, Any]:
        """Plain JSON types; what only a bootstrap uses is None without one."""
        described = asdict(self)
        if not self.resampled:
            described |= {"replicates": None, "bootstrap": None}
        described["anchor"] = list(self.anchor) if self.anchor else None
        return described


@one_blas_thread
def compute_leaderboard(
    votes: Comparisons | Votes,
    *,
    model: StrengthModel = "bradley-terry",
    interval: IntervalKind = "bootstrap",
    replicates: int = 1000,
    bootstrap: BootstrapKind = "percentile",
    cluster: bool = False,
    covariates: bool = False,
    weights: Weighting = "given",
    level: float = 0.95,
    prior: Prior = DEFAULT_PRIOR,
    both_bad: BothBad = "tie",
    seed: int = 0,
    anchor: tuple[str, float] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Fit, intervals, ranks and counts of one set of votes.

    Args:
        votes: Counts, or single votes where weights, voters or covariates matter.
        model: How ties are read: halves, Davidson's or Rao and Kupper's model.
        interval: "bootstrap" or "sandwich".
        replicates: Of the bootstrap.
        bootstrap: "percentile", or "pivot" for a studentised one (bootstrap-t).
        cluster: Sum or resample by voter: votes of one person are not independent.
        covariates: Adjust strengths for the votes' covariates (style, home side).
        weights: "given" (those of the votes, if any), "uniform", or "design" (inverse draw
            probability: strengths as if every pair had been drawn alike).
        level: Confidence level of every interval.
        prior: Standard deviation of the Gaussian prior (log-odds); "fitted" for one as wide as
            the strengths are (`estimate_prior`); None for none.
        both_bad: "tie" counts both-bad votes as ties; "keep" makes them an outcome of its own,
            counted but without a say in the strengths; "drop" takes them for not cast.
        seed: The same seed gives the same board.
        anchor: A model and the score to show it at. It shifts what is shown, not the
            intervals, which remain those of the centred strengths.
        threads: Threads of the bootstrap; all cores by default.
        progress: Called with the replicates done and their total as they come in.

    Raises:
        RankingError: An option is unusable, no vote is left, or the anchor is not among the models.
        NoMaximum: Without a prior, the votes do not tie all models together.
    """
    settings = Settings(
        model=model, interval=interval, replicates=replicates, bootstrap=bootstrap,
        cluster=cluster, covariates=covariates, weights=weights, level=level, prior=prior,
        both_bad=both_bad, seed=seed, anchor=anchor,
    )  # fmt: skip
    noted: dict[str, Any] = {"both_bad_dropped": 0}
    if both_bad == "drop":
        votes, noted["both_bad_dropped"] = _drop_both_bad(votes)
    if isinstance(votes, Comparisons):
        settings.check_counts()
        counts = votes
    else:
        votes = apply_weighting(votes, weights)
        counts = votes.count()
        noted |= _describe_voters(votes, cluster=cluster)
    width = _find_prior(prior, counts, both_bad)
    settings = replace(settings, prior=width)
    weighted = not isinstance(votes, Comparisons) and votes.weight is not None
    if model == "bradley-terry" and not (cluster or covariates or weighted):
        fit = fit_bradley_terry(counts, prior=width, both_bad=both_bad)
        spread = _spread_counts(counts, fit, settings, threads=threads, progress=progress)
        return _assemble(counts, fit, spread, settings, noted=noted)
    rows = _make_rows(votes, settings)
    paired = fit_paired(rows, tie_model=_TIE_MODELS[model], prior=width)
    both = paired_intervals(
        paired, replicates=replicates if settings.resampled else None, level=level,
        kind=bootstrap, seed=seed, threads=threads, progress=progress,
    )  # fmt: skip
    coefficients = _list_coefficients(paired, both)
    return _assemble(
        counts, paired, both.strengths, settings, noted=noted, coefficients=coefficients
    )


def _find_prior(prior: Prior, counts: Comparisons, both_bad: BothBad) -> float | None:
    if isinstance(prior, str):
        if prior != "fitted":
            raise RankingError(f"prior must be a number, 'fitted' or None, not {prior!r}")
        return estimate_prior(fit_bradley_terry(counts, both_bad=both_bad))
    return prior


def _drop_both_bad(votes: Comparisons | Votes) -> tuple[Comparisons | Votes, int]:
    """The votes without the both-bad ones, and how many those were."""
    is_bad = votes.outcome == BOTH_BAD
    if is_bad.all():
        raise RankingError("every vote is both-bad: none is left to rank by")
    dropped = votes.count[is_bad].sum() if isinstance(votes, Comparisons) else is_bad.sum()
    return votes.select(~is_bad), int(dropped)


def _describe_voters(votes: Votes, *, cluster: bool) -> dict[str, Any]:
    """How many voted, and whether intervals take several votes of one for independent."""
    if votes.voter is None:
        return {}
    cast = np.bincount(votes.voter.codes).astype(float)
    voters = int((cast > 0).sum())
    told = {"voters": voters, "voters_ignored": not cluster and voters < len(votes)}
    return {**told, "effective_voters": effective_sample_size(cast)} if cluster else told


def _spread_counts(
    counts: Comparisons,
    fit: BradleyTerryFit,
    settings: Settings,
    *,
    threads: int | None,
    progress: Progress | None,
) -> Intervals:
    if settings.resampled:
        return bootstrap_intervals(
            counts, fit, replicates=settings.replicates, level=settings.level,
            kind=settings.bootstrap, both_bad=settings.both_bad, seed=settings.seed,
            threads=threads, progress=progress,
        )  # fmt: skip
    return sandwich_intervals(
        counts, fit, level=settings.level, both_bad=settings.both_bad, seed=settings.seed
    )


def _list_coefficients(fit: PairedFit, spread: PairedIntervals) -> tuple[Coefficient, ...]:
    names = [*fit.names, *(["log tie parameter"] if fit.fits_ties else [])]
    size = len(fit.models)
    columns = (names, fit.parameters[size:], spread.lower[size:], spread.upper[size:])
    return tuple(
        Coefficient(name, float(estimate), float(lower), float(upper))
        for name, estimate, lower, upper in zip(*columns, strict=True)
    )


def _make_rows(votes: Comparisons | Votes, settings: Settings) -> Rows:
    if isinstance(votes, Comparisons):
        return Rows.from_comparisons(votes, both_bad=settings.both_bad)
    if settings.covariates and votes.covariates is None:
        raise RankingError("there are no covariates to adjust for")
    return votes.to_rows(
        both_bad=settings.both_bad, cluster=settings.cluster, covariates=settings.covariates
    )


def _assemble(
    counts: Comparisons,
    fit: BradleyTerryFit | PairedFit,
    spread: Intervals,
    settings: Settings,
    *,
    noted: dict[str, Any],
    coefficients: tuple[Coefficient, ...] = (),
) -> Leaderboard:
    order = order_models(fit)
    lines = build_entries(counts, fit, spread, centre=_find_centre(fit, settings.anchor))
    diagnostics = {**diagnose(counts, fit, spread), **noted}
    if settings.both_bad == "drop":
        # Nobody knows the rate of what is taken for not cast.
        lines = [replace(line, both_bad_rate=None) for line in lines]
        diagnostics["both_bad_rate"] = None
    battles, rates = build_pair_tables(counts, order)
    return Leaderboard(
        entries=tuple(lines[i] for i in order),
        battles=battles,
        win_rates=rates,
        coefficients=coefficients,
        method={**settings.describe(), "simultaneous_multiplier": spread.multiplier},
        diagnostics=diagnostics,
    )


def _find_centre(fit: BradleyTerryFit | PairedFit, anchor: tuple[str, float] | None) -> float:
    if anchor is None:
        return SCORE_CENTRE
    name, score = anchor
    if name not in fit.models:
        raise RankingError(f"the anchor {name!r} is not among the {len(fit.models)} models")
    return score - POINTS_PER_LOG_ODDS * float(fit.strengths[fit.models.index(name)])
