"""What visitors read: the same in every language, all of it used, nothing missing."""

from __future__ import annotations

import ast
import re
import string
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena.web
import serving
from arena.rules.battles import BattleStatus, Outcome, Side
from arena.settings.shipped import read_prompts
from arena.web.texts import LANGUAGES, choose_language, load_table_words, load_texts
from ranking import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

WEB = Path(arena.web.__file__).parent
SOURCES = sorted(WEB.rglob("*.py"))
# Sections whose keys are values of the program, and where those are written.
VALUES = {
    "status": {*BattleStatus, "idle", "one_done"},
    "categories": {prompt.category for prompt in read_prompts().values()},
    "side": {"waiting", "writing", "complete", "cancelled"},  # a failed side has a problem
    "problem": {
        "EmptyAnswer",
        "NotStored",
        *(
            name
            for name in serving.__all__
            if isinstance(kind := getattr(serving, name), type)
            and issubclass(kind, serving.ServingError)
            and kind is not serving.RosterError
        ),
    },
}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def keys_of(language: str) -> dict[tuple[str, str], str]:
    return {
        (section, key): text
        for section, texts in load_texts(language).items()
        for key, text in texts.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_texts_with_the_same_placeholders(language: str) -> None:
    ours, first = keys_of(language), keys_of(LANGUAGES[0])
    assert list(ours) == list(first)
    assert {key: placeholders(text) for key, text in ours.items()} == {
        key: placeholders(text) for key, text in first.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_empty_or_ragged(language: str) -> None:
    assert [
        key for key, text in keys_of(language).items() if text.strip() != text or not text
    ] == []


def test_no_translation_was_forgotten() -> None:
    first = keys_of(LANGUAGES[0])
    same = {key for key, text in keys_of("zh").items() if first[key] == text}
    # Names, and what is written alike everywhere.
    assert {
        key for key in same if re.search("[A-Za-z]{2}", without_placeholders(first[key]))
    } == set()


def without_placeholders(text: str) -> str:
    return re.sub(r"\{[^}]*\}", "", text)


# The texts and the code


def literals(tree: ast.AST) -> Iterator[str]:
    """Strings in the code as patterns: what an f-string fills in may be anything."""
    filled = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in filled for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+"
                for part in node.values
            ]
            if any(part != r"\w+" for part in parts):
                yield "".join(parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield re.escape(node.value)


def in_templates() -> Iterator[str]:
    """Keys that templates ask for; what is put together may be anything where it is filled in."""
    for template in (WEB / "templates").rglob("*.html"):
        text = template.read_text(encoding="utf-8")
        for found in re.findall(r"\b(?:words|site|texts\.\w+)\.([a-z]\w*)", text):
            yield re.escape(found)
        for found in re.findall(r"\[\s*\"(\w*%[sd]\w*)\"\s*%", text):
            yield re.sub("%[sd]", r"\\w+", found)


def written_in_the_code() -> re.Pattern[str]:
    rules = [
        Path(str(path))
        for path in (*(WEB.parent / "rules").glob("*.py"), WEB.parent / "battle/conductor.py")
    ]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (*SOURCES, *rules)]
    patterns = {pattern for tree in trees for pattern in literals(tree)} | set(in_templates())
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


@pytest.mark.parametrize("section", load_texts(LANGUAGES[0]))
def test_every_text_is_used(section: str) -> None:
    texts = set(load_texts(LANGUAGES[0])[section])
    if section in VALUES:
        assert texts == VALUES[section]
        return
    written = written_in_the_code()
    assert {key for key in texts if not written.fullmatch(key)} == set()


def section_of(node: ast.expr, named: dict[str, str]) -> str | None:
    """The section that an expression is: `texts["battle"]`, or a name that was given to it."""
    if isinstance(node, ast.Name):
        return named.get(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = node.value
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        return str(node.slice.value) if name in {"texts", "_texts"} else None
    return None


def asked_for(path: Path) -> Iterator[tuple[str, str]]:
    """Every section and key (as a pattern) that a file's functions ask for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        named: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                section = section_of(node.value, named)
                if section is not None:
                    named[node.targets[0].id] = section
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript):
                section = section_of(node.value, named)
                if section is not None:
                    yield from ((section, pattern) for pattern in literals(node.slice))


def test_every_text_that_the_code_asks_for_exists() -> None:
    wanted = {asked for path in SOURCES for asked in asked_for(path)}
    assert len(wanted) > 60  # the search finds them
    have = load_texts(LANGUAGES[0])
    missing = {
        (section, pattern)
        for section, pattern in wanted
        if not any(re.fullmatch(pattern, key) for key in have.get(section, {}))
    }
    assert missing == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_keys_that_are_put_together_exist(language: str) -> None:
    texts = load_texts(language)
    assert {f"model_{side}" for side in Side} <= set(texts["battle"])
    assert {f"panel_{side}_empty" for side in Side} <= set(texts["battle"])
    assert {f"how_{step}" for step in (1, 2, 3)} <= set(texts["battle"])
    assert len([key for key in texts["battle"] if key.startswith("vote_")]) == len(Outcome)


def test_a_language_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError, match="fr"):
        load_texts("fr")


# Which language


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("", "en"),
        ("zh", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("de-DE,de;q=0.9,zh-TW;q=0.5,en;q=0.4", "zh"),
        ("de, fr", "en"),
        ("en;q=0.1, zh;q=0.2", "zh"),
        ("en; q=0.1, zh; q=0.2", "zh"),
        ("en ;q=0.1,zh ; Q=0.2", "zh"),
        ("zh;q=0, en", "en"),
        ("zh;q=0", "en"),
        ("ZH-Hans", "zh"),
        ("zh_CN", "en"),
        ("zhuang", "en"),
        ("zh;q=high,en;q=0.1", "en"),
        ("zh;q=nan,en;q=0.1", "en"),
        (";;,,;q=1", "en"),
        ("*", "en"),
    ],
)
def test_the_browsers_languages_choose(accepted: str, expected: str) -> None:
    assert choose_language(accepted) == expected


@pytest.mark.parametrize(("accepted", "default"), [*product(["", "de", "*"], LANGUAGES)])
def test_the_arenas_own_language_is_the_last_choice(accepted: str, default: str) -> None:
    assert choose_language(accepted, default=default) == default


# The tables of an agreement report

GROUPS = {"pair", "category", "language"}  # what it may be split by


def told_in_english() -> set[str]:
    """The words of the report's tables: constants that are no keys, no docstrings, no formats."""
    tree = ast.parse((WEB.parent / "agreement/sections.py").read_text(encoding="utf-8"))
    docstrings = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    }
    formats = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in formats
        and node.value not in docstrings
        and re.search("[A-Z]|[a-z] |{", node.value)
    }


def test_what_reports_say_is_translated_whole_and_nothing_else_is() -> None:
    kinds = {f"majority of {kind}" for kind in ("crowd", "expert", "judge")}
    named = {*CATEGORIES, *GROUPS, "majority", "longer answer", *kinds}  # by ranking
    exported = {"LEFT_ALIGNED", "Name", "Phrase", "Section"}
    told = told_in_english() - exported
    assert len(told) > 50
    for code in {load_texts(language)["language"]["html"] for language in LANGUAGES[1:]}:
        words = load_table_words(code)
        assert set(words) - named == told
        assert named <= set(words)
        assert {e: placeholders(e) for e in words} == {e: placeholders(words[e]) for e in words}
    assert load_table_words(load_texts(LANGUAGES[0])["language"]["html"]) == {}
