import subprocess
import sys

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
