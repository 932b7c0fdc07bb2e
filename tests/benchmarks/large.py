"""Processor time and memory of a fit and its sandwich with thousands of models.

PYTHONPATH=. python -P tests/benchmarks/large.py --models 5000
"""

from __future__ import annotations

import argparse
import resource
import time

from ranking import draw_strengths, fit_bradley_terry, sandwich_intervals, simulate_votes


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=5_000)
    parser.add_argument("--votes-per-model", type=int, default=40)
    options = parser.parse_args()
    strengths = draw_strengths(options.models, seed=1)
    votes = simulate_votes(strengths, options.models * options.votes_per_model, seed=2).count()
    start = time.process_time()
    fit = fit_bradley_terry(votes)
    _tell("fit", start)
    start = time.process_time()
    sandwich_intervals(votes, fit)
    _tell("sandwich", start)


def _tell(step: str, start: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{step}: {time.process_time() - start:.1f} s, {peak:.2f} GB at most", flush=True)


if __name__ == "__main__":
    main()
