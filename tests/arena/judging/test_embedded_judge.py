"""A whole study with the embedded model as contender and as judge."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from arena.rules.judgements import CallStatus
from arena.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """
[[models]]
name = "{name}"
backend = "llamacpp"
path = "{path}"
system_prompt = "{prompt}"
price_input = 0
price_output = 0
# Without it, a model of this size soon goes in circles.
extra_body = {{ repeat_penalty = 1.1 }}
"""


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from arena.cli import main; main()", *arguments],
        check=False, capture_output=True, text=True, timeout=240, cwd=folder,
    )  # fmt: skip


@pytest.mark.model
@pytest.mark.slow
def test_a_small_model_answers_a_prompt_set_and_judges_the_answers(
    tmp_path: Path, model_file: Path
) -> None:
    models = {"plain": "", "pirate": "You are a cheerful pirate."}
    tables = [
        MODEL.format(name=name, path=model_file, prompt=prompt) for name, prompt in models.items()
    ]
    (tmp_path / "arena.toml").write_text(f'data_dir = "{tmp_path}"\n' + "".join(tables))
    question = {"question_id": 1, "category": "math", "turns": ["2 + 3?"], "reference": ["5"]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question))
    made = call(
        tmp_path, "battles", "generate", "-p", "questions.jsonl", "-m", "plain", "-m", "pirate",
        "--max-tokens", "12", "--store",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    judged = call(
        tmp_path, "judge", "run", "--judge", "plain", "--mode", "reference", "--yes", "--json",
        "--max-cost", "1",
    )  # fmt: skip
    assert judged.returncode == 0, judged.stderr
    summary = json.loads(judged.stdout)["summary"]
    assert (summary["answered"], summary["judged"], summary["failed"]) == (2, 1, 0)
    assert summary["readings"]["structured"] + summary["readings"]["unparsable"] == 2
    assert summary["prompt_tokens"] > 400
    assert summary["cost_unknown"] == 0
    store = open_store(f"sqlite:///{tmp_path}/arena.db")
    (known,) = store.judgings.judges()
    assert {c.status for c in store.judge_verdicts.calls(known.judge.voter_id)} == {
        CallStatus.ANSWERED
    }
    assert len(store.judge_verdicts.read()) == 1
    assert store.votes.tally().votes == 0
    store.close()
