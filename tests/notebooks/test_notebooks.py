"""Every notebook runs from its first cell to its last and shows what is stored in it."""

from __future__ import annotations

import ast
import base64
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
LEADERBOARD = NOTEBOOKS / "01_leaderboard.ipynb"
PAIRING = NOTEBOOKS / "02_pairing.ipynb"
AGREEMENT = NOTEBOOKS / "03_agreement.ipynb"
FIGURE = "application/vnd.plotly.v1+json"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
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
    for cell in code_of(notebook):
        cell.outputs, cell.execution_count = [], None
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
    return sum(FIGURE in output.get("data", {}) for output in outputs)


def texts_of(cell: NotebookNode) -> list[str]:
    """What a cell wrote or showed as text, one after another."""
    written: list[str] = []
    for output in cell.outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        # A stream may come in one piece or in several; a figure's text is where it lies in memory.
        if output.output_type == "stream" and written:
            written[-1] += text
        elif FIGURE not in output.get("data", {}):
            written.append(text)
    return written


def figures_of(cell: NotebookNode) -> list[dict[str, Any]]:
    return [output.data[FIGURE] for output in cell.outputs if FIGURE in output.get("data", {})]


def flatten(value: object) -> tuple[list[str], list[float]]:
    """All texts and all numbers in it, in their order."""
    if isinstance(value, dict) and set(value) >= {"dtype", "bdata"}:
        raw = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        return [], raw.astype(float).tolist()
    if isinstance(value, str):
        # Numbers within a text are numbers.
        bare = " ".join(NUMBER.sub("#", value).split())  # columns are as wide as their numbers
        return [bare], [float(n.replace(",", "")) for n in NUMBER.findall(value)]
    if isinstance(value, (int, float)):
        return [], [float(value)]
    texts: list[str] = []
    numbers: list[float] = []
    listed = list(value) if isinstance(value, (list, tuple)) else []
    # A stored notebook has its keys in order.
    items = sorted(value.items()) if isinstance(value, dict) else enumerate(listed)
    for key, part in items:
        if key == "template":
            continue  # of plotly's version
        more, others = flatten(part)
        texts += [str(key), *more]
        numbers += others
    return texts, numbers


def assert_alike(
    stored: NotebookNode, fresh: NotebookNode, *, rel: float = 1e-3, least: float = 1e-3
) -> None:
    """Whether a run shows what is stored, but for the last digits of numbers."""
    for old, new in zip(code_of(stored), code_of(fresh), strict=True):
        for shown in (texts_of, figures_of):
            was, now = flatten(shown(old)), flatten(shown(new))
            assert now[0] == was[0], old.id
            assert now[1] == pytest.approx(was[1], rel=rel, abs=least, nan_ok=True), old.id


@every_notebook
def test_it_is_valid_and_stored_with_what_it_shows(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in code_of(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    assert all(output.output_type != "error" for output in outputs)
    pictures = [output.data for output in outputs if FIGURE in output.get("data", {})]
    assert len(pictures) >= 2
    assert all("image/png" in data for data in pictures)  # for readers of the file


def test_what_differs_from_the_stored_is_seen() -> None:
    notebook = read(LEADERBOARD)
    assert_alike(notebook, notebook)
    for change in ("text", "number", "figure"):
        other = read(LEADERBOARD)
        for cell in code_of(other):
            for output in cell.outputs:
                if change == "figure" and FIGURE in output.get("data", {}):
                    output.data[FIGURE]["data"][0]["y"] = ["another"]
                elif change == "text" and "text" in output:
                    output["text"] = output["text"].replace("votes", "voices")
                elif change == "number" and "text" in output:
                    output["text"] = output["text"].replace("20,000", "21,000")
        with pytest.raises(AssertionError):
            assert_alike(notebook, other)


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
    assert_alike(read(LEADERBOARD), notebook)


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
    assert float(plain[1]) > 1.5 * float(plain[2])
    assert count_pictures(notebook) == 2
    assert_alike(read(PAIRING), notebook)


@pytest.mark.slow
async def test_the_agreement_notebook_runs_and_finds_the_truth(tmp_path: Path) -> None:
    notebook = await run(AGREEMENT, tmp_path)
    text = printed(notebook)
    # Experts get random ids, and so do their tasks.
    assert_alike(read(AGREEMENT), notebook, rel=0.2, least=0.03)

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
    assert "The public votes are not here." in text


@pytest.mark.slow
async def test_the_agreement_notebook_gives_the_published_figures_of_the_public_votes() -> None:
    if not (NOTEBOOKS / "../../shared/data/mtbench/human_votes_partial.csv").is_file():
        pytest.skip("the public votes are not beside the repository (../shared/data)")
    text = printed(await run(AGREEMENT, NOTEBOOKS))
    assert "public votes (1,751)" in text
    for figure in ("64.7%", "82.8%", "66.8%", "85.8%"):
        assert figure in text
