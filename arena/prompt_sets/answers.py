"""Answers a prompt set with every model under the same conditions, and goes on where it ended.

A folder holds what was asked under which conditions (`manifest.json`), each model's answers
as the `recorded` back end plays them (`<model>.jsonl`, a line per answered turn), what failed
and why (`failures.jsonl`), and models to put into an `arena.toml` (`recorded.toml`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import arena
from arena.rules.battles import storable
from arena.writing import write_whole
from serving.protocol import generation_speed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from arena.prompt_sets.files import PromptSet, Question
    from serving.protocol import Completion, Sampling
    from serving.specs import ModelSpec

__all__ = [
    "AnswerFolder",
    "ConditionsDiffer",
    "RecordedTurn",
    "describe_conditions",
]

_FORMAT = 1
_UNSAFE = re.compile(r"[^\w.-]+")


class ConditionsDiffer(Exception):
    """A folder holds answers that were given under other conditions; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """One model's answer to one turn of a question.

    Attributes:
        question: its id.
        turn: from 0.
        answer: the whole text.
        reasoning: kept apart.
        finish_reason: why it ended.
        prompt_tokens: as the provider counted them.
        completion_tokens: likewise.
        time_to_first_token: seconds.
        duration: seconds.
        model_id: what the provider calls the model.
    """

    question: str
    turn: int
    answer: str
    reasoning: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    time_to_first_token: float
    duration: float
    model_id: str

    @classmethod
    def of(cls, question: Question, turn: int, completion: Completion) -> RecordedTurn:
        """The record of an answer."""
        return cls(
            question=question.id,
            turn=turn,
            answer=storable(completion.text),
            reasoning=storable(completion.reasoning),
            finish_reason=completion.finish_reason,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            time_to_first_token=completion.time_to_first_token,
            duration=completion.duration,
            model_id=completion.model_id,
        )


def describe_conditions(
    prompts: PromptSet, specs: Sequence[ModelSpec], *, sampling: Sampling
) -> dict[str, Any]:
    """All that the answers depend on, as the manifest has it.

    Args:
        prompts: what is asked.
        specs: who is asked.
        sampling: how answers are drawn; what it leaves open is each model's own.
    """
    return {
        "format": _FORMAT,
        "code_version": arena.__version__,
        "prompts": {
            "name": prompts.name,
            "sha256": prompts.sha256,
            "questions": len(prompts.questions),
        },
        "sampling": _plain(asdict(sampling)),
        "models": {spec.name: _describe_model(spec, sampling) for spec in specs},
    }


def _describe_model(spec: ModelSpec, sampling: Sampling) -> dict[str, Any]:
    drawn = sampling.over(spec.sampling.to_sampling())
    return {
        "backend": spec.backend,
        "model": spec.model or (spec.path.name if spec.path is not None else None),
        "system_prompt": spec.system_prompt,
        "extra_body": _plain(spec.extra_body),
        "sampling": _plain(asdict(drawn)),
    }


def _plain(value: object) -> object:
    """As it comes back from JSON, so that it can be compared with what was written."""
    plain: object = json.loads(json.dumps(value))
    return plain


