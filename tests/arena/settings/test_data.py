"""The data that the program ships: complete, in the promised form, and our own."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from contextlib import aclosing
from functools import cache
from pathlib import Path

import pytest

from arena.settings import parse_settings
from serving import Completion, Message
from serving.recorded import read_rows
from serving.roster import ModelSpec, Roster

ROOT = Path(__file__).parents[3]
DATA = ROOT / "data"
PUBLIC_PROMPTS = ROOT.parent / "shared" / "data" / "prompts"

CATEGORIES = {
    "writing",
    "roleplay",
    "extraction",
    "reasoning",
    "math",
    "coding",
    "stem",
    "humanities",
}
HAN = r"[\u4e00-\u9fff]"
KANA = r"[\u3040-\u30ff]"
SCRIPTS = {
    "ar": r"[\u0600-\u06ff]",
    "hi": r"[\u0900-\u097f]",
    "ja": KANA,
    "ru": r"[\u0400-\u04ff]",
    "zh-Hans": HAN,
}
# Characters whose simplified form differs, among the most frequent ones.
TRADITIONAL = "這個們來時說對為國會學麼過還沒發經樣點開實問題寫請給種兩並與價語詞類應該讓"
# A word that marks each language written in Latin letters.
WORDS = {
    "de": r"\b(und|der|die|das|wer)\b",
    "en": r"\b(the|a|an|and|is|this)\b",
    "es": r"\b(y|el|la|en|que)\b",
    "fr": r"\b(et|le|la|une|du)\b",
    "pt-BR": r"\b(e|o|um|uma|que)\b",
}


@cache
def prompts() -> list[dict[str, str]]:
    lines = (DATA / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def normalise(text: str) -> str:
    """Letters and digits only, so that punctuation cannot hide a copy."""
    return re.sub(r"[\W_]+", " ", text).casefold().strip()


def test_every_prompt_has_exactly_the_four_documented_keys() -> None:
    for prompt in prompts():
        assert set(prompt) == {"id", "category", "language", "text"}
        assert all(isinstance(value, str) and value == value.strip() for value in prompt.values())
        assert len(prompt["text"]) >= 20


def test_each_category_has_enough_prompts_to_surprise() -> None:
    counts = Counter(prompt["category"] for prompt in prompts())
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 12
    assert counts.total() >= 104


def test_chinese_visitors_find_prompts_in_every_category() -> None:
    counts = Counter(p["category"] for p in prompts() if p["language"] == "zh-Hans")
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 3


def test_english_leads_at_least_eight_languages() -> None:
    counts = Counter(prompt["language"] for prompt in prompts())
    assert len(counts) >= 8
    assert counts.most_common(1)[0][0] == "en"


def test_ids_and_texts_are_unique() -> None:
    ids = [prompt["id"] for prompt in prompts()]
    texts = [normalise(prompt["text"]) for prompt in prompts()]
    assert len(set(ids)) == len(ids)
    assert len(set(texts)) == len(texts)
    for prompt in prompts():
        assert re.fullmatch(rf"{prompt['category']}-\d{{3}}", prompt["id"])


@pytest.mark.parametrize("prompt", prompts(), ids=lambda prompt: prompt["id"])
def test_a_prompt_is_written_in_its_language(prompt: dict[str, str]) -> None:
    language, text = prompt["language"], prompt["text"]
    if language in SCRIPTS:
        prose = re.sub(r"```.*?```|\$.*?\$|\"\w+\"", "", text, flags=re.DOTALL)
        letters = re.findall(r"[^\W\d_]", prose)
        if language == "ja":
            assert re.search(KANA, prose)
            assert re.search(HAN, prose)
        else:
            native = re.findall(SCRIPTS[language], prose)
            assert len(native) > 0.6 * len(letters)
    else:
        assert re.search(WORDS[language], text, flags=re.IGNORECASE)
        assert not any(re.search(script, text) for script in SCRIPTS.values())
    if language == "zh-Hans":
        assert not set(TRADITIONAL) & set(text)
        assert not re.search(KANA, text)


def test_code_fences_and_formulas_are_closed() -> None:
    for prompt in prompts():
        assert prompt["text"].count("```") % 2 == 0, prompt["id"]
        assert prompt["text"].count("$") % 2 == 0, prompt["id"]


@pytest.mark.skipif(not PUBLIC_PROMPTS.is_dir(), reason="the public prompt sets are not here")
def test_no_prompt_is_a_copy_of_a_public_one() -> None:
    public = set()
    for path in PUBLIC_PROMPTS.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                public |= {
                    normalise(row[key]) for key in ("text", "turn_1", "turn_2") if key in row
                }
    assert len(public) >= 200
    assert not public & {normalise(prompt["text"]) for prompt in prompts()}


def test_the_readme_counts_what_is_there() -> None:
    text = re.sub(r"\s+", " ", (DATA / "README.md").read_text(encoding="utf-8"))
    languages = Counter(prompt["language"] for prompt in prompts())
    assert f"{len(prompts())} prompts" in text
    assert f"English {languages['en']}, Simplified Chinese {languages['zh-Hans']}" in text


@cache
def contenders(name: str) -> list[ModelSpec]:
    """The models of a demo file, read as the demo reads it."""
    source = DATA / "demo" / name
    text = source.read_text(encoding="utf-8")
    text = text.replace("{data}", DATA.as_posix()).replace("{model_file}", "/weights.gguf")
    return parse_settings(text, source=source, environ={}).models


@cache
def recordings() -> dict[str, list[dict[str, object]]]:
    return {
        spec.name: [json.loads(line) for line in spec.path.read_text(encoding="utf-8").splitlines()]
        for spec in contenders("recorded.toml")
        if spec.path is not None
    }


def test_the_contenders_share_their_weights_and_differ_in_how_they_are_asked() -> None:
    live = contenders("arena.toml")
    assert len(live) >= 4
    assert {(spec.backend, str(spec.path)) for spec in live} == {("llamacpp", "/weights.gguf")}
    manners = [(spec.system_prompt, spec.sampling, str(spec.extra_body)) for spec in live]
    assert all(manners.count(manner) == 1 for manner in manners)


def test_cards_name_the_weights_and_what_was_done_to_them() -> None:
    for spec in contenders("arena.toml"):
        assert spec.description.startswith("SmolLM2-135M-Instruct")
        assert (spec.organisation, spec.license) == ("Hugging Face", "Apache-2.0")
        assert ("system prompt" in spec.description) == bool(spec.system_prompt)
        for temperature in re.findall(r"temperature ([\d.]+\d)", spec.description):
            assert spec.sampling.temperature == float(temperature)
        for limit in re.findall(r"after (\d+) tokens", spec.description):
            assert spec.sampling.max_tokens == int(limit)


def test_recorded_contenders_are_the_live_ones_and_say_that_they_are_recorded() -> None:
    live, recorded = contenders("arena.toml"), contenders("recorded.toml")
    assert {spec.backend for spec in recorded} == {"recorded"}
    for one, other in zip(live, recorded, strict=True):
        assert other.description == f"{one.description} Recorded beforehand."
        assert (other.name, other.organisation, other.license) == (
            one.name,
            one.organisation,
            one.license,
        )


def test_every_contender_answers_the_same_shipped_prompts() -> None:
    texts = {prompt["id"]: prompt["text"] for prompt in prompts()}
    answered = {name: [row["id"] for row in rows] for name, rows in recordings().items()}
    first = next(iter(answered.values()))
    assert len(set(first)) == len(first)
    for name, rows in recordings().items():
        assert answered[name] == first
        assert all(row["prompt"] == texts[str(row["id"])] for row in rows)


def test_recorded_prompts_cover_all_categories_and_many_languages() -> None:
    ids = {row["id"] for rows in recordings().values() for row in rows}
    recorded = [prompt for prompt in prompts() if prompt["id"] in ids]
    counts = Counter(prompt["category"] for prompt in recorded)
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 3
    chinese = {prompt["category"] for prompt in recorded if prompt["language"] == "zh-Hans"}
    assert chinese == CATEGORIES
    assert len({prompt["language"] for prompt in recorded}) >= 5


def test_recordings_keep_their_measured_pace_and_their_limits() -> None:
    live = {spec.name: spec for spec in contenders("arena.toml")}
    for name, path in ((spec.name, spec.path) for spec in contenders("recorded.toml")):
        assert path is not None
        limit = live[name].sampling.max_tokens
        assert limit is not None
        for row in read_rows(path).values():
            assert row.answer.strip()
            assert row.tokens is not None
            assert 1 <= row.tokens <= limit
            assert (row.finish_reason == "length") == (row.tokens == limit)
            assert row.model_id == "SmolLM2-135M-Instruct.Q4_1"
            assert row.prompt_tokens is not None
            assert row.time_to_first_token is not None
            assert 0 < row.time_to_first_token < 10
            assert row.tokens == 1 or row.tokens_per_second is not None


def test_no_answer_is_another_contenders_or_its_beginning() -> None:
    by_prompt: dict[object, list[str]] = {}
    for rows in recordings().values():
        for row in rows:
            by_prompt.setdefault(row["id"], []).append(str(row["answer"]))
    for name, answers in by_prompt.items():
        starts = [answer[:60] for answer in answers]
        assert len(set(starts)) == len(starts), name


def test_the_recordings_stay_small() -> None:
    assert sum(path.stat().st_size for path in (DATA / "demo").iterdir()) < 600_000


async def test_the_recorded_demo_plays_its_answers() -> None:
    # Their own pace is a person's; only what is played matters here.
    specs = [
        spec.model_copy(update={"time_to_first_token": 0.0, "tokens_per_second": 10_000.0})
        for spec in contenders("recorded.toml")
    ]
    async with Roster(specs) as roster:
        for name, model in roster.models.items():
            for row in recordings()[name]:
                async with aclosing(model.stream([Message("user", str(row["prompt"]))])) as events:
                    last = [event async for event in events][-1]
                assert isinstance(last, Completion)
                assert last.text == row["answer"]
                assert last.completion_tokens == row["tokens"]


@pytest.mark.model
@pytest.mark.slow
def test_anybody_can_record_the_demo_again(model_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "record-demo"), str(model_file)]
    options = ["--contender", "smollm2-short", "--prompt", "writing-008", "--prompt", "stem-009"]
    subprocess.run([*command, str(tmp_path), *options], check=True, timeout=240)
    shipped = {row["id"]: row for row in recordings()["smollm2-short"]}
    lines = (tmp_path / "smollm2-short.jsonl").read_text(encoding="utf-8").splitlines()
    again = [json.loads(line) for line in lines]
    assert [row["id"] for row in again] == ["writing-008", "stem-009"]
    for row in again:
        assert row.keys() == shipped[row["id"]].keys()
        assert row["prompt"] == shipped[row["id"]]["prompt"]
        assert row["answer"].strip()
        assert row["tokens"] <= 60
