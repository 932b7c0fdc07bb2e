"""Time, memory and error of this package beside arena-rank, evalica, choix and scikit-learn.

Every measurement runs in a process of its own, from a table of names as pandas reads it:
"cold" is import and first call, "warm" the best of the next ones, "CPU" the same summed over
threads (comparable on a busy machine), "peak" the memory used above the table by the second
call, of the table's own, "error" the largest distance in points from the converged optimum.

Run from the repository root in an environment that has the other libraries and finds this
package (-P, so that `ranking` is the package and not this file):

    PYTHONPATH=. python -P tests/benchmarks/ranking.py --votes 1000000 --models 100
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Run = Callable[[], Floats | None]

POINTS = 400.0 / np.log(10.0)
LABELS = ("model_a", "model_b", "tie", "both_bad")
CREDIT = np.array([1.0, 0.0, 0.5, 0.5])
TASKS = ("point", "sandwich", "bootstrap 100", "bootstrap 1000")
WHO_CAN = {
    "ranking": TASKS,
    "ranking, integers": TASKS[:1],
    "arena-rank": TASKS[:2],
    "evalica": TASKS[:1],
    "choix": TASKS[:1],
    "scikit-learn": TASKS[:1],
}
TIMEOUT_S = 600


class Table:
    """Simulated votes: popularity as rank⁻¹, close pairs more often, a quarter ties."""

    def __init__(self, votes: int, models: int) -> None:
        rng = np.random.default_rng(20240814)
        strength = rng.normal(0.0, 0.61, models)
        popularity = (rng.permutation(models) + 1.0) ** -1.0
        gap = np.abs(strength[:, None] - strength[None, :])
        first, second = np.triu_indices(models, 1)
        edges = np.cumsum((np.outer(popularity, popularity) * np.exp(-gap))[first, second])
        pair = np.searchsorted(edges, rng.random(votes) * edges[-1], side="right")
        swap = rng.random(votes) < 0.5
        self.models = models
        self.a = np.where(swap, second[pair], first[pair])
        self.b = np.where(swap, first[pair], second[pair])
        won = rng.random(votes) < 1.0 / (1.0 + np.exp(strength[self.b] - strength[self.a]))
        tie = rng.random(votes) < 0.24
        self.outcome = np.where(tie, 2 + (rng.random(votes) < 0.4), np.where(won, 0, 1))
        self.names = [f"organisation/model-{i:03d}-chat" for i in range(models)]

    def to_frame(self) -> pd.DataFrame:
        """Three columns of strings, as a CSV file gives them."""
        import pandas as pd

        names, labels = np.array(self.names, object), np.array(LABELS, object)
        columns = {
            "model_a": names[self.a],
            "model_b": names[self.b],
            "winner": labels[self.outcome],
        }
        return pd.DataFrame({name: pd.Series(c, dtype="str") for name, c in columns.items()})

    def wins(self) -> Floats:
        """Wins of row over column, ties as halves."""
        size, credit = self.models, CREDIT[self.outcome]
        forward = np.bincount(self.a * size + self.b, credit, size * size)
        backward = np.bincount(self.b * size + self.a, 1 - credit, size * size)
        return np.asarray((forward + backward).reshape(size, size))


def solve_reference(wins: Floats) -> Floats:
    """Newton's method on numpy alone, first model fixed, to the last digit."""
    size = len(wins)
    xi, games = np.zeros(size), wins + wins.T
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(xi[None, :] - xi[:, None]))
        curve = games * p * p.T
        gradient = wins.sum(axis=1) - (games * p).sum(axis=1)
        xi[1:] += np.linalg.solve((np.diag(curve.sum(axis=1)) - curve)[1:, 1:], gradient[1:])
    return np.asarray(xi - xi.mean())


def prepare_ranking(table: Table, frame: pd.DataFrame, task: str) -> Run:
    """This package, from names."""
    del table
    from ranking import Comparisons, bootstrap_intervals, fit_bradley_terry, sandwich_intervals

    def run() -> Floats:
        counts = Comparisons.from_frame(frame)
        fit = fit_bradley_terry(counts, prior=None)
        if task == "sandwich":
            sandwich_intervals(counts, fit)
        elif task != "point":
            bootstrap_intervals(counts, fit, replicates=int(task.split()[1]))
        return fit.strengths

    return run


def prepare_ranking_integers(table: Table, frame: pd.DataFrame, task: str) -> Run:
    """This package, from integer columns."""
    del frame, task
    from ranking import Comparisons, fit_bradley_terry

    a, b = table.a.astype(np.int32), table.b.astype(np.int32)
    outcome = table.outcome.astype(np.int8)
    names = tuple(table.names)
    return lambda: (
        fit_bradley_terry(Comparisons.from_codes(names, a, b, outcome), prior=None).strengths
    )


