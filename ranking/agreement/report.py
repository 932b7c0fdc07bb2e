"""Everything there is to say of who agrees with whom, in one frozen result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.agreement.habits import (
    SelfPreference,
    Verbosity,
    audit_lengths,
    audit_self_preference,
)
from ranking.agreement.intervals import FEW_JUDGES, ClusteredResampling
from ranking.agreement.judgements import CATEGORIES, Judgements
from ranking.agreement.rankings import BoardAgreement, KindBoard, compare_boards
from ranking.agreement.rates import Agreement, measure_agreements
from ranking.agreement.rubber_stamp import ArmEffect, measure_arms, select_blind
from ranking.agreement.study import (
    BothBadVerdicts,
    Ceiling,
    KindSummary,
    Study,
    summarise_kinds,
)
from ranking.checks import check_kind, is_table
from ranking.errors import RankingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from ranking.agreement.orders import OrderAudit
    from ranking.fits.prior import Prior

__all__ = ["AgreementReport", "agreement_report"]


@dataclass(frozen=True)
class AgreementReport:
    """Who agrees with whom, and how sure that is.

    Attributes:
        kinds: What each kind did.
        agreements: Of each two kinds, and among the individuals of each kind.
        repeats: Of individuals with themselves, where some judged a battle again.
        parts: The same as `agreements`, by category, turn, pair of models or another group.
        judges: Each individual against each kind, itself left out of it; and against the
            majority of it.
        ceilings: Agreement with a kind beside that within it.
        baselines: Each kind against the rules "longer answer" and "majority" (the usual
            verdict on the pair of models, from other items).
        boards: The leaderboard of each kind.
        board_agreements: How alike the leaderboards are.
        orders: Place bias of the judges that saw both orders.
        verbosity: Shares of longer answers chosen.
        self_preference: Judges and their own family.
        arms: Effects of showing a verdict; empty without a rubber-stamp study.
        method: Everything needed to compute it again from the same judgements.
    """

    kinds: tuple[KindSummary, ...]
    agreements: tuple[Agreement, ...]
    repeats: tuple[Agreement, ...] = ()
    parts: tuple[Agreement, ...] = ()
    judges: tuple[Agreement, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    baselines: tuple[Agreement, ...] = ()
    boards: tuple[KindBoard, ...] = ()
    board_agreements: tuple[BoardAgreement, ...] = ()
    orders: tuple[OrderAudit, ...] = ()
    verbosity: tuple[Verbosity, ...] = ()
    self_preference: tuple[SelfPreference, ...] = ()
    arms: tuple[ArmEffect, ...] = ()
    method: dict[str, Any] = field(default_factory=dict)

    def agreement(self, first: str, second: str) -> Agreement:
        """The agreement of two kinds, in whatever order, or within one.

        Raises:
            KeyError: The two have no battle in common.
        """
        for found in self.agreements:
            if {found.first, found.second} == {first, second}:
                return found
        raise KeyError((first, second))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def _take_judgements(data: Judgements | pd.DataFrame) -> Judgements:
    if is_table(data):
        return Judgements.from_frame(data)
    return check_kind(data, Judgements, "judgements", "read_judgements(path) or from_frame(table)")


def agreement_report(
    judgements: Judgements | pd.DataFrame,
    *,
    by: Sequence[str] = (),
    both_bad: BothBadVerdicts = "tie",
    families: Mapping[str, str] | None = None,
    arms: bool = False,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    prior: Prior = "fitted",
    min_pairs: int = 20,
    progress: Callable[[str], None] | None = None,
) -> AgreementReport:
    """Agreement of every two kinds, its intervals, and what judges are prone to.

    Judgements made after seeing a verdict (arms other than `blind`) enter `arms` only.

    Args:
        judgements: The long table, or a DataFrame as `Judgements.from_frame` reads it.
        by: Groups to split agreement by, "pair" for pairs of models.
        both_bad: "tie" counts a both-bad verdict as a tie, as published agreements do;
            "keep" makes it a fourth category (without ties it is left out either way).
        families: Families of judges and models by name, for self-preference.
        arms: Also measure the arms of a rubber-stamp study.
        replicates: Of the bootstraps.
        level: Confidence level of every interval.
        seed: The same seed gives the same intervals.
        prior: Of the leaderboards, as in `compute_leaderboard`.
        min_pairs: An individual with fewer pairs against a kind gets no line, and neither
            does a part.
        progress: Told what is being measured.

    Raises:
        InvalidVote: There is no such group, or arms are asked for and there are none.
        RankingError: An option is unusable, or no battle was judged blind.
    """
    if both_bad not in ("tie", "keep"):
        raise RankingError(f"both_bad must be 'tie' or 'keep', not {both_bad!r}")
    table = _take_judgements(judgements)
    tell = progress or (lambda _: None)
    resampling = ClusteredResampling(len(table.items), table.judge_kind, replicates, level, seed)
    blind = select_blind(table)
    if not len(blind):
        raise RankingError("no battle was judged blind: there is nothing to compare")
    study = Study(blind if both_bad == "keep" else blind.collapse(), both_bad, min_pairs)
    tell("Comparing kinds")
    agreements = measure_agreements(study.compare_kinds(), resampling)
    repeats = measure_agreements(study.compare_repeats(), resampling)
    baselines = measure_agreements(study.compare_baselines(), resampling)
    ceilings = tuple(study.measure_ceilings(resampling))
    tell("Comparing judges")
    judges = measure_agreements(study.compare_judges(), resampling)
    parts: list[Agreement] = []
    for group in by:
        tell(f"Comparing by {group}")
        parts += measure_agreements(study.compare_parts(group), resampling)
    tell("Comparing leaderboards")
    boards, board_agreements = compare_boards(study.table, resampling, prior=prior)
    return AgreementReport(
        kinds=tuple(summarise_kinds(blind)),
        agreements=tuple(agreements),
        repeats=tuple(repeats),
        parts=tuple(parts),
        judges=tuple(judges),
        ceilings=ceilings,
        baselines=tuple(baselines),
        boards=boards,
        board_agreements=board_agreements,
        orders=table.orders,
        verbosity=audit_lengths(study.table, resampling),
        self_preference=audit_self_preference(study.table, resampling, families=families),
        arms=measure_arms(table.collapse(), resampling) if arms else (),
        method={
            "judgements": len(table),
            "blind_judgements": len(blind),
            "items": len(np.unique(blind.item)),
            "categories": list(CATEGORIES[: study.categories]),
            "both_bad": both_bad,
            "by": list(by),
            "replicates": replicates,
            "level": level,
            "seed": seed,
            "prior": prior,
            "min_pairs": min_pairs,
            "few_judges": FEW_JUDGES,
        },
    )
