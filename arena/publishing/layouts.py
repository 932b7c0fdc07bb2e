"""How others lay out votes: which layout a file has, and each row as one battle."""

from __future__ import annotations

import csv
import json
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from arena.publishing.files import ExportError, import_arrow
from arena.rules.battles import Outcome, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    Row = Mapping[str, Any]

_BEGINNING = 1_000  # characters; before the first bracket is white space at most
_WINNERS = {
    "model_a": Outcome.MODEL_A, "model_b": Outcome.MODEL_B, "tie": Outcome.TIE,
    "tie (bothbad)": Outcome.BOTH_BAD, "both_bad": Outcome.BOTH_BAD,
}  # fmt: skip


class BadRow(Exception):
    """A row that is no battle; the message is the reason, the same for all of its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicRow:
    """A battle as a public data set has it.

    Attributes:
        model_a: on the left.
        model_b: on the right.
        winner: how it ended.
        voter: who said so, `None` where that is not told.
        prompts: one a turn.
        answers_a: of the left, one a turn.
        answers_b: of the right.
        language: where it is told.
        category: likewise.
        time: likewise.
    """

    model_a: str
    model_b: str
    winner: Outcome
    voter: str | None = None
    prompts: tuple[str, ...] = ()
    answers_a: tuple[str, ...] = ()
    answers_b: tuple[str, ...] = ()
    language: str | None = None
    category: str | None = None
    time: datetime | None = None

    def __post_init__(self) -> None:
        if not len(self.prompts) == len(self.answers_a) == len(self.answers_b):
            raise BadRow("not as many answers as prompts")


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout.

    Attributes:
        name: of it.
        columns: that a file of this layout has.
        take: makes a battle of a row that is in its shape.
    """

    name: str
    columns: frozenset[str]
    take: Callable[[Row], PublicRow]

    def read(self, row: Row) -> PublicRow:
        """A row as a battle.

        Raises:
            BadRow: it is none.
        """
        try:
            return self.take(row)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            # A field that is missing, or holds something else than in the rows before.
            raise BadRow(f"not in the shape of {self.name}") from None


def find_layout(path: Path) -> Layout:
    """By the columns of the first row.

    Raises:
        ExportError: no layout has them; the message says which there are.
    """
    with closing(_rows(path)) as rows:
        first = next(rows, None)
    if first is None:
        raise ExportError(f"{path} has no rows; name another file")
    columns = set(first)
    if "refers_to_model" in columns:
        raise ExportError(
            f"{path} holds reactions to single messages, which are no votes on pairs; "
            "import comparia-votes instead"
        )
    if "games" in columns and "judge" in columns:
        raise ExportError(
            f"{path} holds verdicts of judges in five grades; rank them with: arena rank {path}"
        )
    for layout in LAYOUTS:
        if layout.columns <= columns:
            return layout
    known = ", ".join(layout.name for layout in LAYOUTS)
    raise ExportError(f"{path} has none of the layouts that are known ({known})")


def read_rows(path: Path, layout: Layout) -> Iterator[dict[str, Any]]:
    """The rows of a file, one after another."""
    if layout.name == "fastchat":
        return _join_fastchat(_rows(path))
    return _rows(path)


def _begins_list(path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return file.read(_BEGINNING).lstrip().startswith("[")


def _rows(path: Path) -> Generator[dict[str, Any]]:
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            yield from _read_parquet(path)
        elif suffix == ".csv":
            csv.field_size_limit(sys.maxsize)
            with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
                yield from csv.DictReader(file)
        elif suffix == ".json" and _begins_list(path):
            yield from map(_as_row, json.loads(path.read_text(encoding="utf-8-sig")))
        elif suffix in (".json", ".jsonl"):
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                yield from (_read_line(line) for line in file if line.strip())
        else:
            raise ExportError(f"{path}: only .parquet, .csv, .json and .jsonl files are imported")
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["unreadable"])[0]
        raise ExportError(f"{path} cannot be read ({reason}); name another file") from None


def _read_line(line: str) -> dict[str, Any]:
    """A line that is no JSON, as one that breaks off is, is a row without anything."""
    try:
        return _as_row(json.loads(line))
    except ValueError:
        return {}


def _as_row(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    import_arrow()
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=512):
            yield from batch.to_pylist()


def _read_arena(row: Row) -> PublicRow:
    """33k, 100k, 140k and MT-Bench: two conversations and a label."""
    judge = row.get("judge") or row.get("judge_hash") or row.get("evaluation_session_id")
    if isinstance(judge, list | tuple) or str(judge).startswith("gpt4_"):
        raise BadRow("a verdict of a machine")
    if row.get("anony") is False:
        raise BadRow("the names were shown before the vote")
    prompts, answers_a = _read_conversation(row.get("conversation_a"))
    others, answers_b = _read_conversation(row.get("conversation_b"))
    if prompts != others:
        raise BadRow("the two conversations have different prompts")
    a, b = _read_pair(row["model_a"], row["model_b"])
    return PublicRow(
        model_a=a, model_b=b, winner=_read_winner(row["winner"]),
        voter=None if judge is None else str(judge),
        prompts=prompts, answers_a=answers_a, answers_b=answers_b,
        language=_read_language(row.get("language")),
        category=_read_category(row.get("category")),
        time=_read_time(row.get("tstamp") or row.get("timestamp")),
    )  # fmt: skip