def prepare_arena_rank(table: Table, frame: pd.DataFrame, task: str) -> Run:
    """arena-rank has no point estimate without its sandwich interval but `fit`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    def run() -> Floats:
        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=table.models)
        if task == "point":
            model.fit(data)
        else:
            model.compute_ratings_and_cis(data)
        return np.asarray(model.params["ratings"])

    return run


def prepare_evalica(table: Table, frame: pd.DataFrame, task: str) -> Run:
    """evalica takes lists of names and of its own outcome type."""
    del task
    import evalica

    meaning = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y}
    meaning |= dict.fromkeys(LABELS[2:], evalica.Winner.Draw)

    def run() -> Floats:
        winners = [meaning[label] for label in frame["winner"].tolist()]
        left, right = frame["model_a"].tolist(), frame["model_b"].tolist()
        found = evalica.bradley_terry(left, right, winners)
        return np.asarray(np.log(found.scores.loc[table.names].to_numpy()), dtype=np.float64)

    return run


def prepare_choix(table: Table, frame: pd.DataFrame, task: str) -> Run:
    """choix takes a matrix of wins, counted here outside of it."""
    del frame, task
    import choix

    wins = table.wins()
    return lambda: np.asarray(choix.ilsr_pairwise_dense(wins))


def prepare_scikit_learn(table: Table, frame: pd.DataFrame, task: str) -> Run:
    """Logistic regression with a row a vote, a tie as two half rows."""
    del frame, task
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    tie = table.outcome > 1
    a, b = np.concatenate([table.a, table.a[tie]]), np.concatenate([table.b, table.b[tie]])
    won = np.concatenate([table.outcome != 1, np.zeros(tie.sum(), dtype=bool)])
    weight = np.concatenate([np.where(tie, 0.5, 1.0), np.full(tie.sum(), 0.5)])
    place = (np.tile(np.arange(len(a)), 2), np.concatenate([a, b]))
    values = np.concatenate([np.ones(len(a)), -np.ones(len(a))])
    x = csr_array((values, place), shape=(len(a), table.models))

    def run() -> Floats:
        model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-6, max_iter=1000)
        return np.asarray(model.fit(x, won, sample_weight=weight).coef_[0])

    return run


PREPARE: dict[str, Callable[[Table, Any, str], Run]] = {
    "ranking": prepare_ranking,
    "ranking, integers": prepare_ranking_integers,
    "arena-rank": prepare_arena_rank,
    "evalica": prepare_evalica,
    "choix": prepare_choix,
    "scikit-learn": prepare_scikit_learn,
}


def measure(library: str, task: str, votes: int, models: int) -> dict[str, Any]:
    """Run one measurement in this process."""
    table = Table(votes, models)
    frame = table.to_frame()
    input_bytes = int(sum(column.nbytes for _, column in frame.items()))
    start = time.perf_counter()
    run = PREPARE[library](table, frame, task)
    found = run()
    cold = time.perf_counter() - start
    before = _reset_peak()
    warm, cpu = _time(run)
    peak = _peak() - before
    for _ in range(0 if warm > 5 else 3):
        wall, busy = _time(run)
        warm, cpu = min(warm, wall), min(cpu, busy)
    result = {"cold": cold, "warm": warm, "cpu": cpu, "peak_mb": peak / 2**20}
    result["input_mb"] = input_bytes / 2**20
    if found is not None:
        gap = found - found.mean() - solve_reference(table.wins())
        result["error"] = float(np.abs(gap).max() * POINTS)
    if library == "ranking, integers":
        key = (table.outcome * models + table.a) * models + table.b
        start = time.perf_counter()
        np.bincount(key, minlength=4 * models**2)
        result["bincount"] = time.perf_counter() - start
    return result


def _time(run: Run) -> tuple[float, float]:
    """Seconds of one call: on the wall, and of all threads together."""
    wall, busy = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - busy


def measure_import(statement: str) -> float:
    """Best of five imports in fresh processes, seconds, without Python's own start."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


def compare(cases: list[tuple[int, int]], libraries: list[str], tasks: list[str]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| votes | models | task | library | cold s | warm s | CPU s | peak MB | error, points |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for votes, models in cases:
        for task in tasks:
            for library in libraries:
                if task in WHO_CAN[library]:
                    cell = _measure_apart(library, task, votes, models)
                    yield f"| {votes:.0e} | {models} | {task} | {library} | {cell} |"


def _measure_apart(library: str, task: str, votes: int, models: int) -> str:
    command = [
        sys.executable, "-P", __file__, "--only", library, task, str(votes), str(models),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S
        )  # read below
    except subprocess.TimeoutExpired:
        return f"> {TIMEOUT_S} | | | | "
    if done.returncode:
        return "failed: " + (done.stderr.strip().splitlines() or ["?"])[-1][:80] + " | | | | "
    found = json.loads(done.stdout)
    error = f"{found['error']:.0e}" if "error" in found else ""
    extra = f" (bincount {found['bincount']:.3f} s)" if "bincount" in found else ""
    times = f"{found['cold']:.2f} | {found['warm']:.4f}{extra} | {found['cpu']:.4f}"
    peak = f"{found['peak_mb']:.0f} of {found['input_mb']:.0f}"
    return f"{times} | {peak} | {error}"


def _reset_peak() -> int:
    """Forget the peak so far; return the memory in use now, bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _read_status("VmRSS")


def _peak() -> int:
    return _read_status("VmHWM")


def _read_status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def main() -> None:
    """Print the table, or one measurement as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--models", type=int, nargs="+", default=[20, 100, 300])
    parser.add_argument("--libraries", nargs="+", default=list(PREPARE), choices=list(PREPARE))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--only", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        library, task, votes, models = options.only
        print(json.dumps(measure(library, task, int(votes), int(models))))
        return
    cases = [(votes, models) for votes in options.votes for models in options.models]
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, numpy {np.__version__}\n")
    for line in compare(cases, options.libraries, options.tasks):
        print(line, flush=True)
    base = measure_import("import numpy, scipy.linalg")
    own = measure_import("import ranking")
    print(f"\nimport ranking {own:.3f} s, import numpy, scipy.linalg {base:.3f} s")


if __name__ == "__main__":
    main()
