"""A verdict on the same two answers in both orders: one rule for all who need it.

After Zheng et al. (2023): a verdict counts only if both orders agree, else it is a tie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranking.votes.encoding import MODEL_A, MODEL_B, OUTCOMES, TIE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["UNPARSABLE", "combine_codes"]

UNPARSABLE = -1
"""The code of a verdict that could not be read."""


def _tabulate() -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The verdict and the consistency of every pair of verdicts, by their codes plus one."""
    codes = np.arange(UNPARSABLE, len(OUTCOMES))
    straight, swapped = np.meshgrid(codes, codes, indexing="ij")
    margin = (codes == MODEL_A).astype(np.int64) - (codes == MODEL_B)
    # What the place shown first gained: won minus lost, over both orders. With a tie in one
    # and both-bad in the other no place gained, so that is consistent, and a tie.
    gain = margin[:, None] - margin[None, :]
    unread = (straight == UNPARSABLE) | (swapped == UNPARSABLE)
    verdict = np.where(straight == swapped, straight, TIE)
    how = np.select([unread, gain > 0, gain < 0], [3, 1, 2], default=0)
    return np.where(unread, UNPARSABLE, verdict).astype(np.int8), how.astype(np.int8)


_VERDICTS, _CONSISTENCIES = _tabulate()


def combine_codes(
    straight: ArrayLike, swapped: ArrayLike
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The one verdict of each battle, and how the two go together.

    Args:
        straight: Index into `OUTCOMES` or `UNPARSABLE`, with the first model shown first.
        swapped: Still about the same models, with the second model shown first.

    Returns:
        The verdicts, and 0 where the places did not matter, 1 where the first place gained,
        2 where the second did, 3 where a verdict could not be read.
    """
    at = np.asarray(straight, dtype=np.intp) + 1, np.asarray(swapped, dtype=np.intp) + 1
    return _VERDICTS[at], _CONSISTENCIES[at]
