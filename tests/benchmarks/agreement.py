"""How fast an agreement report is, and how often its intervals hold the truth.

Run from the repository root (-P, so that `ranking` is the package and not a file beside
this one):

    python -P tests/benchmarks/agreement.py
    python -P tests/benchmarks/agreement.py --coverage --studies 1000

The first simulates 10,000 items with five judges, makes the whole report with 1,000
replicates, and times a plain Python loop that recounts a few replicates of one figure
(agreement of the experts, with ties) beside the same figure and the whole report here, in
CPU seconds of one run. The second prints a table of coverage.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd

from ranking import Judgements, agreement_report
from ranking.agreement.intervals import FEW_JUDGES, ClusteredResampling
from ranking.agreement.rates import RATES, measure_agreements
from ranking.agreement.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ranking.agreement.rates import Agreement

    Floats = NDArray[np.float64]

T = TypeVar("T")
LABELS = np.array(["model_a", "model_b", "tie"])
FIGURES = (*RATES, "cohen", "fleiss", "alpha", "ac1", "sideless")


@dataclass(frozen=True)
class Design:
    """How judgements are simulated.

    Attributes:
        name: What it stands for.
        items: Battles.
        panel: Individuals of each kind; they judge every battle.
        per_item: Draw this many of a kind for each battle instead.
        skill: How well a judge sees which answer is better, on average.
        judge_spread: Standard deviation of it among the individuals of a kind of many.
        within: The kind whose inner agreement is measured; None for that of two kinds.
    """

    name: str
    items: int
    panel: dict[str, int]
    per_item: dict[str, int]
    skill: float = 1.0
    judge_spread: float = 0.0
    within: str | None = None


DESIGNS = (
    Design("160 battles, one machine, one expert", 160, {"expert": 1, "machine": 1}, {}),
    Design("160 battles, two experts, the crowd once", 160, {"expert": 2, "crowd": 160},
           {"crowd": 1}),
    Design("40 battles, two experts, one machine", 40, {"expert": 2, "machine": 1}, {}),
    Design("160 battles, high agreement", 160, {"expert": 1, "machine": 1}, {}, skill=3.0),
    Design("160 battles, 30 voters of unlike skill", 160, {"crowd": 30, "machine": 1},
           {"crowd": 3}, judge_spread=1.0),
    Design("the same, the crowd with itself", 160, {"crowd": 30, "machine": 1},
           {"crowd": 3}, judge_spread=1.0, within="crowd"),
    Design("40 battles, 65 voters of unlike skill", 40, {"crowd": 65, "machine": 1},
           {"crowd": 10}, judge_spread=1.0),
    Design("the same, the crowd with itself", 40, {"crowd": 65, "machine": 1},
           {"crowd": 10}, judge_spread=1.0, within="crowd"),
)  # fmt: skip


def simulate(design: Design, seed: int) -> Judgements:
    """One study: each battle has a quality gap, each judge a skill at seeing it."""
    rng = np.random.default_rng(seed)
    gap = rng.normal(0.0, 1.5, design.items)
    parts: list[pd.DataFrame] = []
    for kind, number in design.panel.items():
        # Few judges are taken as they are, so that a study is about these very ones.
        spread = design.judge_spread if number >= FEW_JUDGES else 0.0
        skill = design.skill + rng.normal(0.0, spread, number)
        each = design.per_item.get(kind, 0)
        if each:
            judge = np.stack([rng.choice(number, each, replace=False) for _ in gap]).ravel()
            item = np.repeat(np.arange(design.items), each)
        else:
            judge = np.tile(np.arange(number), design.items)
            item = np.repeat(np.arange(design.items), number)
        verdict = choose(gap[item] * skill[judge], rng)
        parts.append(pd.DataFrame({
            "item": [f"b{i}" for i in item], "kind": kind,
            "judge": [f"{kind}-{j}" for j in judge], "winner": LABELS[verdict],
        }))  # fmt: skip
    frame = pd.concat(parts).assign(model_a="alpha", model_b="beta")
    return Judgements.from_frame(frame)


def choose(margin: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """A win for either side, or a tie, likelier the closer the answers are (Davidson)."""
    weight = np.exp(np.stack([margin / 2, -margin / 2, np.zeros_like(margin)]))
    edges = np.cumsum(weight / weight.sum(axis=0), axis=0)
    return np.asarray((rng.random(len(margin)) > edges[:2]).sum(axis=0))


def measure(design: Design, seed: int, *, replicates: int, over_judges: bool = True) -> Agreement:
    """The agreement of one simulated study, with all intervals or those over items only."""
    table = simulate(design, seed)
    one, other = (table.kinds.index(design.within),) * 2 if design.within else (0, 1)
    study = Study(table, "tie", 1)
    comparison = study.compare(one, other, study.pairs)
    assert comparison is not None
    comparison = replace(comparison, resample_judges=over_judges)
    resampling = ClusteredResampling(len(table.items), table.judge_kind, replicates, 0.95, seed)
    (found,) = measure_agreements([comparison], resampling)
    return found


def find_truth(design: Design, *, studies: int = 6) -> dict[str, float]:
    """What infinitely many battles and judges would give, from very large studies."""
    size = {kind: n if n < FEW_JUDGES else 4_000 for kind, n in design.panel.items()}
    large = replace(design, items=20_000, panel=size)
    values: dict[str, list[float]] = {}
    for seed in range(studies):
        found = measure(large, 1_000_000 + seed, replicates=2)
        for name in FIGURES:
            estimate = getattr(found, name)
            if estimate is not None and estimate.value is not None:
                values.setdefault(name, []).append(estimate.value)
    return {name: float(np.mean(found)) for name, found in values.items()}


def measure_coverage(
    design: Design, *, studies: int, replicates: int, seed: int = 0
) -> dict[str, float]:
    """Share of 95 % intervals that hold the truth, by figure; a missing interval does not."""
    truth = find_truth(design)
    held = dict.fromkeys(truth, 0)
    for study in range(studies):
        found = measure(design, seed + study, replicates=replicates)
        for name, value in truth.items():
            estimate = getattr(found, name)
            if estimate is not None and estimate.lower is not None:
                held[name] += estimate.lower <= value <= estimate.upper
    return {name: number / studies for name, number in held.items()}


def tabulate(studies: int, replicates: int) -> Iterator[str]:
    """Lines of a Markdown table, one a design."""
    titles = ("with ties", "without", "with, per question", "without, per question", "Cohen",
              "Fleiss", "α", "AC1", "sideless")  # fmt: skip
    yield f"| design | {' | '.join(titles)} |"
    yield "|---" * (len(titles) + 1) + "|"
    for design in DESIGNS:
        start = time.perf_counter()
        found = measure_coverage(design, studies=studies, replicates=replicates)
        cells = [f"{100 * found[name]:.1f}" if name in found else "" for name in FIGURES]
        yield f"| {design.name} | {' | '.join(cells)} |"
        print(f"{design.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


def simulate_large(items: int) -> pd.DataFrame:
    """Two experts, two of the crowd and a machine on every item, 20 models, 8 categories."""
    rng = np.random.default_rng(1)
    left = rng.integers(0, 20, items)
    right = (left + rng.integers(1, 20, items)) % 20
    gap = (right - left) / 6 + rng.normal(0.0, 1.0, items)
    parts: list[pd.DataFrame] = []
    for kind, judge in (("expert", "e1"), ("expert", "e2"), ("crowd", "c1"), ("crowd", "c2"),
                        ("machine", "m1")):  # fmt: skip
        parts.append(pd.DataFrame({
            "item": [f"battle-{i:06d}" for i in range(items)], "kind": kind, "judge": judge,
            "model_a": [f"model-{i:02d}" for i in left],
            "model_b": [f"model-{i:02d}" for i in right],
            "winner": LABELS[choose(2 * gap, rng)],
            "category": [f"category {i % 8}" for i in range(items)],
            "length_a": rng.integers(50, 500, items), "length_b": rng.integers(50, 500, items),
        }))  # fmt: skip
    return pd.concat(parts)


def recount(rows: list[tuple[str, str, str]], replicates: int) -> list[float]:
    """Agreement of the experts in resampled items, in plain Python."""
    by_item: dict[str, list[str]] = {}
    for item, kind, winner in rows:
        if kind == "expert":
            by_item.setdefault(item, []).append(winner)
    names = list(by_item)
    rng = np.random.default_rng(0)
    found: list[float] = []
    for _ in range(replicates):
        agree = count = 0
        for place in rng.integers(0, len(names), len(names)).tolist():
            for one, other in combinations(by_item[names[place]], 2):
                agree += one == other
                count += 1
        found.append(agree / count)
    return found


def resample_experts(table: Judgements, replicates: int) -> Floats:
    """The same figure as `recount`, as the report makes it."""
    study = Study(table, "tie", 1)
    kind = table.kinds.index("expert")
    comparison = study.compare(kind, kind, study.pairs, chance=False)
    assert comparison is not None
    resampling = ClusteredResampling(len(table.items), table.judge_kind, replicates, 0.95, 0)
    (found,) = resampling.over_items([comparison.statistics()["with_ties"]])
    return found


def time_report(items: int, replicates: int) -> int:
    """Print the time of the whole report beside that of the loop; 0 if it took seconds."""
    frame = simulate_large(items)
    took: dict[str, tuple[float, float]] = {}

    def clock(name: str, work: Callable[[], T]) -> T:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        took[name] = (time.perf_counter() - wall, time.process_time() - cpu)
        return result

    table = clock("reading the table", lambda: Judgements.from_frame(frame))
    report = clock("the report", lambda: agreement_report(table, replicates=replicates))
    split = clock(
        "by category and pair too",
        lambda: agreement_report(table, by=["category", "pair"], replicates=replicates),
    )
    rows = list(zip(frame["item"], frame["kind"], frame["winner"], strict=True))
    few = 20
    clock("loop", lambda: recount(rows, few))
    loop_wall, loop = (seconds * replicates / few for seconds in took.pop("loop"))
    clock("the same figure here", lambda: resample_experts(table, replicates))
    comparisons = len(report.agreements) + len(report.judges) + len(report.baselines)
    print(f"{items:,} items × 5 judges, {replicates:,} replicates; {comparisons} comparisons")
    print(f"and {len(split.parts)} more by category and pair")
    print(f"{'':28}{'wall s':>9}{'CPU s':>9}")
    for name, (wall, cpu) in took.items():
        print(f"{name:28}{wall:9.2f}{cpu:9.2f}")
    print(f"{'a loop, one figure only':28}{loop_wall:9.2f}{loop:9.2f}")
    for name in ("the same figure here", "the report"):
        print(f"the loop for one figure takes {loop / took[name][1]:.1f} times the CPU of {name}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return int(took["the report"][1] > 30)


def main() -> int:
    """Print one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--replicates", type=int)
    options = parser.parse_args()
    if not options.coverage:
        return time_report(options.items, options.replicates or 1000)
    for line in tabulate(options.studies, options.replicates or 400):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
