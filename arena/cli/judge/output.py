"""What `arena judge` prints: an estimate, what a judge has done, how it ranks the models."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from arena.cli.terminal import print_table, text_table
from arena.judging.summaries import summarise
from arena.leaderboards.judges import rank_verdicts
from arena.rules.judgements import Reading
from ranking import Consistency, RankingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from arena.judging.orders import Estimate
    from arena.judging.summaries import Summary
    from arena.leaderboards.recipe import Recipe
    from arena.store import KnownJudge, Store
    from ranking import Leaderboard
    from serving.specs import ModelSpec

__all__ = ["describe", "draw_judges", "explain_estimate", "print_judge"]

_SECONDS_A_MINUTE, _SECONDS_AN_HOUR = 60, 3600
_WORDS_QUOTED = 100


def explain_estimate(title: str, expected: Estimate, spec: ModelSpec, concurrency: int) -> str:
    """What is to be asked and what that may take, in a few lines."""
    done = [f"{expected.answered:,} answered already"] if expected.answered else []
    if expected.failed:
        done.append(f"{expected.failed:,} failed before (--retry-failed asks them again)")
    if expected.without_reference:
        done.append(f"{expected.without_reference:,} turns without a reference left out")
    lines = [
        f"Judge: {title}",
        f"Battles: {expected.battles:,}, questions: {expected.questions:,} "
        f"(each turn in both orders), to ask: {expected.to_ask:,}"
        + (f"; {', '.join(done)}" if done else ""),
    ]
    if expected.to_ask:
        basis = "assumed, since it has answered nothing yet"
        if expected.measured:
            basis = f"as {expected.measured:,} earlier answers took"
        elif expected.speed is not None:
            basis = f"at {expected.speed:.0f} tokens/s, as it answered as a contender"
        lines += [
            f"Tokens: about {expected.prompt_tokens:,} in, {expected.completion_tokens:,} out",
            f"Time: about {tell_time(expected.seconds)} at {concurrency} at once ({basis})",
            f"Cost: {_tell_cost(expected.cost, spec)}",
        ]
    return "\n".join(lines)


def _tell_cost(cost: float | None, spec: ModelSpec) -> str:
    if cost is None:
        return "not known; set price_input and price_output of this model to see it"
    return (
        f"about ${cost:,.2f} (${spec.price_input:g} and ${spec.price_output:g} per million tokens)"
    )


def tell_time(seconds: float) -> str:
    """A time that is easy to read."""
    if seconds < _SECONDS_A_MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < _SECONDS_AN_HOUR:
        return f"{seconds / _SECONDS_A_MINUTE:.0f} min"
    return f"{seconds / _SECONDS_AN_HOUR:.1f} h"


def describe(known: KnownJudge, summary: Summary) -> dict[str, Any]:
    """A judge and what it has done, as JSON has it."""
    return {
        "name": known.name,
        "voter_id": known.judge.voter_id,
        **asdict(known.judge),
        "created_at": known.created_at.isoformat(),
        "summary": {
            **asdict(summary),
            "shares": {how.value: summary.share(how) for how in Consistency},
        },
    }


def draw_judges(found: Sequence[tuple[KnownJudge, Summary]]) -> Table:
    """A line a judge."""
    counted = ("Turns judged", "Consistent", "First-biased", "Failed", "Cost")
    lines = (
        (
            known.name,
            known.judge.model,
            known.judge.mode,
            f"{summary.judged:,}",
            _percent(summary.share(Consistency.CONSISTENT)),
            _percent(summary.share(Consistency.FIRST_BIASED)),
            f"{summary.failed:,}",
            _cost(summary),
        )
        for known, summary in found
    )
    return text_table(["Judge", "Model", "Mode", *counted], lines, right=counted)


def print_judge(store: Store, known: KnownJudge, recipe: Recipe, *, as_json: bool) -> None:
    """Prints what a judge has done, and its own board."""
    summary = summarise(store.judge_verdicts.calls(known.judge.voter_id))
    board = _rank(store, known, recipe)
    if as_json:
        shown = {**describe(known, summary), "board": None if board is None else board.to_dict()}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    print_table(_draw_summary(known, summary))
    for kind, message in summary.examples.items():
        short = message if len(message) <= _WORDS_QUOTED else f"{message[:_WORDS_QUOTED]}…"
        typer.echo(f"{kind}: {short}")
    if board is not None:
        print_table(_draw_board(board))


def _rank(store: Store, known: KnownJudge, recipe: Recipe) -> Leaderboard | None:
    try:
        return rank_verdicts(store.judge_verdicts.read([known.name]), recipe)
    except RankingError as error:
        typer.echo(f"arena: its verdicts cannot be ranked: {error}", err=True)
        return None


def _draw_summary(known: KnownJudge, summary: Summary) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(known.name), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")

    def add(title: str, count: int, share: float | None = None) -> None:
        table.add_row(title, f"{count:,}", "" if share is None else _percent(share))

    add("Questions", summary.questions)
    add("  answered", summary.answered)
    add("  failed", summary.failed)
    for kind, count in sorted(summary.failures.items()):
        add(f"    {kind}", count)
    add("  not finished", summary.unfinished)
    add("Verdict read from JSON", summary.readings[Reading.STRUCTURED])
    add("Verdict read from the marker line", summary.readings[Reading.FALLBACK])
    add("No verdict readable", summary.readings[Reading.UNPARSABLE])
    add("Answers cut at --max-tokens", summary.cut)
    table.add_section()
    add("Turns judged in both orders", summary.judged)
    for how in Consistency:
        add(f"  {how}", summary.consistency[how], summary.share(how))
    for verdict, count in summary.verdicts.items():
        add(f"  verdict {verdict}", count, count / summary.judged if summary.judged else None)
    table.add_section()
    add("Tokens in", summary.prompt_tokens)
    add("Tokens out", summary.completion_tokens)
    table.add_row("Cost", _cost(summary) or "$0", "")
    table.add_row("Time of all answers", tell_time(summary.seconds), "")
    if summary.repeated:
        add("Asked again after a failure", summary.repeated)
    if summary.lost:
        add("Ended unseen, perhaps paid for twice", summary.lost)
    return table


def _draw_board(board: Leaderboard) -> Table:
    level = board.options.level
    figures = ("Score", f"{level:.0%} interval", "Verdicts")
    lines = (
        (
            entry.rank,
            entry.model,
            f"{entry.score:.0f}",
            f"{entry.lower:.0f} to {entry.upper:.0f}",
            f"{entry.votes:,}",
        )
        for entry in board.entries
    )
    title = "Its own board (no vote of a person)"
    return text_table(["Rank", "Model", *figures], lines, title=title, right=figures)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _cost(summary: Summary) -> str:
    if summary.cost_unknown == summary.answered:
        return "not known" if summary.answered else ""
    unknown = f" + {summary.cost_unknown:,} not known" if summary.cost_unknown else ""
    return f"${summary.cost:,.4f}{unknown}"
