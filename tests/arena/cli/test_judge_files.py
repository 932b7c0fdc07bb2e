"""Files of judges in the field's layouts: `arena agreement` and `arena rank` on the same rows."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from file_shapes import lines
from typer.testing import CliRunner, Result

from arena.cli import app

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Verdicts of ten questions in both orders, each about the same two models: the first or the
# second of them, a tie, or nothing readable.
VERDICTS = [("1", "1")] * 4 + [("1", "2"), ("2", "1"), ("2", "2"), ("tie", "tie"), ("1", "tie"),
                               ("error", "2")]  # fmt: skip
PEOPLE = "item,judge,kind,model_a,model_b,winner\n"


def run(command: str, *arguments: str, data: str | None = None) -> Result:
    done = CliRunner().invoke(app, [command, *arguments], input=data)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def mt_bench(pairs: Sequence[tuple[str, str]] = VERDICTS) -> str:
    name = {"1": "model_1", "2": "model_2"}
    return lines(
        [
            {"question_id": 81 + n, "model_1": "alpha", "model_2": "beta",
             "g1_winner": name.get(one, one), "g2_winner": name.get(other, other),
             "judge": ["gpt-4", "pair-v2"], "g1_judgment": "…", "turn": 1, "tstamp": 1.7e9 + n}
            for n, (one, other) in enumerate(pairs)
        ]
    )  # fmt: skip


def arena_hard(pairs: Sequence[tuple[str, str]] = VERDICTS) -> str:
    # In the first game the baseline is A, in the second the model is.
    first = {"1": "A>>B", "2": "B>A", "tie": "A=B", "error": None}
    second = {"1": "B>>A", "2": "A>B", "tie": "B=A", "error": None}
    return lines(
        [
            {"uid": f"q{n}", "model": "beta", "judge": "gpt-4.1", "category": "hard_prompt",
             "games": [{"score": first[one]}, {"score": second[other]}]}
            for n, (one, other) in enumerate(pairs)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("file", "data", "judge"),
    [("gpt-4_pair.jsonl", mt_bench(), "gpt-4, pair-v2"), ("beta.jsonl", arena_hard(), "gpt-4.1")],
    ids=["MT-Bench pairs", "Arena-Hard games"],
)
def test_both_orders_are_one_vote_and_one_audit(
    tmp_path: Path, file: str, data: str, judge: str
) -> None:
    path = tmp_path / file
    path.write_text(data, encoding="utf-8")
    board = json.loads(run("rank", str(path), "--interval", "sandwich", "--format", "json").stdout)
    counted = {m["model"]: (m["wins"], m["losses"], m["ties"]) for m in board["models"]}
    first = next(name for name in counted if name != "beta")
    assert counted == {first: (4, 1, 4), "beta": (1, 4, 4)}
    notes = " ".join(board["input"]["notes"])
    assert "two orders are one vote: alike in 6, a tie where they differ (3)" in notes
    assert board["input"]["rejected"] == {"no verdict could be read in one of the orders": 1}
    report = json.loads(run("agreement", str(path), "--format", "json").stdout)
    (audit,) = report["orders"]
    assert audit["judge"] == judge
    assert (audit["battles"], audit["unparsable"], audit["consistent"]) == (10, 0.1, 0.6)
    assert report["kinds"][0]["kind"] == "judge"


def test_the_baseline_that_a_file_does_not_name_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "beta.jsonl"
    path.write_text(arena_hard(), encoding="utf-8")
    said = " ".join(run("rank", str(path), "--interval", "sandwich").stdout.split())
    assert 'the other model is not named in the file and is called "baseline"' in said
    assert "A>>B and A>B count alike, once" in said


def test_alpaca_eval_annotations_are_read_by_both_commands(tmp_path: Path) -> None:
    path = tmp_path / "annotations.json"
    rows: list[dict[str, Any]] = [
        {"instruction": f"q{n}", "output_1": "…", "generator_1": "alpha", "output_2": "…",
         "generator_2": "beta", "annotator": f"a{judge}", "preference": preference}
        for judge in (1, 2)
        for n, preference in enumerate([1, 2, 1.5, 0, 1.0, 1.87])
    ]  # fmt: skip
    path.write_text(json.dumps(rows), encoding="utf-8")
    board = json.loads(run("rank", str(path), "--interval", "sandwich", "--format", "json").stdout)
    counted = {m["model"]: (m["wins"], m["losses"], m["ties"]) for m in board["models"]}
    assert counted == {"alpha": (4, 4, 4), "beta": (4, 4, 4)}
    report = json.loads(run("agreement", str(path), "--format", "json").stdout)
    assert report["agreements"][0]["with_ties"]["value"] == 1.0
    assert report["agreements"][0]["pairs"] == 6


def test_identifiers_of_judgements_are_text(tmp_path: Path) -> None:
    path = tmp_path / "judgements.csv"
    path.write_text(
        PEOPLE + "007,01,expert,3.10,3.1,A\n7,1,expert,3.10,3.1,A\n"
        "9007199254740993,NA,expert,3.10,3.1,B\n9007199254740992,1.0,expert,3.10,3.1,tie\n"
    )
    found = json.loads(run("agreement", str(path), "--format", "json").stdout)
    assert found["kinds"][0]["judges"] == 4
    assert found["method"]["items"] == 4


def test_without_a_kind_the_message_names_the_option_that_gives_it(tmp_path: Path) -> None:
    path = tmp_path / "human.csv"
    path.write_text("question_id,judge,model_a,model_b,winner,turn\n81,e1,x,y,model_a,1\n")
    said = run("agreement", str(path))
    assert said.exit_code == 2
    (remedy,) = re.findall(r"--kind \w+", said.stderr)
    assert run("agreement", str(path), *shlex.split(remedy)).exit_code == 0


def test_unreadable_verdicts_name_the_option_for_both_orders(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text(
        PEOPLE + "q1,m,machine,x,y,A\nq1,m,machine,y,x,unparsable\n"
        "q2,m,machine,x,y,A\nq2,m,machine,y,x,B\n"
    )
    said = run("agreement", str(path))
    (remedy,) = re.findall(r"--both-orders \w+", said.stderr)
    found = run("agreement", str(path), *shlex.split(remedy), "--format", "json")
    assert json.loads(found.stdout)["orders"][0]["unparsable"] == 0.5


def test_numbers_as_verdicts_need_their_meaning(tmp_path: Path) -> None:
    path = tmp_path / "annotators.csv"
    path.write_text(PEOPLE + "q1,a,crowd,x,y,1\nq1,b,crowd,x,y,2\nq2,a,crowd,x,y,0\n")
    said = run("agreement", str(path)).stderr
    flags = [w for flag in re.findall(r"--outcome \S+", said) for w in shlex.split(flag)]
    assert len(flags) == 6
    done = run("agreement", str(path), *flags, "--format", "json")
    labels = json.loads(done.stdout)["method"]["input"]["labels"]
    assert {label: told["outcome"] for label, told in labels.items()} == {
        "1": "model_a", "2": "model_b", "0": "tie",
    }  # fmt: skip


def test_the_foot_of_the_report_says_how_the_file_was_read(tmp_path: Path) -> None:
    path = tmp_path / "judgements.csv"
    path.write_text(PEOPLE + "q1,a,crowd,x,y,A\nq1,b,crowd,x,y,draw\n")
    said = " ".join(run("agreement", str(path)).stdout.split())
    assert "Read judgements.csv: CSV, separator comma, ASCII; 2 rows." in said
    assert '"draw" = tie (1)' in said
    markdown = run("agreement", str(path), "--format", "md").stdout
    assert "- Read judgements.csv: CSV" in markdown
