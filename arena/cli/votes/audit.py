"""`arena votes audit`: whose votes stand out, and what the ranking would be without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import typer

from arena.cli.terminal import print_table, show_progress, text_table
from arena.cli.votes.changes import compare_boards
from arena.rules.suspicion import Sign, find_signs
from arena.store import VoteSelection
from ranking import RankingError, Votes, check_voters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.leaderboards.recipe import Recipe
    from arena.rules.suspicion import CastVote
    from arena.store import Store

# Chance to flag an honest voter, where each of thousands is looked at.
_ALPHA = 0.001


def audit_votes(store: Store, recipe: Recipe, *, as_json: bool) -> None:
    """Looks at every voter; changes nothing."""
    with show_progress("reading votes"):
        everybody = dict(store.habits.read())
        found = {voter: (len(cast), find_signs(cast)) for voter, cast in everybody.items()}
        unlikely = _find_unlikely(everybody)
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


def _find_unlikely(everybody: Mapping[str, Sequence[CastVote]]) -> set[str]:
    """Those whose votes go against what all others say, where there are enough to tell."""
    rows = [
        (one.model_a, one.model_b, one.outcome, voter, one.at.timestamp())
        for voter, cast in everybody.items()
        for one in cast
    ]
    if not rows:
        return set()
    a, b, outcome, voter, time = zip(*rows, strict=True)
    try:
        votes = Votes.from_columns(a, b, outcome, voter=voter, time=np.array(time))
        tests = check_voters(votes, alpha=_ALPHA, smoothed=True)
    except RankingError:  # too few to compare anybody with the others
        return set()
    return {test.voter for test in tests if test.flagged}
