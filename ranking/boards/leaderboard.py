"""Everything a leaderboard shows, in one frozen result that survives JSON."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.boards.entries import (
    Entry,
    build_entries,
    build_pair_tables,
    describe_rank,
    diagnose,
    find_centres,
    order_models,
    read_entries,
)
from ranking.boards.fragility import Fragility, is_plain, measure_fragility
from ranking.boards.html import draw_html
from ranking.boards.options import Options, take_options
from ranking.boards.sides import add_side, describe_side
from ranking.errors import RankingError, UnknownModel
from ranking.fits.bradley_terry import BradleyTerryFit, fit_bradley_terry
from ranking.fits.paired import PairedFit, fit_paired
from ranking.fits.prior import find_prior
from ranking.fits.threads import one_blas_thread
from ranking.intervals.intervals import (
    bootstrap_intervals,
    paired_intervals,
    sandwich_intervals,
)
from ranking.votes.comparisons import BOTH_BAD, Comparisons
from ranking.votes.inputs import apply_weighting, take_votes
from ranking.votes.rows import Rows
from ranking.votes.weights import effective_sample_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    import pandas as pd

    from ranking.boards.options import OptionKeywords
    from ranking.intervals.bootstrap import Progress
    from ranking.intervals.result import Intervals, PairedIntervals
    from ranking.votes.inputs import VotesLike
    from ranking.votes.votes import Votes


@dataclass(frozen=True)
class Coefficient:
    """Effect of a covariate (or the logarithm of a tie parameter) with its interval."""

    name: str
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """A ranking with its method and diagnostics.

    Its length is the number of models; it gives its entries one after another, best first, and
    `board["alpha"]` is that of a model.

    Attributes:
        entries: Best first (by island, then strength, then name).
        battles: Battles per pair, symmetric, in the order of `entries`.
        win_rates: Share of battles won by the row over the column, ties as halves and
            both-bad left out; None where the two never met.
        coefficients: Of covariates and tie parameter, log-odds; empty for plain strengths.
        method: Everything needed to compute it again from the same votes.
        diagnostics: Islands and which won all games against which, provisional models, votes a
            pair, the left side's advantage, tie rates, voters and whether they were ignored.
        fragility: How many votes would put another model first, where that was asked for.
    """

    entries: tuple[Entry, ...]
    battles: tuple[tuple[int, ...], ...]
    win_rates: tuple[tuple[float | None, ...], ...]
    coefficients: tuple[Coefficient, ...] = ()
    method: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)
    fragility: Fragility | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __contains__(self, model: object) -> bool:
        return model in self.models

    def __getitem__(self, model: str) -> Entry:
        """The line of one model.

        Raises:
            UnknownModel: The model is not on the board; a `KeyError` as well.
        """
        for entry in self.entries:
            if entry.model == model:
                return entry
        near = difflib.get_close_matches(str(model), self.models, n=3)
        meant = f"did you mean {' or '.join(map(repr, near))}?" if near else "see board.models"
        raise UnknownModel(f"no model {model!r} among the {len(self)} on the board; {meant}")

    def __repr__(self) -> str:
        """The first three models and how many there are."""
        first = ", ".join(f"{e.rank} {e.model} {e.score:.0f}" for e in self.entries[:3])
        more = ", …" if len(self) > 3 else ""
        return f"<Leaderboard of {len(self)} models: {first}{more}>"

    def _repr_html_(self) -> str:
        """A table, as notebooks show it."""
        return draw_html(self.entries)

    def to_frame(self) -> pd.DataFrame:
        """A table with a line a model, best first, and the columns of `Entry`."""
        import pandas as pd

        columns = [column.name for column in fields(Entry)]
        return pd.DataFrame([asdict(entry) for entry in self.entries], columns=columns)

    @property
    def models(self) -> tuple[str, ...]:
        """Names, best first."""
        return tuple(entry.model for entry in self.entries)

    @property
    def options(self) -> Options:
        """The recipe that it was made by."""
        return Options.from_dict({f.name: self.method[f.name] for f in fields(Options)})

    @property
    def has_islands(self) -> bool:
        """Whether some of its models are not compared with others."""
        return any(entry.island for entry in self.entries)

    def describe_rank(self, entry: Entry) -> str:
        """The rank, and where there are several islands among whom: "2 of 5 (group B)"."""
        return describe_rank(entry, self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` gives the same leaderboard back."""
        return {
            "models": [asdict(entry) for entry in self.entries],
            "battles": [list(row) for row in self.battles],
            "win_rates": [list(row) for row in self.win_rates],
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "method": self.method,
            "diagnostics": self.diagnostics,
            "fragility": self.fragility and self.fragility.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Leaderboard:
        """Read what `to_dict` wrote; unknown keys of an entry are ignored."""
        fragility = data.get("fragility")
        return cls(
            entries=read_entries(data["models"]),
            battles=tuple(tuple(row) for row in data["battles"]),
            win_rates=tuple(tuple(row) for row in data["win_rates"]),
            coefficients=tuple(Coefficient(**line) for line in data.get("coefficients", ())),
            method=dict(data["method"]),
            diagnostics=dict(data["diagnostics"]),
            fragility=fragility and Fragility.from_dict(fragility),
        )


@one_blas_thread
def compute_leaderboard(
    votes: VotesLike,
    options: Options | None = None,
    *,
    fragility: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **changes: Unpack[OptionKeywords],
) -> Leaderboard:
    """Fit, intervals, ranks and counts of one set of votes.

    Args:
        votes: A table, single votes, counts, or a file as read; single votes where weights,
            voters or covariates matter.
        options: The recipe, `Options()` by default.
        fragility: Also find how many votes would put another model first, on boards where
            votes are alike (`measure_fragility`).
        threads: Threads of the bootstrap; all cores by default.
        progress: Called with the replicates done and their total as they come in.
        changes: Options by name, in place of those of the recipe.

    Raises:
        RankingError: An option is unusable, no vote is left, or the anchor is not among the models.
        NoMaximum: Without a prior, the votes do not tie all models together.
    """
    told = take_options(options, changes)
    cast = take_votes(votes)
    board = _compute(cast, told, threads=threads, progress=progress)
    if fragility and is_plain(cast, told):
        return replace(board, fragility=measure_fragility(cast, told))
    return board


def _compute(
    cast: Comparisons | Votes, told: Options, *, threads: int | None, progress: Progress | None
) -> Leaderboard:
    noted: dict[str, Any] = {"both_bad_dropped": 0}
    if told.both_bad == "drop":
        cast, noted["both_bad_dropped"] = _drop_both_bad(cast)
    if isinstance(cast, Comparisons):
        _check_counts(told)
        counts = cast
    else:
        cast = apply_weighting(cast, told.weights)
        counts = cast.count()
        noted |= _describe_voters(cast, cluster=told.cluster)
    width = find_prior(told.prior, counts, both_bad=told.both_bad)
    weighted = not isinstance(cast, Comparisons) and cast.weight is not None
    if told.tie_model == "half" and not (
        told.cluster or told.adjust or told.adjust_side or weighted
    ):
        fit = fit_bradley_terry(counts, prior=width, both_bad=told.both_bad)
        spread = _spread_counts(counts, fit, told, threads=threads, progress=progress)
        return assemble(counts, fit, spread, told, noted=noted)
    rows = _make_rows(cast, told)
    paired = fit_paired(rows, tie_model=told.tie_model, prior=width)
    both = paired_intervals(
        paired, interval=told.interval, replicates=told.replicates, level=told.level,
        seed=told.seed, threads=threads, progress=progress,
    )  # fmt: skip
    coefficients = _list_coefficients(paired, both)
    return assemble(counts, paired, both.strengths, told, noted=noted, coefficients=coefficients)


def _check_counts(options: Options) -> None:
    """Refuse options that need single votes."""
    if options.cluster or options.adjust or options.weights == "design":
        raise RankingError(
            "counts name no voters, covariates or draw probabilities; pass Votes instead"
        )


def _drop_both_bad(votes: Comparisons | Votes) -> tuple[Comparisons | Votes, int]:
    """The votes without the both-bad ones, and how many those were."""
    is_bad = votes.outcome == BOTH_BAD
    if is_bad.all():
        raise RankingError(
            "every vote is both-bad: none is left to rank by; keep them, or count them as ties"
        )
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
    options: Options,
    *,
    threads: int | None,
    progress: Progress | None,
) -> Intervals:
    if options.is_resampled:
        return bootstrap_intervals(
            counts, fit, replicates=options.replicates, level=options.level,
            pivot=options.interval == "pivot", both_bad=options.both_bad, seed=options.seed,
            threads=threads, progress=progress,
        )  # fmt: skip
    return sandwich_intervals(
        counts, fit, level=options.level, both_bad=options.both_bad, seed=options.seed
    )


