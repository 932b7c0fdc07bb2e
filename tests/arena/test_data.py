"""The data that the program ships: complete, in the promised form, and our own."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
