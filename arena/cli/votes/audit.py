"""`arena votes audit`: whose votes stand out, and what the ranking would be without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from arena.cli.terminal import print_table, show_progress, text_table
from arena.cli.votes.changes import compare_boards
from arena.rules.suspicion import Sign, find_signs
from arena.store import VoteSelection
from ranking import RankingError, Votes, check_voters

if TYPE_CHECKING:
    from arena.leaderboards.recipe import Recipe
    from arena.store import Store

# Chance to flag an honest voter, where each of thousands is looked at.
_ALPHA = 0.001


def audit_votes(store: Store, recipe: Recipe, *, as_json: bool) -> None:
    """Looks at every voter; changes nothing."""
    with show_progress("reading votes"):
        found = {voter: (len(cast), find_signs(cast)) for voter, cast in store.habits.read()}
        unlikely = _find_unlikely(store)
    flagged = {
        voter: (votes, (*signs, *((Sign.UNLIKELY,) if voter in unlikely else ())))
        for voter, (votes, signs) in sorted(found.items(), key=lambda one: (-one[1][0], one[0]))
        if signs or voter in unlikely
    }
    if as_json:
        rows = [
            {"voter_id": voter, "votes": votes, "signs": list(signs)}
            for voter, (votes, signs) in flagged.items()
        ]
        told = {"voters": len(found), "flagged": rows}
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    if not flagged:
        typer.echo(f"{len(found):,} voters, and nothing stands out.")
        return
    lines = [(voter, f"{votes:,}", ", ".join(signs)) for voter, (votes, signs) in flagged.items()]
    print_table(text_table(("Voter", "Votes", "Signs"), lines, right=("Votes",)))
    typer.echo(f"{len(flagged):,} of {len(found):,} voters stand out. The ranking without them:")
    compare_boards(
        store,
        recipe,
        leaving=store.exclusions.would_leave(VoteSelection(voter_ids=tuple(flagged))),
    )
    typer.echo(
        "Nothing is changed. To look: arena voters show VOTER; to take one out: "
        "arena voters exclude VOTER --reason automated --note WORDS"
    )


def _find_unlikely(store: Store) -> set[str]:
    """Those whose votes go against what all others say, where there are enough to tell."""
    counts = store.votes.by_detail(["voter_id"])
    rows = [
        (one.model_a, one.model_b, one.outcome, one.voter_id)
        for one in counts
        for _ in range(one.votes)
    ]
    if not rows:
        return set()
    a, b, outcome, voter = zip(*rows, strict=True)
    try:
        tests = check_voters(Votes.from_columns(a, b, outcome, voter=voter), alpha=_ALPHA)
    except RankingError:  # too few to compare anybody with the others
        return set()
    return {test.voter for test in tests if test.flagged}
