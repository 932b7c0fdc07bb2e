from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from misbehaving_provider import collect, complete

from serving import (
    Completion,
    Message,
    ModelSpec,
    ReasoningDelta,
    RecordedModel,
    ServingError,
    TextDelta,
    UnknownPrompt,
)
from serving.recorded import Pace, Row, load_recorded, play, read_rows

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

CAPITAL = {"prompt": "Capital of France?", "answer": "Paris."}
FOLLOW_UP = {
    "messages": [
        {"role": "system", "content": "ignored"},
        {"role": "user", "content": "Capital of France?"},
        {"role": "assistant", "content": "Paris."},
        {"role": "user", "content": "And of Spain?"},
    ],
    "answer": "Madrid.",
}


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def load(path: Path, **fields: object) -> RecordedModel:
    table = {"name": "it", "backend": "recorded", "path": path, **fields}
    return await load_recorded(ModelSpec.model_validate(table))


async def test_an_answer_comes_with_all_that_was_recorded(file: Path) -> None:
    write(
        file,
        {
            **CAPITAL,
            "reasoning": "Easy.",
            "model_id": "big-1",
            "tokens": 4,
            "prompt_tokens": 5,
            "finish_reason": "length",
            "a column of somebody": "else",
        },
    )
    events = await collect(await load(file), [Message("user", " Capital of  France?\n")])
    assert events[:-1] == [ReasoningDelta("Easy."), TextDelta("Paris.")]
    completion = events[-1]
    assert isinstance(completion, Completion)
    assert (completion.text, completion.reasoning) == ("Paris.", "Easy.")
    assert (completion.model_id, completion.finish_reason) == ("big-1", "length")
    assert (completion.prompt_tokens, completion.completion_tokens) == (5, 4)


async def test_a_conversation_is_matched_by_all_of_its_user_messages(file: Path) -> None:
    model = await load(write(file, CAPITAL, FOLLOW_UP, ""))
    conversation = [
        Message("user", "Capital of France?"),
        Message("assistant", "whatever it said"),
        Message("user", "And of Spain?"),
    ]
    assert (await complete(model, conversation)).text == "Madrid."
    with pytest.raises(UnknownPrompt):
        await collect(model, conversation[2:])


async def test_an_unknown_prompt_is_told_which_there_are(file: Path) -> None:
    model = await load(write(file, CAPITAL, FOLLOW_UP, {"prompt": "Hi", "answer": "Hello"}))
    assert model.prompts == ("Capital of France?", "Hi")
    assert not model.answers_anything
    with pytest.raises(UnknownPrompt, match=r"'Weather\?'.* 2 prompts, such as 'Capital") as caught:
        await collect(model, [Message("user", "Weather?")])
    assert caught.value.known == ("Capital of France?", "Hi")
    second = [Message("user", "Capital of France?"), Message("user", "And of Peru?")]
    with pytest.raises(UnknownPrompt) as caught:
        await collect(model, second)
    assert caught.value.known == ("And of Spain?",)


async def test_a_star_answers_what_has_no_row(file: Path) -> None:
    model = await load(write(file, CAPITAL, {"prompt": "*", "answer": "Pardon?"}))
    assert model.answers_anything
    assert model.prompts == ("Capital of France?",)
    assert (await complete(model, [Message("user", "Weather?")])).text == "Pardon?"
    assert (await complete(model, [Message("user", "Capital of France?")])).text == "Paris."


