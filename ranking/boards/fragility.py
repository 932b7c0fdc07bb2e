"""How many votes it would take to change who stands at a rank.

Which votes matter most is told by their influence on the difference of two strengths, at the
fit; half of those that would do are then changed, the fit is made again, and so on until the
order is another (after Broderick, Giordano and Meager 2020, with refits: a single step tells
6 to 63 % too many votes to be dropped). The numbers are found, not proved least: "at most".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.boards.entries import order_models
from ranking.boards.influence import Change, Curve, Record, Slopes
from ranking.boards.options import Options, take_options
from ranking.errors import RankingError
from ranking.fits.bradley_terry import DEFAULT_PRIOR, check_prior, fit_bradley_terry, maximise
from ranking.fits.prior import find_prior
from ranking.fits.threads import one_blas_thread
from ranking.votes.inputs import take_votes
from ranking.votes.votes import Votes

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import NDArray

    from ranking.boards.options import OptionKeywords
    from ranking.votes.comparisons import Comparisons
    from ranking.votes.inputs import VotesLike

    Floats = NDArray[np.float64]

__all__ = ["Fragility", "Overturn", "measure_fragility"]


@dataclass(frozen=True)
class Overturn:
    """Votes that put another model first.

    Attributes:
        votes: How many, at most.
        share: Of the votes on record.
        challenger: Who then stands above.
    """

    votes: int
    share: float
    challenger: str


@dataclass(frozen=True)
class Fragility:
    """What it would take to put another model above that at a rank.

    Attributes:
        rank: Of the model.
        model: Its name.
        drop: Votes on record left out; None where no such votes do it.
        flip: Votes on record turned round, a tie into a win.
        add: Votes added, on pairs of one's own choice.
        battles: Votes added by somebody who cannot choose pairs, which fall as they did on
            record, and who votes each time for whom it serves.
    """

    rank: int
    model: str
    drop: Overturn | None
    flip: Overturn | None
    add: Overturn | None
    battles: Overturn | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Fragility:
        """Read what `to_dict` wrote."""
        told = {name: data[name] and Overturn(**data[name]) for name in _CHANGES}
        return cls(rank=data["rank"], model=data["model"], **told)


_CHANGES: tuple[Change, ...] = ("drop", "flip", "add", "battles")
# Closer strengths than this are equal: a fit ends at steps of 1e-10.
_EQUAL = 1e-9


@one_blas_thread
def measure_fragility(
    votes: VotesLike,
    options: Options | None = None,
    *,
    rank: int = 1,
    **changes: Unpack[OptionKeywords],
) -> Fragility | None:
    """At most how many votes, dropped, turned round or added, change who stands at a rank.

    Every model below it is tried as the one that overtakes it. Where models fall into islands it
    is the rank in the first of them.

    Args:
        votes: A table, single votes, counts, or a file as read.
        options: The recipe of the board; its prior keeps its width, and no prior is the weak
            one, for without votes that tie all models together there is no board to compare.
        rank: Whose place, 1 for the first.
        changes: Options by name, in place of those of the recipe.

    Returns:
        None where nobody of the island stands below, or only the prior keeps the model there.

    Raises:
        RankingError: An option is unusable, there are fewer models, or strengths are adjusted,
            weighted or of a tie model: there votes are not alike, and no count tells.
    """
    told = take_options(options, changes)
    cast = take_votes(votes)
    if not is_plain(cast, told):
        raise RankingError(
            "these votes are not alike, and no number of them tells: measure fragility without "
            "adjust, weights and tie_model"
        )
    counts = cast.count() if isinstance(cast, Votes) else cast
    if not 1 <= rank <= len(counts.models):
        raise RankingError(f"there is no rank {rank} among {len(counts.models)} models")
    width = find_prior(told.prior, counts, both_bad=told.both_bad) or DEFAULT_PRIOR
    fit = fit_bradley_terry(counts, prior=width, both_bad=told.both_bad)
    # Of the first island, and only models that the votes hold where they stand.
    inside = [i for i in order_models(fit) if fit.components.island[i] == 0]
    if rank > len(inside):
        return None
    held = fit.components.reference
    members = [i for i in inside if held[i]]
    if not held[inside[rank - 1]] or members[-1] == inside[rank - 1]:
        return None
    record = Record.from_counts(counts, told.both_bad)
    search = _Search(record.restrict(members), check_prior(width), members.index(inside[rank - 1]))
    found = {change: search.run(change) for change in _CHANGES}
    return Fragility(
        rank=rank,
        model=counts.models[inside[rank - 1]],
        **{
            change: one and Overturn(one[0], one[0] / record.total, counts.models[members[one[1]]])
            for change, one in found.items()
        },
    )


def is_plain(votes: Votes | Comparisons, options: Options) -> bool:
    """Whether all votes of a board are alike: not adjusted, weighted, or of a tie model."""
    weighted = options.weights == "design" or (
        options.weights == "given" and isinstance(votes, Votes) and votes.weight is not None
    )
    adjusted = options.adjust or options.adjust_side
    return options.tie_model == "half" and not (adjusted or weighted)


class _Search:
    """Looks for the fewest changes of a kind that put a lower model above another.

    Args:
        record: The votes, models strongest first.
        precision: Of the prior.
        top: Who is to be overtaken.
    """

    def __init__(self, record: Record, precision: float, top: int) -> None:
        self._record = record
        self._precision = precision
        self._top = top
        self._strengths, _ = maximise(record.to_pairs(), precision=precision)
        self._curve = Curve.at(record, self._strengths, precision)

    def run(self, change: Change) -> tuple[int, int] | None:
        """The fewest votes found, and the rival; None where no rival can be put on top."""
        best: tuple[int, int] | None = None
        # The nearest rival is likely the cheapest, and gives the others a bound to stay below.
        for rival in range(self._top + 1, len(self._strengths)):
            most = np.inf if best is None else best[0] - 1
            votes = self._overturn(change, rival, most)
            if votes is not None:
                best = (votes, rival)
        return best

    def _overturn(self, change: Change, rival: int, most: float) -> int | None:
        """Votes that put a rival on top, if no more than `most` do."""
        record, strengths, curve, spent = self._record, self._strengths, self._curve, 0
        while (gap := float(strengths[self._top] - strengths[rival])) > _EQUAL:
            slopes = Slopes.of(curve, self._top, rival)
            step = slopes.plan(change, record, gap, most - spent)
            if step is None or spent + step.votes > most:
                return None
            record, spent = step.record, spent + step.votes
            strengths, _ = maximise(record.to_pairs(), precision=self._precision, start=strengths)
            curve = Curve.at(record, strengths, self._precision)
        return spent
