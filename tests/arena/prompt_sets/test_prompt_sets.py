"""Prompt sets: read as they are published, answered once, and made battles of once."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from counting_judge import CountingJudge, Reply
from sqlalchemy import select

from arena.prompt_sets.answers import (
    AnswerFolder,
    ConditionsDiffer,
    RecordedTurn,
    describe_conditions,
)
from arena.prompt_sets.files import PromptSet, PromptSetError, read_prompt_set
from arena.settings import parse_settings
from arena.settings.shipped import find_shipped_data
from arena.store import Store, open_store
from arena.store.tables import battles, turns, voters
from serving import Message, Roster
from serving.protocol import Completion, Sampling
from serving.recorded import read_rows
from serving.specs import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTIONS: list[dict[str, Any]] = [
    {
        "question_id": 81,
        "category": "writing",
        "turns": ["Write about the sea.", "Start every\u2028sentence with A."],
    },
    {"question_id": 101, "category": "math", "turns": ["2 + 3?", "Twice that?"],
     "reference": ["5", "10"]},
    {"id": "own-1", "prompt": "Where is Lyon?", "reference": "In France.", "language": "en"},
]  # fmt: skip
MODELS = ("Amber", "Birch", "Cedar")


def write_questions(folder: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    path = folder / "questions.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows or QUESTIONS]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


# Reading


def test_the_layout_of_mt_bench_and_the_plain_one_are_read(tmp_path: Path) -> None:
    found = read_prompt_set(write_questions(tmp_path)).questions
    assert [question.id for question in found] == ["81", "101", "own-1"]
    assert [len(question.turns) for question in found] == [2, 2, 1]
    assert [question.references for question in found] == [
        (None, None), ("5", "10"), ("In France.",),
    ]  # fmt: skip
    assert [question.category for question in found] == ["writing", "math", None]
    assert found[0].turns[1] == "Start every\u2028sentence with A."


def test_the_shipped_prompts_are_a_prompt_set() -> None:
    found = read_prompt_set(find_shipped_data() / "prompts.jsonl").questions
    assert len(found) == 112
    assert {len(question.turns) for question in found} == {1}
    assert len({question.category for question in found}) == 8


def test_a_csv_file_has_its_turns_in_columns(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    path.write_text(
        "question_id,category,turn_2,turn_1,has_reference\n"
        '1,math,"And\nagain?",What is 2 + 2?,True\n'
        "2,stem,,Why?,False\n"
    )
    found = read_prompt_set(path).questions
    assert [question.turns for question in found] == [
        ("What is 2 + 2?", "And\nagain?"), ("Why?",),
    ]  # fmt: skip


def test_mt_benchs_own_questions_are_read(shared_data: Path) -> None:
    found = read_prompt_set(shared_data / "prompts" / "mt_bench80.csv").questions
    assert Counter(question.category for question in found) == dict.fromkeys(
        ["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"],
        10,
    )
    assert {len(question.turns) for question in found} == {2}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "row 2: the line is not JSON"),
        ("[]", "a list of different things"),
        ('{"turns": ["Why?"]}', "no `id`"),
        ('{"id": "x"}', "no `turns`"),
        ('{"id": "x", "turns": []}', "no `turns`"),
        ('{"id": "x", "turns": ["a", {}]}', "no `turns`"),
        ('{"id": "x", "turns": ["a", " "]}', "a prompt is empty"),
        ('{"id": "x", "prompt": "a", "reference": {"b": 1}}', "its `reference`"),
        ('{"id": "x", "prompt": "a", "reference": ["b", "c"]}', "2 references to 1 prompts"),
        (f'{{"id": "x", "prompt": "a", "category": "{"c" * 33}"}}', "at most 32 characters"),
        ('{"id": 81, "prompt": "a"}', "more than one prompt has the id '81'"),
    ],
)
def test_what_is_no_prompt_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(f"{json.dumps(QUESTIONS[0])}\n{line}\n")
    with pytest.raises(PromptSetError, match=re.escape(words)):
        read_prompt_set(path)


def test_an_empty_or_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(PromptSetError, match="the file is empty"):
        read_prompt_set(tmp_path / "empty.jsonl")
    with pytest.raises(PromptSetError, match="cannot be read"):
        read_prompt_set(tmp_path / "nowhere.jsonl")


# The folder of answers


def spec_of(name: str, **fields: object) -> ModelSpec:
    where = {"backend": "openai", "model": "m", "base_url": "http://localhost/v1"}
    table = {"name": name, **where, **fields}
    return ModelSpec.model_validate(table)


def open_folder(folder: Path, prompts: PromptSet, *specs: ModelSpec, seed: int = 0) -> AnswerFolder:
    conditions = describe_conditions(prompts, specs, sampling=Sampling(seed=seed))
    return AnswerFolder(folder / "answers", prompts=prompts, conditions=conditions)


def answer_to(prompts: PromptSet, number: int, turn: int = 0, text: str = "Yes.") -> RecordedTurn:
    completion = Completion(
        text=text, finish_reason="stop", prompt_tokens=3, completion_tokens=2,
        time_to_first_token=0.1, duration=0.2, model_id="m",
    )  # fmt: skip
    return RecordedTurn.of(prompts.questions[number], turn, completion)


def test_a_line_that_was_half_written_is_taken_away(tmp_path: Path) -> None:
    prompts = read_prompt_set(write_questions(tmp_path))
    folder = open_folder(tmp_path, prompts, spec_of("Amber"))
    first = answer_to(prompts, 1, text="Zwei\u2028Zeilen \x85 und 汉字")
    folder.append("Amber", first, asked=[{"role": "user", "content": "2 + 3?"}])
    path = folder.path_of("Amber")
    whole = path.read_bytes()
    folder.append("Amber", answer_to(prompts, 2), asked=[{"role": "user", "content": "Where?"}])
    path.write_bytes(path.read_bytes()[:-5])
    assert folder.read("Amber") == {("101", 0): first}
    assert path.read_bytes() == whole
    assert read_rows(path)["2 + 3?",].answer == first.answer


def test_answers_given_under_other_conditions_are_not_mixed(tmp_path: Path) -> None:
    prompts = read_prompt_set(write_questions(tmp_path))
    open_folder(tmp_path, prompts, spec_of("Amber"))
    folder = open_folder(tmp_path, prompts, spec_of("Birch"))
    assert list(folder.manifest["models"]) == ["Amber", "Birch"]
    with pytest.raises(ConditionsDiffer, match=r"`sampling`.*--out"):
        open_folder(tmp_path, prompts, spec_of("Amber"), seed=1)
    with pytest.raises(ConditionsDiffer, match=r"\"Amber\" with another `system_prompt`"):
        open_folder(tmp_path, prompts, spec_of("Amber", system_prompt="Be brief."))
    fewer = read_prompt_set(write_questions(tmp_path, QUESTIONS[:1]))
    with pytest.raises(ConditionsDiffer, match="another `prompts`"):
        open_folder(tmp_path, fewer, spec_of("Amber"))


def test_models_whose_names_are_alike_have_files_of_their_own(tmp_path: Path) -> None:
    prompts = read_prompt_set(write_questions(tmp_path))
    names = ("A/b", "a b", "../a-b", "汉", "failures")
    folder = open_folder(tmp_path, prompts, *map(spec_of, names))
    paths = [folder.path_of(name) for name in names]
    assert len(set(paths)) == len(names)
    assert all(path.parent == tmp_path / "answers" for path in paths)
    assert tmp_path / "answers" / "failures.jsonl" not in paths


# Whole runs


@pytest.fixture
def server() -> Iterator[CountingJudge]:
    with CountingJudge(lambda prompt: Reply(f"An answer to {prompt!r}."), delay=0.05) as server:
        yield server


class Arena:
    def __init__(self, folder: Path, server: CountingJudge) -> None:
        self.folder = folder
        self.config = folder / "arena.toml"
        tables = [
            f'[[models]]\nname = "{name}"\nbackend = "openai"\nmodel = "counting-1"\n'
            f'base_url = "{server.base_url}"\nretries = 0\n'
            for name in MODELS
        ]
        self.config.write_text(f'data_dir = "{folder}"\n' + "\n".join(tables))
        self.prompts = write_questions(folder)
        self.out = folder / "answers"

    def command(self, *arguments: str, models: tuple[str, ...] = MODELS) -> list[str]:
        named = [word for name in models for word in ("--models", name)]
        start = [sys.executable, "-c", "from arena.cli import main; main()", "battles", "generate"]
        where = ["-p", str(self.prompts), "-c", str(self.config), "--out", str(self.out)]
        return [*start, *where, *named, *arguments]

    def run(self, *arguments: str, **fields: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401
        command = self.command(*arguments, **fields)
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=400)

    def store(self) -> Store:
        return open_store(f"sqlite:///{self.folder}/arena.db")


def test_a_killed_run_goes_on_and_makes_each_battle_once(
    tmp_path: Path, server: CountingJudge
) -> None:
    arena = Arena(tmp_path, server)
    run = subprocess.Popen(arena.command("--concurrency", "1"), stderr=subprocess.DEVNULL)
    server.wait_for(7)
    run.kill()
    run.wait()
    kept = sum(len(path.read_bytes().splitlines()) for path in arena.out.glob("[abc]*.jsonl"))
    asked = server.requests
    assert 0 < kept <= asked

    done = arena.run("--store")
    assert done.returncode == 0, done.stderr
    # Three conversations under way may have been lost, one a model; nothing else was asked twice.
    assert server.requests == asked + 15 - kept
    assert asked - kept <= 3
    assert "9 battles recorded" in done.stderr
    before = server.requests
    again = arena.run("--store")
    assert "0 battles recorded, 9 were there already" in again.stderr
    assert server.requests == before

    assert asyncio.run(play(arena.out)) == "An answer to 'Twice that?'."
    table = (arena.out / "recorded.toml").read_text(encoding="utf-8")
    served = parse_settings(table, source=arena.out / "arena.toml", environ={}).models
    assert [(spec.name, spec.backend) for spec in served] == [(name, "recorded") for name in MODELS]


async def play(folder: Path) -> str:
    """What the `recorded` back end makes of Amber's answers to the second question."""
    spec = ModelSpec(name="Amber", backend="recorded", path=folder / "amber.jsonl")
    async with Roster([spec], environ={}) as roster:
        first, second = QUESTIONS[1]["turns"]
        talk = [Message("user", first), Message("assistant", "five"), Message("user", second)]
        events = [event async for event in roster.models["Amber"].stream(talk)]
    assert isinstance(events[-1], Completion)
    return events[-1].text


