"""What the policies of drawing pairs save, and what they cost, on real strengths.

Run from the repository root (-P, so that `ranking` is the package and not a file beside this
one) with the file of strengths, and name the parts that are wanted:

    python -P tests/benchmarks/pairing.py own_fits.csv savings limits newcomer coverage fans speed
    python -P tests/benchmarks/pairing.py own_fits.csv mixtures --seed 101

The file is the public arena of 2024-08-14: 129 models, column bt_halftie.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from unittest.mock import patch

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from ranking import Options, compute_leaderboard
from ranking.fits.bradley_terry import DEFAULT_PRIOR, PairCounts
from ranking.pairing import policies
from ranking.pairing.constraints import PairConstraints, constrain
from ranking.pairing.play import Crowd, Drawing, play_arena, play_newcomer
from ranking.pairing.policies import POLICIES, pair_distribution
from ranking.pairing.posterior import Posterior
from ranking.pairing.simulate import draw_strengths, simulate_votes
from ranking.pairing.strength_files import read_strengths
from ranking.pairing.study import MEASURES, Spread, Study, compare_policies
from ranking.scale import POINTS_PER_LOG_ODDS, SCORE_CENTRE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ranking.pairing.study import Place

    Floats = NDArray[np.float64]

Result = TypeVar("Result")

# τ moves in steps: its mean over forty arenas still moves by a quarter.
SIZES = ((20, 16_000, 300), (60, 48_000, 200))
# Young arenas as well: there a model that luck puts too far out has had few votes to correct it.
COVERED = ((20, 1_000), (20, 4_000), *((models, votes) for models, votes, _ in SIZES))
FITS = 160
REPLICATES = 400
NEWCOMER = (20, 10_000)
MIXTURES = (0.0, 0.1, 0.15, 0.2, 0.25, 0.5)


@dataclass(frozen=True)
class Bench:
    """What every part needs: strengths, policies, how many arenas, how many processes."""

    pool: tuple[float, ...]
    policies: tuple[str, ...]
    arenas: int | None
    processes: int
    exploration: float
    seed: int


def describe(spread: Spread, digits: int = 2) -> str:
    """Median and quartiles."""
    return f"{spread.median:.{digits}f} ({spread.lower:.{digits}f}–{spread.upper:.{digits}f})"


def tabulate_savings(bench: Bench) -> Iterator[str]:
    """Votes that uniform drawing needs for the same, all models starting together."""
    yield (
        "| models, votes, arenas | policy | pairs resolved | uniform needs, same share "
        "| on average | same τ, on average | same error, on average | resolved wrongly "
        "| intervals hold |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for models, votes, arenas in SIZES:
        study = Study(
            drawings=tuple(
                Drawing(policy=p, exploration=bench.exploration, refit_every=votes // FITS)
                for p in bench.policies
            ),
            votes=votes,
            arenas=bench.arenas or arenas,
            models=models,
            pool=bench.pool,
            seed=bench.seed,
        )
        for result in compare_policies(study, processes=bench.processes):
            needs = " | ".join(describe(result.average_needs[m]) for m in MEASURES)
            yield (
                f"| {models}, {votes:,}, {study.arenas} | `{result.policy}` "
                f"| {100 * result.resolved.median:.1f} % "
                f"| {describe(result.uniform_needs['resolved'])} | {needs} "
                f"| {100 * result.wrong.median:.2f} % | {100 * result.covered:.1f} % |"
            )


def tabulate_mixtures(bench: Bench) -> Iterator[str]:
    """What a share of `information` in `uncertainty` costs of the order, and gives the scores."""
    yield (
        "| models, votes, arenas | share | uniform needs, same order, on average "
        "| same error, on average | intervals hold |"
    )
    yield "|---|---|---|---|---|"
    for (models, votes, arenas), share in product(SIZES, MIXTURES):
        drawing = Drawing(
            policy="tempered", exploration=bench.exploration, refit_every=votes // FITS
        )
        study = Study(
            drawings=(drawing,),
            votes=votes,
            arenas=bench.arenas or arenas,
            models=models,
            pool=bench.pool,
            seed=bench.seed,
        )
        with patch.object(policies, "TEMPER", share):
            (result,) = compare_policies(study, processes=1)
        order, error = (describe(result.average_needs[m]) for m in ("resolved", "error"))
        yield (
            f"| {models}, {votes:,}, {study.arenas} | {share:.0%} | {order} | {error} "
            f"| {100 * result.covered:.1f} % |"
        )


def tabulate_limits(bench: Bench) -> Iterator[str]:
    """What could be saved at all: pairs drawn in fixed shares, made with the truth in hand."""
    yield "| models, votes, arenas | uniform needs, for the same expected τ |"
    yield "|---|---|"
    for models, votes, _ in SIZES:
        study = Study(drawings=(), votes=votes, models=models, pool=bench.pool)
        arenas = range(bench.arenas or 30)
        play = partial(_foresee, study, bench.exploration)
        spread = Spread.over(_map(bench, play, arenas))
        yield f"| {models}, {votes:,}, {len(arenas)} | {describe(spread)} |"


def _foresee(study: Study, exploration: float, arena: int) -> float:
    """Times the votes with which uniform drawing leaves as few wrong orders; 6 for 6 or more.

    The shares descend the expected number of wrong orders, Σ Φ(−|Δ|/√v), by multiplication;
    a game on a pair k lowers it by Σ φ(z)·z/2v · (xᵢᵀ Σ x_k)² · p(1 − p).
    """
    strengths = study.draw_strengths(arena)
    models = len(strengths)
    pairs = np.triu_indices(models, 1)
    gap = np.abs(strengths[:, None] - strengths)
    information = expit(gap) * expit(-gap) * (1 - np.eye(models))
    uniform = (1 - np.eye(models)) / len(pairs[0])
    mean = np.full((models, models), 1 / models)

    def _expect(shares: Floats, votes: float) -> tuple[float, Floats]:
        games = votes * shares * information
        covariance = np.linalg.inv(np.diag(games.sum(axis=1)) - games + mean) - mean
        z = gap / np.sqrt(_spread_out(covariance) + np.eye(models))
        return float(ndtr(-z[pairs]).sum()), covariance

    shares, fewest = uniform, np.inf
    for step in range(400):
        used = (1 - exploration) * shares + exploration * uniform
        wrong, covariance = _expect(used, study.votes)
        fewest = min(fewest, wrong)
        variance = _spread_out(covariance) + np.eye(models)
        z = gap / np.sqrt(variance)
        pull = np.exp(-0.5 * z**2) * z / variance
        gain = information * _spread_out(covariance @ (np.diag(pull.sum(1)) - pull) @ covariance)
        shares = shares * np.exp(0.9 / np.sqrt(1 + step / 10) * gain / gain.max())
        shares = shares / shares[pairs].sum()
    needed = brentq(lambda x: _expect(uniform, x * study.votes)[0] - fewest, 0.9, 200.0)
    return min(float(needed), 6.0)


def _spread_out(matrix: Floats) -> Floats:
    """Variances of all differences: S_ii + S_jj − 2·S_ij, exactly symmetric."""
    own = matrix.diagonal()
    return np.asarray(own[:, None] + own - (matrix + matrix.T))


def tabulate_newcomers(bench: Bench) -> Iterator[str]:
    """Votes on all pairs until a newcomer is known."""
    models, head_start = NEWCOMER
    study = Study(drawings=(), votes=1, models=models, pool=bench.pool)
    arenas = range(bench.arenas or 30)
    yield "| policy | to twice the field's median standard error | to the median itself |"
    yield "|---|---|---|"
    for policy in bench.policies:
        drawing = Drawing(policy=policy, exploration=bench.exploration, refit_every=25)
        cells = []
        for known in (2.0, 1.0):
            play = partial(_arrive, study, head_start, drawing, known)
            cells.append(describe(Spread.over(_map(bench, play, arenas)), 0))
        yield f"| `{policy}` | {cells[0]} | {cells[1]} |"


def _arrive(study: Study, head_start: int, drawing: Drawing, known: float, arena: int) -> int:
    return play_newcomer(
        study.draw_strengths(arena), head_start, seed=[arena, 1], drawing=drawing, known=known
    )


def tabulate_coverage(bench: Bench) -> Iterator[str]:
    """How often 95 % intervals hold the truth, and what design weights cost.

    Sandwich intervals, but where the column says otherwise.
    """
    yield (
        "| models, votes | policy | weak prior | fitted prior | fitted prior, bootstrap "
        "| design weights | effective votes |"
    )
    yield "|---|---|---|---|---|---|---|"
    for (models, votes), policy in product(COVERED, bench.policies):
        drawing = Drawing(policy=policy, exploration=bench.exploration, refit_every=votes // FITS)
        study = Study(drawings=(), votes=votes, models=models, pool=bench.pool, seed=1)
        arenas = range(bench.arenas or 2_000 // models)
        found = np.array(_map(bench, partial(_cover, study, drawing), arenas))
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
        cells = [f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(mean[:-1], error, strict=False)]
        yield (
            f"| {models}, {votes:,} | `{policy}` | " + " | ".join(cells)
            + f" | {100 * mean[-1]:.0f} % |"
        )  # fmt: skip


def _cover(study: Study, drawing: Drawing, arena: int) -> list[float]:
    strengths = study.draw_strengths(arena)
    course = play_arena(
        strengths, study.votes, seed=[study.seed, arena, 2], drawing=drawing, record=True
    )
    assert course.record is not None
    truth = SCORE_CENTRE + POINTS_PER_LOG_ODDS * strengths
    fitted = Options(interval="sandwich", weights="uniform")
    kinds = (
        fitted.change(prior=DEFAULT_PRIOR),
        fitted,
        fitted.change(interval="bootstrap", replicates=REPLICATES),
        fitted.change(prior=DEFAULT_PRIOR, weights="design"),
    )
    shares = []
    for options in kinds:
        board = compute_leaderboard(course.record, options, threads=1)
        entries = [board[name] for name in course.record.models]
        held = [e.lower <= t <= e.upper for e, t in zip(entries, truth, strict=True)]
        shares.append(float(np.mean(held)))
    shares.append(board.diagnostics["effective_votes"] / study.votes)
    return shares


def tabulate_fans(bench: Bench) -> Iterator[str]:
    """A voter who always votes for one model: its share of the draws, and its score."""
    yield "| share of votes | favourite | bounds | its share of draws | its score, points off |"
    yield "|---|---|---|---|---|"
    models, votes, _ = SIZES[0]
    study = Study(drawings=(), votes=votes, models=models, pool=bench.pool, seed=2)
    places: tuple[Place, ...] = ("best", "worst")
    for fans, favourite, bound in product((0.05, 0.2), places, (False, True)):
        placed = replace(study, favourite=favourite, crowd=Crowd(fans=fans))
        play = partial(_favour, placed, bench.exploration, bound)
        found = np.array(_map(bench, play, range(bench.arenas or 30)))
        yield (
            f"| {fans:.0%} | {favourite} | {'5 % – 20 %' if bound else 'none'} "
            f"| {found[:, 0].min():.1%} – {found[:, 1].max():.1%} "
            f"| {np.median(found[:, 2]):+.0f} |"
        )


def _favour(
    study: Study, exploration: float, bound: bool, arena: int
) -> tuple[float, float, float]:
    strengths = study.draw_strengths(arena)
    everyone = range(study.models)
    bounds = PairConstraints(
        names=tuple(f"model {i}" for i in everyone),
        largest=dict.fromkeys(everyone, 0.2),
        least=dict.fromkeys(everyone, 0.05),
    )
    drawing = Drawing(
        exploration=exploration,
        refit_every=study.votes // FITS,
        constraints=bounds if bound else None,
    )
    crowd = study.find_crowd(strengths)
    i = crowd.favourite
    course = play_arena(strengths, study.votes, seed=[arena, 3], drawing=drawing, crowd=crowd)
    off = POINTS_PER_LOG_ODDS * (course.posterior.strengths[i] - strengths[i])
    return float(course.least_share[i]), float(course.largest_share[i]), float(off)


def tabulate_speed(bench: Bench) -> Iterator[str]:
    """Median processor times among 300 models: the machine may be busy with other things."""
    models = 300
    votes = simulate_votes(draw_strengths(models, seed=1), 60_000, seed=2)
    start = time.process_time()
    posterior = Posterior.from_counts(PairCounts.from_comparisons(votes.count()))
    yield f"full refit {1e3 * (time.process_time() - start):.0f} ms"
    for policy in bench.policies:
        weigh = partial(
            pair_distribution, posterior.strengths, posterior.covariance, posterior.counts,
            policy=policy, exploration=0.1,
        )  # fmt: skip
        yield f"weigh all pairs, {policy} {_time(weigh):.2f} ms"
    distribution = weigh()
    random = np.random.default_rng(1)
    yield f"draw one {_time(lambda: distribution.draw(random, 1)):.2f} ms"
    yield f"learn one vote {_time(lambda: posterior.update(3, 7, 1.0)):.2f} ms"
    names = tuple(map(str, range(models)))
    loose = PairConstraints(names=names, largest=dict.fromkeys(range(models), 0.5))
    tight = PairConstraints(names=names, least=dict.fromkeys(range(models), 0.004))
    yield f"bounds that are not reached {_time(lambda: constrain(distribution, loose)):.2f} ms"
    yield f"bounds that are reached {_time(lambda: constrain(distribution, tight)):.2f} ms"


def _time(work: Callable[[], object], repeats: int = 200) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times))


def _map(bench: Bench, play: Callable[[int], Result], arenas: range) -> list[Result]:
    if bench.processes == 1:
        return list(map(play, arenas))
    with ProcessPoolExecutor(bench.processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(play, arenas))


PARTS: dict[str, Callable[[Bench], Iterator[str]]] = {
    "savings": tabulate_savings,
    "mixtures": tabulate_mixtures,
    "limits": tabulate_limits,
    "newcomer": tabulate_newcomers,
    "coverage": tabulate_coverage,
    "fans": tabulate_fans,
    "speed": tabulate_speed,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--arenas", type=int, help="of every part, instead of its own number")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--exploration", type=float, default=0.1)
    parser.add_argument("--policies", nargs="*", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--seed", type=int, default=0, help="of savings and mixtures")
    options = parser.parse_args()
    pool = tuple(read_strengths(options.file, column="bt_halftie").strengths.values())
    bench = Bench(
        pool=pool,
        policies=tuple(options.policies),
        arenas=options.arenas,
        processes=options.processes,
        exploration=options.exploration,
        seed=options.seed,
    )
    for part in options.parts:
        start = time.perf_counter()
        print(f"\n{part}\n")
        for line in PARTS[part](bench):
            print(line, flush=True)
        print(f"\n({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