def _list_coefficients(fit: PairedFit, spread: PairedIntervals) -> tuple[Coefficient, ...]:
    names = [*fit.names, *(["log tie parameter"] if fit.fits_ties else [])]
    size = len(fit.models)
    columns = (names, fit.parameters[size:], spread.lower[size:], spread.upper[size:])
    return tuple(
        Coefficient(name, float(estimate), float(lower), float(upper))
        for name, estimate, lower, upper in zip(*columns, strict=True)
    )


def _make_rows(votes: Comparisons | Votes, options: Options) -> Rows:
    if isinstance(votes, Comparisons):
        rows = Rows.from_comparisons(votes, both_bad=options.both_bad)
    elif options.adjust and votes.covariates is None:
        raise RankingError("there are no covariates to adjust for")
    else:
        rows = votes.to_rows(
            both_bad=options.both_bad, cluster=options.cluster, adjust=options.adjust
        )
    return add_side(rows) if options.adjust_side else rows


def assemble(
    counts: Comparisons,
    fit: BradleyTerryFit | PairedFit,
    spread: Intervals,
    options: Options,
    *,
    noted: dict[str, Any],
    coefficients: tuple[Coefficient, ...] = (),
) -> Leaderboard:
    """Everything a board shows, from a fit and its intervals."""
    order = order_models(fit)
    lines = build_entries(counts, fit, spread, centre=find_centres(fit, options.anchor))
    diagnostics = {**diagnose(counts, fit, spread), **noted}
    diagnostics["side_bias"] = describe_side(
        counts, fit.strengths, prior=fit.prior, both_bad=options.both_bad, level=options.level
    )
    if options.both_bad == "drop":
        # Nobody knows the rate of what is taken for not cast.
        lines = [replace(line, both_bad_rate=None) for line in lines]
        diagnostics["both_bad_rate"] = None
    battles, rates = build_pair_tables(counts, order)
    return Leaderboard(
        entries=tuple(lines[i] for i in order),
        battles=battles,
        win_rates=rates,
        coefficients=coefficients,
        method={
            **options.to_dict(),
            "prior_sd": fit.prior,
            "simultaneous_multiplier": spread.multiplier,
        },
        diagnostics=diagnostics,
    )
