"""How a file was read, for the foot of a table and for JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ranking.votes.names import say_names, say_rows

if TYPE_CHECKING:
    from ranking.tables.table import FileFacts

__all__ = ["ReadingReport"]

_MOST_LABELS = 12


@dataclass(frozen=True, kw_only=True)
class ReadingReport:
    """How a file was read.

    Attributes:
        facts: Of the file itself.
        layout: In which of the field's layouts it is, "" for a plain table.
        columns: Which column was taken for what, by role.
        outcomes: What each label was taken for, and in how many rows.
        left_out: Rows left out, by reason.
        notes: What was guessed, made out or not used.
    """

    facts: FileFacts
    layout: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, tuple[str, int]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """All notes, those on the file first."""
        return tuple(dict.fromkeys((*self.facts.notes, *self.notes)))

    def to_lines(self) -> list[str]:
        """Sentences for people."""
        layout = f"; {self.layout}" if self.layout else ""
        lines = [f"Read {self.facts.describe()}{layout}."]
        if self.columns:
            told = ", ".join(
                role if role == column else f"{role} from {column}"
                for role, column in self.columns.items()
            )
            lines.append(f"Columns: {told}.")
        if self.outcomes:
            lines.append(f"Labels: {self._say_labels()}.")
        if self.left_out:
            told = "; ".join(
                f"{say_rows(rows)}: {reason}" for reason, rows in self.left_out.items()
            )
            lines.append(f"Left out: {told}.")
        lines += [f"Note: {note}." for note in self.remarks]
        return lines

    def _say_labels(self) -> str:
        ordered = sorted(self.outcomes.items(), key=lambda item: -item[1][1])
        said = [
            f"{say_names([label]) if label else 'nothing'} = {outcome} ({rows:,})"
            for label, (outcome, rows) in ordered[:_MOST_LABELS]
        ]
        more = len(ordered) - len(said)
        return ", ".join(said) + (f", and {more:,} more" if more else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "file": self.facts.name,
            "kind": self.facts.kind,
            "packed": self.facts.packed or None,
            "encoding": self.facts.encoding or None,
            "separator": self.facts.separator or None,
            "rows": self.facts.rows,
            "layout": self.layout or None,
            "columns": dict(self.columns),
            "labels": {
                label: {"outcome": outcome, "rows": rows}
                for label, (outcome, rows) in self.outcomes.items()
            },
            "rejected": dict(self.left_out),
            "notes": list(self.remarks),
        }
