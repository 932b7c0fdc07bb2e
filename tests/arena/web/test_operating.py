"""What those who run an arena read of it: whether it is ready, and its figures."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import httpx2
from page_client import PageClient
from serving_arena import recorded_model, running_arena

from serving.server_process import find_free_port

if TYPE_CHECKING:
    from pathlib import Path

    from serving_arena import RunningArena

NAMES = ("Amber-7B", "Birch-9B")
PATIENCE = 60


def read_figures(port: int) -> dict[str, float]:
    """Every figure by its name and labels, as Prometheus reads them."""
    text = httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    lines = re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def ready(arena: RunningArena) -> tuple[int, object]:
    answer = httpx2.get(f"{arena.address}/readyz", trust_env=False, timeout=PATIENCE)
    return answer.status_code, answer.json()


def test_figures_count_what_was_done_once_and_no_visitor_reaches_them(tmp_path: Path) -> None:
    port = find_free_port()
    models = [recorded_model(name, tmp_path, answers={"*": "Yes."}) for name in NAMES]
    with (
        running_arena(models, data_dir=tmp_path / "data", server={"metrics_port": port}) as arena,
        PageClient(arena.address) as visitor,
    ):
        assert ready(arena) == (200, {"status": "ready"})
        visitor.open()
        visitor.ask("Why?")
        visitor.press("vote-3")
        visitor.press("vote-3")  # a second click
        found = read_figures(port)
        assert found["arena_prompts_total"] == 1
        assert found['arena_votes_total{counts="yes",outcome="tie"}'] == 1
        for name in NAMES:
            assert found[f'arena_answers_total{{model="{name}",status="complete"}}'] == 1
            assert found[f'arena_answer_seconds_count{{model="{name}"}}'] == 1
        assert found["arena_live_battles"] == 0
        assert found["arena_resting_models"] == 0
        deadline = time.monotonic() + PATIENCE
        while not read_figures(port)["arena_database_up"]:
            assert time.monotonic() < deadline
        assert read_figures(port)["arena_loop_lag_seconds_count"] > 0
        assert httpx2.get(f"{arena.address}/metrics", trust_env=False).status_code == 404


def test_figures_that_nobody_asked_for_are_served_nowhere(tmp_path: Path) -> None:
    models = [recorded_model(name, tmp_path, answers={"*": "Yes."}) for name in NAMES]
    with running_arena(models, data_dir=tmp_path / "data") as arena:
        assert httpx2.get(f"{arena.address}/metrics", trust_env=False).status_code == 404


def test_an_arena_whose_models_fail_is_not_ready_and_names_none(tmp_path: Path) -> None:
    """Both are at an address where nobody listens."""
    spec = {
        "backend": "openai",
        "model": "m",
        "base_url": f"http://127.0.0.1:{find_free_port()}/v1",
    }
    models = [{"name": name, **spec} for name in NAMES]
    with (
        running_arena(models, data_dir=tmp_path / "data") as arena,
        PageClient(arena.address) as visitor,
    ):
        visitor.open()
        visitor.ask("Why?")
        deadline = time.monotonic() + PATIENCE
        while ready(arena) != (503, {"status": "not ready", "missing": ["models"]}):
            assert time.monotonic() < deadline
        assert httpx2.get(f"{arena.address}/healthz", trust_env=False).status_code == 200
