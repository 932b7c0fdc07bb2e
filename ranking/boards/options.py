"""What a leaderboard is: every choice that decides what it says, in one frozen recipe."""

from __future__ import annotations

import difflib
import math
import operator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from ranking.errors import RankingError
from ranking.fits.likelihoods import TieModel
from ranking.fits.prior import Prior
from ranking.intervals.intervals import IntervalKind
from ranking.votes.encoding import BothBad
from ranking.votes.weights import Weighting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, Unpack

__all__ = ["OptionKeywords", "Options", "Prior"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "tie_model": get_args(TieModel),
    "interval": get_args(IntervalKind),
    "both_bad": get_args(BothBad),
    "weights": get_args(Weighting),
}


class OptionKeywords(TypedDict, total=False):
    """`Options` as keywords of a call."""

    tie_model: TieModel
    interval: IntervalKind
    replicates: int
    level: float
    prior: Prior
    both_bad: BothBad
    cluster: bool
    adjust: bool
    adjust_side: bool
    weights: Weighting
    seed: int
    anchor: tuple[str, float] | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Options:
    """The recipe of a leaderboard: the same votes and options give the same board.

    Attributes:
        tie_model: How ties are read: "half" a win for each side (Bradley and Terry), or an
            outcome of its own by the model of "davidson" or of "rao-kupper".
        interval: "bootstrap" for its percentiles, "pivot" for a studentised one (bootstrap-t),
            or "sandwich" for the formula.
        replicates: Of a bootstrap, at least 2; the sandwich needs none.
        level: Confidence level of every interval, between 0 and 1.
        prior: Standard deviation of the Gaussian prior on each strength, log-odds; "fitted"
            for one as wide as the strengths themselves are, which intervals need where pairs
            are drawn by the votes so far; None for none.
        both_bad: "tie" counts both-bad votes as ties; "keep" makes them an outcome of its own,
            counted but without a say in the strengths; "drop" takes them for not cast.
        cluster: Sum or resample by voter: votes of one person are not independent.
        adjust: Strengths adjusted for the votes' covariates (style).
        adjust_side: Strengths adjusted for the advantage of the left side.
        weights: "given" (those of the votes, if any), "uniform", or "design" (inverse draw
            probability: strengths as if every pair had been drawn alike).
        seed: Of all that is random, a whole number ≥ 0.
        anchor: A model and the score to show it at. It shifts what is shown, not the
            intervals, which remain those of the centred strengths.

    Raises:
        RankingError: An option is unusable; it is named with its value and what it may be.
    """

    tie_model: TieModel = "half"
    interval: IntervalKind = "bootstrap"
    replicates: int = 1000
    level: float = 0.95
    prior: Prior = "fitted"
    both_bad: BothBad = "tie"
    cluster: bool = False
    adjust: bool = False
    adjust_side: bool = False
    weights: Weighting = "given"
    seed: int = 0
    anchor: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                self._refuse(name, f"one of {', '.join(map(repr, choices))}")
        for name in ("cluster", "adjust", "adjust_side"):
            if getattr(self, name) not in (True, False):
                self._refuse(name, "True or False")
        self._set(replicates=self._read_whole("replicates", least=2))
        self._set(seed=self._read_whole("seed", least=0))
        level = _read_number(self.level)
        if not 0 < level < 1:
            self._refuse("level", "between 0 and 1, such as 0.95")
        self._set(level=level, prior=self._read_prior(), anchor=self._read_anchor())

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        told = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"Options({', '.join(told)})"

    @property
    def is_resampled(self) -> bool:
        """Whether intervals come from a bootstrap."""
        return self.interval != "sandwich"

    def change(self, **changes: Unpack[OptionKeywords]) -> Options:
        """The same options but for some.

        Raises:
            RankingError: There is no such option, or its value is unusable.
        """
        check_names(changes)
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` gives the same options back."""
        return {**asdict(self), "anchor": list(self.anchor) if self.anchor else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; what is not told is the default.

        Raises:
            RankingError: There is no such option, or its value is unusable.
        """
        check_names(data)
        return cls(**data)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _refuse(self, name: str, allowed: str) -> None:
        raise RankingError(f"{name} must be {allowed}, not {getattr(self, name)!r}")

    def _read_whole(self, name: str, *, least: int) -> int:
        value = getattr(self, name)
        try:
            number = -1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = -1
        if number < least:
            self._refuse(name, f"a whole number of at least {least}")
        return number

    def _read_prior(self) -> Prior:
        if self.prior is None or isinstance(self.prior, str):
            if self.prior not in (None, "fitted"):
                self._refuse("prior", _PRIORS)
            return self.prior
        width = _read_number(self.prior)
        if not 0 < width < math.inf:
            self._refuse("prior", _PRIORS)
        return width

    def _read_anchor(self) -> tuple[str, float] | None:
        if self.anchor is None:
            return None
        try:
            name, score = self.anchor
        except (TypeError, ValueError):
            name, score = None, math.nan
        number = _read_number(score)
        if not isinstance(name, str) or not math.isfinite(number):
            self._refuse(
                "anchor", "a model's name and its score, such as ('alpha', 1000.0), or None"
            )
        return str(name), number


_PRIORS = "a standard deviation > 0 (log-odds), 'fitted', or None for no prior"

# What options were called elsewhere, and what to say here.
_OTHER_NAMES = {
    "model": "tie_model", "ties": "tie_model", "bootstrap": "interval='pivot' or replicates",
    "kind": "interval", "n_bootstrap": "replicates", "covariates": "adjust", "style": "adjust",
    "side": "adjust_side", "alpha": "level", "confidence": "level", "sd": "prior",
    "random_state": "seed",
}  # fmt: skip


def check_names(given: Mapping[str, Any]) -> None:
    """Refuse a keyword that is no option.

    Raises:
        RankingError: It is named, with the option that may have been meant.
    """
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = _OTHER_NAMES.get(name) or (near[0] if near else "")
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}"
            raise RankingError(f"there is no option {name!r}; {hint}")


def take_options(options: Options | None, changes: OptionKeywords) -> Options:
    """The options of a call: those given, or the default ones, changed by its keywords.

    Raises:
        RankingError: They are no options, or an option is unusable.
    """
    if options is None:
        options = Options()
    if not isinstance(options, Options):
        raise RankingError(
            f"options must be ranking.Options, not {type(options).__name__}; from JSON they are "
            "read by Options.from_dict"
        )
    return options.change(**changes)


def _read_number(value: object) -> float:
    """The number that it is, NaN where it is none."""
    if isinstance(value, (bool, str)):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type] # what it may be is what is asked here
    except (TypeError, ValueError):
        return math.nan
