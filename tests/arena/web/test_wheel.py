"""What is installed serves pages: templates, styles, scripts and texts are in the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import arena.web

ROOT = Path(__file__).parents[3]
WEB = Path(arena.web.__file__).parent
SHOW = """
import arena.web.layout as layout
from arena.web.texts import load_texts
print(layout.__file__)
print(layout.plain_document("", load_texts("zh"), title="T", language="zh", active="expert"))
print(layout.page_head(load_texts("en"), title="T", layout="1"), layout.page_styles())
import arena.web.server, arena.web.battle.parts, arena.web.panel
"""


@pytest.mark.slow
def test_a_page_comes_out_of_the_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds the wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*command, "-w", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    data = {
        path.relative_to(WEB.parents[1]).as_posix()
        for path in WEB.rglob("*")
        if path.suffix in {".html", ".svg", ".css", ".js", ".toml"}
    }
    assert len(data) > 40
    assert data <= names
    shown = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert shown.startswith(str(tmp_path / "installed"))
    assert "site-header" in shown
    assert ".panel-log" in shown