def test_battles_of_a_prompt_set_belong_to_nobody_and_keep_references(
    tmp_path: Path, server: CountingJudge
) -> None:
    arena = Arena(tmp_path, server)
    done = arena.run("--store", "--pairs-per-prompt", "1", "--seed", "3")
    assert "3 battles recorded" in done.stderr
    store = arena.store()
    with store.engine.connect() as connection:
        rows = connection.execute(select(battles)).mappings().all()
        owner = connection.execute(select(voters)).mappings().one()
        references = set(connection.scalars(select(turns.c.reference)))
    assert (owner["id"], owner["kind"]) == ("prompt-set", "program")
    assert {row["probability"] for row in rows} == {1 / 3}
    assert {(row["policy"], row["status"]) for row in rows} == {("prompt-set", "ready")}
    assert references == {None, "5", "10", "In France."}
    found = store.judged_battles.find(category="math")
    assert len(found) == 1
    (battle,) = store.judged_battles.read(found)
    assert [turn.reference for turn in battle.turns] == ["5", "10"]
    assert store.votes.tally().votes == 0
    store.close()
    assert (
        "3 were there already"
        in arena.run("--store", "--pairs-per-prompt", "1", "--seed", "3").stderr
    )


def test_what_fails_is_explained_and_asked_for_again(tmp_path: Path, server: CountingJudge) -> None:
    good = server.rule
    server.rule = lambda prompt: (
        Reply("not this one", status=400) if "sea" in prompt else good(prompt)
    )
    arena = Arena(tmp_path, server)
    done = arena.run("--store", models=("Amber", "Birch"))
    assert done.returncode == 1
    assert "Amber: 1 × Refused" in done.stderr
    assert "2 battles recorded, 0 were there already, 1 left out" in done.stderr
    lines = (arena.out / "failures.jsonl").read_text().splitlines()
    assert {(json.loads(line)["model"], json.loads(line)["question"]) for line in lines} == {
        ("Amber", "81"), ("Birch", "81"),
    }  # fmt: skip
    server.rule = good
    before = server.requests
    done = arena.run("--store", models=("Amber", "Birch"))
    assert (done.returncode, server.requests) == (0, before + 4)
    assert "1 battles recorded, 2 were there already" in done.stderr
    assert (arena.out / "failures.jsonl").read_text() == ""


def test_a_model_that_always_fails_is_left_alone(tmp_path: Path, server: CountingJudge) -> None:
    server.rule = lambda _: Reply("no", status=400)
    arena = Arena(tmp_path, server)
    arena.prompts = write_questions(
        tmp_path, [{"id": str(number), "prompt": f"{number}?"} for number in range(30)]
    )
    done = arena.run("--concurrency", "1", models=("Amber",))
    assert server.requests == 10
    assert "Amber: 20 × NotAsked" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "Ambre"], 'Did you mean "Amber"?'),
        (["-m", "Amber", "--store"], "two models or more"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, server: CountingJudge, arguments: list[str], words: str
) -> None:
    done = Arena(tmp_path, server).run(*arguments, models=())
    assert done.returncode == 2
    assert words in done.stderr
    assert server.requests == 0
