"""A small size of tests/benchmarks/coverage.py: enough to see an interval go wrong."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


def load_study() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks/coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


STUDY = load_study()


@pytest.mark.slow
@pytest.mark.parametrize("design", STUDY.DESIGNS[:6], ids=lambda d: d.name)
def test_sandwich_intervals_cover(design: object) -> None:
    found = STUDY.measure_coverage(design, ["sandwich"], arenas=60)["sandwich"]
    # 60 arenas know the coverage to 0.7 per cent: a false alarm here is a 3.5 sigma event.
    assert found.single == pytest.approx(0.95, abs=0.025)
    assert found.whole >= 0.85
    assert found.ranks >= 0.95


def test_bootstrap_intervals_cover() -> None:
    kinds = ["bootstrap", "pivot"]
    found = STUDY.measure_coverage(STUDY.DESIGNS[2], kinds, arenas=40, replicates=200)
    for kind in kinds:
        assert found[kind].single == pytest.approx(0.95, abs=0.03)


def test_intervals_that_ignore_voters_are_too_short() -> None:
    honest, naive = (
        STUDY.measure_coverage(design, ["sandwich"], arenas=40)["sandwich"]
        for design in STUDY.DESIGNS[5:7]
    )
    assert naive.single < honest.single
