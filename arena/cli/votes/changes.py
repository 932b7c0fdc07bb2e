"""Taking votes out of the count and back in: what changes is shown before it does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import typer

from arena.cli.refusals import Refusal
from arena.cli.terminal import ask_consent, print_table, text_table
from arena.store import VoteSelection
from ranking import Comparisons, compute_leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.leaderboards.recipe import Recipe
    from arena.rules.battles import ExclusionReason, Outcome
    from arena.store import OutcomeCount, Store, VoterRecord
    from ranking import Leaderboard
    from ranking.boards.entries import Entry

_REMEDY = "Add --yes to do it, --dry-run to see no more than that."
_FIRST_IDS = 20  # that an undo names one by one


def exclude_votes(
    store: Store,
    chosen: VoteSelection,
    recipe: Recipe,
    *,
    reason: ExclusionReason,
    note: str,
    dry_run: bool,
    yes: bool,
) -> None:
    """Takes the chosen votes out of the count.

    Raises:
        Refusal: none is chosen, or nobody can be asked.
        typer.Abort: the answer is no.
    """
    _check_chosen(store, chosen)
    leaving = store.exclusions.would_leave(chosen)
    compare_boards(store, recipe, leaving=leaving)
    typer.echo(f"{_votes(_total(leaving))} would no longer count ({reason}).")
    if dry_run:
        return
    ask_consent("Exclude them?", yes=yes, remedy=_REMEDY)
    ids = [one.vote_id for one in store.exclusions.find(chosen, counts=True, limit=_FIRST_IDS + 1)]
    done = store.exclusions.exclude(chosen, reason=reason, note=note)
    typer.echo(f"{_votes(done)} got the reason {reason}. The board follows at its next refresh.")
    if ids:
        which = " ".join(map(str, ids)) if len(ids) <= _FIRST_IDS else f"--reason {reason}"
        typer.echo(f"To undo it: arena votes restore {which} --note WORDS", err=True)


def restore_votes(
    store: Store, chosen: VoteSelection, recipe: Recipe, *, note: str, dry_run: bool, yes: bool
) -> None:
    """Takes the chosen votes back into the count.

    Raises:
        Refusal: none is chosen, or nobody can be asked.
        typer.Abort: the answer is no.
    """
    _check_chosen(store, chosen)
    coming = store.exclusions.would_return(chosen)
    compare_boards(store, recipe, coming=coming)
    typer.echo(f"{_votes(_total(coming))} would count again.")
    if dry_run:
        return
    ask_consent("Restore them?", yes=yes, remedy=_REMEDY)
    done = store.exclusions.restore(chosen, note=note)
    typer.echo(f"{_votes(done)} lost a reason. The board follows at its next refresh.")


def exclude_voter(
    store: Store,
    voter: str,
    recipe: Recipe,
    *,
    reason: ExclusionReason,
    note: str,
    dry_run: bool,
    yes: bool,
) -> None:
    """Lets nothing count that a voter said or will say.

    Raises:
        Refusal: nobody can be asked.
        typer.Abort: the answer is no.
    """
    leaving = store.exclusions.would_leave(VoteSelection(voter_ids=(voter,)))
    compare_boards(store, recipe, leaving=leaving)
    typer.echo(f"{_votes(_total(leaving))} would no longer count ({reason}), nor any to come.")
    if dry_run:
        return
    ask_consent(f"Exclude the voter {voter}?", yes=yes, remedy=_REMEDY)
    done = store.exclusions.exclude_voter(voter, reason=reason, note=note)
    typer.echo(f"{_votes(done or 0)} got the reason {reason}; so will those to come.")
    typer.echo(f"To undo it: arena voters restore {voter} --note WORDS", err=True)


def restore_voter(
    store: Store, known: VoterRecord, recipe: Recipe, *, note: str, dry_run: bool, yes: bool
) -> None:
    """Lets an excluded voter's votes count again.

    Raises:
        Refusal: nobody can be asked.
        typer.Abort: the answer is no.
    """
    chosen = VoteSelection(voter_ids=(known.voter_id,), reason=known.excluded_reason)
    coming = store.exclusions.would_return(chosen)
    compare_boards(store, recipe, coming=coming)
    typer.echo(f"{_votes(_total(coming))} would count again, and those to come.")
    if dry_run:
        return
    ask_consent(f"Restore the voter {known.voter_id}?", yes=yes, remedy=_REMEDY)
    done = store.exclusions.restore_voter(known.voter_id, note=note)
    typer.echo(f"{_votes(done or 0)} lost the reason {known.excluded_reason}.")


def _check_chosen(store: Store, chosen: VoteSelection) -> None:
    """A mistyped number or name must not pass for "nothing to do"."""
    if chosen.is_all:
        raise Refusal(
            "all votes would be meant. Say which: numbers, --voter, --battle, --model, --since, "
            "--until. The votes there are: arena votes list"
        )
    if chosen.vote_ids:
        known = store.exclusions.find(VoteSelection(vote_ids=chosen.vote_ids))
        unknown = sorted(set(chosen.vote_ids) - {one.vote_id for one in known})
        if unknown:
            raise Refusal(
                f"there is no vote {', '.join(map(str, unknown[:10]))}. "
                "The votes there are: arena votes list"
            )
    if not store.exclusions.find(chosen, limit=1):
        raise Refusal("no vote is meant by all of that. The votes there are: arena votes list")


def compare_boards(
    store: Store,
    recipe: Recipe,
    *,
    leaving: Sequence[OutcomeCount] = (),
    coming: Sequence[OutcomeCount] = (),
) -> None:
    """The overall board as it is and as it would be, by the recipe of the page."""
    cells = _cells(store.votes.by_outcome())
    before = _rank(cells, recipe)
    cells.subtract(_cells(leaving))
    cells.update(_cells(coming))
    after = _rank(cells, recipe)
    _print_boards(before, after)


def _cells(counts: Sequence[OutcomeCount]) -> Counter[tuple[str, str, Outcome]]:
    return Counter({(one.model_a, one.model_b, one.outcome): one.votes for one in counts})


def _rank(cells: Counter[tuple[str, str, Outcome]], recipe: Recipe) -> Leaderboard | None:
    rows = [(*cell, count) for cell, count in sorted(cells.items()) if count > 0]
    if not rows:
        return None
    counts = Comparisons.from_counts(*zip(*rows, strict=True))
    return compute_leaderboard(counts, recipe.options)


def _print_boards(before: Leaderboard | None, after: Leaderboard | None) -> None:
    old = {} if before is None else {entry.model: entry for entry in before.entries}
    new = {} if after is None else {entry.model: entry for entry in after.entries}
    rows = [
        (
            name,
            *(_tell(one, "rank", "d") for one in (old.get(name), new.get(name))),
            *(_tell(one, "score", ".0f") for one in (old.get(name), new.get(name))),
            *(_tell(one, "votes", ",d") for one in (old.get(name), new.get(name))),
        )
        for name in dict.fromkeys((*new, *old))
    ]
    head = ("Model", "Rank", "after", "Score", "after", "Votes", "after")
    print_table(text_table(head, rows, right=head[1:]))


def _tell(entry: Entry | None, figure: str, form: str) -> str:
    value = None if entry is None else getattr(entry, figure)
    return "–" if value is None else format(value, form)


def _total(counts: Sequence[OutcomeCount]) -> int:
    return sum(count.votes for count in counts)


def _votes(number: int) -> str:
    return f"{number:,} vote" + ("" if number == 1 else "s")
