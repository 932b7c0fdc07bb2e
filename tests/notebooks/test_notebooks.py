"""Every notebook runs from its first cell to its last, and only uses what the packages have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
LEADERBOARD = NOTEBOOKS / "01_leaderboard.ipynb"
PAIRING = NOTEBOOKS / "02_pairing.ipynb"
AGREEMENT = NOTEBOOKS / "03_agreement.ipynb"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


async def run(path: Path, folder: Path) -> NotebookNode:
    """The notebook as it is after a run in a folder."""
    notebook = read(path)
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}})
    await client.async_execute()
    return notebook


def printed(notebook: NotebookNode) -> str:
    """Everything that its cells wrote, tables as text."""
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    assert [o for o in outputs if o.get("name") == "stderr"] == []
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)


def count_pictures(notebook: NotebookNode) -> int:
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    return sum("application/vnd.plotly.v1+json" in output.get("data", {}) for output in outputs)


@every_notebook
def test_it_is_valid_and_stored_without_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert [c.id for c in code_of(notebook) if c.outputs or c.execution_count is not None] == []


@every_notebook
def test_it_imports_and_defines_nothing(path: Path) -> None:
    for cell in code_of(read(path)):
        found = [
            node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, _DEFINITIONS)
        ]
        assert found == [], cell.source


@pytest.mark.slow
async def test_the_leaderboard_notebook_runs_on_simulated_votes(tmp_path: Path) -> None:
    notebook = await run(LEADERBOARD, tmp_path)
    text = printed(notebook)
    assert "simulated votes (20,000)" in text
    assert "of 12 models have one possible rank" in text
    assert "a side bias." in text  # the simulation has one
    assert count_pictures(notebook) == 5


@pytest.mark.slow
async def test_the_leaderboard_notebook_runs_on_the_public_votes() -> None:
    if not (NOTEBOOKS / "../../shared/data/arena33k_en_single/battles.csv").is_file():
        pytest.skip("the public votes are not beside the repository (../shared/data)")
    text = printed(await run(LEADERBOARD, NOTEBOOKS))
    assert "public votes (25,938)" in text
    assert "1 of 20 models have one possible rank: gpt-4\n" in text
    assert "190 of 190 pairs have met" in text


@pytest.mark.slow
async def test_the_pairing_notebook_runs_and_finds_a_saving(tmp_path: Path) -> None:
    notebook = await run(PAIRING, tmp_path)
    text = printed(notebook)
    saved = re.search(r"uniform drawing needs (\d\.\d\d) times as many", text)
    assert saved is not None
    assert float(saved[1]) > 1.15
    plain = re.search(r"up to (\d+\.\d)% off, weighted ones up to (\d+\.\d)%", text)
    assert plain is not None
    assert float(plain[1]) > 2 * float(plain[2])
    assert count_pictures(notebook) == 2


@pytest.mark.slow
async def test_the_agreement_notebook_runs_and_finds_the_truth() -> None:
    notebook = await run(AGREEMENT, NOTEBOOKS)
    text = printed(notebook)
    held = [int(number) for number in re.findall(r"(\d+) of (?:8|10) intervals hold", text)]
    assert len(held) == 2
    assert held[0] >= 7
    assert held[1] >= 8
    assert "240 votes by 80 volunteers on 6 models" in text
    assert "480 answers of simulated (plain)" in text
    planted = re.search(r"(\d+) points more often than by themselves \((\d+) to", text)
    assert planted is not None
    assert int(planted[2]) > 0  # a quarter of the experts follow
    assert count_pictures(notebook) == 4
    if "public votes (1,751)" in text:
        for figure in ("64.7%", "82.8%", "66.8%", "85.8%"):
            assert figure in text
    else:
        assert "The public votes are not here." in text
