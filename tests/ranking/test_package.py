import subprocess
import sys

import pytest

import ranking


def test_the_public_names_are_sorted_and_exist() -> None:
    upper = [n for n in ranking.__all__ if n.isupper()]
    classes = [n for n in ranking.__all__ if n[0].isupper() and not n.isupper()]
    functions = [n for n in ranking.__all__ if n[0].islower()]
    assert ranking.__all__ == sorted(upper) + sorted(classes) + sorted(functions)
    assert all(hasattr(ranking, name) for name in ranking.__all__)


def test_importing_it_loads_no_heavy_library() -> None:
    code = "import sys, ranking; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pandas", "sklearn", "plotly", "matplotlib", "threadpoolctl", "arena", "serving"}
    assert heavy.isdisjoint(found.stdout.split())


def test_what_is_imported_later_is_there_and_imports_only_itself() -> None:
    code = (
        "import sys, ranking\n"
        "ranking.simulate.draw_strengths; ranking.simulate_votes; ranking.measure_calibration\n"
        "ranking.diagnostics; ranking.style; ranking.baselines\n"
        "print('plotly' in sys.modules or 'sklearn' in sys.modules)\n"
        "ranking.plots.plot_intervals; ranking.plot_intervals\n"
        "print('sklearn' in sys.modules)\n"
        "print(ranking.estimator.PairedComparisonClassifier is ranking.PairedComparisonClassifier)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False", "True"]


def test_names_imported_later_are_known_to_completion_and_others_are_not_there() -> None:
    later = {"plots", "simulate", "diagnostics", "estimator", "baselines", "simulate_votes"}
    assert later <= set(dir(ranking))
    for name in dir(ranking):
        assert getattr(ranking, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        _ = ranking.plot