async def test_one_file_can_hold_the_answers_of_several_models(file: Path) -> None:
    write(
        file,
        {**CAPITAL, "model_id": "a"},
        {**CAPITAL, "model_id": "b", "answer": "Lyon."},
        {"prompt": "Hi", "answer": "Hello"},
    )
    model = await load(file, model="b")
    assert (await complete(model, [Message("user", "Capital of France?")])).text == "Lyon."
    assert (await complete(model, [Message("user", "Hi")])).model_id == "b"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([CAPITAL, "{"], "line 2: the line: Invalid JSON"),
        ([{"prompt": "x"}], "line 1: answer: Field required"),
        ([{"prompt": "x", "answer": "y", "tokens": 0}], "line 1: tokens:"),
        ([{"answer": "y"}], "line 1: give either `prompt` or `messages`"),
        ([{**CAPITAL, **FOLLOW_UP}], "line 1: give either `prompt` or `messages`"),
        ([{"prompt": " ", "answer": "y"}], "no user message, or an empty one"),
        ([{"messages": [], "answer": "y"}], "no user message, or an empty one"),
        ([CAPITAL, CAPITAL], "line 2: a second answer to 'Capital of France.'"),
        ([""], "holds no answers; check `path`"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(
    file: Path, rows: list[dict[str, Any] | str], words: str
) -> None:
    with pytest.raises(ServingError, match=words):
        read_rows(write(file, *rows))


def test_a_file_that_cannot_be_read_is_named(file: Path) -> None:
    with pytest.raises(ServingError, match=r"answers\.jsonl.*No such file.*check `path`"):
        read_rows(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ServingError, match="decode"):
        read_rows(file)


async def test_the_pace_of_the_spec_comes_before_that_of_the_row(file: Path) -> None:
    row = {**CAPITAL, "answer": "x" * 40, "tokens": 10}
    write(file, {**row, "time_to_first_token": 30, "tokens_per_second": 0.1})
    model = await load(file, time_to_first_token=0.1, tokens_per_second=30)
    completion = await complete(model, [Message("user", "Capital of France?")])
    assert 0.1 <= completion.time_to_first_token < 0.3
    assert 0.4 <= completion.duration < 0.8  # nine tokens at thirty a second after the first
    assert completion.tokens_per_second == pytest.approx(30, rel=0.4)


async def test_a_row_brings_its_own_pace(file: Path) -> None:
    write(file, {**CAPITAL, "tokens": 3, "time_to_first_token": 0.1, "tokens_per_second": 20})
    completion = await complete(await load(file), [Message("user", "Capital of France?")])
    assert 0.1 <= completion.time_to_first_token < 0.3
    assert 0.2 <= completion.duration < 0.5


@given(
    reasoning=st.text(max_size=20),
    answer=st.text(max_size=60),
    tokens=st.integers(1, 30) | st.none(),
)
def test_pieces_add_up_to_the_whole(reasoning: str, answer: str, tokens: int | None) -> None:
    row = Row(prompt="p", answer=answer, reasoning=reasoning, tokens=tokens)

    async def run() -> list[TextDelta | ReasoningDelta]:
        pace = Pace(tokens_per_second=2000)
        return [delta async for delta in play(row, pace)]

    deltas = asyncio.run(run())
    assert all(delta.text for delta in deltas)
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == answer
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == reasoning
    kinds = [type(delta) for delta in deltas]
    assert kinds == sorted(kinds, key=lambda kind: kind is TextDelta)


async def measure(*tasks: Coroutine[Any, Any, Any]) -> tuple[list[Any], float, float]:
    """Their results, the seconds they took together and those of the processor.

    Without collecting garbage, which would mostly be that of the tests before.
    """
    gc.collect()
    gc.disable()
    try:
        busy, start = time.process_time(), time.monotonic()
        results = await asyncio.gather(*tasks)
        return results, time.monotonic() - start, time.process_time() - busy
    finally:
        gc.enable()


async def test_two_hundred_streams_keep_their_pace_on_one_thread(file: Path) -> None:
    async def sleep_as_often() -> None:
        await asyncio.sleep(0.2)
        for _ in range(49):
            await asyncio.sleep(0.02)

    write(file, {"prompt": "*", "answer": "word " * 80, "tokens": 50})
    model = await load(file, time_to_first_token=0.2, tokens_per_second=50)
    threads = threading.active_count()
    # Other programs may take the processor in one half of the comparison: the best of five.
    for _ in range(5):
        answers, seconds, busy = await measure(
            *(complete(model, [Message("user", str(number))]) for number in range(200))
        )
        assert threading.active_count() == threads
        # Against tasks that do nothing but sleep as long, measured just afterwards: 1.0 and 2.7.
        _, own_seconds, own_busy = await measure(*(sleep_as_often() for _ in range(200)))
        if seconds < 2 * own_seconds and busy < 8 * own_busy:
            break
    assert seconds < 2 * own_seconds
    assert busy < 8 * own_busy
    assert max(answer.time_to_first_token for answer in answers) < 0.2 + own_seconds
    assert {answer.text for answer in answers} == {"word " * 80}