def _read_55k(row: Row) -> PublicRow:
    flags = [str(row[f"winner_{name}"]).strip() for name in ("model_a", "model_b", "tie")]
    if sorted(flags) != ["0", "0", "1"]:
        raise BadRow("not exactly one of the three winner columns is 1")
    winner = ("model_a", "model_b", "tie")[flags.index("1")]
    texts = [_read_texts(row[name]) for name in ("prompt", "response_a", "response_b")]
    a, b = _read_pair(row["model_a"], row["model_b"])
    return PublicRow(
        model_a=a, model_b=b, winner=_read_winner(winner), prompts=texts[0],
        answers_a=texts[1], answers_b=texts[2],
    )  # fmt: skip


def _read_comparia(row: Row) -> PublicRow:
    a, b, chosen = row["model_a_name"], row["model_b_name"], row["chosen_model_name"]
    both = str(row.get("both_equal")).lower() in ("true", "1")
    if both == bool(chosen):
        raise BadRow("neither a model chosen nor both equal, or both of them")
    if not both and chosen not in (a, b):
        raise BadRow("the chosen model is none of the two")
    winner = "tie" if both else "model_a" if chosen == a else "model_b"
    prompts, answers_a = _read_conversation(_unpack(row.get("conversation_a")))
    _, answers_b = _read_conversation(_unpack(row.get("conversation_b")))
    voter = row.get("visitor_id") or row.get("session_hash")
    a, b = _read_pair(a, b)
    return PublicRow(
        model_a=a, model_b=b, winner=_read_winner(winner),
        voter=None if voter is None else str(voter),
        prompts=prompts, answers_a=answers_a, answers_b=answers_b,
        time=_read_time(row.get("timestamp")),
    )  # fmt: skip


def _read_fastchat(row: Row) -> PublicRow:
    winner = {
        "leftvote": "model_a", "rightvote": "model_b", "tievote": "tie",
        "bothbad_vote": "both_bad",
    }.get(row["type"])  # fmt: skip
    if winner is None:
        raise BadRow("a message, and no vote")
    states = row["states"]
    names = [
        name or state.get("model_name") for name, state in zip(row["models"], states, strict=True)
    ]
    read = [
        _read_conversation(
            [
                {"role": "user" if number % 2 == 0 else "assistant", "content": said[1]}
                for number, said in enumerate(state.get("messages", ())[state.get("offset", 0) :])
            ]
        )
        for state in states
    ]
    a, b = _read_pair(names[0], names[1])
    return PublicRow(
        model_a=a, model_b=b, winner=_read_winner(winner), prompts=read[0][0],
        answers_a=read[0][1], answers_b=read[1][1], time=_read_time(row.get("tstamp")),
    )  # fmt: skip


def _join_fastchat(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Without addresses, which are nobody's business."""
    for row in rows:
        yield {key: value for key, value in row.items() if key != "ip"}


def _read_pair(model_a: object, model_b: object) -> tuple[str, str]:
    """The names of two models, as they can be stored."""
    names = []
    for name in (model_a, model_b):
        if not isinstance(name, str) or not name.strip():
            raise BadRow("the name of a model is missing")
        if len(name) > 200:
            raise BadRow("the name of a model is longer than 200 characters")
        names.append(storable(name))
    if names[0] == names[1]:
        raise BadRow("a model against itself")
    return names[0], names[1]


def _read_winner(value: object) -> Outcome:
    outcome = _WINNERS.get(str(value))
    if outcome is None:
        raise BadRow(f"an unknown winner: {str(value)[:40]!r}")
    return outcome


def _read_conversation(said: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Prompts and answers; a system prompt is none of either."""
    if not isinstance(said, list):
        return (), ()
    sides: dict[str, list[str]] = {"user": [], "assistant": []}
    for message in said:
        role = message.get("role")
        if role in sides:
            sides[role].append(_read_content(message.get("content")))
    return tuple(sides["user"]), tuple(sides["assistant"])


def _read_content(content: object) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, list):
        content = "\n".join(str(part.get("text") or "") for part in content)
    return storable("" if content is None else str(content))


def _read_texts(value: str) -> tuple[str, ...]:
    """A JSON array as text, one element a turn; an element may be null."""
    try:
        found = json.loads(value)
    except ValueError:
        raise BadRow("a text is no JSON array") from None
    if not isinstance(found, list):
        raise BadRow("a text is no JSON array")
    return tuple(map(_read_content, found))


def _unpack(value: object) -> object:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            raise BadRow("a conversation is no JSON") from None
    return value


_TAGS = {
    "english": "en", "chinese": "zh", "french": "fr", "german": "de", "spanish": "es",
    "russian": "ru", "portuguese": "pt", "japanese": "ja", "italian": "it", "korean": "ko",
    "hindi": "hi", "vietnamese": "vi", "polish": "pl", "turkish": "tr", "arabic": "ar",
}  # fmt: skip


def _read_language(value: object) -> str | None:
    if not isinstance(value, str) or value.lower() in ("", "unknown"):
        return None
    return storable(_TAGS.get(value.lower(), value))[:16]


def _read_category(value: object) -> str | None:
    return storable(value)[:32] if isinstance(value, str) and value else None


def _read_time(value: object) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        raise BadRow("the time cannot be read") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_PAIR = frozenset({"model_a", "model_b", "winner"})
LAYOUTS = (
    Layout("fastchat", frozenset({"tstamp", "type", "models", "states"}), _read_fastchat),
    Layout(
        "comparia", frozenset({"model_a_name", "model_b_name", "chosen_model_name"}), _read_comparia
    ),
    Layout(
        "arena-55k",
        frozenset({"model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"}),
        _read_55k,
    ),
    Layout("arena-140k", _PAIR | {"evaluation_session_id"}, _read_arena),
    Layout("arena-100k", _PAIR | {"judge_hash"}, _read_arena),
    Layout("arena-33k", _PAIR, _read_arena),
)
