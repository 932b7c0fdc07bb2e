"""A small size of tests/benchmarks/agreement.py: enough to see an interval go wrong."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def load_study() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks/agreement.py"
    spec = importlib.util.spec_from_file_location("agreement_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


STUDY = load_study()
STUDIES = 120


def test_intervals_over_items_cover() -> None:
    # 120 studies know a coverage of 94 to 2.2 per cent: below 86 is a 3.6 sigma event.
    found = STUDY.measure_coverage(STUDY.DESIGNS[0], studies=STUDIES, replicates=200)
    assert set(found) == {*STUDY.RATES, "cohen", "alpha", "ac1", "sideless"}
    assert min(found.values()) >= 0.86


def test_intervals_that_ignore_who_judged_are_too_short() -> None:
    panel = {"crowd": 12, "machine": 1}
    design = STUDY.Design("few, unlike voters", 600, panel, {"crowd": 4}, judge_spread=2.0)
    truth = STUDY.find_truth(design, studies=1)["with_ties"]
    held = {True: 0, False: 0}
    for seed in range(40):
        for over_judges in held:
            found = STUDY.measure(design, seed, replicates=100, over_judges=over_judges)
            held[over_judges] += found.with_ties.lower <= truth <= found.with_ties.upper
    assert held[True] >= 0.85 * 40
    assert held[False] <= 0.8 * 40
