"""What `arena judge` says before anybody is asked, and what it lists afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from counting_judge import record_battles, write_settings
from sqlalchemy import update
from typer.testing import CliRunner

from arena.cli import app
from arena.judging.orders import RunOrder, describe_judge, estimate, read_sampling
from arena.judging.prompts import JudgePrompts
from arena.judging.reading import read_verdict
from arena.rules.judgements import CallKey, JudgeMode
from arena.store import Store, open_store
from arena.store.tables import responses
from arena.store.transactions import begin_write
from serving.protocol import Completion
from serving.specs import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

SPEC = ModelSpec.model_validate(
    {
        "name": "Judge",
        "backend": "openai",
        "model": "m",
        "base_url": "http://127.0.0.1:9/v1",
        "price_input": 1.0,
        "price_output": 10.0,
        "sampling": {"temperature": 0.7, "top_p": 0.9, "max_tokens": 99},
    }
)


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[tuple[Path, Store]]:
    """Settings whose judge nobody serves, and an open record of six battles."""
    config = write_settings(tmp_path, base_url="http://127.0.0.1:9/v1")
    store = open_store(f"sqlite:///{tmp_path}/arena.db")
    record_battles(store, 6, turns_each=2, category="math")
    yield config, store
    store.close()


def call(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["judge", *arguments, "--config", str(config)])


def test_an_arena_without_settings_is_named_by_its_folder(
    arena: tuple[Path, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = arena
    store.judgings.register(describe_judge(SPEC, JudgeMode.PLAIN))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    listed = CliRunner().invoke(app, ["judge", "list", "--data-dir", str(tmp_path)])
    assert listed.exit_code == 0, listed.stderr
    assert "Judge (plain)" in listed.stdout
    shown = CliRunner().invoke(app, ["judge", "show", "Judge (plain)", "--data-dir", str(tmp_path)])
    assert shown.exit_code == 0, shown.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "Jugde"], 'Did you mean "Judge"?'),
        (["--judge", "Judge"], "24 questions are to be asked. Add --yes to begin"),
        (["--judge", "Judge", "--battles", "2"], "8 questions are to be asked"),
        (["--judge", "Judge", "--pair", "Birch", "Amber"], "8 questions are to be asked"),
        (["--judge", "Judge", "--category", "coding"], "no battle fits"),
        (["--judge", "Judge", "--pair", "Amber", "Ash"], 'on record with a model named "Ash"'),
        (["--judge", "Judge", "--assignment", "first"], 'no assignment named "first"'),
        (["--judge", "Judge", "--mode", "reference"], "none of the 12 turns has one"),
        (["--judge", "Judge", "--max-cost", "1"], "price_input and price_output"),
        (["--judge", "Judge", "--temperature", "warm"], "a number from 0 to 2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_nobody_is_asked(
    arena: tuple[Path, Store], arguments: list[str], words: str
) -> None:
    config, store = arena
    done = call(config, "run", *arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert store.judgings.judges() == []


def answer_one(store: Store, key: CallKey) -> str:
    """Lets a judge answer one question; returns its name."""
    judge = describe_judge(SPEC, JudgeMode.PLAIN)
    known = store.judgings.register(judge)
    worker_id = store.workers.register()
    store.judgings.claim(judge.voter_id, key, request=[], worker_id=worker_id)
    text = '{"reason": "It is right.", "verdict": "A"}'
    completion = Completion(
        text=text, finish_reason="stop", prompt_tokens=500, completion_tokens=20,
        time_to_first_token=1, duration=4, model_id="m",
    )  # fmt: skip
    store.judgings.answer(
        judge.voter_id, key, worker_id=worker_id, completion=completion,
        verdict=read_verdict(text, swapped=key.swapped), cost=0.0007,
    )  # fmt: skip
    return known.name


def test_what_a_judge_has_done_is_listed_and_shown(arena: tuple[Path, Store]) -> None:
    config, store = arena
    assert "No judge has been asked yet" in call(config, "list").stdout
    assert "no judge has been asked yet" in call(config, "show", "x").stderr
    for swapped in (False, True):
        name = answer_one(store, CallKey("battle-math-000", 0, swapped))
    (row,) = json.loads(call(config, "list", "--json").stdout)
    assert (row["name"], row["summary"]["shares"]["first-biased"]) == ("Judge (plain)", 1.0)
    assert "100.0%" in call(config, "list").stdout
    shown = call(config, "show", name)
    assert "first-biased" in shown.stdout
    assert "Its own board (no vote of a person)" in shown.stdout
    assert json.loads(call(config, "show", name, "--json").stdout)["board"]["models"]
    assert 'Did you mean "Judge (plain)"?' in call(config, "show", "Judge (plane)").stderr


def test_an_estimate_counts_what_is_left_and_learns_from_answers(
    arena: tuple[Path, Store],
) -> None:
    _, store = arena
    ids = tuple(store.judged_battles.find())
    judge = describe_judge(SPEC, JudgeMode.PLAIN)
    order = RunOrder(database_url="", spec=SPEC, judge=judge, battle_ids=ids, concurrency=2)
    first = estimate(store, order)
    assert (first.battles, first.questions, first.to_ask, first.measured) == (6, 24, 24, 0)
    assert first.completion_tokens == 24 * 80
    length = sum(
        len(message["content"].encode())
        for battle in store.judged_battles.read(ids)
        for turn in range(2)
        for swapped in (False, True)
        for message in JudgePrompts(JudgeMode.PLAIN).ask(battle.turns[: turn + 1], swapped=swapped)
    )
    assert first.prompt_tokens == pytest.approx(length / 4, rel=0.01)
    assert first.cost == pytest.approx(
        (first.prompt_tokens * 1 + first.completion_tokens * 10) / 1e6
    )
    answer_one(store, CallKey(ids[0], 0, swapped=False))
    then = estimate(store, order)
    assert (then.answered, then.to_ask, then.measured) == (1, 23, 1)
    assert then.completion_tokens == 23 * 20
    assert then.seconds == pytest.approx(23 * 4 / 2)


def test_a_contender_is_as_fast_a_judge(arena: tuple[Path, Store]) -> None:
    _, store = arena
    spec = SPEC.model_copy(update={"name": "Amber"})
    ids = tuple(store.judged_battles.find())
    judge = describe_judge(spec, JudgeMode.PLAIN)
    order = RunOrder(database_url="", spec=spec, judge=judge, battle_ids=ids, concurrency=1)
    assert estimate(store, order).speed is None
    with begin_write(store.engine) as connection:
        # Whoever is on side A wrote 30 tokens in 2 s; Amber is there in some battles.
        connection.execute(
            update(responses)
            .where(responses.c.side == "a")
            .values(completion_tokens=30, duration=2.0)
        )
    expected = estimate(store, order)
    assert (expected.measured, expected.speed) == (0, 15)
    assert expected.seconds == pytest.approx(24 * 80 / 15)


def test_a_judge_is_cool_and_brief_unless_told_otherwise() -> None:
    plain = describe_judge(SPEC, JudgeMode.PLAIN)
    assert (plain.sampling["temperature"], plain.sampling["max_tokens"]) == (0, 512)
    assert plain.sampling["top_p"] == 0.9  # the model's own, where nothing else is said
    own = describe_judge(SPEC, JudgeMode.PLAIN, temperature=None, max_tokens=7)
    assert (own.sampling["temperature"], own.sampling["max_tokens"]) == (0.7, 7)
    assert describe_judge(SPEC, JudgeMode.ANSWER_FIRST).sampling["max_tokens"] == 2048
    loose = describe_judge(SPEC, JudgeMode.PLAIN, structured=False)
    assert read_sampling(loose).response_schema is None
    assert read_sampling(plain).response_schema == JudgePrompts(JudgeMode.PLAIN).schema
    assert len({judge.voter_id for judge in (plain, own, loose)}) == 3
    assert (
        RunOrder.model_validate_json(
            RunOrder(database_url="u", spec=SPEC, judge=plain, battle_ids=("b",)).model_dump_json()
        ).judge
        == plain
    )
