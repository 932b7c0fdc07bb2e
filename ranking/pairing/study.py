"""Policies against uniform drawing over many arenas with known strengths."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

import numpy as np

from ranking.errors import RankingError
from ranking.pairing.play import Course, Crowd, Drawing, play_arena, play_newcomer
from ranking.pairing.simulate import REAL_SPREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Measure = Literal["resolved", "tau", "error"]
Place = Literal["best", "middle", "worst"]
MEASURES: tuple[Measure, ...] = ("resolved", "tau", "error")

HORIZON = 3
"""Uniform drawing is followed up to this many times the votes of a policy."""

_RESAMPLES = 200
_BASELINE = "uniform drawing"


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """What is simulated.

    Attributes:
        drawings: The ways of drawing to compare.
        votes: Votes of an arena.
        arenas: Arenas to simulate.
        models: Models of an arena.
        pool: Strengths to take models from, without replacement and anew for each arena;
            normal ones by default.
        spread: Standard deviation of normal strengths, log-odds.
        crowd: Who votes.
        favourite: Which model the fans among them vote for.
        goals: Values for which to count the votes needed.
        head_start: Votes on the others before a newcomer arrives; None for no newcomer.
        seed: The same seed gives the same results, on any number of processes.
    """

    drawings: tuple[Drawing, ...]
    votes: int
    arenas: int = 30
    models: int = 20
    pool: tuple[float, ...] = ()
    spread: float = REAL_SPREAD
    crowd: Crowd = field(default_factory=Crowd)
    favourite: Place = "worst"
    goals: tuple[tuple[Measure, float], ...] = ()
    head_start: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        least = 3 if self.head_start is not None else 2
        if self.models < least:
            raise RankingError(f"{self.models} models: need {least} or more")
        if self.pool and self.models > len(self.pool):
            raise RankingError(
                f"{self.models} models cannot be taken from {len(self.pool)} strengths"
            )
        if self.arenas < 1 or self.votes < 1:
            raise RankingError(f"{self.arenas} arenas of {self.votes} votes: need 1 or more")

    def draw_strengths(self, arena: int) -> Floats:
        """The centred strengths of one arena, shape (models,); a newcomer is the last."""
        rng = np.random.default_rng([self.seed, arena])
        if self.pool:
            strengths = rng.choice(np.array(self.pool), self.models, replace=False)
        else:
            strengths = rng.normal(0.0, self.spread, self.models)
        return np.asarray(strengths - strengths.mean())

    def find_crowd(self, strengths: Floats) -> Crowd:
        """The crowd, with its favourite among these models."""
        place = {"best": -1, "middle": len(strengths) // 2, "worst": 0}[self.favourite]
        return replace(self.crowd, favourite=int(np.argsort(strengths)[place]))


@dataclass(frozen=True)
class Spread:
    """Median and quartiles over arenas."""

    median: float
    lower: float
    upper: float

    @classmethod
    def over(cls, values: Iterable[float]) -> Spread:
        """Of some values; infinite where a goal was not reached."""
        ordered = np.sort(np.array(list(values), dtype=float))
        # Nearest ranks: between a number and "never" there is nothing to interpolate.
        lower, median, upper = np.quantile(ordered, [0.25, 0.5, 0.75], method="nearest")
        return cls(median=float(median), lower=float(lower), upper=float(upper))


@dataclass(frozen=True)
class PolicyResult:
    """One way of drawing, over all arenas.

    Attributes:
        policy: Its name.
        exploration: Share of uniform drawing.
        resolved: Share of pairs resolved after the last vote.
        wrong: Share resolved the wrong way round.
        tau: Kendall's τ.
        error: Root mean square error of the scores, points.
        covered: Share of the 95 % intervals (posterior, no design weights) that hold the
            truth, mean over arenas.
        uniform_needs: Votes that uniform drawing needs in the same arena for the same value
            of each measure, as a multiple of the policy's; 3 stands for 3 or more.
        average_needs: The same from the mean courses over arenas, with the quartiles of a
            bootstrap of the arenas. A τ that moves in steps says little in one arena.
        goals: Votes needed for each goal, infinite where it was not reached.
        newcomer: Votes until a newcomer's standard error is within twice the others' median,
            if asked for.
        least_share: Smallest share of draws that the favourite was ever given.
        largest_share: Largest.
        course: Mean course: votes, resolved, τ and error.
    """

    policy: str
    exploration: float
    resolved: Spread
    wrong: Spread
    tau: Spread
    error: Spread
    covered: float
    uniform_needs: dict[Measure, Spread]
    average_needs: dict[Measure, Spread]
    goals: dict[str, Spread]
    newcomer: Spread | None
    least_share: float
    largest_share: float
    course: dict[str, list[float]]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, without infinities: null stands for a goal that was not reached."""
        return {key: _plain(value) for key, value in asdict(self).items()}


@dataclass(frozen=True)
class _Task:
    """One arena under one way of drawing; the last is the uniform baseline."""

    study: Study
    arena: int
    drawing: Drawing
    key: int
    votes: int