class AnswerFolder:
    """The answers to a prompt set, each on disk as soon as it is complete.

    Args:
        folder: created where it is missing.
        prompts: what is asked.
        conditions: see `describe_conditions`.

    Raises:
        ConditionsDiffer: the folder holds answers given under others.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, *, prompts: PromptSet, conditions: dict[str, Any]) -> None:
        self.folder = folder
        self._prompts = {question.id: question for question in prompts.questions}
        folder.mkdir(parents=True, exist_ok=True)
        self.manifest = self._merge_manifest(conditions)
        self._names = _name_files(self.manifest["models"])

    @property
    def identity(self) -> str:
        """A digest of prompts and sampling, the same for every model of the folder."""
        parts = [self.manifest["prompts"], self.manifest["sampling"]]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def path_of(self, model: str) -> Path:
        """Where a model's answers are."""
        return self.folder / self._names[model]

    def read(self, model: str) -> dict[tuple[str, int], RecordedTurn]:
        """A model's answers by question and turn; mends a file that ends in the middle."""
        path = self.path_of(model)
        if not path.exists():
            return {}
        _mend(path)
        fields = set(RecordedTurn.__dataclass_fields__)
        found = {}
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line:
                row = json.loads(line)
                turn = RecordedTurn(**{name: row.get(name) for name in fields})
                found[turn.question, turn.turn] = turn
        return found

    def append(self, model: str, turn: RecordedTurn, *, asked: Sequence[dict[str, str]]) -> None:
        """Puts an answer on disk.

        Args:
            model: who gave it.
            turn: the answer.
            asked: the conversation up to the prompt that it answers.
        """
        row: dict[str, Any] = {"messages": list(asked)}
        if len(asked) == 1:
            row = {"prompt": asked[0]["content"]}
        row |= asdict(turn)
        speed = generation_speed(
            turn.completion_tokens,
            time_to_first_token=turn.time_to_first_token,
            duration=turn.duration,
        )
        row["tokens"] = turn.completion_tokens or None
        row["tokens_per_second"] = speed and round(speed, 1)
        line = _dump_line(row)
        with self.path_of(model).open("ab") as file:
            file.write(f"{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())

    def write_failures(self, failures: Iterable[dict[str, Any]]) -> None:
        """Replaces the list of what failed."""
        lines = "".join(f"{_dump_line(row)}\n" for row in failures)
        write_whole(self.folder / "failures.jsonl", lines)

    def write_models(self, specs: Sequence[ModelSpec]) -> None:
        """Writes the models as an `arena.toml` names them, to play these answers."""
        lines = [
            "# The answers of this folder as models of an arena. Copy these into an arena.toml;",
            "# paths are relative to that file.",
        ]
        for spec in specs:
            fields = {
                "name": spec.name,
                "backend": "recorded",
                "path": self._names[spec.name],
                "organisation": spec.organisation,
                "license": spec.license,
                "description": spec.description,
            }
            lines += ["", "[[models]]"]
            lines += [f"{name} = {_toml(value)}" for name, value in fields.items() if value]
        write_whole(self.folder / "recorded.toml", "\n".join(lines) + "\n")

    def _merge_manifest(self, conditions: dict[str, Any]) -> dict[str, Any]:
        """The manifest with these models added to those that it has."""
        path = self.folder / "manifest.json"
        known: dict[str, Any] = {}
        if path.exists():
            try:
                known = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                raise ConditionsDiffer(f"{path} is no manifest. Name another folder.") from None
            _compare(known, conditions, path)
        merged = {
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            **conditions,
            **known,
            "models": {**known.get("models", {}), **conditions["models"]},
        }
        write_whole(path, json.dumps(merged, ensure_ascii=False, indent=2) + "\n")
        return merged


def _compare(known: dict[str, Any], conditions: dict[str, Any], path: Path) -> None:
    for part in ("format", "prompts", "sampling"):
        if known.get(part) != conditions[part]:
            raise ConditionsDiffer(
                f"{path.parent} holds answers given under another `{part}`: "
                f"{known.get(part)}, not {conditions[part]}. Name another folder with --out."
            )
    for name, model in conditions["models"].items():
        before = known.get("models", {}).get(name, model)
        differing = [field for field in model if before.get(field) != model[field]]
        if differing:
            field = differing[0]
            raise ConditionsDiffer(
                f'{path.parent} holds answers of "{name}" with another `{field}`: '
                f"{before.get(field)!r}, not {model[field]!r}. Name another folder with --out."
            )


def _name_files(models: Iterable[str]) -> dict[str, str]:
    """A file name for each model, in the order in which they came."""
    names: dict[str, str] = {}
    for model in models:
        stem = _UNSAFE.sub("-", model).strip("-.").lower() or "model"
        taken = set(names.values())
        number = 1
        while (name := f"{stem}{'' if number == 1 else f'-{number}'}.jsonl") in taken or (
            name == "failures.jsonl"
        ):
            number += 1
        names[model] = name
    return names


def _dump_line(row: dict[str, Any]) -> str:
    """One line for every reader: some take these three characters for the end of one."""
    text = json.dumps(row, ensure_ascii=False)
    for character in "\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _mend(path: Path) -> None:
    """Takes away a last line that was not written to its end."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
            os.fsync(file.fileno())


def _toml(text: str) -> str:
    # A JSON string is a TOML string, but for one character that TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
