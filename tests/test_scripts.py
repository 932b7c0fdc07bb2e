"""The scripts of a checkout, where something that they need is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def test_vllm_in_a_checkout_without_an_environment_says_how_to_make_it(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPTS / "vllm-cpu", checkout / "scripts")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    done = subprocess.run(
        [bare / "bin" / "python", checkout / "scripts" / "vllm-cpu", tmp_path / "vllm"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"Make it with: make -C {checkout} .venv/.test" in done.stderr
    assert not (tmp_path / "vllm").exists()  # nothing was fetched before


def test_a_check_without_tools_says_where_they_come_from(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPTS / "check"], env={"VENV": str(tmp_path), "PATH": "/usr/bin:/bin"},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Run make test once, or set VENV" in done.stderr