def compare_policies(
    study: Study,
    *,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[PolicyResult]:
    """Play every arena under every way of drawing, and uniformly beside them.

    Args:
        study: What to simulate.
        processes: Processes to use; all cores by default. More than one start afresh and
            import the main module: a script needs its `if __name__ == "__main__"`.
        progress: Called with how many of how many plays are done.

    Raises:
        ValueError: An unknown policy, or constraints that cannot be kept.
    """
    tasks = list(_plan(study))
    plays: list[tuple[Course, int | None]] = []
    workers = min(processes or os.cpu_count() or 1, len(tasks))
    for play in _run(tasks, workers):
        plays.append(play)
        if progress is not None:
            progress(len(plays), len(tasks))
    baselines = [course for course, _ in plays[: study.arenas]]
    results = []
    for i, drawing in enumerate(study.drawings, start=1):
        own = plays[i * study.arenas : (i + 1) * study.arenas]
        results.append(_summarise(study, drawing, own, baselines))
    return results


def _plan(study: Study) -> Iterable[_Task]:
    """All plays, the baselines first."""
    step = study.drawings[0].refit_every if study.drawings else 100
    baseline = Drawing(policy="uniform", exploration=1.0, refit_every=step)
    for arena in range(study.arenas):
        lone = replace(study, head_start=None)
        yield _Task(lone, arena, baseline, crc32(_BASELINE.encode()), HORIZON * study.votes)
    for drawing in study.drawings:
        # By name, so that the company a policy is in does not change its result.
        key = crc32(f"{drawing.policy} {drawing.exploration!r}".encode())
        for arena in range(study.arenas):
            yield _Task(study, arena, drawing, key, study.votes)


def _run(tasks: list[_Task], workers: int) -> Iterable[tuple[Course, int | None]]:
    if workers == 1:
        yield from map(_play, tasks)
        return
    # Spawned: a fork would copy locks that BLAS threads may hold.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(_play, tasks)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _play(task: _Task) -> tuple[Course, int | None]:
    study, seed = task.study, [task.study.seed, task.arena, task.key]
    strengths = study.draw_strengths(task.arena)
    crowd = study.find_crowd(strengths)
    course = play_arena(strengths, task.votes, seed=seed, drawing=task.drawing, crowd=crowd)
    if study.head_start is None:
        return course, None
    drawing = replace(task.drawing, refit_every=min(task.drawing.refit_every, 10))
    arrived = play_newcomer(
        strengths, study.head_start, seed=[*seed, 1], drawing=drawing, crowd=crowd
    )
    return course, arrived


def _summarise(
    study: Study,
    drawing: Drawing,
    plays: list[tuple[Course, int | None]],
    baselines: list[Course],
) -> PolicyResult:
    courses = [course for course, _ in plays]
    pairs = list(zip(courses, baselines, strict=True))
    favourites = [study.find_crowd(study.draw_strengths(a)).favourite for a in range(len(plays))]
    own = list(zip(courses, favourites, strict=True))
    newcomers = [votes for _, votes in plays if votes is not None]
    return PolicyResult(
        policy=drawing.policy,
        exploration=drawing.exploration,
        resolved=Spread.over(c.resolved[-1] for c in courses),
        wrong=Spread.over(c.wrong[-1] for c in courses),
        tau=Spread.over(c.tau[-1] for c in courses),
        error=Spread.over(c.error[-1] for c in courses),
        covered=float(np.mean([c.covered for c in courses])),
        uniform_needs={
            m: Spread.over(_compare(c, other, m) for c, other in pairs) for m in MEASURES
        },
        average_needs={m: _compare_means(pairs, m, study.seed) for m in MEASURES},
        goals={
            f"{m} {goal:g}": Spread.over(_reach(c, m, goal) for c in courses)
            for m, goal in study.goals
        },
        newcomer=Spread.over(newcomers) if newcomers else None,
        least_share=min(float(c.least_share[f]) for c, f in own),
        largest_share=max(float(c.largest_share[f]) for c, f in own),
        course={
            name: np.mean([getattr(c, name) for c in courses], axis=0).tolist()
            for name in ("votes", *MEASURES)
        },
    )


def _smooth(values: Floats, measure: Measure) -> Floats:
    """The closest course that only ever gets better, as it would be over endless arenas."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, increasing=measure != "error").x)


def _reach(course: Course, measure: Measure, goal: float) -> float:
    """Votes needed for a value, infinite where it is not reached."""
    sign = _sign(measure)
    values = sign * _smooth(getattr(course, measure), measure)
    better = np.flatnonzero(values >= sign * goal)
    return float(course.votes[better[0]]) if better.size else np.inf


def _compare(own: Course, uniform: Course, measure: Measure) -> float:
    """Votes that uniform drawing needs for the policy's last value, over the policy's."""
    value = getattr(own, measure)[-1]
    needed = _needed(value, getattr(uniform, measure), uniform.votes, measure)
    return needed / float(own.votes[-1])


def _compare_means(pairs: list[tuple[Course, Course]], measure: Measure, seed: int) -> Spread:
    """The same for the means over arenas, and over resampled arenas."""
    last = np.array([getattr(own, measure)[-1] for own, _ in pairs])
    courses = np.array([getattr(uniform, measure) for _, uniform in pairs])
    own, uniform = pairs[0]
    rng = np.random.default_rng(seed)
    samples = [np.arange(len(pairs)), *rng.integers(0, len(pairs), (_RESAMPLES, len(pairs)))]
    needs = [
        _needed(float(last[s].mean()), courses[s].mean(axis=0), uniform.votes, measure)
        / own.votes[-1]
        for s in samples
    ]
    lower, upper = np.quantile(needs[1:], [0.25, 0.75])
    return Spread(median=float(needs[0]), lower=float(lower), upper=float(upper))


def _needed(value: float, course: Floats, votes: Floats, measure: Measure) -> float:
    """Votes after which a course has a value."""
    sign = _sign(measure)
    return float(np.interp(sign * value, sign * _smooth(course, measure), votes))


def _sign(measure: Measure) -> float:
    return -1.0 if measure == "error" else 1.0


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value
