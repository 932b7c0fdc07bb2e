"""How often the 95 % intervals hold the truth, over simulated arenas.

Run from the repository root (-P, so that `ranking` is the package and not the file beside
this one):

    python -P tests/benchmarks/coverage.py --arenas 1000 --seed 2026000

No constant of the intervals was chosen on arenas of the default seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranking import Rows, Votes, compute_leaderboard, fit_paired
from ranking.fits.likelihoods import predict_outcomes
from ranking.pairing.simulate import draw_strengths, simulate_adaptive, simulate_votes
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ranking import Leaderboard
    from ranking.intervals.intervals import IntervalKind

    Floats = NDArray[np.float64]

KINDS: tuple[IntervalKind, ...] = ("bootstrap", "pivot", "sandwich")
SEED = 2_026_000
MODELS = 20
TIE = 0.6
VOTER_SPREAD = 0.5


@dataclass(frozen=True)
class Design:
    """How an arena is simulated, and what its intervals are told about it."""

    name: str
    votes: int
    tie: float = 0.0
    voters: int | None = None
    adaptive: bool = False
    cluster: bool = False


DESIGNS = (
    Design("dense, 10,000 votes", 10_000),
    Design("dense with ties, 10,000 votes", 10_000, tie=TIE),
    Design("1,000 votes", 1_000),
    Design("sparse, 300 votes", 300),
    Design("adaptive draws, design weights, 5,000 votes", 5_000, tie=TIE, adaptive=True),
    Design("100 voters with 50 votes each, by voter", 5_000, voters=100, cluster=True),
    Design("100 voters with 50 votes each, voters ignored", 5_000, voters=100),
    Design("10 voters with 150 votes each, by voter", 1_500, voters=10, cluster=True),
)


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that held the truth.

    Attributes:
        arenas: Arenas simulated.
        single: Share over all models of all arenas.
        standard_error: Of `single`, from the differences between arenas.
        whole: Share of arenas whose simultaneous intervals hold the truth of every model.
        ranks: Share of arenas whose rank ranges hold the true rank of every model.
    """

    arenas: int
    single: float
    standard_error: float
    whole: float
    ranks: float


def target(strengths: Floats, design: Design) -> Floats:
    """What half-tie Bradley–Terry estimates from infinitely many uniformly drawn votes."""
    if not design.tie and design.voters is None:
        return strengths
    spread = VOTER_SPREAD * np.sqrt(2) if design.voters else 0.0
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(41)
    first, second = np.triu_indices(len(strengths), 1)
    margin = (strengths[first] - strengths[second])[:, None] + spread * nodes[None, :]
    tau = np.log(design.tie) if design.tie else -np.inf
    p = predict_outcomes("davidson", margin.ravel(), tau).reshape(len(first), -1, 3)
    chance = np.einsum("pnk,n->pk", p, node_weights / node_weights.sum())
    rows = Rows(
        models=tuple(map(str, range(len(strengths)))),
        first=np.repeat(first, 3),
        second=np.repeat(second, 3),
        outcome=np.tile(np.arange(3, dtype=np.int8), len(first)),
        count=chance.ravel() * 1e6,
        vote_weight=np.ones(3 * len(first)),
    )
    return fit_paired(rows, prior=None).strengths


def simulate(strengths: Floats, design: Design, seed: int) -> Votes:
    """One arena of a design."""
    if design.adaptive:
        votes, chance = simulate_adaptive(strengths, design.votes, seed=seed, tie=design.tie)
        return replace(votes, draw_probability=chance)
    return simulate_votes(
        strengths,
        design.votes,
        seed=seed,
        tie=design.tie,
        voters=design.voters,
        voter_spread=VOTER_SPREAD,
    )


def cover(design: Design, kinds: Sequence[IntervalKind], seed: int, replicates: int) -> Floats:
    """Share of intervals that hold, whether all simultaneous ones do, and all rank ranges.

    Returns:
        Shape (kinds, 3).
    """
    strengths = draw_strengths(MODELS, seed=seed)
    truth = SCORE_CENTRE + POINTS_PER_LOG_ODDS * target(strengths, design)
    votes = simulate(strengths, design, seed + 1_000_000)
    boards = [
        compute_leaderboard(
            votes,
            interval=kind,
            replicates=replicates,
            cluster=design.cluster,
            weights="design" if design.adaptive else "uniform",
            threads=1,
            seed=seed,
        )
        for kind in kinds
    ]
    return np.array([_check(board, truth) for board in boards])


def _check(board: Leaderboard, truth: Floats) -> tuple[float, bool, bool]:
    entries = [board[f"model-{i:02d}"] for i in range(MODELS)]
    lower, upper = np.array([(e.lower, e.upper) for e in entries]).T
    whole = all(
        e.simultaneous_lower <= t <= e.simultaneous_upper
        for e, t in zip(entries, truth, strict=True)
    )
    ranks = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    ranked = all(e.rank_lower <= r <= e.rank_upper for e, r in zip(entries, ranks, strict=True))
    return float(((lower <= truth) & (truth <= upper)).mean()), whole, ranked


def measure_coverage(
    design: Design,
    kinds: Sequence[IntervalKind],
    *,
    arenas: int,
    seed: int = SEED,
    replicates: int = 400,
) -> dict[IntervalKind, Coverage]:
    """Simulate arenas of consecutive seeds and count."""
    results = np.array([cover(design, kinds, seed + i, replicates) for i in range(arenas)])
    return {
        kind: Coverage(
            arenas=arenas,
            single=float(results[:, i, 0].mean()),
            standard_error=float(results[:, i, 0].std() / np.sqrt(arenas)),
            whole=float(results[:, i, 1].mean()),
            ranks=float(results[:, i, 2].mean()),
        )
        for i, kind in enumerate(kinds)
    }


def tabulate(arenas: int, *, seed: int, replicates: int) -> Iterator[str]:
    """Lines of a Markdown table, one a design."""
    yield (
        "| design | percentile | pivot | sandwich "
        "| all models at once, percentile / sandwich | all ranks, percentile / sandwich |"
    )
    yield "|---|---|---|---|---|---|"
    for design in DESIGNS:
        start = time.perf_counter()
        found = measure_coverage(design, KINDS, arenas=arenas, seed=seed, replicates=replicates)
        cells = [f"{100 * c.single:.1f} ± {100 * c.standard_error:.1f}" for c in found.values()]
        pair = (found["bootstrap"], found["sandwich"])
        cells.append(" / ".join(f"{100 * c.whole:.1f}" for c in pair))
        cells.append(" / ".join(f"{100 * c.ranks:.1f}" for c in pair))
        yield f"| {design.name} | " + " | ".join(cells) + " |"
        print(f"{design.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arenas", type=int, default=1000)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=SEED, help="of the first arena")
    options = parser.parse_args()
    lines = tabulate(options.arenas, seed=options.seed, replicates=options.replicates)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
