"""The judges' own board: the same ranking as people's, from verdicts of models alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranking import Leaderboard, Votes, compute_leaderboard
from ranking.fits.bradley_terry import DEFAULT_PRIOR

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from arena.store import JudgeVerdict
    from ranking.boards.split import BoardOptions

__all__ = ["rank_verdicts"]


def rank_verdicts(
    verdicts: Sequence[JudgeVerdict], **options: Unpack[BoardOptions]
) -> Leaderboard | None:
    """Ranks models by what judges said about them.

    A verdict that the two orders did not agree on counts as a tie. Verdicts on one battle
    are not independent, so the intervals resample battles with all that was said of them,
    where there are several.

    Args:
        verdicts: of one judge, or of several.
        options: for `ranking.compute_leaderboard`.

    Returns:
        The board, `None` where there are no verdicts.
    """
    if not verdicts:
        return None
    votes = Votes.from_columns(
        [verdict.model_a for verdict in verdicts],
        [verdict.model_b for verdict in verdicts],
        [str(verdict.verdict) for verdict in verdicts],
        # Whose votes go together: here those about one battle.
        voter=[verdict.battle_id for verdict in verdicts],
        groups={"category": [verdict.category for verdict in verdicts]},
    )
    told: BoardOptions = {
        "interval": "bootstrap",
        "cluster": len({verdict.battle_id for verdict in verdicts}) > 1,
        "seed": 0,
        "prior": DEFAULT_PRIOR,
        "both_bad": "tie",
        **options,
    }
    return compute_leaderboard(votes, **told)
