"""What `arena votes` and `arena voters` print."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Literal

import typer

from arena.cli.terminal import print_table, text_table
from arena.store import VoteRecord
from arena.writing import format_csv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.store import Exclusion, VoterRecord, VoteTotals

_COLUMNS = [field.name for field in fields(VoteRecord)]


def tell_totals(totals: VoteTotals) -> str:
    """A line of numbers, and a line a reason."""
    lines = [f"{totals.votes:,} votes, {totals.counted:,} of which count."]
    if totals.retracted:
        lines.append(f"{totals.retracted:,} were taken back by their voters.")
    lines += [f"{number:,} excluded: {reason}" for reason, number in totals.excluded.items()]
    if not totals.votes:
        lines.append("None has been cast yet.")
    return "\n".join(lines)


def print_votes(
    found: Sequence[VoteRecord], *, limit: int, form: Literal["table", "json", "csv"]
) -> None:
    """A line a vote."""
    shown = found[:limit]
    if form == "json":
        _print_json([asdict(one) for one in shown])
    elif form == "csv":
        typer.echo(format_csv(_COLUMNS, map(_flatten, shown)), nl=False)
    elif not shown:
        typer.echo("No vote is meant by that. All votes: arena votes list")
    else:
        _print_lines(shown)
    if len(found) > limit:
        typer.echo(f"There are more; show them with --limit {10 * limit}.", err=True)


def print_voters(found: Sequence[VoterRecord], *, limit: int, as_json: bool) -> None:
    """A line a voter."""
    shown = found[:limit]
    if as_json:
        _print_json([asdict(one) for one in shown])
    elif not shown:
        typer.echo("Nobody has voted yet.")
    else:
        lines = [
            (
                one.voter_id,
                f"{one.votes:,}",
                f"{one.counted:,}",
                f"{one.created_at:%Y-%m-%d %H:%M}",
                "–" if one.last_at is None else f"{one.last_at:%Y-%m-%d %H:%M}",
                one.excluded_reason or "",
            )
            for one in shown
        ]
        head = ("Voter", "Votes", "Counted", "Since", "Last vote", "Excluded")
        print_table(text_table(head, lines, right=("Votes", "Counted")))
    if len(found) > limit:
        typer.echo(f"There are more; show them with --limit {10 * limit}.", err=True)


def print_voter(
    known: VoterRecord, found: Sequence[VoteRecord], *, limit: int, as_json: bool
) -> None:
    """One voter and their votes."""
    if as_json:
        votes = [asdict(one) for one in found[:limit]]
        _print_json({**asdict(known), "listed": votes})
        return
    typer.echo(f"{known.voter_id}: {known.votes:,} votes, {known.counted:,} of which count.")
    if known.excluded_reason is not None:
        typer.echo(f"Excluded as a whole: {known.excluded_reason} ({known.excluded_note})")
    if known.outcomes:
        said = ", ".join(f"{outcome} {number:,}" for outcome, number in known.outcomes.items())
        typer.echo(f"Said, sides as shown: {said}.")
    if gaps := _gaps(found[:limit]):
        typer.echo(f"Between two votes: {min(gaps):.1f} s at least, {median(gaps):.0f} s usually.")
    if found:
        print_votes(found, limit=limit, form="table")


def _gaps(found: Sequence[VoteRecord]) -> list[float]:
    times = sorted(one.created_at for one in found)
    return [(later - earlier).total_seconds() for earlier, later in pairwise(times)]


def _print_lines(shown: Sequence[VoteRecord]) -> None:
    lines = [
        (
            one.vote_id,
            f"{one.created_at:%Y-%m-%d %H:%M:%S}",
            one.model_a,
            one.model_b,
            one.outcome,
            one.voter_id,
            one.battle_id,
            _tell_counts(one),
        )
        for one in shown
    ]
    head = ("Vote", "Cast (UTC)", "A", "B", "Outcome", "Voter", "Battle", "Counts")
    print_table(text_table(head, lines, right=("Vote",)))


def _tell_counts(one: VoteRecord) -> str:
    if one.counts:
        return "yes"
    if one.retracted_at is not None:
        return "no: taken back"
    return f"no: {_tell_reasons(one.exclusions) or 'not of the crowd'}"


def _tell_reasons(exclusions: Sequence[Exclusion]) -> str:
    return "; ".join(
        f"{one.reason} ({one.note})" if one.note else str(one.reason)
        for one in exclusions
        if one.lifted_at is None
    )


def _flatten(one: VoteRecord) -> dict[str, object]:
    """A vote as a line of CSV."""
    told = {**asdict(one), "exclusions": _tell_reasons(one.exclusions)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in told.items()
    }


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=datetime.isoformat))
