from __future__ import annotations

import subprocess
import sys

import pytest

import serving

HEAVY = {"openai", "anthropic", "xllamacpp", "vllm", "httpx", "httpx2", "gradio", "pandas", "numpy"}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_names_are_sorted_and_all_there() -> None:
    assert serving.__all__ == sorted(serving.__all__)
    assert len(set(serving.__all__)) == len(serving.__all__)
    for name in serving.__all__:
        assert getattr(serving, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = serving.Nonsense


def test_importing_the_package_takes_the_protocol_only() -> None:
    loaded = modules_after("import serving")
    assert loaded & (HEAVY | {"pydantic", "tenacity"}) == set()


@pytest.mark.parametrize("module", ["serving.roster", "serving.specs", "serving.recorded"])
def test_reading_settings_takes_no_sdk_and_no_runtime(module: str) -> None:
    assert modules_after(f"import {module}") & HEAVY == set()


def test_building_a_recorded_roster_takes_no_sdk(tmp_path: object) -> None:
    statement = (
        "import asyncio\n"
        "from serving import ModelSpec, Roster\n"
        "spec = ModelSpec(name='it', backend='openai', model='m', base_url='http://x/v1',"
        " enabled=False)\n"
        "asyncio.run(Roster([spec]).start())"
    )
    assert modules_after(statement) & HEAVY == set()
