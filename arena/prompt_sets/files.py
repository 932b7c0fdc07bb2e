"""Fixed sets of prompts: what is asked, about what, and what a right answer would be.

A file holds a prompt a line, as JSON: MT-Bench's question file (`question_id`, `category`,
`turns`, `reference`) loads as it is, and so does the program's own (`id`, `category`, `text`).
The same columns may stand in a table of any kind that votes may be in (docs/files.md), the turns
in `turn_1`, `turn_2` and so on.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.rules.battles import storable
from ranking.errors import RankingError
from ranking.tables.sources import read_source
from ranking.tables.table import FileOptions, fold_column, open_source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["PromptSet", "PromptSetError", "Question", "read_prompt_set"]

_TURN_COLUMN = re.compile(r"turn_(\d+)")
_LONGEST_CATEGORY, _LONGEST_LANGUAGE = 32, 16


class PromptSetError(Exception):
    """A file is no prompt set; the message names the row and what a line looks like."""


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
        told: how the file was read, in sentences.
    """

    name: str
    sha256: str
    questions: tuple[Question, ...]
    told: tuple[str, ...] = ()


def read_prompt_set(path: Path, options: FileOptions | None = None) -> PromptSet:
    """Reads a prompt set from a file of any kind that votes may be in.

    Args:
        path: of the file, - for standard input.
        options: what is known of it.

    Raises:
        PromptSetError: the file cannot be read, or a row is no prompt.
    """
    try:
        source = read_source(path)
        table = open_source(source, options)
    except OSError as error:
        reason = error.strerror or error
        raise PromptSetError(f"{path} cannot be read ({reason}). Name another file.") from None
    except RankingError as error:
        raise PromptSetError(f"{path}: {error}") from None
    for row, what in table.broken.items():
        raise _no_prompt(f"{path} row {row + 1}", what)
    questions = tuple(
        _question(_name_turns(row), f"{path} row {number}")
        for number, row in enumerate(table.list_rows(), start=1)
    )
    if not questions:
        raise PromptSetError(f"{path} holds no prompts.")
    twice = [name for name, times in Counter(q.id for q in questions).items() if times > 1]
    if twice:
        raise PromptSetError(f"{path}: more than one prompt has the id {twice[0]!r}.")
    return PromptSet(
        name=source.name,
        sha256=hashlib.sha256(source.data).hexdigest(),
        questions=questions,
        told=(f"Read {table.facts.describe()}.", *(f"Note: {n}." for n in table.facts.notes)),
    )


def _name_turns(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row under the usual names of columns, with turn_1, turn_2 and so on as a list."""
    columns = {fold_column(name): value for name, value in row.items()}
    turns = {name: value for name, value in columns.items() if _TURN_COLUMN.fullmatch(name)}
    if turns:
        ordered = sorted(turns, key=lambda name: int(name.partition("_")[2]))
        columns["turns"] = [turns[name] for name in ordered]
    return columns


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
