from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom, chisquare, multinomial

from ranking.intervals.sampling import MultinomialSampler

if TYPE_CHECKING:
    from numpy.typing import NDArray


@pytest.mark.parametrize(
    "count",
    [
        np.array([1, 1, 2, 3, 30, 139, 140, 141, 900, 20_000]),
        np.array([900, 1, 20_000, 141, 3, 2, 140, 30, 1, 139]),
        np.array([5, 1, 30]),
    ],
    ids=["ascending", "shuffled", "few votes"],
)
def test_counts_are_multinomial(count: NDArray[np.int64]) -> None:
    total = int(count.sum())
    drawn = MultinomialSampler(count).draw(20_000, np.random.default_rng(1))
    assert (drawn.sum(axis=1) == total).all()
    assert (drawn >= 0).all()
    share = count / total
    expected = multinomial.cov(total, share)
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    error = 5 / np.sqrt(20_000)
    assert drawn.mean(axis=0) == pytest.approx(
        count.astype(float), abs=error * np.sqrt(expected.diagonal()).max(), rel=0.03
    )
    assert np.cov(drawn, rowvar=False) / scale == pytest.approx(expected / scale, abs=0.05)
    for cell in np.flatnonzero(count <= 141):
        observed = np.bincount(drawn[:, cell])
        chance = binom.pmf(np.arange(len(observed)), total, share[cell])
        often = chance * 20_000 >= 10
        seen = [*observed[often], observed[~often].sum()]
        wanted = [*(chance[often] * 20_000), 20_000 * (1 - chance[often].sum())]
        assert chisquare(seen, wanted).pvalue > 1e-5


def test_every_mean_that_is_tabled_has_its_own_moments() -> None:
    count = np.arange(1, 200).repeat(3)
    drawn = MultinomialSampler(count).draw(4_000, np.random.default_rng(2)).astype(float)
    z = (drawn.mean(axis=0) - count) / np.sqrt(count / 4_000)
    assert np.abs(z).max() < 5
    assert drawn.var(axis=0) / count == pytest.approx(np.ones(len(count)), abs=0.13)
