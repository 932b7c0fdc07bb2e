"""Fixed sets of prompts: what is asked, about what, and what a right answer would be.

A file holds a prompt a line, as JSON: MT-Bench's question file (`question_id`, `category`,
`turns`, `reference`) loads as it is, and so does the program's own (`id`, `category`, `text`).
The same columns may stand in a CSV file, the turns in `turn_1`, `turn_2` and so on.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.rules.battles import storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["PromptSet", "PromptSetError", "Question", "read_prompt_set"]

_TURN_COLUMN = re.compile(r"turn_(\d+)")
_LONGEST_CATEGORY, _LONGEST_LANGUAGE = 32, 16


class PromptSetError(Exception):
    """A file is no prompt set; the message names the line and what a line looks like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One prompt, or a conversation's prompts one after another.

    Attributes:
        id: unique in its set.
        turns: at least one.
        references: a right answer to each turn, `None` where there is none.
        category: what it is about, `None` where the file does not say.
        language: of the prompts, likewise.
    """

    id: str
    turns: tuple[str, ...]
    references: tuple[str | None, ...]
    category: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """The questions of a file.

    Attributes:
        name: of the file.
        sha256: of its bytes.
        questions: in its order.
    """

    name: str
    sha256: str
    questions: tuple[Question, ...]


def read_prompt_set(path: Path) -> PromptSet:
    """Reads a prompt set.

    Raises:
        PromptSetError: the file cannot be read, or a line is no prompt.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PromptSetError(f"{path} cannot be read ({reason}). Name another file.") from None
    rows = _read_csv(text, path) if path.suffix.lower() == ".csv" else _read_jsonl(text, path)
    questions = tuple(_question(row, where) for where, row in rows)
    if not questions:
        raise PromptSetError(f"{path} holds no prompts.")
    twice = [name for name, times in Counter(q.id for q in questions).items() if times > 1]
    if twice:
        raise PromptSetError(f"{path}: more than one prompt has the id {twice[0]!r}.")
    return PromptSet(name=path.name, sha256=hashlib.sha256(data).hexdigest(), questions=questions)


def _read_jsonl(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    # Not splitlines(): a prompt may hold one of the rarer line separators as it is.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise _no_prompt(where, f"this is not JSON ({error})") from None
        if not isinstance(row, dict):
            raise _no_prompt(where, "this is no JSON object")
        yield where, row


def _read_csv(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(text.splitlines(keepends=True))
    for row in reader:
        columns = {name: value for name, value in row.items() if name and value}
        turns = {name: value for name, value in columns.items() if _TURN_COLUMN.fullmatch(name)}
        if turns:
            ordered = sorted(turns, key=lambda name: int(name.partition("_")[2]))
            columns["turns"] = [turns[name] for name in ordered]
        yield f"{path} line {reader.line_num}", columns


def _no_prompt(where: str, what: str) -> PromptSetError:
    return PromptSetError(
        f"{where}: {what}. A line is "
        '{"id": "1", "category": "math", "turns": ["…", "…"], "reference": ["…", "…"]}'
    )


def _question(row: Mapping[str, Any], where: str) -> Question:
    name = next((row[key] for key in ("id", "question_id") if row.get(key) is not None), None)
    if not isinstance(name, str | int) or not str(name).strip():
        raise _no_prompt(where, "it has no `id` or `question_id`")
    turns = _read_turns(row, where)
    return Question(
        id=str(name).strip(),
        turns=turns,
        references=_read_references(row.get("reference"), len(turns), where),
        category=_read_label(row, "category", _LONGEST_CATEGORY, where),
        language=_read_label(row, "language", _LONGEST_LANGUAGE, where),
    )


def _read_turns(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    found = next((row[key] for key in ("turns", "prompt", "text") if key in row), None)
    turns = [found] if isinstance(found, str) else found
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) for t in turns):
        raise _no_prompt(where, "it has no `turns`, `prompt` or `text` to ask")
    cleaned = tuple(storable(turn).strip() for turn in turns)
    if not all(cleaned):
        raise _no_prompt(where, "a prompt is empty")
    return cleaned


def _read_references(value: object, turns: int, where: str) -> tuple[str | None, ...]:
    given = [value] if isinstance(value, str) else value
    if given is None:
        return (None,) * turns
    if not isinstance(given, list) or not all(isinstance(r, str | None) for r in given):
        raise _no_prompt(where, "its `reference` is neither a text nor a list of texts")
    if len(given) > turns:
        raise _no_prompt(where, f"it has {len(given)} references to {turns} prompts")
    known = [storable(text).strip() or None if text else None for text in given]
    return (*known, *(None,) * (turns - len(known)))


def _read_label(row: Mapping[str, Any], name: str, longest: int, where: str) -> str | None:
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value.strip()) > longest:
        raise _no_prompt(where, f"its `{name}` is no text of at most {longest} characters")
    return value.strip() or None
