"""How often the 95 % intervals hold the truth, over simulated arenas.

Run from the repository root (-P, so that `ranking` is the package and not the file beside
this one):

    python -P tests/benchmarks/coverage.py --arenas 1000 --seed 2026000

`--only` takes the designs that are wanted, by parts of their names.

No constant of the intervals was chosen on arenas of the default seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranking import Rows, Votes, compute_leaderboard, fit_paired
from ranking.errors import TooFewVoters
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
TIE = 0.6
VOTER_SPREAD = 0.5
# Votes a voter: their logarithm's standard deviation, and the exponent of their tail.
LOGNORMAL, PARETO = 1.25, 1.16

Votings = Literal["alike", "lognormal", "pareto"]


@dataclass(frozen=True)
class Design:
    """How an arena is simulated, and what its intervals are told about it.

    Attributes:
        name: In the table.
        votes: Within groups.
        sizes: Models of each group; the groups never meet, but for `bridges`.
        lift: By how many log-odds each group is better than the next.
        bridges: Games in which a model of the next group loses to one of a group.
        tie: Davidson's ν.
        voters: Number of voters with tastes of their own; None for anonymous votes.
        voting: How unequally they vote.
        adaptive: Whether close pairs are drawn more often, and weighted back.
        cluster: Whether intervals are told who voted.
        davidson: Whether ties are read as Davidson does, instead of as halves.
    """

    name: str
    votes: int
    sizes: tuple[int, ...] = (20,)
    lift: float = 0.0
    bridges: int = 0
    tie: float = 0.0
    voters: int | None = None
    voting: Votings = "alike"
    adaptive: bool = False
    cluster: bool = False
    davidson: bool = False

    @property
    def models(self) -> int:
        """Of all groups."""
        return sum(self.sizes)

    @property
    def group(self) -> NDArray[np.intp]:
        """That of each model."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


