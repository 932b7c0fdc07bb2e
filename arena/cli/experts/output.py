"""What `arena experts` prints and writes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import typer

from arena.cli.terminal import print_table, text_table
from arena.cli.writing import write_text
from arena.store import JudgementRow
from arena.writing import format_csv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena.rules.experts import Expert
    from arena.store import Assignment, Share

Format = Literal["csv", "jsonl"]
SUFFIXES: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl"}


def print_experts(experts: Sequence[Expert], shares: Sequence[Share], *, as_json: bool) -> None:
    """A line an expert and assignment."""
    now = datetime.now(UTC)
    rows: list[dict[str, Any]] = [
        {
            "name": expert.name,
            "status": _status(expert, now),
            "expires_at": expert.expires_at.isoformat(timespec="minutes"),
            "assignments": [_describe(one) for one in shares if one.expert == expert.name],
        }
        for expert in experts
    ]
    if as_json:
        _print_json(rows)
    elif not rows:
        typer.echo('No expert has been invited yet. Begin with: arena experts invite "Ada L."')
    else:
        lines = [
            (row["name"], row["status"], f"{row['expires_at'][:10]}", *cells)
            for row in rows
            for cells in _progress(row["assignments"])
        ]
        head = ("Name", "Link", "Until", "Assignment", "Done", "Not judged", "Time")
        print_table(text_table(head, lines))


def print_assignments(
    found: Sequence[Assignment], shares: Sequence[Share], *, as_json: bool
) -> None:
    """A line an assignment."""
    if as_json:
        _print_json(
            [
                {
                    "name": one.name,
                    "created_at": one.created_at.isoformat(timespec="seconds"),
                    "battles": one.battles,
                    "plan": one.plan,
                    "experts": [_describe(part) for part in shares if part.assignment == one.name],
                }
                for one in found
            ]
        )
    elif not found:
        typer.echo("There is no assignment yet. Begin with: arena experts sample")
    else:
        head = ("Name", "Drawn", "Battles", "Experts on each", "Seed", "Strata", "Arms", "Done")
        print_table(text_table(head, [_assignment_cells(one, shares) for one in found]))


def write_rows(rows: Sequence[JudgementRow], form: Format, output: Path | None) -> None:
    """The long table, to a file or to the standard output.

    Raises:
        Refusal: the file cannot be written.
    """
    write_text(_render(rows, form), output, told=f"{len(rows):,} rows to ")


def _status(expert: Expert, now: datetime) -> str:
    if expert.revoked_at is not None:
        return "revoked"
    return "works" if expert.is_welcome(now) else "expired"


def _describe(share: Share) -> dict[str, Any]:
    return {
        "assignment": share.assignment,
        "expert": share.expert,
        "tasks": share.tasks,
        "judged": share.judged,
        "cannot_judge": share.cannot_judge,
        "minutes": round(share.seconds / 60, 1),
    }


def _progress(parts: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """What an expert's lines say of assignments; one line also for those without."""
    return [
        (
            part["assignment"],
            f"{part['judged'] + part['cannot_judge']} of {part['tasks']}",
            str(part["cannot_judge"]),
            f"{part['minutes']:.0f} min",
        )
        for part in parts
    ] or [("–", "–", "–", "–")]


def _assignment_cells(one: Assignment, shares: Sequence[Share]) -> tuple[str, ...]:
    parts = [part for part in shares if part.assignment == one.name]
    arms = one.plan["arms"]
    done = sum(part.judged + part.cannot_judge for part in parts)
    return (
        one.name,
        f"{one.created_at:%Y-%m-%d}",
        str(one.battles),
        str(one.plan["per_battle"]),
        str(one.plan["seed"]),
        ", ".join(one.plan["stratify"]) or "–",
        "–" if arms is None else ", ".join(f"{arm} {share:g}" for arm, share in arms.items()),
        f"{done} of {sum(part.tasks for part in parts)}",
    )


def _print_json(rows: object) -> None:
    typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))


def _render(rows: Sequence[JudgementRow], form: Format) -> str:
    if form == "jsonl":
        lines = (json.dumps(row._asdict(), ensure_ascii=False) for row in rows)
        return "".join(f"{line}\n" for line in lines)
    return format_csv(JudgementRow._fields, (row._asdict() for row in rows))