DESIGNS = (
    Design("dense, 10,000 votes", 10_000),
    Design("dense with ties, 10,000 votes", 10_000, tie=TIE),
    Design("1,000 votes", 1_000),
    Design("sparse, 300 votes", 300),
    Design("adaptive draws, design weights, 5,000 votes", 5_000, tie=TIE, adaptive=True),
    Design("100 voters with 50 votes each, by voter", 5_000, voters=100, cluster=True),
    Design("100 voters with 50 votes each, voters ignored", 5_000, voters=100),
    Design("10 voters with 150 votes each, by voter", 1_500, voters=10, cluster=True),
    Design("5 voters with 300 votes each, by voter", 1_500, voters=5, cluster=True),
    Design("100 voters, lognormal", 5_000, voters=100, voting="lognormal", cluster=True),
    Design("300 voters, lognormal", 5_000, voters=300, voting="lognormal", cluster=True),
    Design("1,000 voters, Pareto", 10_000, voters=1_000, voting="pareto", cluster=True),
    Design("10,000 voters, Pareto", 20_000, voters=10_000, voting="pareto", cluster=True),
    Design("groups of 7 and 5", 1_500, sizes=(7, 5)),
    Design("groups of 8 and 4, the first 2 log-odds better", 1_500, sizes=(8, 4), lift=2.0),
    Design("groups of 6, 4 and 2", 1_000, sizes=(6, 4, 2), lift=1.0),
    Design("groups of 7 and 5, sparse, 120 votes", 120, sizes=(7, 5)),
    Design("tiers of 7 and 5, 3 one-sided games", 1_500, sizes=(7, 5), bridges=3),
    Design("tiers 3 log-odds apart, 20 games", 1_500, sizes=(7, 5), lift=3.0, bridges=20),
    Design("one undefeated in 8 games, and 11", 1_000, sizes=(1, 11), lift=1.5, bridges=8),
    Design("two that lost all of 5 games, and 10", 800, sizes=(10, 1, 1), lift=1.0, bridges=5),
    Design("groups of 7 and 5, ties by Davidson", 1_500, sizes=(7, 5), tie=TIE, davidson=True),
    Design(
        "groups of 7 and 5, 100 voters, lognormal", 3_000, sizes=(7, 5),
        voters=100, voting="lognormal", cluster=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that held the truth.

    Attributes:
        arenas: Arenas simulated, but for those in which one voter cast nearly all votes.
        single: Share over the models of all arenas that the votes hold.
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
    """What infinitely many votes on uniformly drawn pairs of a group say."""
    if (not design.tie and design.voters is None) or design.davidson:
        return strengths
    found = np.zeros_like(strengths)
    for group in np.unique(design.group):
        here = np.flatnonzero(design.group == group)
        if len(here) > 1:
            found[here] = _expect_strengths(strengths[here], design)
    return found


def _expect_strengths(strengths: Floats, design: Design) -> Floats:
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
    rng = np.random.default_rng([seed, 1])
    shares = None
    if design.voters is not None and design.voting == "lognormal":
        shares = rng.lognormal(0.0, LOGNORMAL, design.voters)
    elif design.voters is not None and design.voting == "pareto":
        shares = rng.pareto(PARETO, design.voters) + 1.0
    together = design.group[:, None] == design.group
    within = (together & ~np.eye(design.models, dtype=bool)).astype(float)
    votes = simulate_votes(
        strengths,
        design.votes,
        seed=seed,
        pair_weights=within if len(design.sizes) > 1 else None,
        tie=design.tie,
        voters=design.voters,
        voter_spread=VOTER_SPREAD,
        voter_shares=shares,
    )
    return _bridge(votes, design, rng) if design.bridges else votes


def _bridge(votes: Votes, design: Design, rng: np.random.Generator) -> Votes:
    """One-sided games of each group against the next, added to anonymous votes."""
    ends = np.cumsum(design.sizes)
    games = design.bridges
    above, below = [], []
    for start, middle, end in zip([0, *ends], ends, ends[1:], strict=False):
        above.append(rng.integers(start, middle, games))
        below.append(rng.integers(middle, end, games))
    a, b = np.concatenate(above), np.concatenate(below)
    return Votes(
        models=votes.models,
        model_a=np.concatenate([votes.model_a, a]).astype(np.int32),
        model_b=np.concatenate([votes.model_b, b]).astype(np.int32),
        outcome=np.concatenate([votes.outcome, np.zeros(len(a), dtype=np.int8)]),
    )


def cover(design: Design, kinds: Sequence[IntervalKind], seed: int, replicates: int) -> Floats:
    """Share of intervals that hold, whether all simultaneous ones do, and all rank ranges.

    Returns:
        Shape (kinds, 3); NaN where one voter cast nearly all votes.
    """
    strengths = draw_strengths(design.models, seed=seed) - design.lift * design.group
    truth = target(strengths, design)
    votes = simulate(strengths, design, seed + 1_000_000)
    found = []
    for kind in kinds:
        try:
            board = compute_leaderboard(
                votes,
                tie_model="davidson" if design.davidson else "half",
                interval=kind,
                replicates=replicates,
                cluster=design.cluster,
                weights="design" if design.adaptive else "uniform",
                threads=1,
                seed=seed,
            )
        except TooFewVoters:
            return np.full((len(kinds), 3), np.nan)
        found.append(_check(board, truth))
    return np.array(found)


def _check(board: Leaderboard, truth: Floats) -> tuple[float, bool, bool]:
    entries = [board[f"model-{i:02d}"] for i in range(len(truth))]
    lower, upper = np.array([(e.lower, e.upper) for e in entries]).T
    low, high = np.array([(e.simultaneous_lower, e.simultaneous_upper) for e in entries]).T
    island = np.array([e.island for e in entries])
    held = np.array([not e.provisional for e in entries])
    scores = SCORE_CENTRE + POINTS_PER_LOG_ODDS * _centre(truth, island, held)
    ranks = 1 + ((truth[None, :] > truth[:, None]) & (island[:, None] == island)).sum(axis=1)
    ranked = all(e.rank_lower <= r <= e.rank_upper for e, r in zip(entries, ranks, strict=True))
    own = (lower <= scores) & (scores <= upper)
    return float(own[held].mean()), bool(((low <= scores) & (scores <= high)).all()), ranked


def _centre(truth: Floats, island: NDArray[np.intp], held: NDArray[np.bool_]) -> Floats:
    """The truth less the mean, in each group, of the models that the votes hold."""
    centred = truth.copy()
    for number in np.unique(island):
        here = island == number
        among = here & held if (here & held).any() else here
        centred[here] -= truth[among].mean()
    return centred


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
    results = results[~np.isnan(results).any(axis=(1, 2))]
    return {
        kind: Coverage(
            arenas=len(results),
            single=float(results[:, i, 0].mean()),
            standard_error=float(results[:, i, 0].std() / np.sqrt(len(results))),
            whole=float(results[:, i, 1].mean()),
            ranks=float(results[:, i, 2].mean()),
        )
        for i, kind in enumerate(kinds)
    }


def tabulate(
    designs: Sequence[Design],
    kinds: Sequence[IntervalKind],
    arenas: int,
    *,
    seed: int,
    replicates: int,
) -> Iterator[str]:
    """Lines of a Markdown table, one a design; a dash for a kind that was not asked for."""
    yield (
        "| design | percentile | pivot | sandwich "
        "| all models at once, percentile / sandwich | all ranks, percentile / sandwich |"
    )
    yield "|---|---|---|---|---|---|"
    for design in designs:
        start = time.perf_counter()
        found = measure_coverage(design, kinds, arenas=arenas, seed=seed, replicates=replicates)
        asked = [found.get(kind) for kind in KINDS]
        cells = [
            "–" if c is None else f"{100 * c.single:.1f} ± {100 * c.standard_error:.1f}"
            for c in asked
        ]
        pair = (found.get("bootstrap"), found.get("sandwich"))
        cells.append(" / ".join("–" if c is None else f"{100 * c.whole:.1f}" for c in pair))
        cells.append(" / ".join("–" if c is None else f"{100 * c.ranks:.1f}" for c in pair))
        yield f"| {design.name} | " + " | ".join(cells) + " |"
        took = f"{time.perf_counter() - start:.0f} s, {next(iter(found.values())).arenas} arenas"
        print(f"{design.name}: {took}", file=sys.stderr, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arenas", type=int, default=1000)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=SEED, help="of the first arena")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of designs")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    designs = [d for d in DESIGNS if any(part in d.name for part in options.only)]
    lines = tabulate(
        designs, options.kinds, options.arenas, seed=options.seed, replicates=options.replicates
    )
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
